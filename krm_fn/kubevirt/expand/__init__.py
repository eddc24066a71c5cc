"""Expansion: writes an instancetype and a preference into the VM that refers to them, as KubeVirt's expand-spec does.

Starting an instance from a VM uses some of the parts in another order: `apply`, `set_default_disks`,
`set_default_network`, `set_instance_defaults`, `set_platform`, `apply_device_preferences`, `apply_autoattach_preferences`.

Refusals: `no-template` (the VM has no spec.template, or it is not a map), `bridge-forbidden`,
`slirp-forbidden` and `slirp-removed` (the cluster's settings forbid the default network of the VM).
"""

from __future__ import annotations

from krm_fn.base.objects import Object
from krm_fn.base.paths import as_map, copy, get, is_set
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.expand.apply import apply, apply_autoattach_preferences, apply_device_preferences
from krm_fn.kubevirt.expand.defaults import (
    BRIDGE_FORBIDDEN,
    SLIRP_FORBIDDEN,
    SLIRP_REMOVED,
    set_default_disks,
    set_default_network,
    set_instance_defaults,
    set_platform,
)
from krm_fn.kubevirt.expand.requirements import indivisible_vcpus, unmet_requirements
from krm_fn.kubevirt.facts import Expansion, Unmet
from krm_fn.kubevirt.fields.instancetype import GUEST
from krm_fn.kubevirt.fields.topology import ignored_topology
from krm_fn.kubevirt.fields.verbs import enter
from krm_fn.kubevirt.holders import TEMPLATE
from krm_fn.kubevirt.releases import Release, Version

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.trace import Trace


__all__ = [
    "BRIDGE_FORBIDDEN",
    "COMPLETED_SINCE",
    "NO_TEMPLATE",
    "REQUIRED_OF_DEFAULTS_SINCE",
    "SLIRP_FORBIDDEN",
    "SLIRP_REMOVED",
    "apply",
    "apply_autoattach_preferences",
    "apply_device_preferences",
    "complete",
    "expand",
    "set_default_disks",
    "set_default_network",
    "set_instance_defaults",
    "set_platform",
    "without_matchers",
]

NO_TEMPLATE = "no-template"
# The release since which expand-spec adds default devices and other defaults; before, it only applies the two objects.
COMPLETED_SINCE: Version = (1, 3, 1)
# The releases in which these are all defaults of VMs that admission knows, also those of devices and features.
WHOLLY_COMPLETED: tuple[Version, Version] = (COMPLETED_SINCE, (1, 4))
# The release since which admission sets defaults before it checks requirements.
REQUIRED_OF_DEFAULTS_SINCE: Version = (1, 0, 1)


def expand(
    vm: Object,
    *,
    instancetype: Object | None,
    preference: Object | None,
    cluster: Cluster,
    release: Release,
    defaults: bool,
    table: str = "instancetype",
    trace: Trace | None = None,
) -> Expansion:
    """The VM with instancetype and preference (their specs, v1beta1) applied and its matchers removed, or the reason why not.

    `defaults`: write the defaults that KubeVirt's expander writes, too. If the cluster's configuration is not known, these are
    only the defaults that the VM alone decides. `table` is the field table of the instancetype, or of a flavor in its place.
    The argument does not change. The result shares everything outside spec.template with it, and nothing with the specs.
    upstream: pkg/instancetype/expand/expand.go:Expand
    """
    template = copy(get(vm, TEMPLATE))
    if not isinstance(template, dict) or not isinstance(template.get("spec") or {}, dict):
        return Expansion(vm=None, refusals=(NO_TEMPLATE,), unmet=indivisible_vcpus(instancetype, preference, release))
    spec, completed, refusal = enter(template, "spec"), release.within(since=COMPLETED_SINCE), ""
    if completed:
        set_default_disks(spec)
        refusal = set_default_network(spec, cluster, release)
    conflicts = apply(template, instancetype=instancetype, preference=preference, release=release, table=table, trace=trace)
    unmet = indivisible_vcpus(instancetype, preference, release)
    if defaults and completed and not conflicts:
        refusal = complete(spec, cluster, release, trace=trace) or refusal
    if preference is not None and not conflicts:
        defaulted = defaults and completed and cluster.known
        unmet += _unmet(spec, instancetype, preference, cluster, release, defaulted=defaulted)
    return Expansion(
        vm=None if conflicts or refusal else without_matchers(vm, template),
        conflicts=conflicts,
        unmet=unmet,
        refusals=(refusal,) if refusal else (),
        ignored_topology=ignored_topology(instancetype, preference, release),
    )


def complete(spec: Object, cluster: Cluster, release: Release, *, trace: Trace | None = None) -> str:
    """Write the defaults of expand-spec. Returns the refusal of the default network, or ""."""
    if trace:
        trace.before = copy(spec)
    refusal = set_instance_defaults(spec, cluster, release, certain=not cluster.known)
    since, until = WHOLLY_COMPLETED
    if not refusal and release.within(since=since, until=until):
        from krm_fn.kubevirt.expand.object_defaults import set_vm_defaults  # other releases do without

        set_vm_defaults(spec, cluster, release, certain=not cluster.known)
    return refusal


def _unmet(
    spec: Object, instancetype: Object | None, preference: Object, cluster: Cluster, release: Release, *, defaulted: bool
) -> tuple[Unmet, ...]:
    """The unmet requirements, judged with all of KubeVirt's defaults, even if these are not written."""
    requirements = preference.get("requirements")
    if not requirements:
        return ()
    judged = release.within(since=REQUIRED_OF_DEFAULTS_SINCE)
    if judged and not defaulted and not _requires_nothing_of_defaults(as_map(requirements), spec, instancetype):
        spec = copy(spec)
        set_instance_defaults(spec, cluster, release)
    return unmet_requirements(spec, instancetype=instancetype, preference=preference, release=release)


def _requires_nothing_of_defaults(requirements: Object, spec: Object, instancetype: Object | None) -> bool:
    """True if no default affects a requirement: an instancetype sets the vCPUs, and guest memory is already set."""
    return instancetype is not None and requirements.get("architecture") is None and is_set(get(spec, GUEST))


def without_matchers(vm: Object, template: Object) -> Object:
    """The VM with another template, without the references, whose values the template now has."""
    spec = {key: value for key, value in vm["spec"].items() if key not in ("instancetype", "preference")}
    rendered = {**vm, "spec": {**spec, "template": template}}
    if "status" in vm:
        status = as_map(vm["status"]).items()
        rendered["status"] = {key: value for key, value in status if key not in ("instancetypeRef", "preferenceRef")}
    return rendered
