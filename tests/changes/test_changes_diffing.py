"""`krm_fn.diff`: which VMs get a record, and that the function is pure."""

from __future__ import annotations

import copy

import pytest
from diffing import Object, diff, instancetype, typed, vm, with_sockets

import krm_fn
from krm_fn.base.errors import ConfigError, InputError


def test_a_bundle_and_itself_differ_in_nothing() -> None:
    bundle = [vm(), typed() | {"metadata": {"name": "typed"}}, instancetype(2)]
    assert diff(bundle, copy.deepcopy(bundle)) == []


def test_the_arguments_stay_as_they_were() -> None:
    base, head = {"items": [typed(), instancetype(2)]}, {"items": [typed(), instancetype(4)]}
    before = copy.deepcopy((base, head))
    krm_fn.diff(base, head)
    assert (base, head) == before


def test_vms_of_one_side_are_added_or_removed() -> None:
    found = diff([vm("old")], [with_sockets(4, "new")])
    assert [(each["name"], each["change"], each["effect"]) for each in found] == [
        ("new", "added", ["added"]),
        ("old", "removed", ["removed"]),
    ]


def test_more_sockets_reach_a_running_vm_and_need_a_migration_that_nobody_starts() -> None:
    (record,) = diff([vm()], [with_sockets(4)])
    people = {"changes", "guest", "pod"}
    assert {key: value for key, value in record.items() if key not in people} == {
        "kind": "VirtualMachine",
        "namespace": "default",
        "name": "web",
        "change": "changed",
        "effect": ["live", "migration:nobody", "atNextStart"],
        "update": {"sent": True, "allowed": True},
        "live": ["/spec/domain/cpu/sockets"],
        "atRestart": ["/spec/domain/cpu/maxSockets"],
        "migration": {"because": ["HotVCPUChange"], "by": "nobody"},
        "power": "running",
        "unknown": {"workloadUpdateStrategy": True},
    }


def test_fewer_sockets_wait_for_a_restart() -> None:
    (record,) = diff([vm()], [with_sockets(1)])
    assert record["effect"] == ["restartRequired", "atNextStart"]


def test_replacing_a_manifest_gives_the_guest_another_firmware_uuid() -> None:
    (record,) = diff([vm()], [vm()], apply=False)
    assert record["effect"] == ["restartRequired", "atNextStart"]
    assert record["atRestart"] == ["/spec/domain/firmware/serial", "/spec/domain/firmware/uuid"]


def test_of_two_objects_of_one_name_the_later_counts() -> None:
    assert diff([vm()], [with_sockets(4), vm()]) == []


def test_of_two_objects_of_one_name_in_lists_the_later_counts() -> None:
    def listed(*items: Object) -> Object:
        return {"apiVersion": "v1", "kind": "List", "items": list(items)}

    assert diff([vm()], [listed(with_sockets(1), vm())]) == []
    assert diff([vm()], [listed(with_sockets(1)), vm()]) == []
    assert diff([vm()], [listed(vm()), listed(with_sockets(1)), vm()]) == []


def test_each_side_has_its_own_release() -> None:
    config = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines"}
    sides = [
        {"items": [vm()], "functionConfig": {**config, "spec": {"kubevirtVersion": release}}} for release in ("1.8", "1.9")
    ]
    assert krm_fn.diff(*sides)["vms"] == []


@pytest.mark.parametrize(
    ("wrong", "error"), [({"items": "text"}, InputError), ({"functionConfig": {"spec": {"mode": "no"}}}, ConfigError)]
)
def test_wrong_lists_are_refused(wrong: Object, error: type[Exception]) -> None:
    with pytest.raises(error):
        krm_fn.diff({"items": []}, wrong)


BARE = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "web"}, "spec": {}}


@pytest.mark.parametrize(("broken", "path"), [(BARE, "spec.template"), (vm(dataVolumeTemplates=5), "spec.dataVolumeTemplates")])
def test_a_vm_that_no_cluster_takes_is_refused_or_new(broken: Object, path: str) -> None:
    (record,) = diff([vm()], [broken])
    assert record["effect"] == ["refused"]
    assert [cause["path"] for cause in record["update"]["causes"]] == [path]
    assert [record["change"] for record in diff([broken], [vm()])] == ["added"]
    assert diff([broken], [broken]) == []
