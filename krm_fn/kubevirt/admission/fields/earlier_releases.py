"""Checks that only earlier releases make, mostly feature gates that later releases do not need any more."""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import EACH, Path, as_map, dotted, get
from krm_fn.base.wording import show
from krm_fn.kubevirt.admission.checks import Check, Group, count, examine, gated, one_of, shut, well_formed
from krm_fn.kubevirt.admission.formats import is_serial
from krm_fn.kubevirt.admission.scope import CONFIG_VOLUMES, INTERFACES, REQUIRED, Cause, Scope, maps, name_of
from krm_fn.kubevirt.releases import Version

VMI = "pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:"
VMS = "pkg/virt-api/webhooks/validating-webhook/admitters/vms-admitter.go:"
NET = "pkg/network/admitter/"
NAME = "domain.devices.interfaces[{0}].name"

# The control plane's own architecture, which earlier releases compare with. Upstream takes it from the running binary.
CONTROL_PLANE = "amd64"

PLUGGED = "pkg/network/admitter/binding.go:validateInterfaceBindingExists"
LONGEST_SERIAL = 256
LONGEST_NUMBER = 18

# Bindings that had a gate before they were discontinued, with the gate and the source of network that they need.
GATED_BINDINGS = (("macvtap", "Macvtap", "multus"), ("passt", "Passt", "pod"))

SERIAL = ("domain", "firmware")


def _two_bindings(*methods: str) -> Check:
    """A binding plugin together with one of the binding methods."""
    return Check(
        at=("binding",),
        refuses=lambda _value, interface, _scope: count(interface, methods) > 0,
        message="a binding plugin cannot be combined with another binding; keep one of them",
        upstream=PLUGGED,
    )


GROUPS = (
    Group(
        at=(*INTERFACES, EACH),
        checks=(
            _two_bindings("bridge", "slirp", "masquerade", "sriov", "macvtap", "passt").but(since=(1, 1), until=(1, 8)),
            _two_bindings("bridge", "masquerade", "sriov", "passtBinding").but(since=(1, 8), until=((1, 8, 5), (1, 9))),
            gated(
                ("binding",),
                "NetworkBindingPlugins",
                named=NAME,
                since=(1, 1),
                until=(1, 5),
                upstream=NET + "binding.go:validateBindingPlugin",
            ),
            one_of(("state",), ("absent",), until=(1, 5), upstream=NET + "admit.go:validateInterfaceStateValue"),
            *(
                gated((key,), gate, named=NAME, until=(1, 8), upstream=f"{NET}{key}.go:validate{gate}Binding")
                for key, gate, _source in GATED_BINDINGS
            ),
        ),
    ),
    Group(
        at=("domain", "devices"),
        checks=(
            gated(("video",), "VideoConfig", named="video", since=(1, 6), until=(1, 9), upstream=VMI + "validateVideoConfig"),
            gated(("panicDevices",), "PanicDevices", since=(1, 6), until=(1, 9), upstream=VMI + "validatePanicDevices"),
            Check(
                at=("panicDevices",),
                refuses=lambda value, _devices, scope: value != [] and scope.spec.get("architecture") == "ppc64le",
                message="ppc64le does not support panicDevices; remove them",
                upstream=VMI + "validatePanicDevices",
                since=(1, 6),
                until=(1, 7),
            ),
            Check(
                at=("tpm", "persistent"),
                refuses=lambda value, devices, scope: (
                    value is True and devices["tpm"].get("enabled") is not False and not scope.gate("VMPersistentState")
                ),
                message=shut("tpm.persistent", "VMPersistentState"),
                gate="VMPersistentState",
                until=(1, 6),
                upstream=VMI + "validatePersistentState",
            ),
        ),
    ),
    Group(
        at=("domain", "firmware", "bootloader", "efi"),
        checks=(
            Check(
                at=("persistent",),
                refuses=lambda value, _efi, scope: value is True and not scope.gate("VMPersistentState"),
                message=shut("efi.persistent", "VMPersistentState"),
                gate="VMPersistentState",
                since=(1, 1),
                until=(1, 6),
                upstream=VMI + "validatePersistentState",
            ),
        ),
    ),
    Group(
        at=SERIAL,
        checks=(
            well_formed(
                ("serial",),
                is_serial,
                "letters, digits and _.+- only",
                until=(1, 5),
                upstream=VMI + "validateFirmwareSerial",
            ),
            Check(
                at=("serial",),
                refuses=lambda value, _firmware, _scope: (
                    isinstance(value, str) and len(value.encode("utf-8", "surrogatepass")) > LONGEST_SERIAL
                ),
                message=f"serial must have at most {LONGEST_SERIAL} bytes; shorten it",
                until=(1, 5),
                upstream=VMI + "validateFirmwareSerial",
            ),
        ),
    ),
    Group(
        at=(),
        checks=(
            Check(
                at=("architecture",),
                refuses=lambda value, _spec, scope: value not in ("", CONTROL_PLANE) and not scope.gate("MultiArchitecture"),
                message=shut("another architecture than the control plane's", "MultiArchitecture"),
                gate="MultiArchitecture",
                reason=REQUIRED,
                until=(1, 8),
                upstream=VMI + "validateArchitecture",
            ),
        ),
    ),
)


@examine(*INTERFACES, upstream=NET + "binding.go:validateInterfaceBinding", until=(1, 8))
def bindings_off_their_network(scope: Scope) -> Iterator[Cause]:
    networks = {name_of(network): network for network in scope.networks}
    for index, interface in enumerate(scope.interfaces):
        for key, _gate, source in GATED_BINDINGS:
            if interface.get(key) is not None and networks.get(name_of(interface), {}).get(source) is None:
                at, named = (*INTERFACES, index, key), NAME.format(index)
                yield scope.cause(at, f"{key} works only with a {source} network; use another binding", named=named)


@examine(*INTERFACES, upstream=NET + "slirp.go:validateSlirpBinding", until=(1, 6))
def slirp(scope: Scope) -> Iterator[Cause]:
    """Slirp in objects that create instances later, such as replica sets and pools. Other checks report a missing network."""
    networks = {name_of(network): network for network in reversed(scope.networks)}
    for index, interface in enumerate(scope.interfaces):
        network = networks.get(name_of(interface))
        if interface.get("slirp") is None or network is None:
            continue
        at, named = (*INTERFACES, index, "slirp"), NAME.format(index)
        if network.get("pod") is None:
            yield scope.cause(at, "slirp works only with the pod network; use another binding", named=named)
        elif scope.cluster.setting("network", "permitSlirpInterface") is not True:
            yield scope.cause(at, "the cluster does not permit slirp; use masquerade", named=named)


@examine(*INTERFACES, upstream="pkg/virt-config/featuregate/validator.go:ValidateFeatureGates", since=(1, 4), until=(1, 8))
def discontinued_gates(scope: Scope) -> Iterator[Cause]:
    """A gate that is listed although its binding was removed; upstream names no path."""
    for index, interface in enumerate(scope.interfaces):
        for key, gate, _source in GATED_BINDINGS:
            if interface.get(key) is not None and scope.cluster.has_gate(gate):
                fact = f"the {key} binding was removed in KubeVirt 1.3, so its feature gate {gate} has no effect"
                message = f"{fact}; use a binding plugin"
                yield scope.cause((*INTERFACES, index, key), message)


@examine(
    "domain", "devices", "filesystems", upstream=VMI + "validateFilesystemsWithVirtIOFSEnabled", since=(1, 5), until=(1, 8)
)
def shared_config(scope: Scope) -> Iterator[Cause]:
    """virtiofs with a ConfigMap or a similar volume needs a feature gate."""
    volumes = {name_of(volume): volume for volume in scope.volumes}
    open_ = scope.gate("EnableVirtioFsConfigVolumes") or scope.gate("ExperimentalVirtiofsSupport")
    for index, filesystem in enumerate(maps(scope.devices.get("filesystems"))):
        if count(volumes.get(name_of(filesystem), {}), CONFIG_VOLUMES) and not open_:
            at, gate = ("domain", "devices", "filesystems", index), "EnableVirtioFsConfigVolumes"
            message = shut("virtiofs with a ConfigMap, a Secret or a similar volume", gate)
            yield scope.cause(at, message, named="domain.devices.filesystems", gate=gate)


@examine("domain", "launchSecurity", upstream=VMI + "validateLaunchSecurity", since=(1, 6), until=(1, 9))
def secure_execution(scope: Scope) -> Iterator[Cause]:
    if scope.spec.get("architecture") == "s390x" and not scope.gate("SecureExecution"):
        message = shut("launchSecurity on s390x", "SecureExecution")
        yield scope.cause(("domain", "launchSecurity"), message, named="launchSecurity", gate="SecureExecution")


@examine("domain", "firmware", "acpi", upstream=VMI + "validateFirmwareACPI", since=(1, 5), until=(1, 6))
def slic_table(scope: Scope) -> Iterator[Cause]:
    """The only table of its releases, which had to exist, and to come from a Secret."""
    at = ("domain", "firmware", "acpi", "slicNameRef")
    name = get(scope.spec, at)
    volume = next((volume for volume in scope.volumes if name_of(volume) == (name or "")), None)
    if volume is None:
        yield scope.cause(at, f"slicNameRef {show(name)} is not the name of a volume; add it to volumes", named="acpi")
    elif volume.get("secret") is None:
        yield scope.cause(
            at, f"slicNameRef {show(name)} must be the name of a secret volume; use one", named="acpi.slicNameRef"
        )


EXAMINATIONS = (
    bindings_off_their_network,
    slirp,
    discontinued_gates,
    shared_config,
    secure_execution,
    slic_table,
)
# The releases in which this refuses other objects than VMs. 1.3 forgets its causes for VMs.
FIRST_GATES = discontinued_gates.but(since=(1, 3), until=(1, 4))
# Objects that create VMs later are still refused for such a gate. A VM itself is refused for the binding in any case.
TEMPLATE_EXAMINATIONS = (FIRST_GATES, discontinued_gates.but(since=(1, 8), until=()))

# Checks before 1.5 for the metadata and the VM around the instance's spec.
OUTER_UNTIL: Version = (1, 5)
STRATEGY_SINCE: Version = (1, 3)
THREADS_NOTE = "kubevirt.io/multiThreadedQemuMigration"
# A strategy of updating volumes ("" is any), and its feature gate.
UPDATE_GATES = (("", "VolumesUpdateStrategy"), ("Migration", "VolumeMigration"))


def migration_threads(metadata: Object, at: Path, scope: Scope) -> Iterator[Cause]:
    """The number of migration threads is more than one. upstream: ValidateVirtualMachineInstanceMetadata"""
    value = as_map(metadata.get("annotations")).get(THREADS_NOTE)
    if value is None or not scope.release.within(until=OUTER_UNTIL):
        return
    digits = value.removeprefix("+") if isinstance(value, str) else ""
    if not digits.isascii() or not digits.isdigit() or len(digits) > LONGEST_NUMBER or int(digits) <= 1:
        yield Cause(
            path=(*at, "annotations", THREADS_NOTE),
            message=f"{THREADS_NOTE} must be a number greater than 1; use one or remove it",
            upstream_path=dotted((*at, "annotations")),
            upstream=VMI + "ValidateVirtualMachineInstanceMetadata",
        )


def update_strategy(spec: Object, at: Path, scope: Scope) -> Iterator[Cause]:
    """The update strategy of volumes needs feature gates, if changes roll out live. upstream: validateLiveUpdateFeatures"""
    strategy = spec.get("updateVolumesStrategy")
    if strategy is None or not scope.release.within(since=STRATEGY_SINCE, until=OUTER_UNTIL) or not scope.rolls_out_live():
        return
    for kind, gate in UPDATE_GATES:
        if kind in ("", strategy) and not scope.gate(gate):
            yield Cause(
                path=(*at, "updateVolumesStrategy"),
                message=shut("updateVolumesStrategy", gate),
                upstream_path="updateVolumesStrategy",
                upstream=VMS + "validateLiveUpdateFeatures",
                gate=gate,
            )
