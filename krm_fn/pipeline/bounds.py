"""What quotas, LimitRanges and eviction strategies make of VMs, for the rules about them. Loaded where a bundle has some."""

from __future__ import annotations

from functools import partial

from krm_fn.base.annotations import Iterator
from krm_fn.base.bundle import effective_namespace
from krm_fn.base.objects import name_of
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.kubevirt.holders import INSTANCE_SPEC
from krm_fn.kubevirt.migratability import IF_POSSIBLE, LIVE_MIGRATE, Reason, circumstances, claims_of
from krm_fn.kubevirt.migratability.claims import Claims
from krm_fn.kubevirt.migratability.obstacles import VGPU_GATE, may_have_some
from krm_fn.kubevirt.releases import is_measured
from krm_fn.pipeline.capacity import claims_of_bundle, demands_of
from krm_fn.pipeline.refusals import refused
from krm_fn.pipeline.starts import Starts
from krm_fn.pipeline.stopped import Instances
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.facts.completed import EvictionFacts, QuotaFacts
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.shared.drains import migrated
from krm_fn.sizing import quotas
from krm_fn.sizing.quotas import QuotaUse
from krm_fn.sizing.rows import compared


def with_bounds(facts: BundleFacts, instances: Instances) -> BundleFacts:
    """The facts with those of quotas and of pods that are refused; only VMs that the cluster starts by itself count.

    The facts must be those of mode `validate`. Nothing is said of releases whose pods are not known.
    """
    if not is_measured("pods", facts.release):
        return facts
    own = [demand for demand in demands_of(facts, instances=instances) if not facts.bundle.is_context(demand.entry.item)]
    started = [demand for demand in own if demand.record["starts"]]
    refused = [(demand.entry, as_list(as_map(demand.record.get("limitRange")).get("refused"))) for demand in own]
    return facts.but(
        quotas=tuple(_facts_of(use) for use in quotas.of_bundle(facts.bundle, started)),
        refused_pods=tuple((entry, tuple(why)) for entry, why in refused if why),
    )


def _facts_of(use: QuotaUse) -> QuotaFacts:
    hard = use.quota.hard
    return QuotaFacts(
        entry=use.quota.entry,
        exceeded=tuple((name, *compared(name, str(use.used[name]), str(hard[name]))) for name in sorted(use.exceeded)),
        stopped=tuple((each.demand.entry, each.why) for each in use.stopped),
        migrations=tuple(demand.entry for demand in use.migrations),
        aware=use.quota.is_aware,
    )


MIGRATING = (LIVE_MIGRATE, IF_POSSIBLE)
STRATEGY = (*INSTANCE_SPEC, "evictionStrategy")
INTERFACES, ONLY_GPU = ("domain", "devices", "interfaces"), ("domain", "devices", "gpus", 0)

# What is known of a GPU if the configuration of the cluster is not.
GPU = f"a GPU needs feature gate {VGPU_GATE}, which is closed by default, and a permitted mediated device"


def with_evictions(facts: BundleFacts, instances: Instances) -> BundleFacts:
    """The facts with those of drains. Nothing is said of releases whose instances are not known."""
    # a machine that never runs is on no node
    stopped = {id(each.entry) for each in facts.stopped if any(cause.sure for cause in each.causes)}
    known = [vm for vm in facts.vms if not facts.bundle.is_context(vm.entry.item) and id(vm.entry) not in stopped]
    named = migrated(facts.bundle)
    wanted = [vm for vm in known if _strategy(vm, facts) in MIGRATING or (vm.prefix == () and _key(vm) in named)]
    if not wanted or not is_measured("instances", facts.release):
        return facts
    starts, claims = Starts(facts, instances), claims_of_bundle(facts)
    return facts.but(evictions=tuple(each for vm in wanted for each in _evictions(vm, starts, claims, facts)))


def _key(vm: VmFacts) -> tuple[str, str]:
    return effective_namespace(vm.entry.obj), name_of(vm.entry.obj)


def _strategy(vm: VmFacts, facts: BundleFacts) -> object:
    """The effective strategy; that of a cluster whose configuration is not known is not known either."""
    own = get(vm.vm, STRATEGY)
    return facts.cluster.eviction_strategy if own is None and facts.cluster.known else own


def _evictions(vm: VmFacts, starts: Starts, claims: Claims, facts: BundleFacts) -> Iterator[EvictionFacts]:
    spec, is_shared = as_map(get(vm.resolution.vm, INSTANCE_SPEC)), partial(claims.is_shared, effective_namespace(vm.entry.obj))
    sources = [each.spec for each in (vm.resolution.instancetype, vm.resolution.preference) if each]
    if vm.resolution.errors or not (starts.instances.presets or may_have_some(spec, sources, is_shared)):
        return
    if not (vm.sound or refused(vm) is None):
        return
    known = starts.assessment(vm)
    if known is None:
        return
    own = known.with_claims(claims_of(as_list(spec.get("volumes"))))
    best, _ = circumstances(own, is_shared)
    certain = (each for each in best.holding(own) if each.live and (facts.cluster.known or _is_certain(each, vm)))
    reason = next(certain, None)
    if reason:
        yield EvictionFacts(
            entry=vm.entry,
            strategy=str(_strategy(vm, facts)),
            own=get(vm.vm, STRATEGY) is not None,
            message=reason.message if facts.cluster.known or reason.path != ONLY_GPU else GPU,
            claim=reason.claim,
            path=_place(vm, reason),
            at=(*vm.prefix, *INSTANCE_SPEC),
        )


def _is_certain(reason: Reason, vm: VmFacts) -> bool:
    """False for an obstacle that the configuration of a cluster can remove: its default network, and plug-ins."""
    if reason.path[:3] == INTERFACES:
        interface = get(vm.vm, (*INSTANCE_SPEC, *reason.path))
        return isinstance(interface, dict) and interface.get("binding") is None
    return True


def _place(vm: VmFacts, reason: Reason) -> Path:
    """The nearest place in the object around the cause, which may come from an instancetype, a preference or the cluster."""
    path = reason.path
    while path and get(vm.vm, (*INSTANCE_SPEC, *path)) is None:
        path = path[:-1]
    return (*vm.prefix, *INSTANCE_SPEC, *path)
