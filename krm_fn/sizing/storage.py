"""The storage that VMs and a bundle's claims need, by storage class.

A size is what the object states. The provisioner may give more: CDI adds room for a file system, and drivers round up.
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterable, Iterator
from krm_fn.base.bundle import Bundle, effective_namespace
from krm_fn.base.objects import Object, name_of, text
from krm_fn.base.paths import as_list, as_map, get, is_set
from krm_fn.base.quantity import canonical, parse
from krm_fn.kubevirt.pods.amounts import Amounts, plus
from krm_fn.kubevirt.pods.launch import LaunchContext

DATA_VOLUME, CLAIM, TEMPLATE, STATE = "DataVolume", "PersistentVolumeClaim", "dataVolumeTemplate", "backendStorage"
# The claim in which KubeVirt keeps the state of a TPM or of EFI.
# upstream: pkg/storage/backend-storage/backend-storage.go:basePVC
STATE_PREFIX, STATE_SIZE = "persistent-state-for-", "10Mi"
# Its size where the changed blocks of the VM are tracked.
TRACKED_SIZE, TRACKED_SIZE_SINCE = "522Mi", ((1, 8, 5), (1, 9, 1))
PERSISTENT_EFI = ("domain", "firmware", "bootloader", "efi", "persistent")
SIZE = ("resources", "requests", "storage")


def of_vm(vm_spec: Object, instance_spec: Object, namespace: str, bundle: Bundle) -> list[Object]:
    """The claims of a VM: those that it creates, then those of the bundle that its volumes name."""
    templates = [as_map(each) for each in as_list(vm_spec.get("dataVolumeTemplates"))]
    created = [_of_data_volume(each, TEMPLATE) for each in templates]
    names = {each.get("name") for each in created}
    return [*created, *(each for each in _of_volumes(instance_spec, namespace, bundle) if each.get("name") not in names)]


def is_created(claim: Object) -> bool:
    """True for a claim that comes with its machine."""
    return claim["kind"] in (TEMPLATE, STATE)


def state_of(instance_spec: Object, around: LaunchContext) -> Object:
    """The claim for what an instance keeps of its TPM, EFI and changed blocks, still without a name; empty for none.

    upstream: pkg/storage/backend-storage/backend-storage.go:IsBackendStorageNeeded, createPVC
    """
    if not states_of(instance_spec, around):
        return {}
    named = text(around.cluster.setting("vmStateStorageClass"))  # "" for the default class
    size = TRACKED_SIZE if around.tracks_blocks and around.release.within(since=TRACKED_SIZE_SINCE) else STATE_SIZE
    return {"kind": STATE, **({"storageClass": named} if named else {}), "size": size}


def states_of(instance_spec: Object, around: LaunchContext) -> list[str]:
    """What an instance keeps the state of."""
    tpm = as_map(get(instance_spec, ("domain", "devices", "tpm")))
    kept = {
        "TPM": tpm.get("persistent") is True and tpm.get("enabled") is not False,
        "EFI": get(instance_spec, PERSISTENT_EFI) is True,
        "changed blocks": around.tracks_blocks,
    }
    return [name for name, is_kept in kept.items() if is_kept]


def named_state(state: Object, namespace: str, name: str, bundle: Bundle) -> list[Object]:
    """The claim of a machine of this name; none where it has no state, or where the bundle has the claim."""
    called = STATE_PREFIX + name
    if not state or bundle.find(CLAIM, namespace, called):
        return []
    return [{"kind": state["kind"], "name": called, **state}]


def _of_volumes(instance_spec: Object, namespace: str, bundle: Bundle) -> Iterator[Object]:
    volumes = [as_map(volume) for volume in as_list(instance_spec.get("volumes"))]
    for volume in volumes:
        claim = text(get(volume, ("persistentVolumeClaim", "claimName"))) or text(
            get(volume, ("ephemeral", _CLAIM, "claimName"))
        )
        name = text(get(volume, ("dataVolume", "name"))) or claim
        found = _found(name, namespace, bundle) if name else None
        if found:
            yield found


_CLAIM = "persistentVolumeClaim"


def _found(name: str, namespace: str, bundle: Bundle) -> Object | None:
    """The DataVolume of that name, which creates the claim of its name; else the claim."""
    for kind, read in ((DATA_VOLUME, _of_data_volume), (CLAIM, _of_claim)):
        entry = bundle.find(kind, namespace, name)
        if entry:
            return read(entry.obj, kind)
    return None


def of_bundle(bundle: Bundle) -> Iterator[tuple[str, Object]]:
    """The claims that the bundle itself creates, each with its namespace, in the bundle's order."""
    volumes = {(effective_namespace(entry.obj), name_of(entry.obj)) for entry in bundle.of_kind(DATA_VOLUME)}
    for kind, read in ((DATA_VOLUME, _of_data_volume), (CLAIM, _of_claim)):
        for entry in bundle.of_kind(kind):
            key = effective_namespace(entry.obj), name_of(entry.obj)
            if kind == DATA_VOLUME or key not in volumes:
                yield key[0], read(entry.obj, kind)


def _of_data_volume(obj: Object, kind: str) -> Object:
    spec = as_map(obj.get("spec"))
    asked = as_map(spec.get("storage")) or as_map(spec.get("pvc"))
    return _record(name_of(obj), kind, asked)


def _of_claim(obj: Object, kind: str) -> Object:
    return _record(name_of(obj), kind, as_map(obj.get("spec")))


def _record(name: str, kind: str, asked: Object) -> Object:
    """A claim; without `size` where the source decides it, without `storageClass` where the cluster's default is meant."""
    size, named = get(asked, SIZE), text(asked.get("storageClassName"))
    found = {"kind": kind, "name": name, "storageClass": named, "size": canonical(size)}
    return {key: value for key, value in found.items() if is_set(value)}


def by_class(claims: Iterable[Object]) -> Amounts:
    """The sizes by storage class; "" is the cluster's default class. Claims without a size count nothing."""
    sums: Amounts = {}
    for claim in sorted(claims, key=str):  # the first one decides how a sum is written
        size, name = parse(claim.get("size")), claim.get("storageClass", "")
        if size is not None:
            sums[name] = plus(sums[name], size) if name in sums else size
    return sums
