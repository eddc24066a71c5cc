"""The labels with which claims, images and snapshots name their default instancetype and preference."""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.bundle import Bundle, Entry
from krm_fn.base.objects import labels_of
from krm_fn.base.paths import Path
from krm_fn.base.value import Value
from krm_fn.kubevirt.resolve import MATCHERS, Matcher

# The kinds whose labels are read, and those that copy theirs to one of these.
LABELLED = (
    ("PersistentVolumeClaim", ""),
    ("DataVolume", "cdi.kubevirt.io"),
    ("DataSource", "cdi.kubevirt.io"),
    ("DataImportCron", "cdi.kubevirt.io"),
    ("VolumeSnapshot", "snapshot.storage.k8s.io"),
)


class Default(Value):
    """One default: `kind` is the kind it names, "" for an unknown one; `path` is that of the label with the name."""

    entry: Entry
    matcher: Matcher
    name: str
    kind: str
    kind_written: str

    @property
    def path(self) -> Path:
        return "metadata", "labels", self.matcher.name_label

    @property
    def kind_path(self) -> Path:
        return "metadata", "labels", self.matcher.kind_label


def defaults(bundle: Bundle) -> Iterator[Default]:
    """All defaults in a bundle, kind by kind; values that are not strings are skipped."""
    for kind, group in LABELLED:
        for entry in bundle.of_kind(kind, group):
            labels = labels_of(entry.obj)
            for matcher in MATCHERS:
                name, written = labels.get(matcher.name_label), labels.get(matcher.kind_label)
                written = written if isinstance(written, str) else ""
                if isinstance(name, str):
                    meant = matcher.kind_named(written)
                    yield Default(entry=entry, matcher=matcher, name=name, kind=meant, kind_written=written)
