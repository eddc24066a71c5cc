"""VMs that share sources have those that they would have alone."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
from measured import SAMPLE, Cases, files
from test_explain import listing

import krm_fn
from krm_fn.base.paths import get

REST = ("item", "name")


def renamed(vm: dict[str, Any]) -> dict[str, Any]:
    """The VM under another name, with labels, an address and a host name of its own."""
    vm = deepcopy(vm)
    meta = vm["metadata"]
    meta["name"], meta["labels"] = f"{meta['name']}-b", {**(meta.get("labels") or {}), "example.com/copy": "b"}
    spec = get(vm, ("spec", "template", "spec"))
    if isinstance(spec, dict):
        spec["hostname"] = "copy"
    return vm


def sources(record: dict[str, Any]) -> Any:
    """What an answer says of a VM, without what names the VM itself."""
    if isinstance(record, dict):
        return {key: sources(value) for key, value in record.items() if key not in REST}
    return [sources(each) for each in record] if isinstance(record, list) else record


@pytest.mark.parametrize("name", files("fuzz", "inference", "revisions"))
def test_a_vm_beside_one_like_it_has_the_sources_that_it_has_alone(name: str, cases: Cases) -> None:
    compared = 0
    for case in cases(name, every=SAMPLE):
        given = listing(case)
        vms = [item for item in given["items"] if item.get("kind") == "VirtualMachine"]
        others = [item for item in given["items"] if item.get("kind") != "VirtualMachine"]
        for vm in vms:
            alone, together = (
                krm_fn.explain({**given, "items": [*others, *pair]})["vms"] for pair in ([renamed(vm)], [vm, renamed(vm)])
            )
            assert sources(together[-1]) == sources(alone[-1]), case["id"]
            compared += 1
    assert compared


def test_values_of_its_own_are_those_of_each_vm() -> None:
    def vm(name: str, host: str) -> dict[str, Any]:
        spec = {"instancetype": {"name": "u1.small"}, "template": {"spec": {"hostname": host, "domain": {"devices": {}}}}}
        return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": name}, "spec": spec}

    answer = krm_fn.explain({"items": [vm("a", "one"), vm("b", "two")]})
    found = [
        (field["value"], field["source"]["name"])
        for record in answer["vms"]
        for field in record["fields"]
        if field["path"] in ("metadata.name", "spec.template.spec.hostname")
    ]
    assert found == [("a", "a"), ("one", "a"), ("b", "b"), ("two", "b")]
