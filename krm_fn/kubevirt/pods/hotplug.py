"""The pod that attaches volumes to a running instance. It counts against quotas, too.

upstream: pkg/virt-controller/services/template.go:RenderHotplugAttachmentPodTemplate
"""

from __future__ import annotations

from krm_fn.base.objects import Object, text
from krm_fn.base.paths import as_list, as_map, is_set
from krm_fn.kubevirt.pods.launch import Launch
from krm_fn.kubevirt.pods.support import HOTPLUG, container
from krm_fn.kubevirt.releases import Version

SOURCES = ("persistentVolumeClaim", "dataVolume", "memoryDump")
UTILITY_GATE = "UtilityVolumes"
TOLERATED_SINCE: Version = (1, 8)
TAINTS = ("unschedulable", "network-unavailable", "disk-pressure", "memory-pressure", "pid-pressure")


def needs_hotplug_pod(launch: Launch) -> bool:
    """True where the instance has volumes that are attached while it runs. upstream: pkg/storage/types/volume.go"""
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
