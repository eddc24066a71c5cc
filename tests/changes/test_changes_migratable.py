"""Whether a running VM can be live-migrated decides what a change does to it."""

from __future__ import annotations

from copy import deepcopy

from diffing import diff, vm
from functions import resource_list

import krm_fn
from krm_fn.base.objects import Object


def with_claim(memory: str = "2Gi", name: str = "web") -> Object:
    found = vm(name)
    spec = found["spec"]["template"]["spec"]
    spec["domain"]["memory"]["guest"] = memory
    spec["domain"]["devices"]["disks"] = [{"name": "root", "disk": {}}]
    spec["volumes"] = [{"name": "root", "persistentVolumeClaim": {"claimName": f"{name}-root"}}]
    return found


def claim(*modes: str, name: str = "web") -> Object:
    spec = {"accessModes": list(modes), "resources": {"requests": {"storage": "1Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": f"{name}-root"}, "spec": spec}


def test_more_memory_of_a_vm_whose_claim_is_not_shared_needs_a_restart() -> None:
    (record,) = diff([with_claim(), claim("ReadWriteOnce")], [with_claim("3Gi"), claim("ReadWriteOnce")])
    assert record["effect"] == ["restartRequired", "atNextStart"]
    assert record["migratable"]["reason"] == "DisksNotLiveMigratable"


def test_a_claim_that_several_nodes_write_lets_it_grow() -> None:
    (record,) = diff([with_claim(), claim("ReadWriteMany")], [with_claim("3Gi"), claim("ReadWriteMany")])
    assert "live" in record["effect"]
    assert "migratable" not in record


def test_both_cases_are_told_of_a_claim_that_is_on_no_side() -> None:
    (record,) = diff([with_claim()], [with_claim("3Gi")])
    assert record["migratable"]["unknown"] == ["PersistentVolumeClaim/web-root"]
    assert "live" in record["effect"]
    assert record["ifNotMigratable"]["effect"] == ["restartRequired", "atNextStart"]


def test_a_claim_keeps_the_access_modes_that_it_has() -> None:
    (record,) = diff([with_claim(), claim("ReadWriteOnce")], [with_claim("3Gi"), claim("ReadWriteMany")])
    assert record["effect"] == ["restartRequired", "atNextStart"]


def test_vms_that_are_alike_but_for_the_access_modes_of_their_claims_are_told_apart() -> None:
    size: Object = {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineClusterInstancetype",
        "metadata": {"name": "small"},
        "spec": {"cpu": {"guest": 2}, "memory": {"guest": "2Gi"}},
    }
    larger = deepcopy(size)
    larger["metadata"]["name"] = "small"
    larger["spec"]["cpu"]["guest"] = 4
    machines = []
    for name, modes in (("a", ["ReadWriteOnce"]), ("b", ["ReadWriteMany"]), ("c", [])):
        machine = with_claim(name=name)
        machine["spec"]["instancetype"] = {"name": "small"}
        del machine["spec"]["template"]["spec"]["domain"]["memory"], machine["spec"]["template"]["spec"]["domain"]["cpu"]
        machines += [machine, *([claim(*modes, name=name)] if modes else [])]
    kubevirt = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt"},
        "spec": {
            "workloadUpdateStrategy": {"workloadUpdateMethods": ["LiveMigrate"]},
            "configuration": {"instancetype": {"referencePolicy": "expandAll"}},
        },
    }
    found = krm_fn.diff(resource_list(size, kubevirt, *machines), resource_list(larger, kubevirt, *machines))
    told = {record["name"]: record.get("migratable", {}).get("unknown") for record in found["vms"]}
    alone = {}
    for name in told:
        own = [each for each in machines if each["metadata"]["name"] in (name, f"{name}-root")]
        one = krm_fn.diff(resource_list(size, kubevirt, *own), resource_list(larger, kubevirt, *own))
        alone[name] = one["vms"][0]
    assert {record["name"]: record for record in found["vms"]} == alone
