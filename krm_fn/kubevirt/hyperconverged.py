"""The KubeVirt configuration that the hyperconverged cluster operator writes for its HyperConverged object.

Values that are not known offline are left out: machine types and the architecture, which come from the operator's environment
and the nodes, and the settings that depend on these.
upstream: kubevirt/hyperconverged-cluster-operator controllers/handlers/kubevirt.go:getKVConfig. Its minor releases deploy one
release of KubeVirt each: 1.14 KubeVirt 1.4, and so on up to 1.19 and 1.9. A preview of KubeVirt is judged as the last of them.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterator
from krm_fn.base.objects import Object, annotations_of, text
from krm_fn.base.paths import Path, as_list, as_map, copy, get, is_set, put
from krm_fn.base.value import Value
from krm_fn.kubevirt.admission.gates import BETA, BETA_IS_OPEN, GATES, state
from krm_fn.kubevirt.configuration import EVEN_PARITY
from krm_fn.kubevirt.releases import Release, Version

PATCH = "kubevirt.kubevirt.io/jsonpatch"
GATES_AT: Path = ("developerConfiguration", "featureGates")
DISABLED_AT: Path = ("developerConfiguration", "disabledFeatureGates")


class Always(Value):
    """Feature gates that the operator opens in every cluster."""

    gates: tuple[str, ...]
    since: Version = ()
    until: Version = ()


class Gate(Value):
    """A switch below `spec.featureGates`, and the KubeVirt gates that it opens. `shut` are the gates if it is turned off."""

    switch: str
    gates: tuple[str, ...]
    default: bool = False
    shut: tuple[str, ...] = ()
    since: Version = ()
    until: Version = ()


class Wish(Value):
    """Feature gates that another part of the object opens: a place in its spec that is set, or an annotation that is "true"."""

    gates: tuple[str, ...]
    places: tuple[Path, ...] = ()
    annotation: str = ""
    since: Version = ()
    until: Version = ()


class Setting(Value):
    """A setting of KubeVirt: `at` in its configuration, and the `places` below the HyperConverged object's spec that decide it.

    The first place that is set counts: that of v1beta1, then that of v1. `converted` converts the value; `default` is the value
    if none is set.
    """

    at: Path
    places: tuple[Path, ...] = ()
    converted: Callable[[Any], Any] | None = None
    default: Any = None
    since: Version = ()
    until: Version = ()


ALWAYS = (
    Always(gates=("CPUManager", "Snapshot", "HostDevices", "KubevirtSeccompProfile", "HypervStrictCheck")),
    Always(gates=("WithHostModelCPU",), until=(1, 9)),
    Always(gates=("ExpandDisks", "VMExport"), until=(1, 9)),
    Always(gates=("HotplugVolumes",), until=(1, 6)),
    Always(gates=("VMPersistentState",), until=(1, 7)),
    Always(gates=("GPU", "DisableCustomSELinuxPolicy", "NetworkBindingPlugins", "VMLiveUpdateFeatures"), until=(1, 5)),
    Always(gates=("DynamicPodInterfaceNaming", "VolumesUpdateStrategy", "VolumeMigration"), until=(1, 5)),
    Always(gates=("InstancetypeReferencePolicy",), since=(1, 5), until=(1, 7)),
    Always(gates=("LiveUpdateNADRef",), since=(1, 8), until=(1, 9)),
)
SWITCHES = (
    Gate(switch="downwardMetrics", gates=("DownwardMetrics",)),
    Gate(switch="alignCPUs", gates=("AlignCPUs",)),
    Gate(switch="disableMDevConfiguration", gates=("DisableMDEVConfiguration",), until=(1, 8)),
    Gate(switch="persistentReservation", gates=("PersistentReservation",), until=(1, 9)),
    Gate(switch="autoResourceLimits", gates=("AutoResourceLimitsGate",), until=(1, 5)),
    Gate(switch="enableMultiArchBootImageImport", gates=("MultiArchitecture",), since=(1, 6), until=(1, 8)),
    Gate(switch="decentralizedLiveMigration", gates=("DecentralizedLiveMigration",), since=(1, 6), until=(1, 8)),
    Gate(switch="decentralizedLiveMigration", gates=("DecentralizedLiveMigration",), default=True, since=(1, 8)),
    Gate(
        switch="declarativeHotplugVolumes",
        gates=("DeclarativeHotplugVolumes",),
        shut=("HotplugVolumes",),
        since=(1, 6),
        until=(1, 9),
    ),
    Gate(
        switch="declarativeHotplugVolumes",
        gates=("DeclarativeHotplugVolumes",),
        shut=("HotplugVolumes",),
        default=True,
        since=(1, 9),
    ),
    Gate(switch="videoConfig", gates=("VideoConfig",), default=True, since=(1, 7), until=(1, 9)),
    Gate(switch="objectGraph", gates=("ObjectGraph",), since=(1, 7)),
    Gate(switch="incrementalBackup", gates=("IncrementalBackup", "UtilityVolumes"), since=(1, 8)),
    Gate(switch="containerPathVolumes", gates=("ContainerPathVolumes",), since=(1, 8)),
    Gate(switch="template", gates=("Template",), default=True, since=(1, 9)),
)
WISHES = (
    Wish(gates=("ConfigurableHypervisor",), places=(("hypervisors",), ("virtualization", "hypervisors")), since=(1, 8)),
    Wish(
        gates=("OptOutRoleAggregation",),
        places=(("roleAggregationStrategy",), ("virtualization", "roleAggregationStrategy")),
        since=(1, 8),
    ),
    Wish(gates=("PasstIPStackMigration",), annotation="hco.kubevirt.io/deployPasstNetworkBinding", since=(1, 6), until=(1, 8)),
    Wish(gates=("PasstBinding",), annotation="hco.kubevirt.io/deployPasstNetworkBinding", since=(1, 8)),
    Wish(gates=("PCINUMAAwareTopology",), annotation="hco.kubevirt.io/deployAIE", since=(1, 8)),
    Wish(gates=("GraceIOVirtualization", "IOMMUFD"), annotation="hco.kubevirt.io/deployAIE", since=(1, 9)),
)


def _permitted(devices: Any) -> Any:
    """The permitted devices in KubeVirt's form, without the disabled ones."""
    return {
        name: [_device(device) for device in as_list(as_map(devices).get(own)) if not as_map(device).get("disabled")]
        for own, name in (("pciHostDevices",) * 2, ("mediatedDevices",) * 2, ("usbHostDevices", "usb"))
        if as_list(as_map(devices).get(own))
    }


def _device(device: Any) -> Object:
    renamed = {"pciDeviceSelector": "pciVendorSelector"}
    return {renamed.get(key, key): value for key, value in as_map(device).items() if key != "disabled"}


def _obsolete(models: Any) -> Any:
    return {model: True for model in as_list(models) if isinstance(model, str)}


def _virtual(*below: str) -> tuple[Path, Path]:
    """The places of a setting that is below `virtualization` in v1."""
    return below, ("virtualization", *below)


SETTINGS = (
    Setting(at=("network", "defaultNetworkInterface"), default="masquerade"),
    Setting(at=("network", "binding"), places=(("networkBinding",), ("networking", "networkBinding"))),
    Setting(at=("vmRolloutStrategy",), default="LiveUpdate"),
    Setting(at=("evictionStrategy",), places=_virtual("evictionStrategy")),
    Setting(at=("cpuModel",), places=(("defaultCPUModel",), ("virtualization", "virtualMachineOptions", "defaultCPUModel"))),
    Setting(
        at=("defaultRuntimeClass",),
        places=(("defaultRuntimeClass",), ("virtualization", "virtualMachineOptions", "defaultRuntimeClass")),
    ),
    Setting(at=("vmStateStorageClass",), places=(("vmStateStorageClass",), ("storage", "vmStateStorageClass"))),
    Setting(at=("migrations",), places=_virtual("liveMigrationConfig")),
    Setting(at=("permittedHostDevices",), places=_virtual("permittedHostDevices"), converted=_permitted),
    Setting(at=("mediatedDevicesConfiguration",), places=_virtual("mediatedDevicesConfiguration")),
    Setting(
        at=("obsoleteCPUModels",),
        places=(("obsoleteCPUs", "cpuModels"), ("virtualization", "obsoleteCPUModels")),
        converted=_obsolete,
    ),
    Setting(at=("minCPUModel",), places=(("obsoleteCPUs", "minCPUModel"),), until=(1, 7)),
    Setting(at=("ksmConfiguration",), places=_virtual("ksmConfiguration")),
    Setting(at=("liveUpdateConfiguration",), places=_virtual("liveUpdateConfiguration"), since=(1, 6)),
    Setting(
        at=("developerConfiguration", "memoryOvercommit"),
        places=_virtual("higherWorkloadDensity", "memoryOvercommitPercentage"),
    ),
    Setting(
        at=("developerConfiguration", "cpuAllocationRatio"),
        places=(("resourceRequirements", "vmiCPUAllocationRatio"), ("virtualization", "vmiCPUAllocationRatio")),
    ),
    Setting(
        at=("autoCPULimitNamespaceLabelSelector",),
        places=(
            ("resourceRequirements", "autoCPULimitNamespaceLabelSelector"),
            ("virtualization", "autoCPULimitNamespaceLabelSelector"),
        ),
    ),
    Setting(at=("instancetype",), places=(("instancetypeConfig",), ("workloadSources", "instancetypeConfig")), since=(1, 5)),
    Setting(
        at=("commonInstancetypesDeployment",),
        places=(("CommonInstancetypesDeployment",), ("workloadSources", "commonInstancetypesDeployment")),
        since=(1, 5),
    ),
    Setting(at=("changedBlockTrackingLabelSelectors",), places=_virtual("changedBlockTrackingLabelSelectors"), since=(1, 8)),
    Setting(at=("hypervisors",), places=_virtual("hypervisors"), since=(1, 8)),
    Setting(at=("roleAggregationStrategy",), places=_virtual("roleAggregationStrategy"), since=(1, 8)),
    Setting(
        at=("persistentReservationConfiguration", "enabled"),
        places=(("storage", "persistentReservationConfiguration", "enabled"), ("featureGates", "persistentReservation")),
        since=(1, 9),
    ),
)


def configuration_of(obj: Object, release: Release) -> Object:
    """The KubeVirtConfiguration that the operator writes for a HyperConverged object, if it deploys this release."""
    spec = as_map(obj.get("spec"))
    made: Object = {}
    for row in SETTINGS:
        if release.within(since=row.since, until=row.until):
            value = next((found for place in row.places if is_set(found := get(spec, place))), row.default)
            if value is not None:
                put(made, row.at, row.converted(value) if row.converted else copy(value))
    made.setdefault("evictionStrategy", _eviction_strategy(obj))
    gates = sorted(set(_gates(obj, spec, release)))
    put(made, GATES_AT, gates)
    if release.within(since=BETA_IS_OPEN):
        put(made, DISABLED_AT, sorted(gate for gate in GATES if state(gate, release) == BETA and gate not in gates))
    return _patched(made, annotations_of(obj).get(PATCH))


def kubevirt_annotations(obj: Object) -> Object:
    """The annotations that the operator sets on the KubeVirt object. upstream: setAnnotationsToReqState"""
    aligned = dict(_switches(get(obj, ("spec", "featureGates")))).get("aligncpus", False)
    return {EVEN_PARITY: ""} if aligned else {}


def _eviction_strategy(obj: Object) -> str:
    """The default: VMs migrate, unless the object's status says that they have only one node.

    upstream: hyperconverged-cluster-operator pkg/webhooks/mutator/hyperConvergedMutator.go:mutateEvictionStrategy
    """
    return "None" if get(obj, ("status", "infrastructureHighlyAvailable")) is False else "LiveMigrate"


def _gates(obj: Object, spec: Object, release: Release) -> Iterator[str]:
    """The feature gates that the operator opens. upstream: getKvFeatureGateList"""
    states = dict(_switches(spec.get("featureGates")))
    for always in ALWAYS:
        if release.within(since=always.since, until=always.until):
            yield from always.gates
    for row in SWITCHES:
        if release.within(since=row.since, until=row.until):
            yield from row.gates if states.get(row.switch.lower(), row.default) else row.shut
    for wish in WISHES:
        wished = any(get(spec, place) for place in wish.places)
        annotated = wish.annotation and annotations_of(obj).get(wish.annotation) == "true"
        if (wished or annotated) and release.within(since=wish.since, until=wish.until):
            yield from wish.gates


def _switches(given: object) -> Iterator[tuple[str, bool]]:
    """The switches that are set, in lower case: a map of bools in v1beta1, in v1 a list of names with states."""
    for name, value in as_map(given).items():
        if isinstance(value, bool):
            yield name.lower(), value
    for each in as_list(given):
        name = text(as_map(each).get("name"))
        if name:
            yield name.lower(), as_map(each).get("state") != "Disabled"


def _patched(made: Object, patch: object) -> Object:
    """The configuration with the JSON patch that the object's annotation has for the KubeVirt object, if it can be applied.

    upstream: controllers/operands/operand.go:ApplyPatchToSpec
    """
    if not isinstance(patch, str):
        return made
    import json  # few objects have the annotation

    kubevirt: Object = {"spec": {"configuration": copy(made)}}
    try:
        for step in json.loads(patch):
            _apply(kubevirt, step)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError):
        return made  # the operator refuses it too, and continues without it
    return as_map(get(kubevirt, ("spec", "configuration")))


def _apply(kubevirt: Any, step: Any) -> None:
    """Change `kubevirt` by one operation of RFC 6902: add, replace or remove.

    Raises: ValueError, and other errors for a wrong place.
    """
    steps = [each.replace("~1", "/").replace("~0", "~") for each in step["path"].split("/")[1:]]
    holder = kubevirt
    for each in steps[:-1]:
        holder = holder[int(each)] if isinstance(holder, list) else holder[each]
    last: Any = steps[-1]
    if isinstance(holder, list):
        last = len(holder) if last == "-" else int(last)
    match step["op"], holder:
        case "add", list():
            holder.insert(last, step["value"])
        case "add" | "replace", _:
            holder[last] = step["value"]
        case "remove", _:
            del holder[last]
        case _:
            raise ValueError(step["op"])
