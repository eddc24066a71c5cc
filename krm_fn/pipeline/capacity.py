"""What the VMs of a ResourceList need of the cluster.

And every pair of an instancetype and a preference, on a VM that has nothing else: which are refused, and what the others need.
The pairs are those of the cluster-wide objects of a bundle and of the release's catalogue.
"""

from __future__ import annotations

from functools import partial

from krm_fn import config
from krm_fn.base.annotations import Any, Iterator, Sequence
from krm_fn.base.bundle import Bundle, Entry, effective_namespace
from krm_fn.base.errors import InputError
from krm_fn.base.objects import Object, group_of, kind_of, name_of
from krm_fn.base.paths import Path, as_list, dotted, get, with_integers
from krm_fn.base.placeholders import may_be_in, open_values
from krm_fn.base.value import Value
from krm_fn.kubevirt.catalogue import INSTANCETYPE, PREFERENCE, view
from krm_fn.kubevirt.configuration import release_of
from krm_fn.kubevirt.facts import OPEN, Resolution
from krm_fn.kubevirt.holders import INSTANCE_SPEC, SERVED, Holder, holder_of
from krm_fn.kubevirt.migratability import Assessment, answer, claims_of
from krm_fn.kubevirt.migratability.claims import Claims
from krm_fn.kubevirt.releases import Version, require_measured
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline.analysis import cluster_of
from krm_fn.pipeline.facts import Wanted, every, gather
from krm_fn.pipeline.refusals import refused, refused_object
from krm_fn.pipeline.starts import Starts
from krm_fn.pipeline.stopped import Instances
from krm_fn.rules import registry
from krm_fn.rules.bundle.former_name import stopping
from krm_fn.rules.facts.admission import AdmissionFacts
from krm_fn.rules.facts.bundles import AMBIGUOUS, EXTERNAL, NO_SURROUNDINGS, BundleFacts, Surroundings
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.sizing import quotas, storage
from krm_fn.sizing.demands import Demand, Launched, Subject, demand, totals

NO_INSTANCE = "KubeVirt starts no instance of it"
UNMET_STARTS_UNTIL: Version = (1, 5)
# Why the needs of a VM are not known, by the reason for which its reference leads nowhere.
UNKNOWN = {
    EXTERNAL: "its needs are not known: {} is only in the cluster",
    AMBIGUOUS: "its needs are not known: several targets have another {}",
}

NOT_FILLED = "its needs are not known: {}, and another step replaces that"
# Whether an object starts machines, and how many; and what of a domain decides the pod of each.
STARTING: tuple[Path, ...] = (("spec",), ("spec", "runStrategy"), ("spec", "running"), ("spec", "replicas"))
SIZED: tuple[Path, ...] = (
    *(("cpu",), ("memory",), ("resources",), ("ioThreads",), ("ioThreadsPolicy",), ("launchSecurity",)),
    *(("devices", "gpus"), ("devices", "hostDevices")),
)


def capacity(resource_list: Object) -> Object:
    """What each VM, pool, replica set and instance of the list needs, and the sums. The argument is left as it was.

    Raises: ConfigError where the functionConfig is wrong or the pods of the release are not known, InputError where `items` is
    no list.
    """
    settings, items = config.of_list(resource_list)
    return capacity_of(Bundle([with_integers(item) for item in items]), settings)


def capacity_of(bundle: Bundle, settings: Config) -> Object:
    """The same for a bundle."""
    demands = list(demands_of(facts_of(bundle, settings), migrations=True))
    return shown(bundle, demands)


def shown(bundle: Bundle, demands: Sequence[Demand]) -> Object:
    """The answer for these demands as plain data."""
    return {
        "vms": [demand.record for demand in demands],
        "quotas": [quotas.shown(each) for each in quotas.of_bundle(bundle, demands)],
        "totals": totals(demands, [claim for _, claim in storage.of_bundle(bundle)]),
    }


def facts_of(
    bundle: Bundle, settings: Config, wanted: Wanted = every, surroundings: Surroundings = NO_SURROUNDINGS
) -> BundleFacts:
    """The facts of the bundle under admission, and of its wanted VMs. What the config says of writing does not matter.

    Raises: ConfigError for a release whose pods are not known.
    """
    require_measured("pods", release_of(bundle, settings))
    return gather(bundle, _judged(settings), surroundings, wanted)


def known_facts(instances: Instances, settings: Config) -> BundleFacts | None:
    """The facts of instances that are known already, where those of `facts_of` are the same; None where they may differ.

    Raises: ConfigError for a release whose pods are not known.
    """
    facts = instances.facts
    if settings.patches or facts.config != _judged(settings).but(severity=facts.config.severity):
        return None
    require_measured("pods", facts.release)
    return facts


def _judged(settings: Config) -> Config:
    presets = "ignore" if settings.presets == "ignore" else "instance"
    return settings.but(mode="validate", instances="omit", presets=presets, defaults=_defaults(settings))


def _defaults(settings: Config) -> str:
    """The defaults as far as they say something of the cluster."""
    return "cluster" if settings.states_cluster else "auto"


def demands_of(
    facts: BundleFacts, wanted: Wanted = every, instances: Instances | None = None, *, migrations: bool = False
) -> Iterator[Demand]:
    """What each wanted object needs that starts instances, in the bundle's order.

    `instances` are those of the bundle where some are known already. `migrations`: the records also say whether a machine can
    be live-migrated.
    """
    vms = {(vm.entry.item, vm.entry.path): vm for vm in facts.vms}
    starts, claims = Starts(facts, instances, migrations=migrations), claims_of_bundle(facts)
    for entry in facts.bundle.entries:
        holder = SERVED.get((group_of(entry.obj), kind_of(entry.obj)))
        if holder is None or not wanted(entry):
            continue
        vm = vms.get((entry.item, entry.path))
        if vm or (holder.vm is None and isinstance(get(entry.obj, holder.instance), dict)):
            subject = _of_vm(vm, starts) if vm else _of_instance(entry, holder, facts, starts)
            if subject.launched and subject.launched.assessment:
                subject = subject.but(migratable=_migratable(subject, subject.launched.assessment, holder, claims))
            yield demand(subject, facts.bundle, starts.ranges.get(effective_namespace(entry.obj), ()))


def claims_of_bundle(facts: BundleFacts) -> Claims:
    """The access modes of the bundle's claims."""
    vms = {(vm.entry.item, vm.entry.path): vm for vm in facts.vms}

    def resolved(entry: Entry) -> Resolution | None:
        vm = vms.get((entry.item, entry.path))
        return vm.resolution if vm else None

    return Claims(facts.bundle, facts.release, resolved)


def _migratable(subject: Subject, assessment: Assessment, holder: Holder, claims: Claims) -> Object:
    """Whether the machine of an object can be live-migrated."""
    obj = subject.entry.obj
    spec = get(subject.resolution.vm, INSTANCE_SPEC) if subject.resolution else get(obj, holder.instance)
    own = assessment.with_claims(claims_of(as_list(get(spec, ("volumes",)))))
    namespace = effective_namespace(obj)
    return answer(own, partial(claims.is_shared, namespace), namespace, name_of(obj))


def _of_vm(vm: VmFacts, starts: Starts) -> Subject:
    """The subject of a VM. What stops an instance is a finding about its references, or a refusal of the webhooks."""
    unknown = [UNKNOWN[error.reason].format(error.wanted) for error in vm.resolution.errors if error.reason in UNKNOWN]
    if unknown or (unknown := list(map(NOT_FILLED.format, open_needs(vm)))):
        return Subject(entry=vm.entry, launched=None, resolution=vm.resolution, unknown=tuple(unknown))
    if vm.sound:
        return _started(vm, starts, ())
    found = tuple(finding.message for finding in registry.judge("vm", vm, {}) if finding.severity == "error")
    found += tuple(hit.message for hit in stopping(vm))
    if found and not _starts_all_the_same(vm):
        return Subject(entry=vm.entry, launched=None, resolution=vm.resolution, refused=found)
    causes = refused(vm)
    if causes and causes.causes:  # what only a gate decides that may be open is no refusal
        return Subject(entry=vm.entry, launched=None, resolution=vm.resolution, refused=found + _messages(causes))
    return _started(vm, starts, found)


def open_needs(vm: VmFacts | Entry) -> list[str]:
    """What decides the needs of a VM or of an object with an instance, and is a placeholder: each with its place."""
    if not isinstance(vm, VmFacts):
        holder = holder_of(vm.obj)
        return _open_values(vm.obj, holder.instance) if holder else []
    errors = (error for error in vm.resolution.errors if error.reason == OPEN)
    found = [f"{dict(error.detail).get('place', dotted(error.path))} is {error.current}" for error in errors]
    size = vm.resolution.instancetype
    if size and may_be_in(size.spec):
        found += (f"{dotted(path)} of {size.ref} is {word}" for path, word in open_values(size.spec, ("spec",)))
    return found + _open_values(vm.rendered or vm.vm, INSTANCE_SPEC)


def _open_values(obj: Object, instance: Path) -> list[str]:
    """The placeholders that decide whether an object starts machines and what they need; `instance` is the place of these."""
    domain = (*instance, "domain")
    whole = (*STARTING, instance[:-1], instance, domain, (*domain, "devices"))
    sized = tuple((*domain, *step) for step in SIZED)
    if isinstance(found := get(obj, domain), dict):  # to look at all of an object takes ten times as long
        devices = found.get("devices")
        texts = [devices] if isinstance(devices, str) else []
        if not may_be_in([*texts, *(get(obj, path) for path in STARTING[1:]), *(get(found, step) for step in SIZED)]):
            return []
    return [
        f"{dotted(path)} is {word}"
        for path, word in open_values(obj)
        if path in whole or any(path[: len(at)] == at for at in sized)
    ]


def _started(vm: VmFacts, starts: Starts, found: tuple[str, ...]) -> Subject:
    return _subject(vm.entry, starts.of_vm(vm), found).but(resolution=vm.resolution)


def _subject(entry: Entry, launched: Launched | None, found: tuple[str, ...] = ()) -> Subject:
    """The subject of an object that is let in; `found` says what is wrong with it all the same."""
    stopped = launched.refused if launched else (NO_INSTANCE,)
    return Subject(entry=entry, launched=launched, refused=found + stopped)


def _starts_all_the_same(vm: VmFacts) -> bool:
    """True for a VM that only fails the requirements of its preference, in releases whose pods were measured for these, too.

    The webhook refuses such a VM; the controller starts one that is stored already.
    """
    found = vm.expansion
    fails_only_these = found and found.unmet and not (found.conflicts or found.refusals or vm.resolution.errors)
    return bool(fails_only_these) and vm.release.within(until=UNMET_STARTS_UNTIL)


def _of_instance(entry: Entry, holder: Holder, facts: BundleFacts, starts: Starts) -> Subject:
    """The subject of an instance, or of a replica set, which makes instances of its template."""
    instance = starts.instances.with_presets(entry, holder)
    if found := _open_values(instance or entry.obj, holder.instance):
        return Subject(entry=entry, launched=None, unknown=tuple(map(NOT_FILLED.format, found)))
    causes = refused_object(entry, facts, instance or entry.obj)
    if causes and causes.causes:
        return Subject(entry=entry, launched=None, refused=_messages(causes))
    return _subject(entry, starts.of_instance(entry, holder, instance) if instance else None)


def _messages(causes: AdmissionFacts) -> tuple[str, ...]:
    return tuple(cause.message for cause in causes.causes)


# What of a bundle a pair depends on, beside the two objects.
KEPT = ("KubeVirt", "HyperConverged", INSTANCETYPE, PREFERENCE)
SEPARATOR = "+"
MOST = 5_500  # pairs; the catalogue of a release makes up to 3,510, and each takes as long as a VM


class MatrixPair(Value):
    """A pair, and what a VM of it needs."""

    instancetype: str
    preference: str
    demand: Demand


def pairs(items: Sequence[Any], settings: Config) -> list[MatrixPair]:
    """All pairs, instancetype by instancetype. Raises: InputError where they are too many."""
    bundle = Bundle(items)
    kept = [entry.obj for kind in KEPT for entry in bundle.of_kind(kind)]
    names = [_names(bundle, settings, kind) for kind in (INSTANCETYPE, PREFERENCE)]
    if len(names[0]) * len(names[1]) > MOST:
        raise InputError(
            f"{len(names[0]):,} instancetypes and {len(names[1]):,} preferences make more than {MOST:,} pairs; "
            "give fewer files, or leave the catalogue out with --catalogue none"
        )
    wanted = [(instancetype, preference) for instancetype in names[0] for preference in names[1]]
    found = demands_of(facts_of(Bundle([*kept, *(_vm(*pair) for pair in wanted)]), settings))
    return [
        MatrixPair(instancetype=instancetype, preference=preference, demand=demand)
        for (instancetype, preference), demand in zip(wanted, found, strict=True)
    ]


def _names(bundle: Bundle, settings: Config, kind: str) -> list[str]:
    """The names of a kind: those of the catalogue, smallest first, then those that only the bundle has."""
    return list(dict.fromkeys((*_of_catalogue(bundle, settings, kind), *sorted(name_of(e.obj) for e in bundle.of_kind(kind)))))


def _of_catalogue(bundle: Bundle, settings: Config, kind: str) -> Iterator[str]:
    release = release_of(bundle, settings)
    if settings.catalogue != "none" and cluster_of(bundle, settings, release).deploys_catalogue(release):
        yield from (row.name for row in view.rows(release, kind))


def _vm(instancetype: str, preference: str) -> Object:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": f"{instancetype}{SEPARATOR}{preference}"},
        "spec": {
            "runStrategy": "Always",
            "instancetype": {"name": instancetype},
            "preference": {"name": preference},
            "template": {"metadata": {}, "spec": {"domain": {"devices": {}}}},
        },
    }
