"""Disks: the DataVolumes that the controller makes of a VM's templates, and what an edit of a DataVolume or a claim comes to.

And the ConfigMaps and Secrets that a machine reads, when an edit of one reaches the guest, and when the API server refuses it.

upstream: pkg/virt-controller/watch/vm/vm.go:handleDataVolumes; containerized-data-importer
pkg/apiserver/webhooks/datavolume-validate.go:Admit; k8s.io/kubernetes pkg/apis/core/validation/validation.go:
ValidatePersistentVolumeClaimUpdate, plugin/pkg/admission/storage/persistentvolume/resize;
pkg/cloud-init/cloud-init.go:resolveNoCloudSecrets;
k8s.io/kubernetes pkg/apis/core/validation/validation.go:ValidateSecretUpdate, ValidateConfigMapUpdate
"""

from __future__ import annotations

import base64
import binascii

from krm_fn.base.annotations import Any, Iterable, Iterator
from krm_fn.base.objects import Object, annotations_of, name_of, text
from krm_fn.base.paths import as_map, get, is_set
from krm_fn.base.quantity import canonical, parse
from krm_fn.base.value import Value
from krm_fn.kubevirt.updates.machine import Machine, World, by_name, entries, volumes_of
from krm_fn.kubevirt.updates.references import compared

# With this annotation set to "false" they are made when the VM starts.
IMMEDIATE = "kubevirt.io/immediate-data-volume-creation"
DATA_VOLUME, CLAIM = "DataVolume", "PersistentVolumeClaim"
# What an edit of an object does.
REFUSED, GROWS = "refused", "grows"
SIZE = ("resources", "requests", "storage")
# Sources of which CDI takes new checkpoints: it imports them in stages.
STAGED, STAGES = ("vddk", "imageio"), ("checkpoints", "finalCheckpoint")
# What may change in a claim that is bound.
SIZES, ATTRIBUTES = "resources", "volumeAttributesClassName"
# What a claim gets that states nothing: its value may be written out later.
FILLED_IN = ("storageClassName", "volumeName")
GATE = "ExpandDisks"  # with it, the guest sees a larger claim


class Edit(Value):
    """What the edit of an object does: the `effect`, in words, the `fields` that differ, and the sizes of a disk that grows."""

    effect: str
    what: str
    fields: tuple[str, ...] = ()
    values: Object = {}  # noqa: RUF012  nobody writes into a Value


def new_data_volumes(before: Machine, after: Machine, world: World) -> list[str]:
    """The names of those that are made once the update is there; one that exists stays as it is, whatever its template says."""
    starts = before.running is None and after.running is not None
    if after.unresolved or (_waits_for_start(after) and not starts):
        return []
    there = set() if _waits_for_start(before) and before.running is None else set(_templates(before))
    names = [name for name in _templates(after) if name not in there]
    return [name for name in names if world.bundle.find(DATA_VOLUME, after.namespace, name) is None]


def _waits_for_start(machine: Machine) -> bool:
    return annotations_of(machine.vm).get(IMMEDIATE) == "false"


def _templates(machine: Machine) -> list[str]:
    found = entries(machine.vm["spec"], "dataVolumeTemplates")
    return [text(as_map(each.get("metadata")).get("name")) for each in found]


def size_of(kind: str, spec: Object) -> str:
    """The size that a DataVolume or a claim asks for; "" where its source decides it."""
    asked = spec if kind == CLAIM else as_map(spec.get("storage")) or as_map(spec.get("pvc"))
    size = get(asked, SIZE)
    return str(canonical(size)) if is_set(size) else ""


def edit_of_disk(kind: str, was: Object, now: Object, world: World) -> Edit | None:
    """What the edit of a DataVolume or of a bound claim does, None for one that changes no spec."""
    old, new = (as_map(each.get("spec")) for each in (was, now))
    return _of_data_volume(old, new) if kind == DATA_VOLUME else _of_claim(old, new, world)


def _of_data_volume(old: Object, new: Object) -> Edit | None:
    """CDI lets no spec change, except for the checkpoints of an import in stages."""
    staged = any(is_set(as_map(new.get("source")).get(key)) for key in STAGED) and is_set(new.get("checkpoints"))
    left_out = STAGES if staged else ()
    before, after = (_meant({key: each[key] for key in each if key not in left_out}) for each in (old, new))
    if before == after:
        return None
    fields = _fields(before, after)
    what = "CDI refuses it (Cannot update DataVolume Spec), so the apply fails and the disk stays"
    grown = size_of(DATA_VOLUME, old) != size_of(DATA_VOLUME, new)
    way = "to enlarge the disk, edit its PersistentVolumeClaim" if grown else "for another disk, use another name"
    return Edit(effect=REFUSED, what=f"{what}; {way}", fields=fields)


def _of_claim(old: Object, new: Object, world: World) -> Edit | None:
    """The API server lets a claim grow, and else lets its spec be."""
    before, after = (_meant(_filled(each)) for each in (old, new))
    fixed = [{key: value for key, value in each.items() if key not in (SIZES, ATTRIBUTES)} for each in (before, after)]
    if fixed[0] != fixed[1]:
        known = all(key in FILLED_IN and key not in fixed[0] for key in fixed[1] if fixed[0].get(key) != fixed[1][key])
        unless = ", unless the claim has this value already" if known and fixed[0].keys() <= fixed[1].keys() else ""
        what = f"the API server refuses it{unless}, because only the size of a claim may change"
        what += "; the apply fails and the disk stays; for another disk, use another name"
        return Edit(effect=REFUSED, what=what, fields=_fields(*fixed))
    sizes = [parse(get(each, SIZE)) for each in (old, new)]
    if sizes[0] is None or sizes[1] is None or sizes[0].nanos == sizes[1].nanos:
        return None
    return _resized(old, new, world, grows=sizes[1].nanos > sizes[0].nanos)


def _resized(old: Object, new: Object, world: World, *, grows: bool) -> Edit:
    was, now = (size_of(CLAIM, each) for each in (old, new))
    called = text(new.get("storageClassName"))
    found = next((each for each in world.bundle.of_kind("StorageClass") if name_of(each.obj) == called), None)
    why = "" if grows else "a claim can't shrink"
    if grows and found and found.obj.get("allowVolumeExpansion") is not True:
        why = f"StorageClass {called} does not allow expansion"
    if why:
        what = f"the API server refuses it, because {why}; the apply fails and the disk stays"
        return Edit(effect=REFUSED, what=what, fields=(f"spec.{'.'.join(SIZE)}",), values={"size": was, "newSize": now})
    allowed = "" if found else ", if its StorageClass allows expansion"
    seen = "; the running guest sees it" if world.gate(GATE) else f"; the guest sees it only if feature gate {GATE} is open"
    return Edit(effect=GROWS, what=f"grows {was} → {now}{allowed}{seen}", values={"size": was, "newSize": now})


def _filled(spec: Object) -> Object:
    """A claim's spec with the defaults that are the same in all clusters."""
    source = spec.get("dataSourceRef") or spec.get("dataSource")
    plain = {key: value for key, value in spec.items() if key not in ("dataSource", "dataSourceRef")}
    return {"volumeMode": "Filesystem", **plain, **({"dataSource": source} if source else {})}


def _meant(value: Any, key: str = "") -> Any:
    """The value as Go compares it: null and an empty list are absent, and quantities are numbers."""
    if isinstance(value, dict):
        size = key in ("requests", "limits")
        below = {name: parse(each) if size and parse(each) else _meant(each, name) for name, each in value.items()}
        meant = {name: each for name, each in below.items() if each is not None and each != []}
        return {name: getattr(each, "nanos", each) for name, each in meant.items()}
    return [_meant(each) for each in value] if isinstance(value, list) else value


def _fields(before: Object, after: Object) -> tuple[str, ...]:
    """The paths of the fields that differ; their values may be secret."""
    return tuple(f"spec{each.pointer.replace('/', '.')}" for each in compared(before, after))


CONFIG_MAP, SECRET = "ConfigMap", "Secret"
READ = (CONFIG_MAP, SECRET)
# When the guest gets an edit.
LIVE, NEXT_START = "live", "atNextStart"


class Reading(Value):
    """A place at which an object is read: `keys` of it, all if there are none; `first`: cloud-init acts at the first boot."""

    at: tuple[str, ...]
    kind: str
    keys: tuple[str, ...] = ()
    first: bool = False


_CREDENTIAL = ("source", "secret", "secretName")
_CLOUD_INIT = tuple(
    Reading(at=(source, ref, "name"), kind=SECRET, keys=keys, first=True)
    for source in ("cloudInitNoCloud", "cloudInitConfigDrive")
    for ref, keys in (("secretRef", ("userdata", "userData")), ("networkDataSecretRef", ("networkdata", "networkData")))
)
VOLUMES = (
    Reading(at=("configMap", "name"), kind=CONFIG_MAP),
    Reading(at=("secret", "secretName"), kind=SECRET),
    Reading(at=("sysprep", "configMap", "name"), kind=CONFIG_MAP),
    Reading(at=("sysprep", "secret", "name"), kind=SECRET),
    *_CLOUD_INIT,
)
CREDENTIALS = tuple(Reading(at=(sort, *_CREDENTIAL), kind=SECRET) for sort in ("sshPublicKey", "userPassword"))


class Read(Value):
    """An object that a machine reads; `when` an edit reaches the guest."""

    kind: str
    name: str
    row: Reading
    when: str = NEXT_START


def readings_of(spec: Object) -> Iterator[Read]:
    """What the instance of a spec reads."""
    shared = by_name(entries(spec, "domain", "devices", "filesystems"))
    for volume in volumes_of(spec):
        when = LIVE if text(volume.get("name")) in shared else NEXT_START
        yield from _found(volume, VOLUMES, when)
    for credential in entries(spec, "accessCredentials"):
        for row in CREDENTIALS:
            agent = get(credential, (row.at[0], "propagationMethod", "qemuGuestAgent"))
            yield from _found(credential, (row,), NEXT_START if agent is None else LIVE)


def _found(obj: Object, rows: Iterable[Reading], when: str) -> Iterator[Read]:
    for row in rows:
        if name := text(get(obj, row.at)):
            yield Read(kind=row.kind, name=name, row=row, when=when)


def edit_of_read(read: Read, was: Object, now: Object) -> Edit | None:
    """What the edit of an object does to a machine that reads it; None where it reads the same."""
    before, after = _content(was), _content(now)
    if refused := _refused(read.kind, was, now, differ=before != after):
        return Edit(effect=REFUSED, what=f"{refused}; the apply fails, and the guest keeps what it has")
    keys = read.row.keys or {**before, **after}
    if all(before.get(key) == after.get(key) for key in keys):
        return None
    if read.when == LIVE:
        return Edit(effect=LIVE, what="is edited; the running guest gets it")
    first = ", and cloud-init acts on most of it at the first boot only" if read.row.first else ""
    return Edit(effect=NEXT_START, what=f"is edited; the guest gets it at the next start{first}")


def _refused(kind: str, was: Object, now: Object, *, differ: bool) -> str:
    """Why the API server refuses the edit; "" where it does not."""
    if was.get("immutable") is True and (differ or now.get("immutable") is not True):
        return "the API server refuses the edit, because it is immutable; use another name"
    types = [text(each.get("type")) or "Opaque" for each in (was, now)]
    if kind == SECRET and types[0] != types[1]:
        return f"the API server refuses type {types[0]} → {types[1]}; use another name"
    return ""


def _content(obj: Object) -> dict[str, object]:
    """What the object holds by key. What is written as text and as base64 is the same."""
    coded = ("data",) if obj.get("kind") == SECRET else ("binaryData",)
    plain = "stringData" if obj.get("kind") == SECRET else "data"
    found = {key: _decoded(value) for place in coded for key, value in as_map(obj.get(place)).items()}
    return {**found, **{key: text(value).encode() for key, value in as_map(obj.get(plain)).items()}}


def _decoded(value: object) -> object:
    try:
        return base64.b64decode(text(value), validate=True)
    except (binascii.Error, ValueError):
        return value
