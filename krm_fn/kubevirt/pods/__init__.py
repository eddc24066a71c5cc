"""The pod that KubeVirt starts for an instance, by release: what the scheduler, quotas and limits see of it.

A pod is a plain dict: `containers` and `initContainers` with `name`, `requests`, `limits`, `claims`, `restartPolicy`; the sums
`requests` and `limits`; `qosClass`, `memoryOverhead`, `hugepagesVolumes`; what decides about nodes, as in a pod's spec;
`requestsAboveLimits`, for which the API server refuses the pod; and `hotplugPod`. What is empty is absent.

Volumes and claims that the instance names exist. No node is known. What changes pods after KubeVirt (a LimitRange, a
RuntimeClass, webhooks of others) is not applied here.
upstream: pkg/virt-controller/services/template.go:RenderLaunchManifest

The pod that attaches volumes to a running instance. It counts against quotas, too.

upstream: pkg/virt-controller/services/template.go:RenderHotplugAttachmentPodTemplate
"""

from __future__ import annotations

from krm_fn.base.annotations import Sequence
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import as_list, as_map, is_set
from krm_fn.base.quantity import Quantity
from krm_fn.kubevirt.pods import devices, nodes, support
from krm_fn.kubevirt.pods.amounts import above_limits, qos_class, stored, totals, written
from krm_fn.kubevirt.pods.compute import compute_resources
from krm_fn.kubevirt.pods.launch import Launch, LaunchContext, MissingObjectError, PodError, vcpus_of
from krm_fn.kubevirt.pods.overhead import memory_overhead
from krm_fn.kubevirt.pods.support import HOTPLUG, container
from krm_fn.kubevirt.releases import Version

SOURCES = ("persistentVolumeClaim", "dataVolume", "memoryDump")
UTILITY_GATE = "UtilityVolumes"
TOLERATED_SINCE: Version = (1, 8)
TAINTS = ("unschedulable", "network-unavailable", "disk-pressure", "memory-pressure", "pid-pressure")


def needs_hotplug_pod(launch: Launch) -> bool:
    """True where the instance has volumes that are attached while it runs.

    upstream: pkg/storage/types/volume.go:GetHotplugVolumes, IsUtilityVolume
    """
    declared = any(as_map(volume.get(source)).get("hotpluggable") is True for volume in launch.volumes for source in SOURCES)
    return declared or (is_set(launch.spec.get("utilityVolumes")) and launch.gate(UTILITY_GATE))


def hotplug_container(launch: Launch) -> Object:
    """Its only container."""
    return container(launch, "hotplug-disk", HOTPLUG)


def tolerations(launch: Launch) -> list[Object]:
    """Those of the instance's pod; from 1.8 on with those of nodes that take no new pods."""
    own = [as_map(each) for each in as_list(launch.spec.get("tolerations"))]
    if not launch.release.within(since=TOLERATED_SINCE):
        return own
    given = [{"key": f"node.kubernetes.io/{taint}", "operator": "Exists", "effect": "NoSchedule"} for taint in TAINTS]
    in_order = sorted([*given, *own], key=lambda each: text(each.get("key")))
    # upstream compares pointers: two that have a time each are never the same
    return [each for number, each in enumerate(in_order) if not (number and _same(each, in_order[number - 1]))]


def _same(one: Object, other: Object) -> bool:
    return one == other and one.get("tolerationSeconds") is None


__all__ = ["SIZE", "LaunchContext", "MissingObjectError", "PodError", "launcher_pod", "pod_size", "vcpus_of"]

# Fields of an instance that are the pod's, as they stand.
TAKEN = ("tolerations", "topologySpreadConstraints", "schedulerName", "priorityClassName")
# What the size of a pod is.
SIZE = ("requests", "limits", "qosClass", "memoryOverhead")
CLAIMS_SINCE: Version = (1, 6)
CLAIM_KEYS = ("name", "resourceClaimName", "resourceClaimTemplateName")
VERBOSITY = "logVerbosity"
# The volumes of the pod that consist of huge pages, as upstream spells them. The second one lay on the node's disk before.
HUGEPAGES_VOLUMES: tuple[tuple[str, Version], ...] = (("hugepages", ()), ("hugetblfs-dir", (1, 10)))
# A Go integer may have these around its digits.
SIGNS = "+-"


def launcher_pod(instance: Object, around: LaunchContext) -> Object:
    """The pod of an instance that admission has completed. Raises: PodError where KubeVirt renders none."""
    launch = Launch(instance, around)
    containers, init_containers, overhead = _contents(launch)
    found = {
        **_pod(containers, init_containers),
        **_placement(launch),
        **_memory(launch, overhead),
        "hotplugPod": _hotplug_pod(launch),
    }
    return {key: value for key, value in found.items() if is_set(value) and value != {}}


def pod_size(instance: Object, around: LaunchContext) -> Object:
    """The sums of that pod, its QoS class and its overhead. Raises: as `launcher_pod`."""
    containers, init_containers, overhead = _contents(Launch(instance, around))
    found = {**_counted(*_stored(containers, init_containers)), "memoryOverhead": str(overhead)}
    return {key: found[key] for key in SIZE if is_set(found[key]) and found[key] != {}}


def _contents(launch: Launch) -> tuple[list[Object], list[Object], Quantity]:
    """The containers, the init containers and the memory overhead."""
    overhead = memory_overhead(launch)
    _check(launch)
    draft = compute_resources(launch, overhead)
    compute = {"name": "compute", "requests": draft.all_requests, "limits": draft.all_limits, "claims": draft.claims}
    return [compute, *support.containers(launch)], support.init_containers(launch), overhead


def _check(launch: Launch) -> None:
    """Raises: PodError for what stops KubeVirt, in upstream's order."""
    nodes.check_frequency(launch)
    list(devices.network_resources(launch))
    devices.check_permitted(launch)
    verbosity = launch.labels.get(VERBOSITY)
    digits = text(verbosity)[1:] if text(verbosity)[:1] in SIGNS else text(verbosity)
    if verbosity is not None and not (digits.isascii() and digits.isdigit()):
        raise PodError(f"verbosity {verbosity} cannot cast to int")
    support.check_hooks(launch)


def _pod(containers: Sequence[Object], init_containers: Sequence[Object]) -> Object:
    """The containers, and what a pod of them counts for."""
    running, initial = _stored(containers, init_containers)
    return {
        "containers": [_shown(each) for each in containers],
        "initContainers": [_shown(each) for each in init_containers],
        **_counted(running, initial),
        "requestsAboveLimits": above_limits([*running, *initial]),
    }


def _stored(*containers: Sequence[Object]) -> list[list[Object]]:
    return [[stored(each) for each in part] for part in containers]


def _counted(running: Sequence[Object], initial: Sequence[Object]) -> Object:
    """What a pod of these stored containers counts for."""
    return {
        "requests": written(totals(running, initial, "requests")),
        "limits": written(totals(running, initial, "limits")),
        "qosClass": qos_class([*running, *initial]),
    }


def _shown(container: Object) -> Object:
    """The container as KubeVirt writes it."""
    shown = {**container, "requests": written(container["requests"]), "limits": written(container["limits"])}
    return {key: value for key, value in shown.items() if is_set(value) and value != {}}


def _placement(launch: Launch) -> Object:
    """What decides about the node."""
    claims = as_list(launch.spec.get("resourceClaims")) if launch.release.within(since=CLAIMS_SINCE) else []
    return {
        "nodeSelector": nodes.node_selector(launch),
        "affinity": nodes.affinity(launch),
        **{key: launch.spec.get(key) for key in TAKEN},
        "runtimeClassName": text(launch.cluster.setting("defaultRuntimeClass")),
        "resourceClaims": [{key: each[key] for key in CLAIM_KEYS if is_set(each.get(key))} for each in map(as_map, claims)],
    }


def _memory(launch: Launch, overhead: Quantity) -> Object:
    """upstream: pkg/virt-controller/services/rendervolumes.go:withHugepages"""
    names = [name for name, since in HUGEPAGES_VOLUMES if launch.page_size is not None and launch.release.within(since=since)]
    volumes = [{"name": name, "emptyDir": {"medium": "HugePages"}} for name in names]
    return {"memoryOverhead": str(overhead), "hugepagesVolumes": volumes}


def _hotplug_pod(launch: Launch) -> Object:
    if not needs_hotplug_pod(launch):
        return {}
    found = {**_pod([hotplug_container(launch)], []), "tolerations": tolerations(launch)}
    return {key: value for key, value in found.items() if is_set(value)}
