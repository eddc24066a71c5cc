"""Admission of the other kinds: instances, replica sets, pools, presets, instancetypes, preferences, migration policies."""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object, group_of, kind_of, labels_of, text
from krm_fn.base.paths import Path, as_map, get
from krm_fn.base.wording import show
from krm_fn.kubevirt.admission import specs
from krm_fn.kubevirt.admission.check_tree import CheckTree
from krm_fn.kubevirt.admission.checks import Check, Group, count, gated, number, required
from krm_fn.kubevirt.admission.fields import (
    data_volume_templates,
    devices,
    disks,
    earlier_releases,
    firmware,
    instances,
    instancetypes,
    live_update,
    scheduling,
)
from krm_fn.kubevirt.admission.formats import quantity, units
from krm_fn.kubevirt.admission.scope import REQUIRED, Cause, Scope, settled
from krm_fn.kubevirt.admission.selectors import Position, label_selector, missed
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.holders import HOLDERS, POOLED, TEMPLATE
from krm_fn.kubevirt.releases import Release, Version

REPLICA_SETS = "pkg/virt-api/webhooks/validating-webhook/admitters/vmirs-admitter.go:ValidateVMIRSSpec"
POOLS = "pkg/virt-api/webhooks/validating-webhook/admitters/vmpool-admitter.go:"
POLICIES = "pkg/virt-api/webhooks/validating-webhook/admitters/migrationpolicy-admitter.go:"
PRESETS = "pkg/virt-api/webhooks/validating-webhook/admitters/vmi-preset-admitter.go:ValidateVMIPresetSpec"

REPLICA_SET = HOLDERS["kubevirt.io", "VirtualMachineInstanceReplicaSet"]
POOL = HOLDERS["pool.kubevirt.io", "VirtualMachinePool"]
POOL_SPEC = POOL.in_vm(("spec",))

STRATEGIES = ("unmanaged", "opportunistic", "proactive")

# The API server removes a field that its release does not know, so the webhook does not see it.
MOST_UNAVAILABLE_SINCE: Version = (1, 6)
STRATEGIES_SINCE: Version = (1, 7)

POOL_GROUPS = (
    *(
        Group(
            at=(key,),
            checks=(
                Check(
                    at=(),
                    refuses=lambda _value, item, _scope: count(item, STRATEGIES) > 1,
                    message="only one of unmanaged, opportunistic and proactive can be set; keep one of them",
                    since=STRATEGIES_SINCE,
                    upstream=POOLS + function,
                ),
            ),
        )
        for key, function in (
            ("updateStrategy", "validateUpdateStrategyMutualExclusivity"),
            ("scaleInStrategy", "validateScaleInStrategyMutualExclusivity"),
        )
    ),
    Group(
        at=(),
        checks=(
            required(("virtualMachineTemplate",), upstream=POOLS + "ValidateVMPoolSpec", named="template"),
            Check(
                at=("maxUnavailable",),
                refuses=lambda value, _spec, _scope: not _is_part(value),
                message="maxUnavailable {value} must be a positive number, or from 1% to 100%; use one of these",
                since=MOST_UNAVAILABLE_SINCE,
                upstream=POOLS + "ValidateVMPoolSpec",
            ),
        ),
    ),
)

PRESET_GROUPS = (
    Group(at=(), checks=(required(("domain",), upstream=PRESETS),)),
    *(
        Group(at=group.at, checks=tuple(c for c in group.checks if c.upstream.startswith(disks.DISKS)))
        for group in disks.GROUPS
    ),
    *firmware.GROUPS,
)
PRESET_EXAMINATIONS = (disks.disk_named_twice, disks.block_size)


STALL, TUNING = "MigrationStallDetection", "MigrationDowntimeTuning"
STALL_SINCE: Version = (1, 9)
TUNING_SINCE: Version = (1, 10)
# The factors of the stall detector with their bounds; the first one must be above zero.
FACTORS: tuple[tuple[str, int, int | None], ...] = (
    ("ewmaAlpha", 0, 1),
    ("precopyPossibleFactor", 1, None),
    ("patienceWindowDecayFactor", 0, 1),
    ("completionTimeoutFactor", 1, None),
)


def _factor(key: str, low: int, high: int | None) -> Check:
    def refuses(value: object, _item: object, scope: Scope) -> bool:
        factor = _amount(value, scope.release)
        below = factor is None or factor < low or (key == "ewmaAlpha" and factor == 0)
        return below or (high is not None and factor is not None and factor > high)

    above = "above 0" if key == "ewmaAlpha" else f"at least {low}"
    bounds = f"{above}{'' if high is None else f' and at most {high}'}"
    return Check(
        at=("experimental", "stallDetector", key),
        refuses=refuses,
        message=f"{key} {{value}} must be a number with at most 3 decimal places, {bounds}; correct it",
        since=STALL_SINCE,
        upstream=POLICIES + "validateStallDetectorFactor",
    )


def _amount(value: object, release: Release) -> float | None:
    """The number in a factor with at most three decimal places; None for anything else. Before 1.10 it is no quantity."""
    try:
        read = quantity(value) if release.within(since=TUNING_SINCE) else None
        found = read.nanos / 10**9 if read else float(text(value).replace("_", "no number"))
    except ValueError:
        return None
    return found if abs(found) < float("inf") and abs(found - round(found, 3)) <= 1e-9 else None


POLICY_GROUPS = (
    Group(
        at=(),
        checks=(
            Check(
                at=("completionTimeoutPerGiB",),
                refuses=lambda value, _item, _scope: number(value) < 0,
                message="completionTimeoutPerGiB {value} must not be negative; set it to zero or more",
                upstream=POLICIES + "Admit",
            ),
            Check(
                at=("bandwidthPerMigration",),
                refuses=lambda value, _item, _scope: units(value) < 0,
                message="bandwidthPerMigration {value} must not be negative; set it to zero or more",
                upstream=POLICIES + "Admit",
            ),
            gated(("maxDowntimeMs",), STALL, since=STALL_SINCE, until=TUNING_SINCE, upstream=POLICIES + "Admit"),
            Check(
                at=("maxDowntimeMs",),
                refuses=lambda _value, _item, scope: not (scope.gate(STALL) or scope.gate(TUNING)),
                message=f"maxDowntimeMs needs the feature gate {STALL} or {TUNING}; enable one of them, or remove the field",
                gate=STALL,
                since=TUNING_SINCE,
                upstream=POLICIES + "Admit",
            ),
            gated(("experimental", "stallDetector"), STALL, since=STALL_SINCE, upstream=POLICIES + "Admit"),
            gated(("experimental", "downtimeTuning"), TUNING, since=TUNING_SINCE, upstream=POLICIES + "Admit"),
            Check(
                at=("experimental",),
                refuses=lambda value, _item, _scope: count(as_map(value), ("stallDetector", "downtimeTuning")) > 1,
                message="stallDetector and downtimeTuning exclude each other; remove one of them",
                since=TUNING_SINCE,
                upstream=POLICIES + "Admit",
            ),
            *(_factor(*each) for each in FACTORS),
        ),
    ),
)


def _is_part(value: object) -> bool:
    """True for a positive number and for a percentage from 1 to 100."""
    if not isinstance(value, str):
        return number(value) > 0
    digits = value.removesuffix("%").removeprefix("+")
    return value.endswith("%") and digits.isascii() and digits.isdigit() and len(digits) < 10 and 0 < int(digits) <= 100


def _selector(obj: Object, labels: Object, upstream: str, scope: Scope) -> Iterator[Cause]:
    """The selector is valid and matches the template's labels. Upstream always names the path of the selector."""
    selector = as_map(obj.get("spec")).get("selector")
    if selector is None:
        message = "the selector is missing; set one that matches the labels of the template"
        yield Cause(path=("spec", "selector"), message=message, reason=REQUIRED, upstream=upstream)
        return
    faults = list(label_selector(selector, Position(scope, ("selector",), "selector")))
    for fault in faults:
        yield fault.but(upstream_path="spec.selector", upstream=upstream)
    miss = None if faults else missed(as_map(selector), labels)
    if miss:
        place, key = miss
        has = f"{key}: {show(labels[key])}" if key in labels else f"no label {key}"
        message = f"the selector does not match the labels of the template, which have {has}; change one of them"
        yield Cause(path=("spec", "selector", *place), message=message, upstream_path="spec.selector", upstream=upstream)


class _Request:
    """An object under admission."""

    __slots__ = ("cluster", "completed", "obj", "release")

    def __init__(self, obj: Object, completed: Object | None, cluster: Cluster, release: Release) -> None:
        self.obj, self.completed, self.cluster, self.release = obj, completed, cluster, release

    def scope(self, at: Path = ("spec",), *, completed: bool = False) -> Scope:
        """The map at a place of the object, or of its completed form, as a scope."""
        source = self.completed if completed and self.completed is not None else self.obj
        spec = as_map(get(source, at))
        return Scope(spec, path=at, cluster=self.cluster, release=self.release, as_written=not completed)


def _instance(request: _Request) -> Iterator[Cause]:
    """upstream: pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:Admit"""
    scope = request.scope(completed=True)
    yield from scheduling.empty_eviction_strategy(as_map(request.obj.get("spec")), ("spec",))
    yield from specs.metadata_causes(as_map(request.obj.get("metadata")), ("metadata",), scope)
    yield from _check_tree("complete instance", request.release).run(scope)


def _replica_set(request: _Request) -> Iterator[Cause]:
    template = get(request.obj, REPLICA_SET.template)
    if template is None:
        yield Cause(
            path=REPLICA_SET.template,
            message="the replica set has no template; set it",
            reason=REQUIRED,
            upstream=REPLICA_SETS,
        )
        return
    scope = request.scope(REPLICA_SET.instance)
    notes = as_map(get(template, ("metadata",)))
    yield from devices.grace_annotations(notes, (*REPLICA_SET.template, "metadata"), scope)
    yield from specs.admit_instance_spec(
        scope.spec, scope.path, cluster=request.cluster, release=request.release, as_written=True
    )
    yield from _selector(request.obj, labels_of(as_map(template)), REPLICA_SETS, request.scope())


def _pool(request: _Request) -> Iterator[Cause]:
    """The pool's VM is checked as it is written. Only the VMs that the pool creates are expanded, and checked in that form."""
    yield from _check_tree("pool", request.release).run(request.scope())
    vm = get(request.obj, POOLED)
    if not isinstance(vm, dict):
        return
    spec, template = as_map(vm.get("spec")), get(vm, TEMPLATE)
    scope = request.scope(POOL.instance)
    if template is None:
        yield Cause(
            path=POOL.template,
            message="the pool's VM has no template; set it",
            reason=REQUIRED,
            upstream=POOLS + "ValidateVMPoolSpec",
        )
        return
    metadata = as_map(as_map(template).get("metadata"))
    yield from specs.metadata_causes(metadata, (*POOL.template, "metadata"), scope)
    yield from _check_tree("pool template", request.release).run(scope)
    yield from data_volume_templates.data_volume_templates(spec, request.release, POOL_SPEC)
    yield from live_update.run_strategy(spec, POOL_SPEC, scope)
    yield from live_update.live_update_features(spec, POOL_SPEC, scope)
    yield from live_update.rollout(spec, POOL_SPEC, scope)
    yield from earlier_releases.update_strategy(spec, POOL_SPEC, scope)
    yield from _selector(request.obj, labels_of(vm), POOLS + "ValidateVMPoolSpec", request.scope())


def _preset(request: _Request) -> Iterator[Cause]:
    yield from _check_tree("preset", request.release).run(request.scope())


def _policy(request: _Request) -> Iterator[Cause]:
    yield from _check_tree("migration policy", request.release).run(request.scope())


def _instancetype(request: _Request) -> Iterator[Cause]:
    yield from _check_tree("instancetype", request.release).run(request.scope())


def _preference(request: _Request) -> Iterator[Cause]:
    yield from _check_tree("preference", request.release).run(request.scope())


KINDS = {
    ("kubevirt.io", "VirtualMachineInstance"): _instance,
    ("kubevirt.io", "VirtualMachineInstanceReplicaSet"): _replica_set,
    ("kubevirt.io", "VirtualMachineInstancePreset"): _preset,
    ("pool.kubevirt.io", "VirtualMachinePool"): _pool,
    ("migrations.kubevirt.io", "MigrationPolicy"): _policy,
    ("instancetype.kubevirt.io", "VirtualMachineInstancetype"): _instancetype,
    ("instancetype.kubevirt.io", "VirtualMachineClusterInstancetype"): _instancetype,
    ("instancetype.kubevirt.io", "VirtualMachinePreference"): _preference,
    ("instancetype.kubevirt.io", "VirtualMachineClusterPreference"): _preference,
}

_trees: dict[tuple[str, Release], CheckTree] = {}


def _check_tree(name: str, release: Release) -> CheckTree:
    if (name, release) not in _trees:
        groups, examinations = {
            "complete instance": (
                specs.GROUPS,
                (
                    *specs.EXAMINATIONS,
                    *specs.CREATION_EXAMINATIONS,
                    earlier_releases.FIRST_GATES,
                    *instances.EXAMINATIONS,
                ),
            ),
            "pool": (POOL_GROUPS, ()),
            "pool template": (
                specs.GROUPS,
                (*specs.EXAMINATIONS, *earlier_releases.TEMPLATE_EXAMINATIONS, *specs.VM_EXAMINATIONS),
            ),
            "migration policy": (POLICY_GROUPS, ()),
            "preset": (PRESET_GROUPS, PRESET_EXAMINATIONS),
            "instancetype": (instancetypes.INSTANCETYPE_GROUPS, ()),
            "preference": (instancetypes.PREFERENCE_GROUPS, instancetypes.PREFERENCE_EXAMINATIONS),
        }[name]
        _trees[name, release] = CheckTree(groups, examinations, release)
    return _trees[name, release]


def admit_object(obj: Object, *, completed: Object | None = None, cluster: Cluster, release: Release) -> tuple[Cause, ...]:
    """All causes for which admission refuses an object that is not a VirtualMachine; () for unknown kinds.

    For a VirtualMachineInstance, `completed` is the object with presets applied and the webhook's defaults set.
    """
    admit = KINDS.get((group_of(obj), kind_of(obj)))
    return settled(admit(_Request(obj, completed, cluster, release)), obj) if admit else ()
