"""The defaults that the webhook for new VirtualMachineInstances writes into a spec, after presets and before validation.

These functions change the given spec, which belongs to the caller. The tables have the values for unset fields.

upstream: pkg/defaults/defaults.go:SetDefaultVirtualMachineInstance
"""

from __future__ import annotations

from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.expand import set_instance_defaults
from krm_fn.kubevirt.expand.object_defaults import (
    PlatformDefaults,
    disable_acpi,
    platform_of,
    set_cpu_model,
    set_hyperv_needs,
    set_object_defaults,
    set_platform_defaults,
)
from krm_fn.kubevirt.fields.verbs import reach
from krm_fn.kubevirt.instance.hotplug import set_hotplug
from krm_fn.kubevirt.releases import Release, Version

# In earlier releases all architectures supported CPU hotplug.
PLUGGED_UNIFORMLY_UNTIL = (1, 5)


class Labelled(Value):
    """A label that nodes must have if `path` in the domain has another value than false."""

    path: Path
    label: str
    until: Version = ()


# Later releases require such nodes when they create the pod.
NODE_LABELS = (
    Labelled(path=("cpu", "realtime"), label="kubevirt.io/realtime", until=(1, 5)),
    Labelled(path=("launchSecurity", "sev"), label="kubevirt.io/sev", until=(1, 5)),
    Labelled(path=("launchSecurity", "sev", "policy", "encryptedState"), label="kubevirt.io/sev-es", until=(1, 5)),
)


def set_webhook_defaults(spec: Object, *, cluster: Cluster, release: Release) -> None:
    """Complete a new instance's spec, in upstream's order."""
    set_instance_defaults(spec, cluster, release)
    platform = platform_of(spec, release)
    domain = reach(spec, ("domain",))
    _set_structures(domain, platform)
    _set_inputs(domain)
    set_object_defaults(spec, release)
    set_hyperv_needs(domain)
    set_platform_defaults(domain, platform, release)
    set_cpu_model(domain, cluster)
    if platform.hotplug or release.within(until=PLUGGED_UNIFORMLY_UNTIL):
        set_hotplug(spec, cluster=cluster, release=release)
    for row in NODE_LABELS:
        if release.within(until=row.until) and get(domain, row.path) not in (None, False):
            reach(spec, ("nodeSelector",))[row.label] = ""


def _set_structures(domain: Object, platform: PlatformDefaults) -> None:
    """The structures that KubeVirt always creates."""
    domain["firmware"] = as_map(domain.get("firmware"))
    domain["features"] = as_map(domain.get("features"))
    domain["features"]["acpi"] = as_map(domain["features"].get("acpi"))
    if not platform.acpi:
        disable_acpi(domain)


def _set_inputs(domain: Object) -> None:
    for device in as_list(get(domain, ("devices", "inputs"))):
        if isinstance(device, dict):
            device["bus"] = device.get("bus") or "usb"
            device["type"] = device.get("type") or "tablet"
