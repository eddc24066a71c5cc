"""KubeVirt's defaults: disks for volumes, a network, and an instance's resources, sizes and policies.

These functions change the given VMI spec, which belongs to the caller. `BRIDGE_FORBIDDEN`, `SLIRP_FORBIDDEN` and
`SLIRP_REMOVED` are the refusals of cluster settings that forbid the default network.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Sequence
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import Path, as_list, as_map, get, is_set
from krm_fn.base.quantity import Quantity, of_int, parse, wrapped
from krm_fn.base.value import Value
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.fields.instancetype import GUEST, REQUESTS
from krm_fn.kubevirt.fields.topology import CPU, UINT32, states_topology
from krm_fn.kubevirt.fields.verbs import enter_list, reach
from krm_fn.kubevirt.releases import Release, Version

BRIDGE_FORBIDDEN = "bridge-forbidden"
SLIRP_REMOVED = "slirp-removed"
SLIRP_FORBIDDEN = "slirp-forbidden"
# Before this release, a cluster can permit slirp.
SLIRP_UNTIL: Version = (1, 3)

LIMITS = ("domain", "resources", "limits")


_steps_of: dict[tuple[Version, bool], Sequence[Callable[[Object, Cluster, Release], None]]] = {}


class DefaultStep(Value):
    """One default of an instance, and the releases that write it.

    `setting`: the setting of the KubeVirt configuration that decides the value, "" if only the VM decides it.
    """

    run: Callable[[Object, Cluster, Release], None]
    setting: str = ""
    since: Version = ()
    until: Version = ()


def set_default_disks(spec: Object) -> None:
    """Give each volume without a disk or filesystem of its name a disk that has only the name.

    upstream: pkg/util/util.go:SetDefaultVolumeDisk
    """
    devices = as_map(as_map(spec.get("domain")).get("devices"))
    users = [*as_list(devices.get("disks")), *as_list(devices.get("filesystems"))]
    used = [user.get("name") for user in users if isinstance(user, dict)]
    texts = {name for name in used if isinstance(name, str)}
    names = [volume.get("name") for volume in as_list(spec.get("volumes")) if isinstance(volume, dict)]
    # Two volumes with one name get one disk each, as upstream.
    missing = [name for name in names if name not in (texts if isinstance(name, str) else used)]
    if missing:
        enter_list(reach(spec, ("domain", "devices")), "disks").extend({"name": name} for name in missing)


def set_default_network(spec: Object, cluster: Cluster, release: Release) -> str:
    """Attach a VM without network settings to the pod network. Returns the refusal, or "".

    upstream: pkg/network/vmispec/defaults.go:SetDefaultNetworkInterface
    """
    devices = as_map(as_map(spec.get("domain")).get("devices"))
    if devices.get("autoattachPodInterface") is False or is_set(spec.get("networks")) or is_set(devices.get("interfaces")):
        return ""
    binding = cluster.default_network_interface
    if binding == "slirp" and not release.within(until=SLIRP_UNTIL):
        return SLIRP_REMOVED
    if binding == "slirp" and cluster.setting("network", "permitSlirpInterface") is not True:
        return SLIRP_FORBIDDEN
    if binding == "bridge" and not cluster.permits_bridge_on_pod_network:
        return BRIDGE_FORBIDDEN
    reach(spec, ("domain", "devices"))["interfaces"] = [{"name": "default", binding: {}}]
    spec["networks"] = [{"name": "default", "pod": {}}]
    return ""


def set_instance_defaults(spec: Object, cluster: Cluster, release: Release, *, certain: bool = False) -> str:
    """Set the defaults of every instance. Returns the refusal of the default network, or "".

    `certain`: leave out defaults that a setting of the cluster decides, except disks and network.
    upstream: pkg/defaults/defaults.go:SetDefaultVirtualMachineInstanceSpec
    """
    for run in _steps(release, certain=certain):
        run(spec, cluster, release)
    refusal = set_default_network(spec, cluster, release)
    if not refusal:
        set_default_disks(spec)
    return refusal


def set_platform(spec: Object, cluster: Cluster, release: Release) -> None:
    """Set only architecture and machine type, as the admission of VMs does.

    upstream: pkg/defaults/defaults.go:SetVirtualMachineDefaults
    """
    _set_architecture(spec, cluster, release)
    _set_machine_type(spec, cluster, release)


def _set_architecture(spec: Object, cluster: Cluster, _: Release) -> None:
    if not is_set(spec.get("architecture")):
        spec["architecture"] = cluster.default_architecture


def _set_machine_type(spec: Object, cluster: Cluster, release: Release) -> None:
    machine = reach(spec, ("domain", "machine"))
    if not is_set(machine.get("type")):
        machine["type"] = cluster.machine_type(text(spec.get("architecture")), release)


def _request_limited_cpu(spec: Object, _: Cluster, __: Release) -> None:
    _request_limit(spec, "cpu")


def _request_limited_memory(spec: Object, _: Cluster, __: Release) -> None:
    _request_limit(spec, "memory")


def _request_limit(spec: Object, resource: str) -> None:
    """A limit without a request becomes the request too."""
    limit = _amount(spec, (*LIMITS, resource))
    if limit and not _amount(spec, (*REQUESTS, resource)):
        reach(spec, REQUESTS)[resource] = str(limit)


def _request_guest_memory(spec: Object, cluster: Cluster, _: Release) -> None:
    """Without a memory request, the pod requests the guest's memory, less the cluster's overcommit."""
    guest = parse(get(spec, GUEST)) if is_set(get(spec, GUEST)) else _page_size(spec)
    if is_set(get(spec, (*REQUESTS, "memory"))) or guest is None or guest.value() <= 0:
        return
    percent, hundredfold = cluster.memory_overcommit, wrapped(guest.value() * 100)
    part = abs(hundredfold) // percent
    request = guest if percent == 100 else of_int(part if hundredfold > 0 else -part, guest.format)
    reach(spec, REQUESTS)["memory"] = str(request)


def _request_cluster_cpu(spec: Object, cluster: Cluster, _: Release) -> None:
    """The cluster's default request, for VMs without a CPU request and without dedicated CPUs."""
    request = cluster.cpu_request
    dedicated = as_map(get(spec, CPU)).get("dedicatedCpuPlacement") is True
    if request and not dedicated and not is_set(get(spec, (*REQUESTS, "cpu"))):
        reach(spec, REQUESTS)["cpu"] = str(request)


def _set_guest_memory(spec: Object, _: Cluster, __: Release) -> None:
    if is_set(get(spec, GUEST)):
        return
    memory = reach(spec, GUEST[:-1])
    size = _amount(spec, (*REQUESTS, "memory")) or _amount(spec, (*LIMITS, "memory")) or _page_size(spec)
    if size:
        memory["guest"] = str(size)


def _set_requested_topology(spec: Object, _: Cluster, __: Release) -> None:
    """As many sockets as the CPU limit, or else the CPU request, if the VM sets no topology."""
    stated = next((value for kind in (LIMITS, REQUESTS) if is_set(value := get(spec, (*kind, "cpu")))), None)
    if stated is None or states_topology(as_map(get(spec, CPU))):
        return
    count, cpu = parse(stated), reach(spec, CPU)
    cpu.update(sockets=count.value() % UINT32 if count else 1, cores=1, threads=1)
    if not cpu["sockets"]:
        del cpu["sockets"]  # Go does not write a plain zero


def _set_least_topology(spec: Object, _: Cluster, __: Release) -> None:
    """One CPU, if neither the VM nor the cluster's default request sets a number."""
    cpu = reach(spec, CPU)
    if not states_topology(cpu):
        cpu.update(sockets=1, cores=1, threads=1)


def _set_pull_policies(spec: Object, _: Cluster, __: Release) -> None:
    for volume in as_list(spec.get("volumes")):
        disk = as_map(volume).get("containerDisk")
        if isinstance(disk, dict) and not is_set(disk.get("imagePullPolicy")):
            disk["imagePullPolicy"] = _pull_policy(disk.get("image"))


def _pull_policy(image: Any) -> str:
    name = image if isinstance(image, str) else ""
    # Upstream reads the port of a registry as a tag.
    untagged = ":" not in name and "@" not in name
    return "Always" if untagged or name.endswith(":latest") else "IfNotPresent"


def _set_eviction_strategy(spec: Object, cluster: Cluster, _: Release) -> None:
    if spec.get("evictionStrategy") is None:
        spec["evictionStrategy"] = cluster.eviction_strategy


def _steps(release: Release, *, certain: bool) -> Sequence[Callable[[Object, Cluster, Release], None]]:
    """The steps of a release, in order; with `certain`, without those that a setting of the cluster decides."""
    key = release.version, certain
    if key not in _steps_of:
        steps = (step for step in STEPS if not (certain and step.setting))
        _steps_of[key] = tuple(step.run for step in steps if release.within(since=step.since, until=step.until))
    return _steps_of[key]


def is_read(path: Path, release: Release) -> bool:
    """True if the defaults of expand-spec in a release may depend on the value at a path of an instance's spec."""
    return release.within(since=(1, 3, 1), until=(1, 4)) or any(path[: len(each)] == each for each in READ)


def _amount(spec: Object, path: tuple[str, ...]) -> Quantity | None:
    """The quantity at a path; None if there is none or it is zero."""
    found = parse(get(spec, path))
    return found if found and found.nanos else None


def _page_size(spec: Object) -> Quantity | None:
    return parse(get(spec, ("domain", "memory", "hugepages", "pageSize")))


# The places that the steps read, beside the devices and the volumes, which only the VM has.
READ: tuple[Path, ...] = (
    ("architecture",),
    ("domain", "machine"),
    ("domain", "resources"),
    ("domain", "memory"),
    *((*CPU, field) for field in ("dedicatedCpuPlacement", "sockets", "cores", "threads")),
)
STEPS = (
    DefaultStep(run=set_platform, setting="architectureConfiguration"),
    DefaultStep(run=_request_limited_cpu),
    DefaultStep(run=_request_limited_memory, until=(1, 6, 4)),
    DefaultStep(run=_request_guest_memory, setting="developerConfiguration.memoryOvercommit", until=(1, 6, 4)),
    DefaultStep(run=_request_cluster_cpu, setting="cpuRequest"),
    DefaultStep(run=_set_guest_memory, since=(1, 3)),
    DefaultStep(run=_set_requested_topology),
    DefaultStep(run=_set_least_topology, setting="cpuRequest"),
    DefaultStep(run=_set_pull_policies),
    DefaultStep(run=_set_eviction_strategy, setting="evictionStrategy", since=(1, 0, 1)),
)
