"""Machine and firmware: machine type, bootloader, kernel boot, ACPI tables, secure boot, launch security."""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import Path, as_list, as_map, get, is_set
from krm_fn.base.wording import show
from krm_fn.kubevirt.admission.checks import Check, Group, examine, exclusive, is_on, required, shut, use
from krm_fn.kubevirt.admission.formats import is_label, is_path_below_root, matches_glob
from krm_fn.kubevirt.admission.scope import FORBIDDEN, REQUIRED, Cause, Scope, name_of
from krm_fn.kubevirt.releases import Version

VMI = "pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:"
PATHS = "pkg/storage/admitters/disks.go:ValidatePath"

FIRMWARE = ("domain", "firmware")
LAUNCH_SECURITY = ("domain", "launchSecurity")

# The machine types that a cluster admits if its configuration names none, by architecture; "" is for all others.
EMULATED_MACHINES = {
    "arm64": ("virt*",),
    "s390x": ("s390-ccw-virtio*",),
    "ppc64le": ("pseries*",),
    "": ("q35*", "pc-q35*"),
}
PPC64LE_UNTIL: Version = (1, 7)
# Before this release, the machine types of s390x were those of amd64.
S390X_SINCE: Version = (1, 3)
# Before this release, only the setting of the architecture counted.
COMMON_MACHINES_SINCE: Version = (1, 2)
# Before this release, the machine types of s390x could not be configured by architecture.
S390X_CONFIGURED_SINCE: Version = (1, 7)
# The architectures with machine types of their own, and the releases in which they have them.
MACHINE_SETTINGS: tuple[tuple[str, Version, Version], ...] = (
    ("arm64", (), ()),
    ("s390x", S390X_SINCE, ()),
    ("ppc64le", (), PPC64LE_UNTIL),
)
# Before this release, the patterns were regular expressions, which match anywhere in the machine type.
GLOBS_SINCE: Version = (1, 6)
MOST_PATTERNS, LONGEST_PATTERN, LONGEST_MACHINE, FREE = 50, 100, 255, 1_000
TDX_WITHOUT_SMM_SINCE: Version = (1, 9)

# Each way to encrypt a guest, and its feature gate.
SEV_GATE = "WorkloadEncryptionSEV"
# Before this release, launchSecurity needed the feature gate with every content.
SEV_ALONE_SINCE: Version = (1, 6)
ENCRYPTIONS = (("sev", "WorkloadEncryptionSEV"), ("snp", "WorkloadEncryptionSEV"), ("tdx", "WorkloadEncryptionTDX"))


def _wrong_path(value: object, _item: object, _scope: object) -> bool:
    return isinstance(value, str) and value != "" and not is_path_below_root(value)


GROUPS = (
    Group(
        at=(*FIRMWARE, "bootloader"),
        checks=(exclusive(("efi", "bios"), upstream=VMI + "validateBootloader"),),
    ),
    Group(
        at=(*FIRMWARE, "kernelBoot"),
        checks=(
            Check(
                at=("kernelArgs",),
                refuses=lambda value, boot, _scope: value != "" and boot.get("container") is None,
                message="kernelArgs need a kernel; set kernelBoot.container",
                upstream=VMI + "validateKernelBoot",
            ),
        ),
    ),
    Group(
        at=(*FIRMWARE, "kernelBoot", "container"),
        checks=(
            required(("image",), upstream=VMI + "validateKernelBoot"),
            Check(
                at=(),
                refuses=lambda _value, item, _scope: not is_set(item.get("kernelPath")) and not is_set(item.get("initrdPath")),
                message="neither kernelPath nor initrdPath is set; set at least one",
                reason=REQUIRED,
                upstream=VMI + "validateKernelBoot",
            ),
            *(
                Check(
                    at=(key,),
                    refuses=_wrong_path,
                    message=f"{key} {{value}} must be the absolute path of a file; use one without '.' and '..'",
                    upstream=PATHS,
                )
                for key in ("kernelPath", "initrdPath")
            ),
        ),
    ),
)


@examine("domain", "machine", "type", upstream=VMI + "validateEmulatedMachine")
def machine_type(scope: Scope) -> Iterator[Cause]:
    machine = as_map(scope.domain.get("machine")).get("type")
    if not isinstance(machine, str) or not machine:
        return
    patterns = emulated_machines(scope)
    if len(patterns) > MOST_PATTERNS or max(map(len, patterns), default=0) > LONGEST_PATTERN:
        return  # checking every VM against these would take minutes; no real cluster has so many
    start = machine[:LONGEST_MACHINE]
    work = len(start) * sum(map(len, patterns)) // 2  # units, at most; what most VMs need is not counted
    if scope.cluster.patterns.allows(max(work - FREE, 0)) and not _admitted(start, patterns, scope):
        at = ("domain", "machine", "type")
        known = use(patterns) if patterns else "the cluster allows none"
        yield scope.cause(at, f"machine type {show(machine)} is not allowed in the cluster; {known}")


def _admitted(machine: str, patterns: list[str], scope: Scope) -> bool:
    return any(_matches(pattern, machine, scope) for pattern in patterns)


def _matches(pattern: str, machine: str, scope: Scope) -> bool:
    if scope.release.within(since=GLOBS_SINCE):
        return matches_glob(pattern, machine)
    start = pattern.removesuffix("*")
    if is_label(start) and machine.startswith(start):
        return True  # the expression finds it, too
    from krm_fn.base.regex_syntax import WrongPatternError, parsed  # heavy, and only for releases before 1.6
    from krm_fn.base.work import Unsupported

    try:
        parsed(pattern)
    except WrongPatternError:
        return False
    except Unsupported:
        return True
    return scope.cluster.patterns.finds(pattern, machine) is not False


def emulated_machines(scope: Scope) -> list[str]:
    """The patterns that machine types must match, from the cluster's configuration. Very many are cut.

    upstream: pkg/virt-config/virt-config.go:GetEmulatedMachines
    """
    architecture = scope.spec.get("architecture")
    release = scope.release
    known = [name for name, first, last in MACHINE_SETTINGS if release.within(since=first, until=last)]
    key = architecture if isinstance(architecture, str) and architecture in known else ""
    own = scope.cluster.setting("emulatedMachines") if release.within(since=COMMON_MACHINES_SINCE) else None
    if not own and (key != "s390x" or release.within(since=S390X_CONFIGURED_SINCE)):
        own = scope.cluster.setting("architectureConfiguration", key or "amd64", "emulatedMachines")
    return [pattern for pattern in (as_list(own) or EMULATED_MACHINES[key])[: MOST_PATTERNS + 1] if isinstance(pattern, str)]


@examine("domain", "firmware", "acpi", upstream=VMI + "validateFirmwareACPI", since=(1, 6))
def acpi_tables(scope: Scope) -> Iterator[Cause]:
    """Each table comes from a Secret in the volumes."""
    acpi = as_map(get(scope.domain, ("firmware", "acpi")))
    keys = [key for key in ("slicNameRef", "msdmNameRef") if is_set(acpi.get(key))]
    if not keys:
        yield scope.cause((*FIRMWARE, "acpi"), "acpi has no table; set slicNameRef or msdmNameRef", named="acpi")
    for key in keys:
        at, volume = (*FIRMWARE, "acpi", key), next((v for v in scope.volumes if name_of(v) == acpi[key]), None)
        if volume is None:
            yield scope.cause(
                at, f"{key} {show(acpi[key])} is not the name of a volume; add it to volumes", named=f"acpi.{key}"
            )
        elif volume.get("secret") is None:
            yield scope.cause(at, f"{key} {show(acpi[key])} must be the name of a secret volume; use one", named=f"acpi.{key}")


@examine("domain", "firmware", "bootloader", upstream=VMI + "validateDomainSpec")
def secure_boot_without_smm(scope: Scope) -> Iterator[Cause]:
    """Secure boot needs System Management Mode, except with TDX, whose keys are in the ROM."""
    exempt = scope.release.within(since=TDX_WITHOUT_SMM_SINCE)
    confidential = exempt and get(scope.domain, ("launchSecurity", "tdx")) is not None
    if scope.has_secure_boot() and not is_on(get(scope.domain, ("features", "smm"))) and not confidential:
        at: Path = (*FIRMWARE, "bootloader", "efi", "secureBoot")
        fix = "set features.smm, or set secureBoot to false"
        if get(scope.domain, ("features", "smm", "enabled")) is False:
            at, fix = ("domain", "features", "smm", "enabled"), "remove enabled: false, or set secureBoot to false"
        yield scope.cause(at, f"secure boot needs SMM; {fix}", named="domain")


@examine("domain", "launchSecurity", upstream=VMI + "validateLaunchSecurity", until=(1, 7))
def sev_security(scope: Scope) -> Iterator[Cause]:
    """The only kind of encryption in these releases, on any architecture."""
    sev = get(scope.domain, ("launchSecurity", "sev")) is not None
    if not scope.gate(SEV_GATE) and (sev or not scope.release.within(since=SEV_ALONE_SINCE)):
        yield scope.cause(LAUNCH_SECURITY, shut("launchSecurity", SEV_GATE), named="launchSecurity", gate=SEV_GATE)
    elif sev:
        for wrong in _encryption_trouble(scope, "sev"):
            yield scope.cause((*LAUNCH_SECURITY, "sev"), wrong, named="launchSecurity")


@examine("domain", "launchSecurity", upstream="pkg/virt-api/webhooks/amd64.go:ValidateLaunchSecurityAmd64", since=(1, 7))
def launch_security(scope: Scope) -> Iterator[Cause]:
    """The conditions of guest encryption for architecture, cluster, firmware, start and network boot."""
    architecture = scope.spec.get("architecture")
    if architecture == "s390x":
        return
    if architecture != "amd64":
        at = ("architecture",)
        yield scope.cause(at, f"launchSecurity is not supported on architecture {show(architecture)}; use amd64 or s390x")
        return
    wanted = as_map(scope.domain.get("launchSecurity"))
    kinds = [(key, gate) for key, gate in ENCRYPTIONS if wanted.get(key) is not None]
    if len(kinds) != 1:
        message = f"launchSecurity has {len(kinds)} kinds of encryption; set exactly one of sev, snp and tdx"
        yield scope.cause(LAUNCH_SECURITY, message, reason=FORBIDDEN, named="launchSecurity")
    elif not scope.gate(gate := kinds[0][1]):
        yield scope.cause(LAUNCH_SECURITY, shut("launchSecurity." + kinds[0][0], gate), named="launchSecurity", gate=gate)
    else:
        for wrong in _encryption_trouble(scope, kinds[0][0]):
            yield scope.cause((*LAUNCH_SECURITY, kinds[0][0]), wrong, named="launchSecurity")


def _encryption_trouble(scope: Scope, kind: str) -> Iterator[str]:
    efi = get(scope.domain, ("firmware", "bootloader", "efi"))
    if kind == "tdx" and is_on(get(scope.domain, ("features", "smm"))):
        yield "tdx cannot be combined with SMM; set features.smm.enabled to false"
    if efi is None:
        yield f"{kind} needs UEFI; set firmware.bootloader.efi"
    elif kind in ("sev", "snp") and scope.has_secure_boot():
        yield f"{kind} cannot be combined with secure boot; set efi.secureBoot to false"
    if kind in ("snp", "tdx") and as_map(efi).get("persistent") is True:
        yield f"{kind} cannot be combined with persistent EFI variables; remove efi.persistent"
    attested = get(scope.domain, ("launchSecurity", "sev", "attestation")) is not None
    if kind == "sev" and attested and scope.spec.get("startStrategy") != "Paused":
        yield "sev.attestation needs the guest to start paused; set startStrategy to Paused"
    if any(interface.get("bootOrder") is not None for interface in scope.interfaces):
        yield f"{kind} cannot be combined with booting from the network; remove bootOrder from the interfaces"


EXAMINATIONS = (machine_type, acpi_tables, secure_boot_without_smm, sev_security, launch_security)
