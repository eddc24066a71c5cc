"""The VirtualMachineInstance that a VM starts as: the controller creates it, and the webhook completes it.

In upstream's order: the VM as admission stores it, its template, firmware uuid, default disks, auto-attach preferences, input
device, default network, instancetype and preference with the annotations that name them, presets, then the webhook's defaults.

upstream: pkg/virt-controller/watch/vm/vm.go:startVMI, pkg/virt-api/webhooks/mutating-webhook/mutators/vmi-mutator.go:Mutate
"""

from __future__ import annotations

from krm_fn.base.bundle import Bundle
from krm_fn.base.objects import LOCAL_CONFIG, Object, name_of, namespace_of, text
from krm_fn.base.paths import as_list, as_map, copy, get
from krm_fn.base.value import Value
from krm_fn.kubevirt import expand
from krm_fn.kubevirt.admission.gates import enabled
from krm_fn.kubevirt.configuration import EVEN_PARITY, Cluster
from krm_fn.kubevirt.expand.admitted import admit
from krm_fn.kubevirt.expand.pinned import PCI_TOPOLOGY, PCI_TOPOLOGY_VERSION, states_topology
from krm_fn.kubevirt.facts import Conflict, Resolution
from krm_fn.kubevirt.fields.verbs import write
from krm_fn.kubevirt.holders import TEMPLATE
from krm_fn.kubevirt.instance.defaults import set_webhook_defaults
from krm_fn.kubevirt.presets import Applied, PresetGroup, apply_presets
from krm_fn.kubevirt.releases import Release, Version

# The namespace of the firmware uuids that depend only on a VM's name.
# upstream: pkg/virt-controller/watch/vm/firmware.go:CalculateLegacyUUID
FIRMWARE_NAMESPACE = "6a1a24a1-4061-4607-8bf4-a3963d0c5895"

# upstream: pkg/virt-api/webhooks/mutating-webhook/mutators/vmi-mutator.go:ApplyNewVMIMutations
QGS_SOCKET = "kubevirt.io/qgs-socket-path"
QGS_SOCKET_SINCE: Version = (1, 9)

# Copied from the KubeVirt object to instances with an isolated emulator thread, if the gate is open.
EVEN_PARITY_GATE = "AlignCPUs"

# Before 1.7 all device preferences were applied before devices were added, and again after.
ALL_DEVICE_PREFERENCES_UNTIL: Version = (1, 7)

# The annotation for the name in a matcher, by the matcher's kind in lower case and singular.
NAMED_BY = {
    "instancetype": {
        "": "kubevirt.io/cluster-instancetype-name",
        "virtualmachineclusterinstancetype": "kubevirt.io/cluster-instancetype-name",
        "virtualmachineinstancetype": "kubevirt.io/instancetype-name",
    },
    "preference": {
        "": "kubevirt.io/cluster-preference-name",
        "virtualmachineclusterpreference": "kubevirt.io/cluster-preference-name",
        "virtualmachinepreference": "kubevirt.io/preference-name",
    },
    # written by 0.50 to 0.55
    "flavor": {
        "": "kubevirt.io/cluster-flavor-name",
        "virtualmachineclusterflavor": "kubevirt.io/cluster-flavor-name",
        "virtualmachineflavor": "kubevirt.io/flavor-name",
    },
}


class Started(Value):
    """The result of starting: the instance, or None if conflicts or a refusal prevent it; and the effect of the presets."""

    instance: Object | None
    conflicts: tuple[Conflict, ...] = ()
    presets: Applied | None = None


def start(
    resolution: Resolution,
    *,
    owner: Object,
    namespace: str,
    bundle: Bundle,
    cluster: Cluster,
    release: Release,
    presets: PresetGroup,
) -> Started:
    """The instance of a VM whose references are resolved. `owner` is the VM (or pool) whose name and namespace it gets.

    `presets` are those of the namespace; without them, no presets apply. The arguments do not change.
    """
    instancetype = resolution.instancetype.spec if resolution.instancetype else None
    preference = resolution.preference.spec if resolution.preference else None
    vm = admit(resolution.vm, preference=preference, namespace=namespace, bundle=bundle, cluster=cluster, release=release)
    instance = _created(vm, owner)
    if _prepare(instance, preference, cluster, release):
        return Started(instance=None)
    if instancetype is not None or preference is not None:
        _name_sources(instance, vm)
        table = resolution.instancetype.table if resolution.instancetype else "instancetype"
        conflicts = expand.apply(instance, instancetype=instancetype, preference=preference, release=release, table=table)
        if conflicts:
            return Started(instance=None, conflicts=conflicts)
    applied = apply_presets(instance, presets, release=release, namespace=namespace) if presets else None
    if applied and applied.refused:
        return Started(instance=None, presets=applied)
    instance = copy(applied.instance) if applied else instance
    complete(instance, cluster, release)
    return Started(instance=instance, presets=applied)


def _created(vm: Object, owner: Object) -> Object:
    """The instance as the controller creates it from the template."""
    template = as_map(get(vm, TEMPLATE))
    metadata = {key: copy(value) for key, value in as_map(template.get("metadata")).items() if key != "generateName"}
    metadata["name"] = name_of(owner)
    if namespace_of(owner):
        metadata["namespace"] = namespace_of(owner)
    spec = copy(as_map(template.get("spec")))
    write(spec, ("domain", "firmware", "uuid"), get(spec, ("domain", "firmware", "uuid")) or stable_uuid(name_of(owner)))
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": metadata, "spec": spec}


def stable_uuid(name: str) -> str:
    """The firmware uuid of a VM with this name that sets none."""
    from krm_fn.base.uuids import uuid_of

    return uuid_of(FIRMWARE_NAMESPACE, name)


def _prepare(instance: Object, preference: Object | None, cluster: Cluster, release: Release) -> str:
    """Add the default devices of a VM. Returns the refusal, or ""."""
    spec = instance["spec"]
    expand.set_default_disks(spec)
    if preference is not None:
        early = release.within(until=ALL_DEVICE_PREFERENCES_UNTIL)
        (expand.apply_device_preferences if early else expand.apply_autoattach_preferences)(instance, preference, release)
    devices = as_map(get(spec, ("domain", "devices")))
    if devices.get("autoattachInputDevice") is True and not as_list(devices.get("inputs")):
        devices["inputs"] = [{"name": "default-0"}]
    return expand.set_default_network(spec, cluster, release)


def _name_sources(instance: Object, vm: Object) -> None:
    """Annotate the instance with the names of its instancetype and preference.

    upstream: pkg/instancetype/annotations/annotations.go:Set
    """
    for matcher, named_by in NAMED_BY.items():
        given = as_map(get(vm, ("spec", matcher)))
        # A stored revision is used for any kind; then no annotation is set.
        annotation = named_by.get(text(given.get("kind")).lower().removesuffix("s"))
        outdone = matcher == "flavor" and get(vm, ("spec", "instancetype")) is not None
        if given and annotation and not outdone:
            write(instance, ("metadata", "annotations", annotation), given.get("name", ""))


def complete(instance: Object, cluster: Cluster, release: Release) -> None:
    """Write the values of the webhook after presets, and the mark that keeps hosts from applying the preview."""
    spec = instance["spec"]
    set_webhook_defaults(spec, cluster=cluster, release=release)
    notes = {}
    if states_topology(spec, release):
        notes[PCI_TOPOLOGY] = PCI_TOPOLOGY_VERSION
    if release.within(since=QGS_SOCKET_SINCE) and get(spec, ("domain", "launchSecurity", "tdx")) is not None:
        notes[QGS_SOCKET] = cluster.qgs_socket
    notes[LOCAL_CONFIG] = "true"
    given = as_map(instance["metadata"].get("annotations"))
    instance["metadata"]["annotations"] = {**{key: value for key, value in notes.items() if value}, **given}
    if notes.get(QGS_SOCKET):
        instance["metadata"]["annotations"][QGS_SOCKET] = notes[QGS_SOCKET]
    isolated = get(spec, ("domain", "cpu", "isolateEmulatorThread")) is True
    if isolated and EVEN_PARITY in cluster.annotations and enabled(cluster, EVEN_PARITY_GATE, release):
        instance["metadata"]["annotations"][EVEN_PARITY] = ""
