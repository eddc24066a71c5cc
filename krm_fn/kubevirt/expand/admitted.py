"""The VM as the mutating webhook stores it, with the fields that admission adds to a new VM.

On some preferences KubeVirt's own webhook crashes, so that the API server refuses the VM: each reads a part of the VM or of an
instancetype that is not there. Rendering goes on as if it were empty.

upstream: pkg/virt-api/webhooks/mutating-webhook/mutators/vm-mutator.go:Mutate,
pkg/instancetype/webhooks/vm/mutator.go:Mutate, pkg/defaults/defaults.go:SetVirtualMachineDefaults
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable
from krm_fn.base.bundle import Bundle
from krm_fn.base.objects import Object, labels_of, text
from krm_fn.base.paths import Path, as_list, as_map, copy, get, is_set
from krm_fn.base.value import Value
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.fields.verbs import write
from krm_fn.kubevirt.holders import DATA_VOLUMES, DOMAIN, INSTANCE_SPEC
from krm_fn.kubevirt.releases import Release, Version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.trace import Trace


MACHINE_TYPE = (*DOMAIN, "machine", "type")
ARCHITECTURE = (*INSTANCE_SPEC, "architecture")
ARCHITECTURE_LABEL = "template.kubevirt.io/architecture"
ARCHITECTURES = ("amd64", "arm64", "s390x")

# Before 1.7, the kind that an empty one means was written into the VM.
KINDS_WRITTEN_UNTIL: Version = (1, 7)
DEFAULT_KINDS = (("instancetype", "virtualmachineclusterinstancetype"), ("preference", "virtualmachineclusterpreference"))
# The parts of a DataVolume template that get the preferred storage class, and the first release in which they do.
CLAIMS: tuple[tuple[str, Version], ...] = (("pvc", ()), ("storage", (1, 0, 1)))
PREFERRED_ARCHITECTURE_SINCE: Version = (1, 7)
STORAGE_CLASS = ("spec", "volumes", "preferredStorageClassName")
# Patch releases added the label of the DataSource too: (since, until) for each series of releases.
ARCHITECTURE_LABEL_IN: tuple[tuple[Version, Version], ...] = (((1, 6, 4), (1, 7)), ((1, 7), ()))


def admit(
    vm: Object,
    *,
    preference: Object | None,
    namespace: str,
    bundle: Bundle,
    cluster: Cluster,
    release: Release,
    trace: Trace | None = None,
) -> Object:
    """The VM with architecture, machine type, storage classes and kinds filled in; `vm` itself if none is missing.

    `vm` is the VM after inference; `preference` is a spec. `pinned` writes the PCI topology annotation, and the firmware uuid
    and serial, which admission generates at random.
    """
    if not isinstance(get(vm, INSTANCE_SPEC), dict):
        return vm
    given: dict[str, Any] = {"namespace": namespace, "bundle": bundle, "cluster": cluster, "release": release}
    architecture, machine = platform(vm, preference=preference, **given)
    if trace:
        bare = platform(vm, preference=None, **given)
        usual = bare[0], cluster.machine_type(text(architecture), release)
        _note(trace, vm, preference or {}, usual, release)
        if machine == usual[1] != bare[1]:
            trace.giver = "preference"
            trace.note(MACHINE_TYPE, ("spec", "preferredArchitecture"), machine, root=())
    written = [(ARCHITECTURE, architecture), (MACHINE_TYPE, machine)]
    if release.within(until=KINDS_WRITTEN_UNTIL):
        written += [(("spec", key, "kind"), kind) for key, kind in DEFAULT_KINDS if isinstance(get(vm, ("spec", key)), dict)]
    missing = [(path, value) for path, value in written if is_set(value) and not is_set(get(vm, path))]
    classed = with_storage_classes(vm, preference or {}, release, trace=trace)
    if classed is vm and not missing:
        return vm
    admitted: Object = copy(classed)
    for path, value in missing:
        write(admitted, path, value)
    return vm if admitted == vm else admitted


def platform(
    vm: Object, *, preference: Object | None, namespace: str, bundle: Bundle, cluster: Cluster, release: Release
) -> tuple[Any, Any]:
    """The architecture and the machine type of the stored VM: its own, or the first that is set elsewhere."""
    wanted, spec = preference or {}, as_map(get(vm, INSTANCE_SPEC))
    architecture: Any = spec.get("architecture")
    machine = get(spec, ("domain", "machine", "type"))
    if not is_set(architecture):
        preferred = _preferred_architecture(wanted, release)
        labelled = preferred if is_set(preferred) else _labelled_architecture(vm, namespace, bundle, release)
        architecture = labelled if is_set(labelled) else cluster.default_architecture
    if not is_set(machine):
        preferred = get(wanted, ("machine", "preferredMachineType"))
        machine = preferred if is_set(preferred) else cluster.machine_type(architecture, release)
    return architecture, machine


def _note(trace: Trace, vm: Object, preference: Object, usual: tuple[Any, Any], release: Release) -> None:
    """Note the preferred architecture and machine type, and the usual ones, which a VM without a preference gets."""
    preferred = _preferred_architecture(preference, release), get(preference, ("machine", "preferredMachineType"))
    fields = ("spec", "preferredArchitecture"), ("spec", "machine", "preferredMachineType")
    for path, wanted, field, default in zip((ARCHITECTURE, MACHINE_TYPE), preferred, fields, usual, strict=True):
        if is_set(wanted):
            trace.giver = "preference"
            trace.note(path, field, wanted, root=(), kept=is_set(get(vm, path)))
            trace.giver = "default"
            trace.note(path, (), default, root=(), kept=True)


def _preferred_architecture(preference: Object, release: Release) -> object:
    known = release.within(since=PREFERRED_ARCHITECTURE_SINCE)
    return preference.get("preferredArchitecture") if known else None


def with_storage_classes(vm: Object, preference: Object, release: Release, *, trace: Trace | None = None) -> Object:
    """The VM with the preferred storage class in the DataVolume templates that have none; `vm` itself if nothing changes.

    upstream: pkg/instancetype/webhooks/vm/mutator.go:mutateDataVolumeTemplates
    """
    name = get(preference, ("volumes", "preferredStorageClassName"))
    if not is_set(name):
        return vm
    templates = as_list(get(vm, DATA_VOLUMES))
    keys = [key for key, since in CLAIMS if release.within(since=since)]
    if not any(_claims_without_class(template, keys) for template in templates):
        return vm
    templates = copy(templates)
    for number, template in enumerate(templates):
        for key, claim in _claims_without_class(template, keys):
            claim["storageClassName"] = name
            if trace:
                trace.giver = "preference"
                trace.note((*DATA_VOLUMES, number, "spec", key, "storageClassName"), STORAGE_CLASS, name, root=())
    return {**vm, "spec": {**vm["spec"], "dataVolumeTemplates": templates}}


def _claims_without_class(template: object, keys: list[str]) -> list[tuple[str, Object]]:
    claims = ((key, get(template, ("spec", key))) for key in keys)
    return [(key, claim) for key, claim in claims if isinstance(claim, dict) and claim.get("storageClassName") is None]


def _labelled_architecture(vm: Object, namespace: str, bundle: Bundle, release: Release) -> str:
    """The architecture label of the first DataSource of the VM's templates; "" if there is none.

    upstream: pkg/defaults/defaults.go:setDefaultArchitectureFromDataSource
    """
    if not any(release.within(since=since, until=until) for since, until in ARCHITECTURE_LABEL_IN):
        return ""
    for template in as_list(get(vm, DATA_VOLUMES)):
        reference = get(template, ("spec", "sourceRef"), {})
        if text(get(reference, ("kind",))).lower() != "datasource":
            continue
        entry = bundle.find("DataSource", text(get(reference, ("namespace",))) or namespace, text(get(reference, ("name",))))
        source = _followed(entry.obj, bundle) if entry else None
        label = labels_of(source).get(ARCHITECTURE_LABEL) if source else None
        if label in ARCHITECTURES:
            return text(label)
    return ""


def _followed(source: Object, bundle: Bundle) -> Object | None:
    """The DataSource that a DataSource refers to, itself if it refers to none, None if that is missing."""
    onward = get(source, ("spec", "source", "dataSource"))
    if not isinstance(onward, dict):
        return source
    entry = bundle.find("DataSource", text(onward.get("namespace")), text(onward.get("name")))
    return entry.obj if entry else None


class Crash(Value):
    """One crash of VMs without an instancetype.

    `field` is that of the preference, `has` what it says, `lacks` what the VM has not beside it, `fix` what to do. `crashes`
    gets the instance's spec of the VM and the preference.
    """

    word: str
    field: Path
    has: str
    lacks: str
    fix: str
    crashes: Callable[[Object, Object], bool]
    since: Version = ()
    until: Version = ()


def _adds_features(spec: Object, preference: Object) -> bool:
    """upstream: pkg/instancetype/preference/apply/cpu.go:applyCPUPreferences"""
    return get(spec, ("domain", "cpu")) is None and bool(as_list(get(preference, ("cpu", "preferredCPUFeatures"))))


def _spreads(_: Object, preference: Object) -> bool:
    """upstream: pkg/virt-api/webhooks/validating-webhook/admitters/vms-admitter.go:applyInstancetypeToVm until 1.5"""
    return bool(get(preference, ("cpu", "preferredCPUTopology")) == "preferSpread")


CRASHES = {
    row.word: row
    for row in (
        Crash(
            word="features-crash",
            field=("cpu", "preferredCPUFeatures"),
            has="preferredCPUFeatures",
            lacks="neither an instancetype nor domain.cpu",
            fix="set domain.cpu in the VM, or refer to an instancetype",
            crashes=_adds_features,
        ),
        Crash(
            word="spread-crash",
            field=("cpu", "preferredCPUTopology"),
            has="the topology preferSpread",
            lacks="no instancetype",
            fix="refer to an instancetype, or choose another topology",
            crashes=_spreads,
            since=(1, 1),
            until=(1, 2),
        ),
    )
}


def crashes(spec: Object, *, instancetype: Object | None, preference: Object | None, release: Release) -> tuple[str, ...]:
    """The words for the crashes of a VM with this spec of its instance, before anything is applied."""
    if preference is None or instancetype is not None:
        return ()
    rows = (row for row in CRASHES.values() if release.within(since=row.since, until=row.until))
    return tuple(row.word for row in rows if row.crashes(spec, preference))
