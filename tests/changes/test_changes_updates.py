"""Rules of an update that few manifests run into: each shows as a pair of bundles."""

from __future__ import annotations

from typing import Any

import pytest
from diffing import Object, vm, with_sockets

import krm_fn

EVICT, HOOKS = "descheduler.alpha.kubernetes.io/evict", "kubevirt.io/skip-backup-hooks"
WAITS = {"kubevirt.io/immediate-data-volume-creation": "false"}
STAGE, LIVE = {"vmRolloutStrategy": "Stage"}, {"vmRolloutStrategy": "LiveUpdate"}
GENERAL = "a non-live-updatable field was changed in the template spec"


def told(base: list[Object], head: list[Object], release: str = "1.9", **configuration: Any) -> Object:
    """The only record of a pair."""
    cluster = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt"},
        "spec": {"configuration": configuration, "workloadUpdateStrategy": {"workloadUpdateMethods": ["LiveMigrate"]}},
    }
    config = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines"}
    asked = {**config, "spec": {"kubevirtVersion": release}}
    (record,) = krm_fn.diff(*({"items": [*side, cluster], "functionConfig": asked} for side in (base, head)))["vms"]
    found: Object = record
    return found


def annotated(machine: Object, of_vm: Object, of_template: Object) -> Object:
    machine["metadata"]["annotations"] = of_vm
    machine["spec"]["template"]["metadata"] = {"annotations": of_template}
    return machine


@pytest.mark.parametrize(("of_vm", "of_template"), [({HOOKS: "true"}, {}), ({}, {EVICT: "true"})])
def test_annotations_of_one_place_are_copied_beside_more_sockets(of_vm: Object, of_template: Object) -> None:
    record = told([vm()], [annotated(with_sockets(3), of_vm, of_template)])
    assert record["effect"] == ["live", "migration:LiveMigrate", "atNextStart"]


def test_annotations_of_two_places_stop_the_controller_since_1_7() -> None:
    changed = annotated(with_sockets(3), {HOOKS: "true"}, {EVICT: "true"})
    record = told([vm()], [changed], "1.7")
    assert record["effect"] == ["atNextStart", "error"]
    assert "live" not in record
    assert told([vm()], [changed], "1.6")["effect"] == ["live", "migration:LiveMigrate", "atNextStart"]


def plugged(network: str = "blue", **interface: Any) -> Object:
    """A VM with a pod network and a bridge."""
    machine = vm()
    spec = machine["spec"]["template"]["spec"]
    spec["domain"]["devices"]["interfaces"] = [{"name": "pod", "masquerade": {}}, {"name": "lan", "bridge": {}, **interface}]
    spec["networks"] = [{"name": "pod", "pod": {}}, {"name": "lan", "multus": {"networkName": network}}]
    return machine


def unplugged() -> Object:
    machine = plugged()
    spec = machine["spec"]["template"]["spec"]
    del spec["domain"]["devices"]["interfaces"][1], spec["networks"][1]
    return machine


def test_an_interface_that_leaves_and_moves_to_another_network_needs_a_migration() -> None:
    assert "migration" not in told([plugged()], [plugged(state="absent")])
    assert told([plugged()], [plugged("red", state="absent")])["migration"] == {
        "because": ["MigrationRequired"],
        "by": "LiveMigrate",
        "network": "immediate",
    }


@pytest.mark.parametrize(("release", "migrates"), [("1.5", False), ("1.6", True)])
def test_a_new_interface_asks_for_a_migration_since_1_6(release: str, migrates: bool) -> None:
    record = told([unplugged()], [plugged()], release)
    assert "live" in record["effect"]
    assert ("migration" in record) is migrates


def templated(strategy: str, *names: str, annotations: Object | None = None) -> Object:
    templates = [{"metadata": {"name": name}, "spec": {"storage": {}, "source": {"blank": {}}}} for name in names]
    machine = vm(runStrategy=strategy, dataVolumeTemplates=templates)
    machine["metadata"]["annotations"] = annotations or {}
    disks = [{"name": name, "disk": {"bus": "virtio"}} for name in names]
    machine["spec"]["template"]["spec"]["domain"]["devices"]["disks"] = disks
    machine["spec"]["template"]["spec"]["volumes"] = [{"name": name, "dataVolume": {"name": name}} for name in names]
    return machine


def test_data_volumes_that_wait_for_a_start_are_created_by_it() -> None:
    waits = templated("Halted", "a", annotations=WAITS)
    assert told([waits], [templated("Always", "a", annotations=WAITS)])["creates"] == ["DataVolume/a"]
    assert told([waits], [templated("Halted", "a")])["creates"] == ["DataVolume/a"]
    assert "creates" not in told([waits], [templated("Halted", "a", "b", annotations=WAITS)])


def test_a_new_data_volume_of_a_running_vm_may_wait_for_its_next_start() -> None:
    running = templated("Always", "a", annotations=WAITS)
    assert "creates" not in told([running], [templated("Always", "a", "b", annotations=WAITS)])
    assert told([templated("Always", "a")], [templated("Always", "a", "b")])["creates"] == ["DataVolume/b"]


def claiming(claim: str, **more: Any) -> Object:
    machine = vm(**more)
    spec = machine["spec"]["template"]["spec"]
    spec["domain"]["devices"]["disks"] = [{"name": "root", "disk": {"bus": "virtio"}}]
    spec["volumes"] = [{"name": "root", "persistentVolumeClaim": {"claimName": claim}}]
    return machine


def test_a_migration_of_volumes_to_a_claim_that_is_missing_does_not_start() -> None:
    record = told([claiming("old")], [claiming("new", updateVolumesStrategy="Migration")])
    assert record["effect"] == ["atNextStart"]
    assert record["volumesChange"] == "One of the destination volumes doesn't exist: the pvc new doesn't exist"


def hotplugged() -> Object:
    machine = claiming("old")
    spec = machine["spec"]["template"]["spec"]
    spec["domain"]["devices"]["disks"].append({"name": "data", "disk": {"bus": "scsi"}})
    spec["volumes"].append({"name": "data", "persistentVolumeClaim": {"claimName": "data", "hotpluggable": True}})
    return machine


@pytest.mark.parametrize(
    ("release", "strategy", "message"),
    [
        ("1.5", STAGE, GENERAL),
        ("1.5", LIVE, "the volumes replacement is effective only after restart"),
        ("1.6", STAGE, None),
        ("1.6", LIVE, None),
    ],
)
def test_a_hotpluggable_volume_in_a_manifest_needs_a_restart_before_1_6(
    release: str, strategy: Object, message: str | None
) -> None:
    assert told([claiming("old")], [hotplugged()], release, **strategy).get("restartRequired") == message


def test_volumes_are_migrated_in_1_4_only_behind_two_gates() -> None:
    pair = [claiming("old")], [claiming("new", updateVolumesStrategy="Migration")]
    gates = ["VMLiveUpdateFeatures", "VolumesUpdateStrategy", "VolumeMigration"]
    migrated = told(*pair, "1.4", **LIVE, developerConfiguration={"featureGates": gates})
    assert migrated["migration"] == {"because": ["VolumesChange"], "by": "LiveMigrate"}
    ungated = told(*pair, "1.4", **LIVE, developerConfiguration={"featureGates": gates[:1]})
    assert ungated["effect"] == ["refused"]


def test_a_vm_that_can_start_after_the_change_has_no_error_of_its_start() -> None:
    without = vm(runStrategy="Halted")
    del without["spec"]["template"]["spec"]["domain"]["memory"]
    record = told([without], [vm(runStrategy="Halted")])
    assert "startError" not in record
    assert told([vm(runStrategy="Halted")], [without])["startError"] == "the instance has no memory size; set memory.guest"
