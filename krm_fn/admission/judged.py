"""The VM as admission judges it: stored by the mutating webhook, then, on a copy, expanded and given its defaults.

It is nearly what expand-spec returns; but there the default disks and the default network come before the preference.
"""

from __future__ import annotations

from krm_fn.expand import apply, set_instance_defaults
from krm_fn.expand.admitted import admit
from krm_fn.expand.requirements import indivisible_vcpus, unmet_requirements
from krm_fn.facts import Expansion
from krm_fn.paths import copy, get

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.bundle import Bundle
    from krm_fn.cluster import Cluster
    from krm_fn.facts import Resolution
    from krm_fn.releases import Release
    from krm_fn.resource import Object


def judge(resolution: Resolution, *, namespace: str, bundle: Bundle, cluster: Cluster, release: Release) -> Expansion:
    """What becomes of the resolved VM before its fields are checked; `vm` is None where admission refuses it before that.

    A reference that leads nowhere is passed over here, as upstream does: the other one is applied all the same.
    upstream: pkg/virt-api/webhooks/validating-webhook/admitters/vms-admitter.go:Admit
    """
    instancetype = resolution.instancetype.spec if resolution.instancetype else None
    preference = resolution.preference.spec if resolution.preference else None
    stored = admit(resolution.vm, preference=preference, namespace=namespace, bundle=bundle, cluster=cluster, release=release)
    return judge_stored(stored, instancetype=instancetype, preference=preference, cluster=cluster, release=release)


def judge_stored(
    vm: Object, *, instancetype: Object | None, preference: Object | None, cluster: Cluster, release: Release
) -> Expansion:
    """The same for a VM as the mutating webhook stores it; `instancetype` and `preference` are specs, `vm` is left as it is."""
    unmet = indivisible_vcpus(instancetype, preference)
    template = copy(get(vm, ("spec", "template")))
    spec = template.setdefault("spec", {}) if isinstance(template, dict) else None
    if not isinstance(spec, dict):
        return Expansion(vm=None, unmet=unmet)
    conflicts = apply(template, instancetype=instancetype, preference=preference, release=release)
    refusal = "" if conflicts else set_instance_defaults(spec, cluster, release)
    if not conflicts and preference is not None:
        unmet += unmet_requirements(spec, instancetype=instancetype, preference=preference, release=release)
    judged = None if conflicts or refusal else {**vm, "spec": {**vm["spec"], "template": template}}
    return Expansion(vm=judged, conflicts=conflicts, unmet=unmet, refusals=(refusal,) if refusal else ())
