"""The patch of a VM, applied to what its old bundle renders to, gives what the new one renders to."""

from __future__ import annotations

import copy
from typing import Any

import jsonpatch
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measured import Cases, files
from measured import cases as measured_cases

import krm_fn
from krm_fn.changes.patches import patches
from krm_fn.changes.sides import side_of

CHANGES, FUZZ = files("changes"), files("fuzz")
BUNDLES = [case for name in FUZZ for case in measured_cases(name, every=200)]

Bundle = dict[str, Any]


def bundle(items: list[Any], release: str, configuration: Any = None) -> Bundle:
    spec: dict[str, Any] = {"kubevirtVersion": release.removeprefix("v")}
    if configuration:
        spec["configuration"] = configuration
    config = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "spec": spec}
    return {"items": items, "functionConfig": config}


def vms(given_bundle: Bundle) -> dict[tuple[str, str], Any]:
    """The rendered VMs; of two with the same name the last one counts."""
    return {
        (vm["metadata"].get("namespace") or "default", vm["metadata"]["name"]): vm
        for vm in krm_fn.process(given_bundle)["items"]
        if vm["kind"] == "VirtualMachine"
    }


def check(base: Bundle, head: Bundle) -> int:
    """Hold the law over two bundles; the number of patches."""
    before, after = vms(base), vms(head)
    made = {
        (each.vm["metadata"].get("namespace") or "default", each.vm["metadata"]["name"]): each
        for each in patches(side_of(base), side_of(head))
    }
    assert set(made) == {key for key in before.keys() & after.keys() if before[key] != after[key]}
    for key, each in made.items():
        assert (each.secret is None) == bool(each.operations)
        if each.secret is None:
            assert jsonpatch.JsonPatch(list(each.operations)).apply(copy.deepcopy(before[key])) == after[key]
    return sum(each.secret is None for each in made.values())


@pytest.mark.parametrize("name", CHANGES)
def test_the_patches_of_measured_changes_lead_from_one_rendering_to_the_other(name: str, cases: Cases) -> None:
    made = seen = 0
    for case in cases(name, every=30):
        sides = (bundle(case[key], case["kubevirt"], case.get("config")) for key in ("old", "new"))
        made, seen = made + check(*sides), seen + 1
    assert made or seen < 10  # a small sample may have no VM that changes


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(BUNDLES), st.sampled_from(BUNDLES))
def test_a_patch_leads_from_any_vm_to_any_other(one: Bundle, other: Bundle) -> None:
    def named(case: Bundle) -> list[Any]:
        """The items of a case, each VM under the same name."""
        items = copy.deepcopy(case["items"])
        for item in items:
            if item["kind"] == "VirtualMachine":
                item["metadata"]["name"] = "vm"
                item["metadata"].pop("namespace", None)
        return items

    check(bundle(named(one), one["kubevirt"]), bundle(named(other), other["kubevirt"]))
