"""A DataVolume has two sources, no source, or no size.

What it finds: a DataVolume with both `source` and `sourceRef`, with a source of two kinds or of none, with both `pvc` and
`storage` or neither, with nothing that fills it, or without a size although it starts empty (`blank`, `upload`); and
`source` beside `sourceRef` in a DataVolume template. [refused-data-volume-template](refused-data-volume-template.md) reports
what KubeVirt itself refuses in such templates.

Why it matters: CDI refuses the DataVolume. A DataVolume from a VM's template is created only after the VM is accepted, and
the VM waits for it forever.

Fix: keep the one intended source, and one of `storage` and `pvc`.

Example:

    apiVersion: cdi.kubevirt.io/v1beta1
    kind: DataVolume
    metadata: {name: root}
    spec:
      source: {blank: {}}
      sourceRef: {kind: DataSource, name: fedora}
      storage: {resources: {requests: {storage: 10Gi}}}
"""

from __future__ import annotations

from krm_fn.base.paths import as_list, as_map, get
from krm_fn.kubevirt.holders import DATA_VOLUMES, RENDERED
from krm_fn.rules.registry import Hit, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.base.bundle import Entry
    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.rules.facts.bundles import BundleFacts

KINDS = ("http", "s3", "gcs", "registry", "pvc", "upload", "blank", "imageio", "vddk", "snapshot")
FILLERS = ("source", "sourceRef")
BOTH = frozenset(FILLERS)
CLAIMS = ("storage", "pvc")
SIZE: Path = ("resources", "requests", "storage")
# Sources without data have no size of their own.
EMPTY = ("blank", "upload")


@rule(severity="error")
def contradictory_data_volume(facts: BundleFacts) -> Iterator[Hit]:
    for entry in facts.bundle.of_kind("DataVolume", "cdi.kubevirt.io"):
        spec = entry.obj.get("spec")
        if isinstance(spec, dict):
            yield from _hits(entry, spec)
    for holder in RENDERED:
        place = holder.in_vm(DATA_VOLUMES)
        for entry in facts.bundle.of_kind(holder.kind, holder.group):
            for index, template in enumerate(as_list(get(entry.obj, place))):
                spec = as_map(template).get("spec")
                if isinstance(spec, dict) and spec.keys() >= BOTH:
                    yield from _two(entry, spec, (*place, index, "spec"), FILLERS)


def _hits(entry: Entry, spec: Object) -> Iterator[Hit]:
    at: Path = ("spec",)
    claim = as_map(next((spec[key] for key in CLAIMS if spec.get(key) is not None), None))
    filled = any(claim.get(key) is not None for key in ("dataSource", "dataSourceRef"))
    yield from _two(entry, spec, at, FILLERS)
    yield from _two(entry, spec, at, CLAIMS)
    if not _given(spec, CLAIMS):
        null = next((key for key in CLAIMS if key in spec), "")
        fact = f"{null} is null, so the DataVolume requests no storage" if null else "the DataVolume requests no storage"
        yield Hit(message=f"{fact}; set {null or CLAIMS[0]}", path=(*at, null) if null else at, about=entry)
    sources = _given(spec, FILLERS)
    if not sources and not filled:
        yield Hit(
            message="the DataVolume has no source; set source or sourceRef, or source.blank: {} for an empty disk",
            path=at,
            about=entry,
        )
    source = spec.get("source")
    if isinstance(source, dict):
        yield from _two(entry, source, (*at, "source"), KINDS)
        if not _given(source, KINDS):
            yield Hit(message=f"the source has no kind; set one of {', '.join(KINDS)}", path=(*at, "source"), about=entry)
        elif _given(source, EMPTY) and _given(spec, CLAIMS) and get(claim, SIZE) is None and not filled:
            name = _given(spec, CLAIMS)[0]
            message = f"the DataVolume has no size, which an empty one needs; set {name}.resources.requests.storage"
            yield Hit(message=message, path=(*at, name), about=entry)


def _two(entry: Entry, around: Object, at: Path, keys: tuple[str, ...]) -> Iterator[Hit]:
    """A hit at the last of the keys that are set, where they are several."""
    found = _given(around, keys)
    if len(found) > 1:
        message = f"{' and '.join(found)} exclude each other; keep one of them"
        yield Hit(message=message, path=(*at, found[-1]), about=entry)


def _given(around: Object, keys: tuple[str, ...]) -> list[str]:
    """The keys that are set, in their own order."""
    return [key for key in around if key in keys and around[key] is not None]
