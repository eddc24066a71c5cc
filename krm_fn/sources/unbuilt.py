"""Findings about files of folders that may not be mistakes: an unwritten namespace may be any, a file may be a patch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn.base import bundle
from krm_fn.base.objects import kind_of, name_of
from krm_fn.base.paths import as_list, as_map, get, is_set
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.holders import DATA_VOLUMES
from krm_fn.sources.fragments import Fragments, fragments
from krm_fn.sources.salvage import UNCERTAIN

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from krm_fn.base.objects import Object
    from krm_fn.findings.finding import Finding
    from krm_fn.sources.reading import Sources

MISSING = "missing-object"
# The kinds of objects that a finding may miss.
MISSED = frozenset(
    (
        "ConfigMap",
        "DataSource",
        "DataVolume",
        "NetworkAttachmentDefinition",
        "PersistentVolumeClaim",
        "Secret",
        "VolumeSnapshot",
    )
)


def certain(findings: Iterable[Finding], found: Sources) -> tuple[list[Finding], Fragments]:
    """The findings without those that may disappear when the files of the folders are applied, and the parts of objects.

    They are about an object that is missing only because its namespace, or that of the object that refers to it, is not
    written. Or they say of a part of an object, such as a patch, what it lacks. Or they are about what is not there in files
    of which only a part is known.
    """
    findings = [each for each in findings if not (found.in_part and _is_of_absence(each, found))]
    if not found.separate:
        return findings, Fragments()
    doubts, parts = _Doubts(found), fragments(findings, found)
    kept = (each for each in findings if each.item < 0 or not (doubts.concern(each) or parts.silence(each)))
    return list(kept), parts


def _is_of_absence(finding: Finding, found: Sources) -> bool:
    """True for a finding that an object or a value would take away which is not there."""
    if finding.rule in UNCERTAIN:
        return True
    path = (*finding.inside, *finding.path)
    return finding.item >= 0 and bool(finding.path) and get(found.items[finding.item], path, UNSET) is UNSET


class _Doubts:
    def __init__(self, found: Sources) -> None:
        self._found, self._items, self._places = found, found.items, found.places
        missed = [obj for entry in bundle.entries(self._items) for obj in _missed(entry.obj)]
        self._names = {name_of(obj) for obj in missed}
        self._homeless = {name_of(obj) for obj in missed if not _has_namespace(obj)}

    def concern(self, finding: Finding) -> bool:
        if finding.rule != MISSING:
            return False
        file, obj = self._places[finding.item][0], get(self._items[finding.item], finding.inside)
        return self._found.is_found(file) and self._is_elsewhere(finding, obj)

    def _is_elsewhere(self, finding: Finding, obj: Object) -> bool:
        """True if an object has that name, and may have the same namespace, because one of the two is not written."""
        name = str(finding.current).rpartition("/")[2]
        return name in self._homeless or (name in self._names and not _has_namespace(obj))


def _missed(obj: Object) -> Iterator[Object]:
    """The object, if others may refer to it, and the objects that a VM creates from its dataVolumeTemplates."""
    if kind_of(obj) in MISSED:
        yield obj
    for template in as_list(get(obj, DATA_VOLUMES)):
        yield {"metadata": {**as_map(get(obj, ("metadata",))), "name": get(template, ("metadata", "name"))}}


def _has_namespace(obj: Object) -> bool:
    return is_set(get(obj, ("metadata", "namespace")))
