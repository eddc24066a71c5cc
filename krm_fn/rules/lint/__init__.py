"""Rules about the bundle: what KubeVirt's webhooks do not see.

As in the family `bundle`, `NEEDS` holds functions of rules, True for facts in which the rule can find something; they are
called before the rules are loaded. A rule without a function there is always run.
"""

from __future__ import annotations

from krm_fn.kubevirt.fields.topology import NAMED_SINCE
from krm_fn.kubevirt.holders import RENDERED, SERVED
from krm_fn.kubevirt.resolve import MATCHERS
from krm_fn.rules.needs import uses_catalogue
from krm_fn.rules.shared.labels import LABELLED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from krm_fn.rules.facts.bundles import BundleFacts
    from krm_fn.rules.needs import Needs


def _has(*kinds: str) -> Callable[[BundleFacts], object]:
    return lambda facts: any(facts.bundle.of_kind(kind) for kind in kinds)


def _set(*setting: str) -> Callable[[BundleFacts], object]:
    return lambda facts: facts.cluster.setting(*setting) is not None


_has_machines = _has(*(holder.kind for holder in SERVED.values()))

NEEDS: Needs = {
    "blocked_drain": lambda facts: facts.evictions,
    "changed_in_later_release": uses_catalogue,
    "contradictory_data_volume": _has("DataVolume", *(holder.kind for holder in RENDERED)),
    "copied_revision": _has("ControllerRevision"),
    "disk_in_two_machines": _has_machines,
    "duplicate_firmware_serial": _has_machines,
    "duplicate_firmware_uuid": _has_machines,
    "duplicate_mac_address": _has_machines,
    "headless_user_data": _has_machines,
    "ignored_topology": lambda facts: facts.release.within(until=NAMED_SINCE),
    "migration_over_quota": lambda facts: facts.quotas,
    "never_starts": lambda facts: facts.stopped,
    "not_migratable": lambda facts: facts.evictions,
    "outdated_revision": _has("ControllerRevision"),
    "pod_outside_limit_range": lambda facts: facts.refused_pods,
    "quota_exceeded": lambda facts: facts.quotas,
    "unbound_policy": lambda facts: any(each.is_unbound for each in facts.unevaluated),
    "unknown_configuration": lambda facts: facts.gated,
    "unknown_default_label": _has(*(kind for kind, _ in LABELLED)),
    "unknown_feature_gate": _has("KubeVirt"),
    "unpermitted_device": _set("permittedHostDevices"),
    "unusable_instancetype": lambda facts: facts.faults,
    "unused_instancetype": _has(*(kind for matcher in MATCHERS for kind in matcher.kinds)),
    "unused_preset": _has("VirtualMachineInstancePreset"),
    "unused_revision": _has("ControllerRevision"),
    "vm_over_quota": lambda facts: facts.quotas,
}
