"""What a change does to pools and to the VMs in them."""

from __future__ import annotations

import copy
from typing import Any

import jsonschema
import pytest
from diffing import Object, instancetype, typed, vm

import krm_fn
from krm_fn.changes.schema import schema


def pool(sockets: int = 2, labels: Object | None = None, **spec: Any) -> Object:
    made = vm()
    made["spec"]["template"]["spec"]["domain"]["cpu"]["sockets"] = sockets
    made["spec"]["template"]["metadata"] = {"labels": labels or {}}
    template = {"metadata": {"labels": {"app": "a"}}, "spec": made["spec"]}
    spec = {"selector": {"matchLabels": {"app": "a"}}, "virtualMachineTemplate": template, "replicas": 4, **spec}
    return {"apiVersion": "pool.kubevirt.io/v1beta1", "kind": "VirtualMachinePool", "metadata": {"name": "p"}, "spec": spec}


def in_pool(**spec: Any) -> Object:
    """A pool whose VM has other keys in its spec."""
    changed = pool()
    changed["spec"]["virtualMachineTemplate"]["spec"].update(copy.deepcopy(spec))
    return changed


def records(base: list[Object], head: list[Object], release: str = "1.9", **more: Any) -> list[Object]:
    config = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines"}
    given = {**config, "spec": {"kubevirtVersion": release}}
    sides = ({"items": side, "functionConfig": given} for side in (base, head))
    answer = krm_fn.diff(*sides, **more)
    jsonschema.validate(answer, schema(), cls=jsonschema.Draft202012Validator)
    return list(answer["vms"])


def one(base: Object, head: Object, release: str = "1.9", **more: Any) -> Object:
    (found,) = records([base], [head], release, **more)
    return found


def test_another_template_restarts_the_vms_of_a_pool() -> None:
    found = one(pool(), pool(4, maxUnavailable="50%"))
    people = {"changes", "pod"}
    assert {key: value for key, value in found.items() if key not in people} == {
        "kind": "VirtualMachinePool",
        "namespace": "default",
        "name": "p",
        "change": "changed",
        "effect": ["restarted"],
        "update": {"sent": True, "allowed": True},
        "rollout": "proactive",
        "atOnce": 2,
        "guest": {"vcpus": {"old": 2, "new": 4}},
    }
    first = found["changes"][0]
    assert (first["path"], first["old"], first["new"], first["when"]) == ("/spec/domain/cpu/sockets", 2, 4, "restart")
    assert first["causes"] == [
        {
            "source": "pool",
            "kind": "VirtualMachinePool",
            "namespace": "default",
            "name": "p",
            "field": "spec.virtualMachineTemplate.spec.template.spec.domain.cpu.sockets",
            "old": 2,
            "new": 4,
        }
    ]


def test_a_pool_and_itself_differ_in_nothing() -> None:
    assert records([pool()], [pool()]) == []
    assert records([pool()], [pool()], apply=False) == []


def test_pools_of_one_side_are_added_or_removed() -> None:
    assert [found["effect"] for found in records([], [pool()])] == [["added"]]
    assert [found["effect"] for found in records([pool()], [])] == [["removed"]]


@pytest.mark.parametrize(
    ("strategy", "release", "effect", "rollout"),
    [
        ({"proactive": {}}, "1.9", ["restarted"], "proactive"),
        ({"opportunistic": {}}, "1.9", ["live", "migration:nobody", "atNextStart"], "opportunistic"),
        ({"unmanaged": {}}, "1.9", ["newOnly"], "unmanaged"),
        ({"unmanaged": {}}, "1.6", ["restarted"], "proactive"),
    ],
)
def test_the_update_strategy_decides_what_reaches_vms_that_run(
    strategy: Object, release: str, effect: list[str], rollout: str
) -> None:
    found = one(pool(updateStrategy=strategy), pool(4, updateStrategy=strategy), release)
    assert (found["effect"], found["rollout"]) == (effect, rollout)


def test_a_paused_pool_leaves_its_vms_alone() -> None:
    found = one(pool(paused=True), pool(4, paused=True, replicas=1))
    assert (found["effect"], found["rollout"]) == (["newOnly"], "paused")
    assert {change["when"] for change in found["changes"]} == {"new"}


@pytest.mark.parametrize(("release", "effect"), [("1.9", ["recreated"]), ("1.4", ["nothing"])])
def test_other_data_volume_templates_delete_vms_since_1_6(release: str, effect: list[str]) -> None:
    def with_disk(size: str) -> Object:
        blank = {"source": {"blank": {}}, "storage": {"resources": {"requests": {"storage": size}}}}
        changed = in_pool(dataVolumeTemplates=[{"metadata": {"name": "root"}, "spec": blank}])
        spec = changed["spec"]["virtualMachineTemplate"]["spec"]["template"]["spec"]
        spec["domain"]["devices"]["disks"] = [{"name": "root", "disk": {}}]
        spec["volumes"] = [{"name": "root", "dataVolume": {"name": "root"}}]
        return changed

    assert one(with_disk("1Gi"), with_disk("2Gi"), release)["effect"] == effect


def test_a_label_of_the_vm_alone_restarts_nothing() -> None:
    labelled = pool()
    labelled["spec"]["virtualMachineTemplate"]["metadata"]["labels"]["team"] = "a"
    assert one(pool(), labelled)["effect"] == ["nothing"]


def test_a_label_of_the_template_restarts_vms() -> None:
    assert one(pool(), pool(labels={"team": "a"}))["effect"] == ["restarted"]


@pytest.mark.parametrize(
    ("strategy", "effect"), [("Always", "restarted"), ("Manual", "stopped"), ("RerunOnFailure", "stopped")]
)
def test_a_vm_whose_strategy_does_not_start_it_again_is_stopped(strategy: str, effect: str) -> None:
    before, after = in_pool(runStrategy=strategy), in_pool(runStrategy=strategy)
    after["spec"]["virtualMachineTemplate"]["spec"]["template"]["spec"]["domain"]["cpu"]["sockets"] = 4
    assert one(before, after)["effect"] == [effect]


@pytest.mark.parametrize(
    ("before", "after", "strategy", "effect"),
    [
        (4, 6, {}, ["scaledOut"]),
        (4, 2, {}, ["scaledIn"]),
        (4, 2, {"scaleInStrategy": {"proactive": {}}}, ["scaledIn"]),
        (4, 2, {"scaleInStrategy": {"unmanaged": {}}}, ["nothing"]),
    ],
)
def test_replicas_come_and_go(before: int, after: int, strategy: Object, effect: list[str]) -> None:
    found = one(pool(replicas=before, **strategy), pool(replicas=after, **strategy))
    assert found["effect"] == effect
    assert found["replicas"] == {"old": before, "new": after}


def test_vms_that_are_too_many_block_the_update() -> None:
    kept = {"scaleInStrategy": {"opportunistic": {}}}
    found = one(pool(**kept), pool(8, replicas=2, **kept))
    assert (found["effect"], found["rollout"]) == (["newOnly"], "blocked")


def test_in_an_empty_pool_only_new_vms_get_the_change() -> None:
    found = one(pool(replicas=0), pool(4, replicas=3))
    assert found["effect"] == ["scaledOut", "newOnly"]
    assert {change["when"] for change in found["changes"]} == {"new"}


def test_the_selector_of_a_pool_is_fixed() -> None:
    found = one(pool(), pool(selector={"matchLabels": {}}))
    assert found["effect"] == ["refused"]
    assert [cause["path"] for cause in found["update"]["causes"]] == ["spec.selector"]


def test_vms_that_kubevirt_refuses_are_an_error_of_the_pool() -> None:
    typed = {"instancetype": {"name": "small", "kind": "VirtualMachineInstancetype"}}
    base, head = in_pool(), in_pool(**typed)
    (found,) = records([base, instancetype(2)], [head, instancetype(2)])
    assert found["effect"] == ["error"]
    assert found["error"].startswith(
        "KubeVirt refuses what the pool writes to its VMs: spec.template.spec.domain.cpu.sockets: "
    )


def test_vms_of_a_pool_keep_a_stored_instancetype() -> None:
    template = {"spec": {"domain": {"devices": {}}}}
    typed = in_pool(instancetype={"name": "small", "kind": "VirtualMachineInstancetype"}, template=template)
    (found,) = records([typed, instancetype(2)], [typed, instancetype(4)])
    assert found["effect"] == ["nothing"]
    assert [kept["fields"] for kept in found["keeps"]] == [[{"field": "spec.cpu.guest", "kept": 2, "new": 4}]]
    (new,) = records([typed, instancetype(2)], [typed, instancetype(4)], new=True)
    assert new["guest"] == {"vcpus": {"old": 2, "new": 4}}


@pytest.mark.parametrize(("release", "keeps"), [("1.7", False), ("1.9", True)])
def test_vms_of_a_pool_keep_their_firmware_since_1_8(release: str, keeps: bool) -> None:
    found = one(pool(), pool(4), release)
    changed = {change["path"] for change in found["changes"] if "firmware" in change["path"]}
    assert changed == (set() if keeps else {"/spec/domain/firmware/serial", "/spec/domain/firmware/uuid"})


def test_a_pool_without_metadata_is_compared() -> None:
    base, head = ({key: value for key, value in pool(number).items() if key != "metadata"} for number in (2, 4))
    assert one(base, head)["name"] == ""


def test_a_size_that_is_no_amount_is_left_out() -> None:
    right, wrong = instancetype(2), instancetype(4)
    wrong["spec"]["memory"]["guest"] = {}
    (found,) = records([typed(), right], [typed(), wrong], new=True)
    assert found["guest"] == {"vcpus": {"old": 2, "new": 4}, "memory": {"old": "2Gi"}}
