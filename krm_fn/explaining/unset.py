"""Which values a user asks for, by a path, its last part or a pattern; and what would set a field that a rendered VM lacks.

Rows of the field tables and settings of the cluster are tried out for that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_map, copy, dotted, get, is_set, steps
from krm_fn.explaining.inputs import CONFIGURATION, INSTANCETYPE, KUBEVIRT, PREFERENCE, PRESET, ReadCluster, without
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.expand import COMPLETED_SINCE, complete
from krm_fn.kubevirt.expand.apply import TABLES
from krm_fn.kubevirt.fields.preset import sections
from krm_fn.kubevirt.fields.verbs import Application, Field, consulted, enter
from krm_fn.kubevirt.holders import POOLED, TEMPLATE
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.resolve.matcher import API_VERSION, MATCHERS
from krm_fn.kubevirt.schema import kinds, table
from krm_fn.kubevirt.schema.node import SchemaNode
from krm_fn.kubevirt.settings import Config

GLOB = frozenset("*?")
START = "\0"


def normal(field: str) -> str:
    """A field as paths are written: without a dot before or behind it, and with double quotes."""
    return field.strip(".").replace("'", '"')


def is_pattern(field: str) -> bool:
    return not GLOB.isdisjoint(field)


def selected(record: Object, field: str) -> Object:
    """The record with the fields that are asked for alone."""
    if "fields" not in record:
        return record
    return {**record, "fields": [each for each in record["fields"] if names(field, each["path"])]}


def names(field: str, path: str) -> bool:
    """True if a field names a path, something around it, or what it ends with.

    A field that is no pattern may leave out the numbers of entries, and the quotes of keys such as `app.kubernetes.io/name`.
    """
    if is_pattern(field):
        return fnmatchcase(f".{_parted(path)}.", f"*.{_parted(field).replace('[', '[[]')}.*")
    plain = "".join(f"[{step}]" if isinstance(step, int) else f"{START}{step}" for step in steps(path))
    return _matcher(field).search(plain) is not None


def _parted(text: str) -> str:
    """A path with a dot before the number of an entry, too, so that a pattern for a list names its entries."""
    return text.replace("[", ".[")


@lru_cache(maxsize=8)
def _matcher(field: str) -> re.Pattern[str]:
    """What finds a field in a path without quotes and with START before each key. A dot in it may be one in a key."""
    keys = "".join(
        rf"\[{each}\]" if isinstance(each, int) else rf"(\[\d+\])*[{START}.]{re.escape(each)}" for each in steps(field)
    )
    return re.compile(rf"(?=[{START}\[]){keys}(?=[{START}\[]|$)" if keys else "(?!)")


# A value of each form that a field can have; a row that does not take one of them does nothing, or fails.
KINDS = {each.field: each.kind for each in MATCHERS}
DOMAIN: Path = ("spec", "domain")
NETWORK: tuple[Path, ...] = (("spec", "networks"), (*DOMAIN, "devices", "interfaces"))
DEEPEST = 20  # steps of a path; definitions of JSON contain themselves
SAMPLES: tuple[Any, ...] = ("1Gi", True, 4, {}, [])


def unset(
    record: Object, obj: Object, rendered: Object | None, field: str, *, config: Config, release: Release
) -> list[Object]:
    """What would set the fields of an object's API that are asked for and that its rendered form does not have."""
    start = (*POOLED, *TEMPLATE) if get(obj, POOLED) else TEMPLATE
    own, expanded = as_map(get(obj, start)), as_map(get(rendered, start))
    for place in NETWORK:  # the default one depends on the cluster
        expanded = expanded if is_set(get(own, place)) else without(expanded, place)
    # Only a VM with an instancetype or a preference is rendered with defaults.
    completed = config.defaults != "none" and release.within(since=COMPLETED_SINCE) and not record.keys().isdisjoint(KINDS)
    found = []
    for path in Schema(obj, release).named(field):
        sources: list[tuple[str, Path]] = []
        if path[: len(start)] == start:
            inner = path[len(start) :]
            sources += _of_matchers(own, inner, release)
            sources += _of_presets(inner, release) if config.presets == "fold" else ()
            sources += _of_cluster(expanded, inner, release) if completed else ()
        found.append({"path": dotted(path).replace("[0]", "[*]"), "setBy": [_source(record, *each) for each in sources]})
    return found


def _source(record: Object, kind: str, field: Path) -> Object:
    named = record.get(kind, {}) if kind in KINDS else {}
    return {"from": kind, **{key: named[key] for key in ("kind", "namespace", "name") if key in named}, "field": dotted(field)}


def _of_matchers(template: Object, path: Path, release: Release) -> list[tuple[str, Path]]:
    """The fields of instancetypes and preferences that would set a path of a template."""
    found = list(dict.fromkeys(_of_rows(template, path, release)))
    if not found and any(isinstance(step, int) for step in path):  # an entry of a list that the VM may not have
        found = list(dict.fromkeys(_of_rows(_around(path[:-1], {}), path, release)))
    return [each for each in found if not any(_is_around(other, each) for other in found)]


def _is_around(one: tuple[str, Path], other: tuple[str, Path]) -> bool:
    return one[0] == other[0] and len(one[1]) < len(other[1]) and other[1][: len(one[1])] == one[1]


def _of_presets(path: Path, release: Release) -> Iterator[tuple[str, Path]]:
    """The sections of presets that would set a path of a template."""
    below = path[len(DOMAIN) :]
    for each in sections(release) if path[: len(DOMAIN)] == DOMAIN else ():
        rest = below[len(each.path) :]
        if below[: len(each.path)] == each.path and not (each.only and rest and rest[0] not in each.only):
            yield PRESET, (*DOMAIN, *each.path)


def _of_cluster(template: Object, path: Path, release: Release) -> Iterator[tuple[str, Path]]:
    """The settings of the cluster that decide the default at a path of a rendered template."""
    asked = ReadCluster()
    usual = get(_completed(template, asked, release), path)
    for setting in asked.paths:
        samples = (*SAMPLES, path[-1])  # a setting may name the field
        clusters = (Cluster(configuration=_around(setting, sample)) for sample in samples)
        if any(get(_completed(template, each, release), path) not in (None, usual) for each in clusters):
            yield CONFIGURATION, (*KUBEVIRT, *setting)


def _completed(template: Object, cluster: Cluster, release: Release) -> Object:
    """The template with the defaults of a cluster."""
    template = copy(template)
    try:
        complete(enter(template, "spec"), cluster, release)
    except (TypeError, ValueError, AttributeError, KeyError):  # the VM has another form there
        return {}
    return template


def _of_rows(template: Object, path: Path, release: Release) -> Iterator[tuple[str, Path]]:
    for kind in (INSTANCETYPE, PREFERENCE):
        rows = release.rows(TABLES[kind])
        schema = Schema({"apiVersion": API_VERSION, "kind": KINDS[kind]}, release)
        for row in rows:
            acting = [row] if row.verbs else [each for each in rows if _reads(each, row)]
            for value in _values(path, row, schema) if acting else ():
                if get(_written(acting, _around(row.source, value), template, release), path) is not None:
                    yield kind, ("spec", *row.source)
                    break


def _reads(row: Field, other: Field) -> bool:
    """True if a row with verbs reads the field of a row without."""
    around = other.source[: len(row.source)] == row.source
    return bool(row.verbs) and around and other.reason.startswith(consulted(""))


def _values(path: Path, row: Field, schema: Schema) -> Iterator[Any]:
    """Values of a row's field that lead to a path if they are copied to a place around it."""
    starts = (start for start in range(1, len(path) + 1) if schema.has(("spec", *row.source, *path[start:])))
    return (_around(path[start:], sample) for start in starts for sample in SAMPLES)


def _written(acting: Sequence[Field], spec: Object, template: Object, release: Release) -> Object:
    """The template with what rows write into it for a spec."""
    template = copy(template)
    application = Application(template, release=release, instancetype=spec, preference=spec)
    try:
        for each in acting:
            for verb in each.verbs:
                verb(application, get(spec, each.source), ("spec", *each.source))
    except (TypeError, ValueError, AttributeError, KeyError):  # the field takes no value of this form
        return {}
    return template


def _around(path: Sequence[Any], value: Any) -> Any:
    """Maps and lists that lead to a value."""
    for step in reversed(path):
        value = [value] if isinstance(step, int) else {step: value}
    return value


class Schema:
    """The fields of a kind of objects in a release."""

    def __init__(self, obj: Object, release: Release) -> None:
        row = kinds.kind_known(obj, release)
        self._root = table.of(release).node(row.type) if row else None

    def has(self, path: Path) -> bool:
        """True if an object of the kind can have the path."""
        node = self._root
        for step in path:
            if node is None:
                return False
            node = node.items if isinstance(step, int) else node.fields.get(step, node.values) if node.of_map else None
        return node is not None

    def named(self, field: str) -> list[Path]:
        """The paths that a user may mean by a path or its last part; entries of lists are at 0. The status does not count."""
        wanted = tuple(step for step in steps(field) if not isinstance(step, int))
        found = self._ending(wanted)
        for count in range(len(wanted) - 1, 0, -1):  # a key of a map, such as requests.cpu or limits.nvidia.com/gpu
            key = ".".join(map(str, wanted[count:]))
            found = found or [path for each in self._ending(wanted[:count]) if self.has(path := (*each, key))]
        return [path for path in found if path[0] != "status"]

    def _ending(self, keys: Path) -> list[Path]:
        found = self._below(self._root, str(keys[-1]), ()) if keys and self._root else ()
        return [path for path in found if _keys(path)[-len(keys) :] == keys]

    def names(self) -> set[str]:
        """The names of all fields."""
        return {str(path[-1]) for path in self._below(self._root, "", ()) if path[0] != "status"} if self._root else set()

    def _below(self, node: SchemaNode, name: str, path: Path) -> Iterator[Path]:
        for key, below in node.fields.items() if len(path) < DEEPEST else ():
            at = (*path, key)
            if not name or key == name:
                yield at
            inner = below.items if below.items is not None else below
            if inner.of_map:
                yield from self._below(inner, name, (*at, 0) if below.items is not None else at)


def _keys(path: Path) -> Path:
    return tuple(step for step in path if not isinstance(step, int))
