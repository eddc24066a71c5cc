"""Rules about the whole bundle: what KubeVirt's webhooks do not see.

`NEEDS` holds a function for each rule, True for facts in which the rule can find something; it is called before the rule is
loaded.
"""

from __future__ import annotations

from krm_fn.asked import uses_catalogue
from krm_fn.resolve import MATCHERS
from krm_fn.rules.labels import LABELLED
from krm_fn.rules.machines import OWNERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from krm_fn.facts import BundleFacts


def _has(*kinds: str) -> Callable[[BundleFacts], object]:
    return lambda facts: any(facts.bundle.of_kind(kind) for kind in kinds)


def _set(*setting: str) -> Callable[[BundleFacts], object]:
    return lambda facts: facts.cluster.setting(*setting) is not None


def _always(_: BundleFacts) -> bool:
    return True


_has_machines = _has(*(owner.kind for owner in OWNERS))

NEEDS: dict[str, Callable[[BundleFacts], object]] = {
    "changed_in_later_release": uses_catalogue,
    "contradictory_data_volume": _has("DataVolume", "VirtualMachine", "VirtualMachinePool"),
    "copied_revision": _has("ControllerRevision"),
    "deprecated_field": _always,
    "disk_in_two_machines": _has_machines,
    "duplicate_firmware_serial": _has_machines,
    "duplicate_firmware_uuid": _has_machines,
    "duplicate_mac_address": _has_machines,
    "headless_user_data": _has_machines,
    "invalid_label": _always,
    "invalid_metadata": _always,
    "invalid_name": _always,
    "missing_object": _always,
    "outdated_revision": _has("ControllerRevision"),
    "unfilled_placeholder": _always,
    "unknown_configuration": lambda facts: facts.gated,
    "unknown_default_label": _has(*(kind for kind, _ in LABELLED)),
    "unknown_feature_gate": _has("KubeVirt"),
    "unpermitted_device": _set("permittedHostDevices"),
    "unusable_instancetype": lambda facts: facts.faults,
    "unused_instancetype": _has(*(kind for matcher in MATCHERS for kind in matcher.kinds)),
    "unused_preset": _has("VirtualMachineInstancePreset"),
    "unused_revision": _has("ControllerRevision"),
}
