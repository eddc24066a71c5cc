"""The VM as admission checks it: stored by the mutating webhook, and then, as a copy, expanded with its defaults.

The result is nearly that of expand-spec. But expand-spec adds default disks and the default network before the preference.
"""

from __future__ import annotations

from krm_fn.base.bundle import Bundle
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, copy, get, put
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.expand import REQUIRED_OF_DEFAULTS_SINCE, apply, set_instance_defaults
from krm_fn.kubevirt.expand.admitted import crashes, platform
from krm_fn.kubevirt.expand.requirements import indivisible_vcpus, unmet_requirements
from krm_fn.kubevirt.facts import Expansion, Resolution
from krm_fn.kubevirt.fields.topology import ignored_topology
from krm_fn.kubevirt.holders import TEMPLATE
from krm_fn.kubevirt.releases import Release, Version

# Before this release, admission also set the defaults of devices and features before its checks.
WITHOUT_DEVICES_SINCE: Version = (1, 4)

MACHINE_TYPE: Path = ("spec", "domain", "machine", "type")  # below the template


def expand_for_admission(
    resolution: Resolution,
    *,
    namespace: str,
    bundle: Bundle,
    cluster: Cluster,
    release: Release,
) -> Expansion:
    """The resolved VM before its fields are checked; `vm` is None if admission refuses it earlier.

    As upstream, this skips a reference that cannot be resolved, and applies the other one.
    upstream: pkg/virt-api/webhooks/validating-webhook/admitters/vms-admitter.go:Admit
    """
    instancetype = resolution.instancetype.spec if resolution.instancetype else None
    preference = resolution.preference.spec if resolution.preference else None
    vm = resolution.vm
    unmet, template = indivisible_vcpus(instancetype, preference, release), copy(get(vm, TEMPLATE))
    spec = template.setdefault("spec", {}) if isinstance(template, dict) else None
    if not isinstance(spec, dict):
        return Expansion(vm=None, unmet=unmet)
    crashed = () if resolution.errors else crashes(spec, instancetype=instancetype, preference=preference, release=release)
    spec["architecture"], machine = platform(
        vm, preference=preference, namespace=namespace, bundle=bundle, cluster=cluster, release=release
    )
    if _holds(template, MACHINE_TYPE[:-2]) and _holds(template, MACHINE_TYPE[:-1]):
        put(template, MACHINE_TYPE, machine)
    required = preference is not None and release.within(until=REQUIRED_OF_DEFAULTS_SINCE)
    if required:
        unmet += unmet_requirements(spec, instancetype=instancetype, preference=preference or {}, release=release)
    conflicts = apply(template, instancetype=instancetype, preference=preference, release=release)
    refusals = crashed if conflicts else (*crashed, *_set_defaults(spec, cluster, release))
    if not conflicts and preference is not None and not required:
        unmet += unmet_requirements(spec, instancetype=instancetype, preference=preference, release=release)
    expanded = None if conflicts or refusals else {**vm, "spec": {**vm["spec"], "template": template}}
    return Expansion(
        vm=expanded,
        conflicts=conflicts,
        unmet=unmet,
        refusals=refusals,
        ignored_topology=ignored_topology(instancetype, preference, release),
    )


def _set_defaults(spec: Object, cluster: Cluster, release: Release) -> tuple[str, ...]:
    """Set the defaults that admission sets before its checks. Returns the refusal of the default network, if there is one."""
    refusal = set_instance_defaults(spec, cluster, release)
    if not refusal and release.within(until=WITHOUT_DEVICES_SINCE):
        from krm_fn.kubevirt.expand.object_defaults import set_vm_defaults  # other releases do without

        set_vm_defaults(spec, cluster, release, certain=False)
    return (refusal,) if refusal else ()


def _holds(template: Object, path: Path) -> bool:
    """True if the path has a map, or has no value yet."""
    value = get(template, path)
    return value is None or isinstance(value, dict)
