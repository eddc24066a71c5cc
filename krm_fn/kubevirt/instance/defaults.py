"""The defaults that the webhook for new VirtualMachineInstances writes into a spec, after presets and before validation.

These functions change the given spec, which belongs to the caller. The tables have the values for unset fields.

upstream: pkg/defaults/defaults.go:SetDefaultVirtualMachineInstance
"""

from __future__ import annotations

from krm_fn.base.objects import text
from krm_fn.base.paths import as_list, as_map, get, is_set
from krm_fn.base.value import Value
from krm_fn.kubevirt.expand import set_instance_defaults
from krm_fn.kubevirt.fields.verbs import reach, write
from krm_fn.kubevirt.instance.hotplug import set_hotplug

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.kubevirt.configuration import Cluster
    from krm_fn.kubevirt.releases import Release, Version


class Enabled(Value):
    """A feature that is enabled if it is set: `key` below `path` becomes true if it is unset."""

    path: Path
    key: str = "enabled"
    since: Version = ()


_HYPERV = ("features", "hyperv")

# upstream: api/core/v1/zz_generated.defaults.go:SetObjectDefaults_VirtualMachineInstance; paths below the domain
ENABLED = (
    *(Enabled(path=("clock", "timer", timer), key="present") for timer in ("hpet", "kvm", "pit", "rtc", "hyperv")),
    Enabled(path=("features", "acpi")),
    Enabled(path=("features", "apic")),
    Enabled(path=("features", "smm")),
    Enabled(path=("features", "pvspinlock")),
    Enabled(path=(*_HYPERV, "relaxed")),
    Enabled(path=(*_HYPERV, "vapic")),
    Enabled(path=(*_HYPERV, "spinlocks")),
    Enabled(path=(*_HYPERV, "vpindex")),
    Enabled(path=(*_HYPERV, "runtime")),
    Enabled(path=(*_HYPERV, "synic")),
    Enabled(path=(*_HYPERV, "synictimer")),
    Enabled(path=(*_HYPERV, "synictimer", "direct")),
    Enabled(path=(*_HYPERV, "reset")),
    Enabled(path=(*_HYPERV, "vendorid")),
    Enabled(path=(*_HYPERV, "frequencies")),
    Enabled(path=(*_HYPERV, "reenlightenment")),
    Enabled(path=(*_HYPERV, "tlbflush")),
    Enabled(path=(*_HYPERV, "tlbflush", "direct"), since=(1, 8)),
    Enabled(path=(*_HYPERV, "tlbflush", "extended"), since=(1, 8)),
    Enabled(path=(*_HYPERV, "ipi")),
    Enabled(path=(*_HYPERV, "evmcs")),
)

# Probe fields for which any value below 1 counts as unset.
PROBE = (("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3))

# A Hyper-V feature and the feature that it needs, in upstream's order, so that one pass is enough.
HYPERV_NEEDS = (("evmcs", "vapic"), ("ipi", "vpindex"), ("tlbflush", "vpindex"), ("synictimer", "synic"), ("synic", "vpindex"))


class Platform(Value):
    """The defaults of an architecture. `watchdog` is the device's key, "" if the architecture has no default."""

    disk_bus: str = "virtio"
    watchdog: str = ""
    cpu_model: str = ""
    uefi: bool = False
    acpi: bool = True
    hotplug: bool = True


PLATFORMS = {
    "arm64": Platform(cpu_model="host-passthrough", uefi=True, hotplug=False),
    "s390x": Platform(watchdog="diag288", acpi=False),
}
AMD64 = Platform(disk_bus="sata", watchdog="i6300esb")
# In earlier releases all architectures had one watchdog, and supported CPU hotplug.
WATCHDOGS_SINCE = (1, 5)
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
    platform = PLATFORMS.get(text(spec.get("architecture")), AMD64)
    domain = reach(spec, ("domain",))
    _set_structures(domain, platform)
    _set_disk_targets(domain)
    _set_inputs(domain)
    for probe in ("readinessProbe", "livenessProbe"):
        _set_probe(spec.get(probe))
    _set_enabled(domain, release)
    _set_hyperv_needs(domain)
    _set_platform(domain, platform, release)
    write(domain, ("cpu", "model"), get(domain, ("cpu", "model")) or cluster.cpu_model)
    if platform.hotplug or release.within(until=PLUGGED_UNIFORMLY_UNTIL):
        set_hotplug(spec, cluster=cluster, release=release)
    for row in NODE_LABELS:
        if release.within(until=row.until) and get(domain, row.path) not in (None, False):
            reach(spec, ("nodeSelector",))[row.label] = ""


def _set_structures(domain: Object, platform: Platform) -> None:
    """The structures that KubeVirt always creates."""
    domain["firmware"] = as_map(domain.get("firmware"))
    domain["features"] = as_map(domain.get("features"))
    acpi = domain["features"]["acpi"] = as_map(domain["features"].get("acpi"))
    if not platform.acpi and acpi.get("enabled") is None:
        acpi["enabled"] = False


def _set_disk_targets(domain: Object) -> None:
    for disk in _disks(domain):
        if not any(disk.get(target) is not None for target in ("disk", "cdrom", "lun")):
            disk["disk"] = {}
        cdrom = disk.get("cdrom")
        if isinstance(cdrom, dict):
            cdrom["readonly"] = cdrom.get("readonly") is None or cdrom["readonly"]
            cdrom["tray"] = cdrom.get("tray") or "closed"
        _enable(get(disk, ("blockSize", "matchVolume")), "enabled")
    for gpu in as_list(get(domain, ("devices", "gpus"))):
        _enable(get(gpu, ("virtualGPUOptions", "display", "ramFB")), "enabled")


def _disks(domain: Object) -> list[Object]:
    return [disk for disk in as_list(get(domain, ("devices", "disks"))) if isinstance(disk, dict)]


def _set_inputs(domain: Object) -> None:
    for device in as_list(get(domain, ("devices", "inputs"))):
        if isinstance(device, dict):
            device["bus"] = device.get("bus") or "usb"
            device["type"] = device.get("type") or "tablet"


def _set_probe(probe: object) -> None:
    if isinstance(probe, dict):
        for key, least in PROBE:
            given = probe.get(key)
            probe[key] = given if isinstance(given, int) and given >= 1 else least


def _set_enabled(domain: Object, release: Release) -> None:
    for row in ENABLED:
        if release.within(since=row.since):
            _enable(get(domain, row.path), row.key)
    spinlocks = get(domain, (*_HYPERV, "spinlocks"))
    if isinstance(spinlocks, dict) and spinlocks.get("enabled") is True and spinlocks.get("spinlocks") is None:
        spinlocks["spinlocks"] = 4096


def _enable(feature: object, key: str) -> None:
    if isinstance(feature, dict) and feature.get(key) is None:
        feature[key] = True


def _set_hyperv_needs(domain: Object) -> None:
    """Enable the features that enabled Hyper-V features need. If the user disables one, admission refuses the instance later.

    upstream: pkg/defaults/hyperv.go:SetHypervFeatureDependencies, which stops at the first need it can't meet
    """
    hyperv = get(domain, _HYPERV)
    if not isinstance(hyperv, dict):
        return
    for feature, need in HYPERV_NEEDS:
        if get(hyperv, (feature, "enabled")) is not True:
            continue
        if get(hyperv, (need, "enabled")) is None:
            write(hyperv, (need, "enabled"), True)
        elif get(hyperv, (need, "enabled")) is not True:
            return
    if isinstance(hyperv.get("evmcs"), dict) and get(hyperv, ("evmcs", "enabled")) is not False:
        _require_vmx(domain)


def _require_vmx(domain: Object) -> None:
    features = as_list(get(domain, ("cpu", "features")))
    given = next((feature for feature in features if get(feature, ("name",)) == "vmx"), None)
    if given is None:
        write(domain, ("cpu", "features"), [*features, {"name": "vmx", "policy": "require"}])
    else:
        given["policy"] = "require"


def _set_platform(domain: Object, platform: Platform, release: Release) -> None:
    if platform.cpu_model and not is_set(get(domain, ("cpu", "model"))):
        write(domain, ("cpu", "model"), platform.cpu_model)
    if platform.uefi:
        _set_uefi(domain, release)
    for disk in _disks(domain):
        for target in ("disk", "cdrom", "lun"):
            if isinstance(disk.get(target), dict):
                disk[target]["bus"] = disk[target].get("bus") or platform.disk_bus
    watchdog = get(domain, ("devices", "watchdog"))
    kind = (platform if release.within(since=WATCHDOGS_SINCE) else AMD64).watchdog
    if kind and isinstance(watchdog, dict):
        write(watchdog, (kind, "action"), get(watchdog, (kind, "action")) or "reset")


# Before 1.8 only the loader that KubeVirt itself writes has secure boot off; since then every EFI loader that does not set it.
SILENT_SECURE_BOOT_OFF_SINCE = (1, 8)


def _set_uefi(domain: Object, release: Release) -> None:
    efi = ("firmware", "bootloader", "efi")
    written = not is_set(get(domain, efi[:-1]))
    if written:
        write(domain, efi, {})
    every = release.within(since=SILENT_SECURE_BOOT_OFF_SINCE)
    if (written or every) and get(domain, efi) is not None and get(domain, (*efi, "secureBoot")) is None:
        write(domain, (*efi, "secureBoot"), False)
