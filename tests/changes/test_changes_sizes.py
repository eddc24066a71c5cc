"""What a change does to pods and quotas."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from diffing import Object, instancetype, typed, vm, with_sockets
from hypothesis import given, settings
from hypothesis import strategies as st

import krm_fn
from krm_fn.base.quantity import parse
from krm_fn.changes.schema import schema
from krm_fn.cli.changes_text import text_of


def answer(base: list[Object], head: list[Object], **more: Any) -> Object:
    found: Object = krm_fn.diff({"items": base}, {"items": head}, **more)
    jsonschema.validate(found, schema(), cls=jsonschema.Draft202012Validator)
    return found


def quota(namespace: str = "default", **hard: str) -> Object:
    spec = {"hard": {key.replace("_", "."): value for key, value in hard.items()}}
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "all", "namespace": namespace}, "spec": spec}


def limit_range(size: str) -> Object:
    limits = [{"type": "Container", "default": {"ephemeral-storage": size}}]
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": {"name": "all"}, "spec": {"limits": limits}}


def kubevirt(**configuration: Any) -> Object:
    spec = {"configuration": configuration}
    return {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "kubevirt"}, "spec": spec}


def pods(base: list[Object], head: list[Object], **more: Any) -> list[Object]:
    return [record.get("pod", {}) for record in answer(base, head, **more)["vms"]]


def cpus(found: list[Object]) -> list[Object]:
    return [{side: pod["requests"]["cpu"] for side, pod in each.items()} for each in found]


def rows(base: list[Object], head: list[Object], **more: Any) -> list[Object]:
    return [row for each in answer(base, head, **more)["quotas"] for row in each["resources"]]


# A vCPU is a tenth of a CPU of the pod, and the container of the console log has 5m.


def test_a_changed_vm_has_both_pods() -> None:
    (found,) = pods([vm()], [with_sockets(4)])
    assert cpus([found]) == [{"before": "205m", "after": "405m"}]
    assert set(found["after"]) == {"requests", "limits", "qosClass", "memoryOverhead"}


def test_the_pods_are_those_of_capacity() -> None:
    (found,) = pods([vm()], [with_sockets(4)])
    for side, obj in (("before", vm()), ("after", with_sockets(4))):
        (record,) = krm_fn.capacity({"items": [obj]})["vms"]
        assert found[side] == {key: record["pod"][key] for key in found[side]}


def test_new_and_removed_vms_have_one_pod() -> None:
    assert cpus(pods([vm("gone"), vm()], [vm(), with_sockets(4, "new")])) == [{"before": "205m"}, {"after": "405m"}]


def test_a_change_that_no_pod_shows_has_none() -> None:
    changed = vm()
    changed["metadata"]["labels"] = {"a": "b"}
    assert not any("pod" in record for record in answer([vm()], [changed])["vms"])


def test_a_vm_that_keeps_its_instancetype_keeps_its_pod() -> None:
    assert pods([typed(), instancetype(2)], [typed(), instancetype(4)]) == [{}]
    assert cpus(pods([typed(), instancetype(2)], [typed(), instancetype(4)], new=True)) == [{"before": "205m", "after": "405m"}]


def test_a_vm_that_no_longer_starts_has_no_pod_after() -> None:
    lost = typed()
    lost["spec"]["instancetype"]["name"] = "missing"
    (found,) = pods([typed(), instancetype(2)], [lost, instancetype(2)], new=True)
    assert list(found) == ["before"]


def test_a_pod_that_kubevirt_does_not_render_says_why() -> None:
    changed = with_sockets(4)
    changed["spec"]["template"]["metadata"] = {"labels": {"logVerbosity": "much"}}
    (found,) = pods([vm()], [changed])
    assert found["after"] == {"error": "verbosity much cannot cast to int"}


def test_quotas_have_the_use_of_all_vms_before_and_after() -> None:
    bound = quota(requests_cpu="600m", pods="2")
    assert rows([vm(), vm("same"), bound], [with_sockets(4), vm("same"), bound]) == [
        {"name": "requests.cpu", "before": "410m", "after": "610m", "hard": "600m", "exceeded": "10m"}
    ]


def test_a_quota_whose_use_stays_is_left_out() -> None:
    assert answer([vm(), quota(pods="1")], [with_sockets(4), quota(pods="1")])["quotas"] == []


def test_an_edited_or_new_quota_is_compared_with_the_use_of_both_sides() -> None:
    assert rows([vm(), quota(pods="2")], [vm(), quota(pods="0")]) == [
        {"name": "pods", "before": "1", "after": "1", "hard": "0", "hardBefore": "2", "exceeded": "1"}
    ]
    assert rows([vm()], [vm(), vm("new"), quota(pods="2")]) == [{"name": "pods", "before": "1", "after": "2", "hard": "2"}]


def test_a_quota_counts_its_namespace_only() -> None:
    other = vm("other")
    other["metadata"]["namespace"] = "team-a"
    assert rows([vm()], [vm(), vm("new"), other, quota("team-a", pods="9")]) == [
        {"name": "pods", "before": "0", "after": "1", "hard": "9"}
    ]


def test_a_quota_counts_what_vms_keep() -> None:
    bound = quota(requests_cpu="1")
    assert rows([typed(), instancetype(2), bound], [typed(), instancetype(4), bound]) == []


def test_the_settings_of_the_cluster_reach_the_pods_of_vms_that_stay() -> None:
    bound = quota(requests_cpu="1")
    sides = [[kubevirt(developerConfiguration={"cpuAllocationRatio": ratio}), vm(), bound] for ratio in (10, 1)]
    assert rows(*sides) == [{"name": "requests.cpu", "before": "205m", "after": "2005m", "hard": "1", "exceeded": "1005m"}]


def test_a_limit_range_of_the_head_counts() -> None:
    bound = {**quota(), "spec": {"hard": {"limits.ephemeral-storage": "100Gi"}}}
    (row,) = rows([vm(), bound], [vm(), limit_range("8Gi"), bound])
    assert (row["before"], row["after"]) == ("0", "16Gi")  # the guest's container and that of its console log


def test_claims_of_data_volume_templates_count() -> None:
    bound = quota(requests_storage="15Gi")
    storage = {"resources": {"requests": {"storage": "20Gi"}}}
    changed = vm(dataVolumeTemplates=[{"metadata": {"name": "a"}, "spec": {"source": {"blank": {}}, "storage": storage}}])
    spec = changed["spec"]["template"]["spec"]
    spec["domain"]["devices"]["disks"] = [{"name": "a", "disk": {}}]
    spec["volumes"] = [{"name": "a", "dataVolume": {"name": "a"}}]
    assert rows([vm(), bound], [changed, bound]) == [
        {"name": "requests.storage", "before": "0", "after": "20Gi", "hard": "15Gi", "exceeded": "5Gi"}
    ]


@pytest.mark.parametrize("kind", ["VirtualMachineInstanceReplicaSet", "VirtualMachinePool"])
def test_replicas_count(kind: str) -> None:
    labels = {"metadata": {"labels": {"app": "a"}}}
    selector = {"selector": {"matchLabels": {"app": "a"}}}

    def side(replicas: int) -> list[Object]:
        if kind == "VirtualMachinePool":
            spec = {"virtualMachineTemplate": {**labels, "spec": vm()["spec"]}}
        else:
            spec = {"template": {**labels, **vm()["spec"]["template"]}}
        group = "pool.kubevirt.io/v1beta1" if kind == "VirtualMachinePool" else "kubevirt.io/v1"
        spec = {**spec, **selector, "replicas": replicas}
        return [{"apiVersion": group, "kind": kind, "metadata": {"name": "p"}, "spec": spec}, quota(pods="2")]

    assert rows(side(1), side(3)) == [{"name": "pods", "before": "1", "after": "3", "hard": "2", "exceeded": "1"}]


SIDES = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 4))


@settings(deadline=None, max_examples=40)
@given(SIDES, SIDES)
def test_the_use_of_a_quota_is_that_of_capacity_on_each_side(base: dict[str, int], head: dict[str, int]) -> None:
    bound = quota(requests_cpu="600m", requests_memory="6Gi", pods="2")
    sides = [[*(with_sockets(count, name) for name, count in side.items()), bound] for side in (base, head)]
    uses = [krm_fn.capacity({"items": side})["quotas"][0]["used"] for side in sides]
    expected = {name: (uses[0][name], uses[1][name]) for name in uses[0] if uses[0][name] != uses[1][name]}
    assert {row["name"]: (row["before"], row["after"]) for row in rows(*sides)} == expected


@settings(deadline=None, max_examples=40)
@given(SIDES, SIDES)
def test_the_pods_of_the_records_make_up_the_change_of_the_use(base: dict[str, int], head: dict[str, int]) -> None:
    bound = quota(requests_memory="6Gi")
    found = answer(*([*(with_sockets(count, name) for name, count in side.items()), bound] for side in (base, head)))
    change = sum(_memory(each, "after") - _memory(each, "before") for each in found["vms"])
    used = [row for each in found["quotas"] for row in each["resources"]]
    assert change == sum(_nanos(row["after"]) - _nanos(row["before"]) for row in used)


def _memory(record: Object, side: str) -> int:
    return _nanos(record.get("pod", {}).get(side, {}).get("requests", {}).get("memory", "0"))


def _nanos(text: str) -> int:
    found = parse(text)
    assert found is not None
    return found.nanos


def test_no_sizes_are_told_of_releases_whose_pods_are_not_known() -> None:
    old, new = vm("gone"), with_sockets(8, "new")
    limits: Object = {"items": [old, vm(), quota(**{"requests.cpu": "1"})], "functionConfig": release("1.3")}
    found = krm_fn.diff(limits, {"items": [new, with_sockets(4), quota(**{"requests.cpu": "1"})]})
    assert [record["change"] for record in found["vms"]] == ["removed", "added", "changed"]
    assert not any("pod" in record for record in found["vms"])
    assert not found.get("quotas")


def release(name: str) -> Object:
    kind = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines"}
    return {**kind, "spec": {"kubevirtVersion": name}}


MEMORY_MISSING = "the instance has no memory size; set memory.guest"


def without_memory(name: str = "web") -> Object:
    found = vm(name)
    del found["spec"]["template"]["spec"]["domain"]["memory"]
    return found


def with_card(name: str = "web") -> Object:
    found = vm(name)
    found["spec"]["template"]["spec"]["domain"]["devices"]["gpus"] = [{"name": "one", "deviceName": "example.com/card"}]
    return found


def permitting(*names: str) -> Object:
    devices = [{"pciVendorSelector": "10DE:1EB8", "resourceName": name} for name in names]
    return kubevirt(permittedHostDevices={"pciHostDevices": devices})


@pytest.mark.parametrize("kind", ["VirtualMachine", "VirtualMachinePool", "VirtualMachineInstanceReplicaSet"])
def test_a_new_object_that_never_starts_says_why(kind: str) -> None:
    machine, labels = without_memory(), {"matchLabels": {"app": "web"}}
    template = {"metadata": {"labels": {"app": "web"}}, "spec": machine["spec"]}
    given = {
        "VirtualMachine": machine,
        "VirtualMachinePool": {
            "apiVersion": "pool.kubevirt.io/v1beta1",
            "kind": kind,
            "metadata": {"name": "web"},
            "spec": {"replicas": 1, "selector": labels, "virtualMachineTemplate": template},
        },
        "VirtualMachineInstanceReplicaSet": {
            "apiVersion": "kubevirt.io/v1",
            "kind": kind,
            "metadata": {"name": "web"},
            "spec": {"replicas": 1, "selector": labels, "template": {**template, **machine["spec"]["template"]}},
        },
    }
    (record,) = answer([], [given[kind]])["vms"]
    assert (record["effect"], record["startError"]) == (["added"], MEMORY_MISSING)
    assert "pod" not in record


def test_a_new_vm_that_starts_has_a_pod_and_no_error() -> None:
    (record,) = answer([], [vm()])["vms"]
    assert "startError" not in record
    assert record["pod"]["after"]["requests"]["cpu"]


def test_a_vm_that_runs_with_a_device_which_is_permitted_no_more_does_not_start_again() -> None:
    (record,) = answer([permitting("example.com/card"), with_card()], [permitting("example.com/other"), with_card()])["vms"]
    assert record["effect"] == ["atNextStart"]
    assert record["power"] == "running"
    assert record["startError"] == "GPU example.com/card is not permitted in permittedHostDevices configuration"


def test_a_device_that_was_never_permitted_is_no_news() -> None:
    assert answer([permitting("example.com/other"), with_card()], [permitting("example.com/third"), with_card()])["vms"] == []


def test_a_vm_that_gets_a_device_which_is_not_permitted_does_not_start_again() -> None:
    cluster = permitting("example.com/other")
    (record,) = answer([cluster, vm()], [cluster, with_card()])["vms"]
    assert record["effect"] == ["restartRequired", "atNextStart"]
    assert record["startError"].startswith("GPU example.com/card is not permitted")


def test_a_network_definition_that_git_does_not_hold_stops_nothing() -> None:
    """The cluster may have it."""
    attached = vm()
    attached["spec"]["template"]["spec"]["networks"] = [{"name": "default", "multus": {"networkName": "lan"}}]
    attached["spec"]["template"]["spec"]["domain"]["devices"]["interfaces"] = [{"name": "default", "bridge": {}}]
    config = {"functionConfig": {"kind": "RenderVirtualMachines", "spec": {"kubevirtVersion": "1.6"}}}
    config["functionConfig"]["apiVersion"] = "kubevirt-render.dev/v1alpha1"
    (record,) = krm_fn.diff({"items": [vm()], **config}, {"items": [attached], **config})["vms"]
    assert "error" in record["pod"]["after"]
    assert "startError" not in record


def test_the_vms_of_a_pool_do_not_start_again_either() -> None:
    def pool() -> Object:
        template = {"metadata": {"labels": {"app": "web"}}, "spec": with_card()["spec"]}
        selector = {"matchLabels": {"app": "web"}}
        spec = {"replicas": 2, "selector": selector, "virtualMachineTemplate": template}
        return {
            "apiVersion": "pool.kubevirt.io/v1beta1",
            "kind": "VirtualMachinePool",
            "metadata": {"name": "web"},
            "spec": spec,
        }

    (record,) = answer([permitting("example.com/card"), pool()], [permitting("example.com/other"), pool()])["vms"]
    assert record["effect"] == ["atNextStart"]
    assert record["startError"].startswith("GPU example.com/card is not permitted")


def test_a_text_says_once_that_a_machine_never_starts_or_not_again() -> None:
    new = text_of(answer([], [without_memory()]), color=False)
    assert new.splitlines()[:2] == ["VirtualMachine default/web: is new; never starts", f"  does not start: {MEMORY_MISSING}"]
    again = text_of(
        answer([permitting("example.com/card"), with_card()], [permitting("example.com/other"), with_card()]), color=False
    )
    assert again.splitlines()[0] == "VirtualMachine default/web: can't start again"
    assert again.count("is not permitted") == 1
