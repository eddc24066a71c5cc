"""Laws of `krm_fn.diff` over measured bundles."""

from __future__ import annotations

from typing import Any

import pytest
from measured import Cases, files

import krm_fn

RELEASES = files("changes")


def turned(value: Any) -> Any:
    """The value with the keys of all maps in the opposite order."""
    if isinstance(value, dict):
        return {key: turned(value[key]) for key in reversed(value)}
    return [turned(each) for each in value] if isinstance(value, list) else value


def answer(case: dict[str, Any], base: list[Any], head: list[Any]) -> dict[str, Any]:
    spec = {"kubevirtVersion": case["kubevirt"].removeprefix("v"), "catalogue": "none", "configuration": case.get("config", {})}
    config = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "spec": spec}
    return krm_fn.diff({"items": base, "functionConfig": config}, {"items": head, "functionConfig": config})


@pytest.mark.parametrize("name", RELEASES)
def test_the_order_of_keys_changes_nothing(name: str, cases: Cases) -> None:
    for case in cases(name, every=25):
        plain = answer(case, case["old"], case["new"])
        assert answer(case, turned(case["old"]), turned(case["new"])) == plain, case["id"]


@pytest.mark.parametrize("name", RELEASES)
def test_a_bundle_and_itself_differ_in_nothing(name: str, cases: Cases) -> None:
    """An apply of the same manifest may be refused, if the cluster has rewritten what the manifest names: then as before."""
    for case in cases(name, every=5):
        found = answer(case, case["old"], turned(case["old"]))
        assert all("asBefore" in record for record in found["vms"]), case["id"]
        assert found["summary"]["changed"] == 0


@pytest.mark.parametrize("name", RELEASES)
def test_what_is_added_is_removed_the_other_way_round(name: str, cases: Cases) -> None:
    for case in cases(name, every=40):
        others = [item for item in case["old"] if item["kind"] != "VirtualMachine"]
        there, back = answer(case, others, case["old"])["vms"], answer(case, case["old"], others)["vms"]
        assert [(vm["name"], vm["change"]) for vm in there] == [(vm["name"], "added") for vm in back], case["id"]
        assert {vm["change"] for vm in back} == {"removed"}, case["id"]


def test_a_vm_that_fails_as_before_is_not_reported() -> None:
    vm = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "web"},
        "spec": {
            "runStrategy": "Always",
            "instancetype": {"name": "nowhere"},
            "template": {"spec": {"domain": {"devices": {}}}},
        },
    }
    assert krm_fn.diff({"items": [vm]}, {"items": [vm]})["vms"] == []
    other = {**vm, "spec": {**vm["spec"], "instancetype": {"name": "elsewhere"}}}
    assert [record["name"] for record in krm_fn.diff({"items": [vm]}, {"items": [other]})["vms"]] == ["web"]
