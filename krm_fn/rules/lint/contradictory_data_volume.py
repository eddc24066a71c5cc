"""A DataVolume has two sources, no source, no size, not one access mode, or a claim of its name beside it.

What it finds: a DataVolume with both `source` and `sourceRef`, with a source of two kinds or of none, with both `pvc` and
`storage` or neither, or with nothing that fills it. In DataVolume templates too: `source` beside `sourceRef`; no size, unless
`storage` is for a clone (`sourceRef`, `source.pvc`, `source.snapshot`), or one below 1Mi; `pvc` without an access mode or with
several; an access mode that Kubernetes does not have; a clone that is smaller than its source in the bundle; and a
PersistentVolumeClaim of its name, unless an annotation (`cdi.kubevirt.io/allowClaimAdoption` of the DataVolume,
`cdi.kubevirt.io/storage.populatedFor` of the claim) or CDI's feature gate `ClaimAdoption` lets it take over the claim.
[refused-data-volume-template](refused-data-volume-template.md) reports what KubeVirt itself refuses in such templates.

Why it matters: CDI refuses the DataVolume. A DataVolume from a VM's template is created only after the VM is accepted, and
the VM waits for it forever.

Fix: keep the one intended source, and one of `storage` and `pvc`. In `storage`, CDI finds access modes by the storage class.

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

from krm_fn.base.annotations import Iterator
from krm_fn.base.bundle import Bundle, Entry, effective_namespace
from krm_fn.base.objects import Object, annotations_of, metadata, name_of, ref_of, text
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.base.quantity import parse
from krm_fn.base.wording import brief, show
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, also, rule
from krm_fn.rules.shared.machines import data_volumes

KINDS = ("http", "s3", "gcs", "registry", "pvc", "upload", "blank", "imageio", "vddk", "snapshot")
FILLERS = ("source", "sourceRef")
BOTH = frozenset(FILLERS)
CLAIMS = ("storage", "pvc")
SIZE: Path = ("resources", "requests", "storage")
# Sources without data have no size of their own.
EMPTY = ("blank", "upload")
# CDI takes the size of these. upstream: containerized-data-importer, pkg/apiserver/webhooks/datavolume-validate.go
CLONED = ("pvc", "snapshot")
LEAST = parse("1Mi")
# What lets a DataVolume take over a claim: annotations of the claim and of the DataVolume, and a gate of CDI.
POPULATED, ADOPTING, GATE = "cdi.kubevirt.io/storage.populatedFor", "cdi.kubevirt.io/allowClaimAdoption", "ClaimAdoption"
TRUE = ("1", "t", "true")
MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")


@rule(severity="error")
def contradictory_data_volume(facts: BundleFacts) -> Iterator[Hit]:
    for entry, path in data_volumes(facts.bundle):
        at = (*path, "spec")
        spec = get(entry.obj, at)
        if isinstance(spec, dict):
            if not path:
                yield from _hits(entry, spec)
            elif spec.keys() >= BOTH:
                yield from _two(entry, spec, at, FILLERS)
            yield from _claim_hits(entry, spec, at)
            yield from _clone_hits(entry, spec, at, facts.bundle)
            yield from _claimed_hits(entry, path, facts.bundle)


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


def _claim_hits(entry: Entry, spec: Object, at: Path) -> Iterator[Hit]:
    """What CDI refuses in the claim of a DataVolume that states one, and that something fills."""
    names, sources = _given(spec, CLAIMS), as_map(spec.get("source"))
    if len(names) != 1 or not isinstance(spec[names[0]], dict):
        return
    name, claim = names[0], spec[names[0]]
    yield from _size_hits(
        entry, claim, (*at, name), is_clone=bool(spec.get("sourceRef") or _given(sources, CLONED)), of=sources
    )
    modes = claim.get("accessModes")
    path = (*at, name, "accessModes")
    if name == "pvc" and not modes:
        yield Hit(message="pvc needs an access mode; set pvc.accessModes, or use storage", path=path, about=entry)
    elif name == "pvc" and isinstance(modes, list) and len(modes) > 1:
        yield Hit(
            message=f"pvc can have one access mode, but has {len(modes)}; keep one, or use storage", path=path, about=entry
        )
    for index, mode in enumerate(as_list(modes)):
        if isinstance(mode, str) and mode not in MODES:
            message = f"access mode {show(mode)} is not known; expected one of {', '.join(MODES)}"
            yield Hit(message=message, path=(*path, index), current=mode, about=entry)


def _claimed_hits(entry: Entry, path: Path, bundle: Bundle) -> Iterator[Hit]:
    """The claim that the DataVolume is to make is there.

    upstream: containerized-data-importer, pkg/controller/common/util.go:ClaimMayExistBeforeDataVolume
    """
    volume = as_map(get(entry.obj, path))
    name = name_of(volume)
    claim = bundle.find("PersistentVolumeClaim", effective_namespace(entry.obj), name) if name else None
    if claim is None or metadata(claim.obj).get("ownerReferences") or annotations_of(claim.obj).get(POPULATED) == name:
        return
    gates = (get(each.obj, ("spec", "config", "featureGates")) for each in bundle.of_kind("CDI"))
    if text(annotations_of(volume).get(ADOPTING)).lower() not in TRUE and not any(GATE in as_list(each) for each in gates):
        fact = f"{ref_of(claim.obj)} is in the bundle, too, and CDI makes no DataVolume beside a claim of its name"
        yield Hit(
            message=f"{fact}; delete the claim, or set the annotation {ADOPTING} here",
            path=(*path, "metadata", "name"),
            current=name,
            about=entry,
            related=also(claim, ("metadata", "name")),
        )


def _clone_hits(entry: Entry, spec: Object, at: Path, bundle: Bundle) -> Iterator[Hit]:
    """The clone of a claim of the bundle is smaller. CDI compares what `pvc` states, and what `storage` does of block devices.

    upstream: containerized-data-importer, pkg/controller/datavolume/pvc-clone-controller.go:validateClone
    """
    source = as_map(get(spec, ("source", "pvc")))
    key = text(source.get("namespace")) or effective_namespace(entry.obj), text(source.get("name"))
    found = bundle.find("PersistentVolumeClaim", *key) or bundle.find("DataVolume", *key)
    if found is None:
        return
    for path in (("spec",), *(("spec", name) for name in CLAIMS)):
        claim = as_map(get(found.obj, path))
        least = parse(get(claim, SIZE))
        for name in CLAIMS if claim.get("volumeMode") == "Block" else ("pvc",):
            size = get(spec, (name, *SIZE))
            asked = parse(size)
            if least and asked and asked.nanos < least.nanos:
                fact = f"the clone of {brief(size)} is smaller than its source {key[1]} of {brief(get(claim, SIZE))}"
                message, place = f"{fact}, so CDI refuses it; increase it", (*at, name, *SIZE)
                related = also(found, (*path, *SIZE))
                yield Hit(message=message, path=place, current=size, about=entry, related=related)


def _size_hits(entry: Entry, claim: Object, at: Path, *, is_clone: bool, of: Object) -> Iterator[Hit]:
    """The size is missing, or too small. `of` is the source."""
    name, size = str(at[-1]), get(claim, SIZE)
    if size is None:
        if name == "pvc" or not is_clone:
            why = "an empty one needs" if _given(of, EMPTY) else "only a clone in storage can lack"
            message = f"the DataVolume has no size, which {why}; set {name}.resources.requests.storage"
            yield Hit(message=message, path=at, about=entry)
        return
    found = parse(size)
    if found and LEAST and found.nanos < LEAST.nanos:
        yield Hit(message=f"the size {show(size)} is less than 1Mi; increase it", path=(*at, *SIZE), current=size, about=entry)


def _two(entry: Entry, around: Object, at: Path, keys: tuple[str, ...]) -> Iterator[Hit]:
    """A hit at the last of the keys that are set, where they are several."""
    found = _given(around, keys)
    if len(found) > 1:
        message = f"{' and '.join(found)} exclude each other; keep one of them"
        yield Hit(message=message, path=(*at, found[-1]), about=entry)


def _given(around: Object, keys: tuple[str, ...]) -> list[str]:
    """The keys that are set, in their own order."""
    return [key for key in around if key in keys and around[key] is not None]
