"""VMs that a change does not reach, and those that it may reach."""

from __future__ import annotations

import copy

import pytest
from diffing import Object, diff, instancetype, typed, vm
from measuring import calls

from krm_fn.changes.summary import fails, level_of

POLICY = {"configuration": {"instancetype": {"referencePolicy": "expand"}}}


def cluster(**spec: object) -> Object:
    return {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "kubevirt"}, "spec": spec}


def named(name: str) -> Object:
    return typed() | {"metadata": {"name": name}}


def test_one_edit_of_a_shared_instancetype_is_told_of_each_user_and_of_no_other_vm() -> None:
    base = [named("a"), named("b"), vm("c"), instancetype(2)]
    head = [*base[:-1], instancetype(4)]
    assert [(record["name"], record["effect"]) for record in diff(base, head)] == [("a", ["nothing"]), ("b", ["nothing"])]


def test_an_edit_of_metadata_reaches_nothing() -> None:
    other = instancetype(2)
    other["metadata"]["labels"] = {"team": "a"}
    assert diff([typed(), instancetype(2)], [typed(), other]) == []


def test_a_change_of_the_cluster_may_reach_every_vm() -> None:
    (record,) = diff([vm(), cluster()], [vm(), cluster(configuration={"cpuModel": "Haswell"})])
    assert record["atRestart"] == ["/spec/domain/cpu/model"]


def test_an_annotation_that_each_start_copies_anew_is_no_change() -> None:
    annotated = typed()
    annotated["metadata"]["annotations"] = {"kubevirt.io/skip-backup-hooks": "true"}
    assert diff([annotated, instancetype(2)], copy.deepcopy([annotated, instancetype(2)])) == []
    (record,) = diff([annotated, instancetype(2)], [annotated, instancetype(4)])
    assert (record["effect"], record["keeps"][0]["fields"][0]["kept"]) == (["nothing"], 2)


def without_interfaces() -> Object:
    """A VM with a network that no interface uses."""
    damaged = vm()
    damaged["spec"]["template"]["spec"]["networks"] = [{"name": "pod", "pod": {}}]
    return damaged


def leaving() -> Object:
    """A VM with an interface that is to leave."""
    damaged = vm()
    spec = damaged["spec"]["template"]["spec"]
    spec["networks"] = [{"name": "lan", "multus": {"networkName": "blue"}}]
    spec["domain"]["devices"]["interfaces"] = [{"name": "lan", "bridge": {}, "state": "absent"}]
    return damaged


@pytest.mark.parametrize("policy", ["reference", "expand", "expandAll"])
@pytest.mark.parametrize("machine", [without_interfaces(), leaving(), vm(instancetype={}), vm(preference={})])
def test_a_halted_vm_that_the_controller_rewrites_or_cannot_write_is_no_change(machine: Object, policy: str) -> None:
    machine["spec"]["runStrategy"] = "Halted"
    bundle = [cluster(configuration={"instancetype": {"referencePolicy": policy}}), machine]
    found = diff(bundle, copy.deepcopy(bundle))
    assert [record["effect"] for record in found if "asBefore" not in record] == []


@pytest.mark.parametrize("machine", [leaving(), vm(instancetype={})])
def test_a_halted_vm_that_stays_as_the_controller_left_it_is_not_told(machine: Object) -> None:
    machine["spec"]["runStrategy"] = "Halted"
    bundle = [cluster(**POLICY), machine]
    assert diff(bundle, copy.deepcopy(bundle)) == []


def test_under_an_expanding_policy_an_unchanged_manifest_is_sent_and_refused_as_before() -> None:
    base = [cluster(**POLICY), typed(), instancetype(2)]
    (record,) = diff(base, copy.deepcopy(base))
    assert (record["effect"], record["asBefore"]) == (["refused"], True)
    assert level_of(record) is None
    assert not fails([record], "any")


def revision(cpus: int) -> Object:
    meta = {"name": "rev", "labels": {"instancetype.kubevirt.io/object-name": "small"}}
    return {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": meta, "data": instancetype(cpus), "revision": 0}


@pytest.mark.parametrize(("after", "effect"), [([revision(2)], None), ([revision(4)], "live"), ([], "error")])
def test_a_revision_that_a_manifest_names_may_change(after: list[Object], effect: str | None) -> None:
    pinned = typed()
    pinned["spec"]["instancetype"]["revisionName"] = "rev"
    found = diff([pinned, instancetype(2), revision(2)], [pinned, instancetype(2), *after])
    assert [effect in record["effect"] for record in found] == ([True] if effect else [])


def test_a_vm_of_a_cluster_keeps_the_revision_that_its_status_names() -> None:
    ref = {"name": "small", "kind": "VirtualMachineInstancetype", "controllerRevisionRef": {"name": "rev"}}
    live = typed() | {"metadata": {"name": "web", "uid": "u"}, "status": {"instancetypeRef": ref}}
    bundle = [live, instancetype(8), revision(2)]
    (record,) = diff(bundle, [live, instancetype(16), revision(2)])
    assert record["keeps"][0]["fields"] == [{"field": "spec.cpu.guest", "kept": 2, "new": 16}]


def test_an_untouched_vm_takes_few_calls() -> None:
    base = [*(named(f"vm{number}") for number in range(200)), instancetype(2)]
    other = [named(f"vm{number}") | {"spec": vm()["spec"]} for number in range(20)]
    touched = calls(lambda: diff(base[:20] + base[-1:], other))
    assert calls(lambda: diff(base, [*base[:-1], instancetype(4)])) < touched * 2  # ten times as many VMs
