"""What hangs on settings of the cluster that no object and no config states: said to be unknown, and never taken for closed."""

from __future__ import annotations

import copy

from diffing import Object, vm, with_sockets
from jsonschema import Draft202012Validator

import krm_fn
from krm_fn.changes.schema import schema
from krm_fn.cli.changes_text import text_of

CLUSTER = {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "kubevirt"}, "spec": {"configuration": {}}}


def gated(machine: Object) -> Object:
    """The machine with a field that KubeVirt refuses unless a feature gate is open."""
    found = copy.deepcopy(machine)
    found["spec"]["template"]["spec"]["domain"]["devices"]["downwardMetrics"] = {}
    return found


def told(base: list[Object], head: list[Object]) -> tuple[Object, str]:
    """The only record of a pair, and the text for people."""
    answer = krm_fn.diff({"items": base}, {"items": head})
    Draft202012Validator(schema()).validate(answer)
    (record,) = answer["vms"]
    return record, text_of(answer, color=False)


def test_a_gate_that_the_old_object_needs_and_nobody_states_is_not_taken_for_closed() -> None:
    record, text = told([gated(vm())], [gated(with_sockets(3))])
    assert (record["update"]["allowed"], record["unknown"]["featureGates"]) == (True, ["DownwardMetrics"])
    assert "depends on the feature gate DownwardMetrics, which is not known here" in text
    assert "refuse" not in text


def test_a_gate_that_only_the_new_object_needs_refuses_unless_it_is_open() -> None:
    record, text = told([vm()], [gated(vm())])
    assert (record["effect"], record["unknown"]["featureGates"]) == (["refused"], ["DownwardMetrics"])
    assert "KubeVirt refuses the update, unless a feature gate is open" in text
    assert "depends on the feature gate DownwardMetrics, which is not known here" in text


def test_a_gate_that_a_kubevirt_object_leaves_closed_refuses() -> None:
    record, _ = told([gated(vm()), CLUSTER], [gated(with_sockets(3)), CLUSTER])
    assert (record["update"]["allowed"], "unknown" in record) == (False, False)


def test_a_refusal_for_another_reason_stays_one() -> None:
    broken = gated(with_sockets(3))
    broken["spec"]["template"]["spec"]["domain"]["devices"]["disks"] = [{"name": "no-volume"}]
    record, _ = told([gated(vm())], [broken])
    assert record["effect"] == ["refused"]


def test_who_starts_a_migration_is_not_known_without_the_kubevirt_object() -> None:
    record, text = told([vm()], [with_sockets(3)])
    assert record["unknown"] == {"workloadUpdateStrategy": True}
    assert "whether KubeVirt starts the migration depends on workloadUpdateStrategy, which is not known here" in text
    assert "nobody starts it" not in text


def test_nobody_starts_a_migration_where_the_kubevirt_object_names_no_method() -> None:
    record, text = told([vm(), CLUSTER], [with_sockets(3), CLUSTER])
    assert "unknown" not in record
    assert "nobody starts it" in text


def test_capacity_counts_a_vm_whose_gates_are_not_known() -> None:
    (record,) = krm_fn.capacity({"items": [gated(vm())]})["vms"]
    assert (record["vcpus"], "pod" in record) == (2, True)


def test_an_upgrade_takes_no_gate_for_closed_that_a_running_vm_needs() -> None:
    machine = vm()
    spec = machine["spec"]["template"]["spec"]
    spec["domain"]["devices"] |= {"tpm": {"persistent": True}, "filesystems": [{"name": "shared", "virtiofs": {}}]}
    spec.setdefault("volumes", []).append({"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}})
    head = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines"}
    configs = ({**head, "spec": {"kubevirtVersion": release}} for release in ("1.5", "1.6"))
    (record,) = krm_fn.diff(*({"items": [machine], "functionConfig": config} for config in configs))["vms"]
    assert "error" not in record["effect"]
    assert record["unknown"]["featureGates"] == ["EnableVirtioFsStorageVolumes", "VMPersistentState"]
