"""Rules of an update that few manifests run into: each shows as a pair of bundles."""

from __future__ import annotations

from typing import Any

import pytest
from diffing import Object, vm, with_sockets

import krm_fn
from krm_fn.kubevirt.updates import power

EVICT, HOOKS = "descheduler.alpha.kubernetes.io/evict", "kubevirt.io/skip-backup-hooks"
WAITS = {"kubevirt.io/immediate-data-volume-creation": "false"}
STAGE, LIVE = {"vmRolloutStrategy": "Stage"}, {"vmRolloutStrategy": "LiveUpdate"}
GENERAL = "a non-live-updatable field was changed in the template spec"


def asked(release: str) -> Object:
    config = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines"}
    return {**config, "spec": {"kubevirtVersion": release}}


def told(
    base: list[Object], head: list[Object], release: str = "1.9", *, migratable: bool | str = "auto", **configuration: Any
) -> Object:
    """The only record of a pair."""
    cluster = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt"},
        "spec": {"configuration": configuration, "workloadUpdateStrategy": {"workloadUpdateMethods": ["LiveMigrate"]}},
    }
    pair = ({"items": [*side, cluster], "functionConfig": asked(release)} for side in (base, head))
    (record,) = krm_fn.diff(*pair, migratable=migratable)["vms"]
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


@pytest.mark.parametrize(
    ("release", "copied"),
    [("1.6.5", False), ("1.6.6", True), ("1.7.2", False), ("1.7.3", True), ("1.8.0", True), ("1.9", True)],
)
def test_the_annotation_of_backup_hooks_is_copied_in_newer_patch_releases(release: str, copied: bool) -> None:
    record = told([vm()], [annotated(vm(), {HOOKS: "true"}, {})], release)
    assert ("live" in record["effect"]) is copied


def test_annotations_of_two_places_are_copied_where_only_those_of_the_template_are_followed() -> None:
    record = told([vm()], [annotated(vm(), {HOOKS: "true"}, {EVICT: "true"})], "1.7.2")
    assert (record["effect"], record["live"]) == (["live"], ["/annotations/descheduler.alpha.kubernetes.io~1evict"])


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


@pytest.mark.parametrize(
    ("release", "migratable", "restarts"), [("1.9", False, False), ("1.10", False, True), ("1.10", True, False)]
)
def test_another_network_needs_a_restart_where_the_vm_cannot_migrate_since_1_10(release, migratable, restarts) -> None:
    record = told([plugged()], [plugged("red")], release, migratable=migratable)
    assert ("restartRequired" in record, "live" in record) == (restarts, not restarts)


def test_a_vm_that_is_run_again_on_failure_starts_when_the_strategy_comes_and_not_once_it_is_stopped() -> None:
    machine = vm(runStrategy="RerunOnFailure")
    assert [power.starts(machine, before) for before in ("", "Always", "Halted", "RerunOnFailure")] == [True, True, True, False]


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


@pytest.mark.parametrize(("release", "checked"), [("1.7.4", False), ("1.8.4", False), ("1.8.5", True), ("1.9", True)])
def test_a_claim_that_is_missing_stops_the_migration_since_1_8_5_and_1_9(release: str, checked: bool) -> None:
    record = told([claiming("old")], [claiming("new", updateVolumesStrategy="Migration")], release)
    assert ("doesn't exist" in record.get("volumesChange", "")) is checked


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
        ("1.6.2", STAGE, GENERAL),
        ("1.6.2", LIVE, "the volumes replacement is effective only after restart"),
        ("1.6.3", STAGE, None),
        ("1.6.3", LIVE, None),
        ("1.6", STAGE, None),
        ("1.6", LIVE, None),
    ],
)
def test_a_hotpluggable_volume_in_a_manifest_needs_a_restart_before_1_6_3(
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


def on_arm(**parts: Any) -> Object:
    machine = vm()
    spec = machine["spec"]["template"]["spec"]
    spec["architecture"] = "arm64"
    spec["domain"] |= {"firmware": {"bootloader": {"efi": {"secureBoot": False}}}, **parts}
    return machine


@pytest.mark.parametrize(("release", "refused"), [("1.5.1", False), ("1.5.2", True)])
def test_the_cpus_of_arm_guests_grow_before_1_5_2(release: str, refused: bool) -> None:
    pair = (on_arm(cpu={"sockets": sockets, "maxSockets": 8}) for sockets in (2, 4))
    record = told(*([side] for side in pair), release, **LIVE, developerConfiguration={"featureGates": ["MultiArchitecture"]})
    assert record.get("restartRequired") == ("ARM doesn't support CPU hotplug" if refused else None)


def with_cdrom(*, there: bool) -> Object:
    machine = vm()
    spec = machine["spec"]["template"]["spec"]
    if there:
        spec["domain"]["devices"]["disks"] = [{"name": "cd", "cdrom": {"bus": "sata"}}]
        spec["volumes"] = [{"name": "cd", "persistentVolumeClaim": {"claimName": "iso", "hotpluggable": True}}]
    return machine


@pytest.mark.parametrize(("release", "message"), [("1.6.3", None), ("1.6.4", GENERAL), ("1.9", GENERAL)])
def test_a_cdrom_that_is_taken_away_needs_a_restart_since_1_6_4(release: str, message: str | None) -> None:
    assert told([with_cdrom(there=True)], [with_cdrom(there=False)], release).get("restartRequired") == message


@pytest.mark.parametrize(("release", "message"), [("1.6.3", GENERAL), ("1.6.4", None), ("1.7.0", GENERAL), ("1.7.1", None)])
def test_the_uuid_that_an_upgrade_writes_into_a_vm_asks_for_a_restart_in_some_releases(
    release: str, message: str | None
) -> None:
    """Before 1.6, no VM has a uuid of its own in its spec; the controller of 1.6 writes the one that the guest has."""
    sides = ({"items": [vm()], "functionConfig": asked(each)} for each in ("1.5.2", release))
    (record,) = krm_fn.diff(*sides)["vms"]
    assert record.get("restartRequired") == message


@pytest.mark.parametrize("field", ["instancetype", "preference"])
def test_a_reference_cannot_move_without_its_revision(field: str) -> None:
    kind = {"instancetype": "VirtualMachineInstancetype", "preference": "VirtualMachinePreference"}[field]
    around = [
        {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": kind, "metadata": {"name": name}, "spec": SPECS[field]}
        for name in ("small", "large")
    ]
    around += [revision(name, each) for name, each in zip(("rev-1", "rev-2"), around, strict=True)]

    def naming(name: str, **pin: str) -> Object:
        machine = vm(**{field: {"name": name, "kind": kind, **pin}})
        del machine["spec"]["template"]["spec"]["domain"]["cpu"], machine["spec"]["template"]["spec"]["domain"]["memory"]
        if field == "preference":
            machine["spec"]["template"]["spec"]["domain"]["memory"] = {"guest": "1Gi"}
        return machine

    base = [naming("small", revisionName="rev-1"), *around]
    assert told(base, [naming("large", revisionName="rev-1"), *around])["update"]["stage"] == "mutating"
    for moved in (naming("large", revisionName="rev-2"), naming("large")):
        assert told(base, [moved, *around])["update"] == {"sent": True, "allowed": True}


SPECS = {
    "instancetype": {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}},
    "preference": {"devices": {"preferredDiskBus": "sata"}},
}


def revision(name: str, obj: Object) -> Object:
    meta = {"name": name, "labels": {"instancetype.kubevirt.io/object-name": obj["metadata"]["name"]}}
    return {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": meta, "data": obj, "revision": 0}


def bound(**binding: Object) -> Object:
    machine = vm()
    spec = machine["spec"]["template"]["spec"]
    spec["domain"]["devices"]["interfaces"] = [{"name": "pod", **binding}]
    spec["networks"] = [{"name": "pod", "pod": {}}]
    return machine


def test_a_binding_that_is_gone_passes_the_update_and_stops_the_next_start() -> None:
    record = told([bound(masquerade={})], [bound(slirp={})], "1.8.4")
    assert record["update"]["allowed"] is True
    assert "slirp" in record["startError"]
    assert told([bound(masquerade={})], [bound(slirp={})], "1.9")["update"]["stage"] == "validating"


@pytest.mark.parametrize(("strategy", "effect"), [(LIVE, "refused"), (STAGE, "restartRequired")])
def test_more_memory_than_its_limit_is_refused_only_where_memory_may_grow(strategy: Object, effect: str) -> None:
    base, head = vm(), vm()
    for side, guest in ((base, "2Gi"), (head, "6Gi")):
        side["spec"]["template"]["spec"]["domain"]["memory"] = {"guest": guest, "maxGuest": "4Gi"}
    assert effect in told([base], [head], "1.9", **strategy)["effect"]
