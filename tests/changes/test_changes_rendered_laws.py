"""`krm_fn.diff` against what `render` makes of both sides, over measured bundles."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from measured import Cases, files
from measured import cases as measured_cases

import krm_fn

CHANGES, FUZZ = files("changes"), files("fuzz", "hand")
BUNDLES = [case for name in FUZZ for case in measured_cases(name, every=100)]
# What a record is told for beside another rendered form: something happens to the VM, or it refers to something else.
HAPPENS = ("keeps", "revisionsChanged", "creates", "pod", "startError", "error")

Object = dict[str, Any]
Key = tuple[str, str]


def bundle(items: list[Any], release: str, configuration: Any = None, **more: Any) -> Object:
    spec = {"kubevirtVersion": release.removeprefix("v"), "catalogue": "none", **more}
    if configuration:
        spec["configuration"] = configuration
    return {
        "items": items,
        "functionConfig": {
            "apiVersion": "kubevirt-render.dev/v1alpha1",
            "kind": "RenderVirtualMachines",
            "spec": spec,
        },
    }


def rendered(given_bundle: Object, kind: str = "VirtualMachine") -> dict[Key, Object]:
    """The rendered objects of a kind without their status; of two with the same name the last one counts."""
    return {
        (obj["metadata"].get("namespace") or "default", obj["metadata"]["name"]): {
            key: obj[key] for key in ("metadata", "spec") if key in obj
        }
        for obj in krm_fn.process(given_bundle)["items"]
        if obj.get("kind") == kind
    }


def differing(before: dict[Key, Object], after: dict[Key, Object]) -> set[Key]:
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def records(base: Object, head: Object, **more: Any) -> dict[Key, Object]:
    return {
        (each["namespace"], each["name"]): each
        for each in krm_fn.diff(base, head, **more)["vms"]
        if each["kind"] == "VirtualMachine"
    }


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("new", [False, True])
def test_a_vm_is_listed_if_its_rendered_form_differs_or_something_happens_to_it(name: str, new: bool, cases: Cases) -> None:
    for case in cases(name, every=25):
        base, head = (bundle(case[side], case["kubevirt"], case.get("config")) for side in ("old", "new"))
        found, differ = records(base, head, new=new), differing(rendered(base), rendered(head))
        assert differ <= found.keys(), case["id"]
        others = [record for key, record in found.items() if key not in differ]
        assert all(record["effect"] != ["nothing"] or any(key in record for key in HAPPENS) for record in others), case["id"]


@pytest.mark.parametrize("name", CHANGES)
def test_new_vms_whose_instances_differ_are_listed(name: str, cases: Cases) -> None:
    for case in cases(name, every=25):
        sides = [
            bundle(case[side], case["kubevirt"], case.get("config"), instances="include", defaults="cluster")
            for side in ("old", "new")
        ]
        instances = [rendered(side, "VirtualMachineInstance") for side in sides]
        assert differing(*instances) <= records(*sides, new=True).keys(), case["id"]


@settings(max_examples=60)
@given(st.sampled_from(BUNDLES))
def test_new_vms_of_a_bundle_and_itself_differ_in_nothing(case: Object) -> None:
    sides = [bundle(copy.deepcopy(case["items"]), case["kubevirt"], case.get("config")) for _ in range(2)]
    assert krm_fn.diff(*sides, new=True)["vms"] == []


@settings(max_examples=60)
@given(st.sampled_from(BUNDLES))
def test_what_is_added_is_removed_the_other_way_round(case: Object) -> None:
    others = [item for item in case["items"] if item["kind"] != "VirtualMachine"]
    sides = [bundle(items, case["kubevirt"], case.get("config")) for items in (others, case["items"])]
    there, back = krm_fn.diff(*sides), krm_fn.diff(*reversed(sides))
    assert {each["change"] for each in there["vms"]} <= {"added"}
    assert {each["change"] for each in back["vms"]} <= {"removed"}
    assert [each["name"] for each in there["vms"]] == [each["name"] for each in back["vms"]]


def noted(obj: Object, text: str) -> Object:
    """An object with a text in an annotation that nobody reads."""
    meta = obj.get("metadata") or {}
    return {**obj, "metadata": {**meta, "annotations": {**(meta.get("annotations") or {}), "example.com/about": text}}}


@settings(max_examples=60)
@given(st.sampled_from(BUNDLES), st.text(alphabet="ab: #-\n", max_size=20))
@example(next(case for case in BUNDLES if case["items"][-1]["metadata"]["name"] == "vm1600"), "")  # it has a status
def test_a_text_that_nobody_reads_changes_no_vm(case: Object, text: str) -> None:
    release, configuration = case["kubevirt"], case.get("config")
    vms = [item for item in case["items"] if item["kind"] == "VirtualMachine"]
    others = [item for item in case["items"] if item["kind"] != "VirtualMachine"]
    base = bundle([*vms, *others], release, configuration)
    around = krm_fn.diff(base, bundle([*vms, *(noted(item, text) for item in others)], release, configuration))
    plain = krm_fn.diff(base, bundle([*vms, *others], release, configuration))
    assert around == plain
    of_vms = krm_fn.diff(base, bundle([*(noted(vm, text) for vm in vms), *others], release, configuration))
    assert of_vms["summary"]["changed"] == plain["summary"]["changed"]
