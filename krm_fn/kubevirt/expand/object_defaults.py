"""The defaults of devices, features and architectures that KubeVirt's webhooks write into a domain.

Instances get all of them. Release 1.3.1 writes them into expanded VMs, too. These functions change the given spec or domain,
which belongs to the caller.
"""

from __future__ import annotations

from krm_fn.base.objects import Object, text
from krm_fn.base.paths import Path, as_list, get, is_set
from krm_fn.base.value import Value
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.fields.verbs import reach, write
from krm_fn.kubevirt.releases import Release, Version


class Enabled(Value):
    """A feature that is enabled if it is set: `key` below `path` becomes true if it is unset."""

    path: Path
    key: str = "enabled"
    since: Version = ()


_HYPERV = ("features", "hyperv")

# upstream: staging/src/kubevirt.io/api/core/v1/zz_generated.defaults.go:SetObjectDefaults_VirtualMachineInstance
# Paths are below the domain.
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


class PlatformDefaults(Value):
    """The defaults of an architecture, since the release that has them; before, it has those of amd64.

    `watchdog` is the device's key, "" if the architecture has no default.
    """

    disk_bus: str = "virtio"
    watchdog: str = ""
    cpu_model: str = ""
    uefi: bool = False
    acpi: bool = True
    hotplug: bool = True
    since: Version = ()


PLATFORMS = {
    "arm64": PlatformDefaults(cpu_model="host-passthrough", uefi=True, hotplug=False),
    "s390x": PlatformDefaults(watchdog="diag288", acpi=False, since=(1, 3)),
}
AMD64 = PlatformDefaults(disk_bus="sata", watchdog="i6300esb")
# In earlier releases all architectures had one watchdog.
WATCHDOGS_SINCE = (1, 5)


def set_vm_defaults(spec: Object, cluster: Cluster, release: Release, *, certain: bool) -> None:
    """Complete the spec of an expanded VM. `certain`: leave out what a setting of the cluster decides.

    upstream: pkg/defaults/defaults.go:SetVirtualMachineDefaults; the random firmware uuid is left out
    """
    domain, platform = reach(spec, ("domain",)), platform_of(spec, release)
    decided = bool(spec.get("architecture")) or not certain
    if decided and not platform.acpi:
        disable_acpi(domain)
    if isinstance(domain.get("features"), dict):
        reach(domain, ("features", "acpi"))
    set_object_defaults(spec, release)
    set_hyperv_needs(domain)
    if decided:
        set_platform_defaults(domain, platform, release)
    if not certain:
        set_cpu_model(domain, cluster)


def platform_of(spec: Object, release: Release) -> PlatformDefaults:
    """The defaults of the spec's architecture in the release."""
    platform = PLATFORMS.get(text(spec.get("architecture")), AMD64)
    return platform if release.within(since=platform.since) else AMD64


def disable_acpi(domain: Object) -> None:
    acpi = reach(domain, ("features", "acpi"))
    if acpi.get("enabled") is None:
        acpi["enabled"] = False


def set_cpu_model(domain: Object, cluster: Cluster) -> None:
    write(domain, ("cpu", "model"), get(domain, ("cpu", "model")) or cluster.cpu_model)


def set_object_defaults(spec: Object, release: Release) -> None:
    """Complete the structures that the spec has.

    upstream: staging/src/kubevirt.io/api/core/v1/zz_generated.defaults.go:SetObjectDefaults_VirtualMachine
    """
    domain = reach(spec, ("domain",))
    _set_disk_targets(domain)
    for probe in ("readinessProbe", "livenessProbe"):
        _set_probe(spec.get(probe))
    _set_enabled(domain, release)


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


def set_hyperv_needs(domain: Object) -> None:
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


def set_platform_defaults(domain: Object, platform: PlatformDefaults, release: Release) -> None:
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
