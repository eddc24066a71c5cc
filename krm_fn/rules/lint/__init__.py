"""Rules about the bundle: what KubeVirt's webhooks do not see.

As in the family `bundle`, `NEEDS` holds functions of rules, True for facts in which the rule can find something; they are
called before the rules are loaded. A rule without a function there is always run.
"""

from __future__ import annotations

from krm_fn.base.annotations import Callable
from krm_fn.kubevirt.fields.topology import NAMED_SINCE
from krm_fn.kubevirt.holders import RENDERED, SERVED
from krm_fn.kubevirt.resolve import MATCHERS
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.needs import Needs, uses_catalogue
from krm_fn.rules.shared.labels import LABELLED


def _has(*kinds: str) -> Callable[[BundleFacts], object]:
    return lambda facts: any(facts.bundle.of_kind(kind) for kind in kinds)


def _asked(rule: str) -> Callable[[BundleFacts], object]:
    return lambda facts: rule in facts.config.severity


def _set(*setting: str) -> Callable[[BundleFacts], object]:
    return lambda facts: facts.cluster.setting(*setting) is not None


def _beside_machines(*kinds: str) -> Callable[[BundleFacts], object]:
    there = _has(*kinds)
    return lambda facts: there(facts) and _has_machines(facts)


_has_machines = _has(*(holder.kind for holder in SERVED.values()))

NEEDS: Needs = {
    "blocked_drain": lambda facts: facts.evictions,
    "changed_in_later_release": uses_catalogue,
    "claim_without_class": _has("DataVolume", "PersistentVolumeClaim", *(holder.kind for holder in RENDERED)),
    "clear_text_password": _asked("clear-text-password"),
    "contradictory_data_volume": _has("DataVolume", *(holder.kind for holder in RENDERED)),
    "copied_revision": _has("ControllerRevision"),
    "could_use_instancetype": lambda facts: facts.conversions,
    "decimal_memory": _has(*(holder.kind for holder in SERVED.values()), *MATCHERS[0].kinds),
    "disk_in_two_machines": _has_machines,
    "duplicate_firmware_serial": _has_machines,
    "duplicate_firmware_uuid": _has_machines,
    "duplicate_mac_address": _has_machines,
    "ephemeral_root": _asked("ephemeral-root"),
    "headless_user_data": _has_machines,
    "ignored_preset_field": _has("VirtualMachineInstancePreset"),
    "ignored_topology": lambda facts: facts.release.within(until=NAMED_SINCE),
    "little_headroom": _has_machines,
    "missing_data_key": _beside_machines("Secret", "ConfigMap", "SealedSecret", "ExternalSecret"),
    "migration_over_quota": lambda facts: facts.quotas,
    "missing_resource_injector": _has("NetworkAttachmentDefinition"),
    "name_too_long": _has("VirtualMachineExport", *(holder.kind for holder in SERVED.values())),
    "never_starts": lambda facts: facts.stopped,
    "not_migratable": lambda facts: facts.evictions,
    "null_in_machine_template": _has("KubevirtMachineTemplate", "KubevirtMachine"),
    "outdated_revision": _has("ControllerRevision"),
    "pod_outside_limit_range": lambda facts: facts.refused_pods,
    "quota_exceeded": lambda facts: facts.quotas,
    "revision_of_another_name": _has("ControllerRevision"),
    "service_without_vm": _beside_machines("Service"),
    "taken_over_data_volume": _beside_machines("DataVolume"),
    "unbootable_first_disk": _has_machines,
    "unbound_policy": lambda facts: any(each.is_unbound for each in facts.unevaluated),
    "unforwarded_port": _beside_machines("Service"),
    "unknown_configuration": lambda facts: facts.gated,
    "unknown_default_label": _has(*(kind for kind, _ in LABELLED)),
    "unknown_feature_gate": _has("KubeVirt"),
    "unmatched_mac_address": _has_machines,
    "unpermitted_device": _set("permittedHostDevices"),
    "unusable_instancetype": lambda facts: facts.faults,
    "unpermitted_clone": _has(*(holder.kind for holder in RENDERED)),
    "unused_instancetype": _has(*(kind for matcher in MATCHERS for kind in matcher.kinds)),
    "unused_preset": _has("VirtualMachineInstancePreset"),
    "unused_revision": _has("ControllerRevision"),
    "vm_over_quota": lambda facts: facts.quotas,
    "windows_without_drivers": _has_machines,
}
