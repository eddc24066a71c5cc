"""The labels by which claims, images and snapshots name the instancetype and preference that fit them."""

from __future__ import annotations

from krm_fn.base.objects import labels_of
from krm_fn.base.value import Value
from krm_fn.kubevirt.resolve import MATCHERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.base.bundle import Bundle, Entry
    from krm_fn.base.paths import Path
    from krm_fn.kubevirt.resolve import Matcher

# The kinds whose labels are read, and those that pass theirs on to one.
LABELLED = (
    ("PersistentVolumeClaim", ""),
    ("DataVolume", "cdi.kubevirt.io"),
    ("DataSource", "cdi.kubevirt.io"),
    ("DataImportCron", "cdi.kubevirt.io"),
    ("VolumeSnapshot", "snapshot.storage.k8s.io"),
)


class Default(Value):
    """One such name: `kind` is the kind meant, "" where the label beside it names none; `path` leads to the name's label."""

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
    """All of a bundle, kind by kind; values that are no text are passed over."""
    for kind, group in LABELLED:
        for entry in bundle.of_kind(kind, group):
            labels = labels_of(entry.obj)
            for matcher in MATCHERS:
                name, written = labels.get(matcher.name_label), labels.get(matcher.kind_label)
                written = written if isinstance(written, str) else ""
                if isinstance(name, str):
                    meant = matcher.kind_named(written)
                    yield Default(entry=entry, matcher=matcher, name=name, kind=meant, kind_written=written)
