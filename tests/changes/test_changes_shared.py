"""A one-line change of an instancetype that many VMs share reaches exactly these, as their policy says."""

import pytest

import krm_fn


def bundle(guest, count, policy=""):
    configuration = {"instancetype": {"referencePolicy": policy}} if policy else {}
    items = [
        {
            "apiVersion": "instancetype.kubevirt.io/v1beta1",
            "kind": "VirtualMachineInstancetype",
            "metadata": {"name": name, "namespace": "default"},
            "spec": {"cpu": {"guest": size}, "memory": {"guest": "2Gi"}},
        }
        for name, size in (("shared", guest), ("other", 2))
    ]
    for number in range(count):
        matcher = {"name": "other" if number % 4 else "shared", "kind": "VirtualMachineInstancetype"}
        spec = {"runStrategy": "Always", "instancetype": matcher, "template": {"spec": {"domain": {"devices": {}}}}}
        meta = {"name": f"vm{number}", "namespace": "default"}
        items.append({"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": meta, "spec": spec})
    spec = {"configuration": configuration, "kubevirtVersion": "1.9"}
    config = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "spec": spec}
    return {"items": items, "functionConfig": config}


def users(count):
    return {f"vm{number}" for number in range(0, count, 4)}


def test_existing_vms_keep_what_is_stored():
    answer = krm_fn.diff(bundle(2, 1000), bundle(4, 1000))
    assert {vm["name"] for vm in answer["vms"]} == users(1000)
    assert {(*vm["effect"], *(kept["change"] for kept in vm["keeps"])) for vm in answer["vms"]} == {("nothing", "edited")}
    assert answer["summary"] == {"total": 1000, "changed": 0, "levels": {}, "keeps": 250}


def test_new_vms_get_the_new_one():
    answer = krm_fn.diff(bundle(2, 40), bundle(4, 40), new=True)
    assert {vm["name"] for vm in answer["vms"]} == users(40)
    causes = {cause["source"] for vm in answer["vms"] for change in vm["changes"] for cause in change["causes"]}
    assert causes == {"instancetype"}


@pytest.mark.parametrize("policy", ["expand", "expandAll"])
def test_vms_that_a_policy_expands_say_so(policy):
    answer = krm_fn.diff(bundle(2, 40, policy), bundle(4, 40, policy))
    kept = {vm["name"]: vm["keeps"][0]["policy"] for vm in answer["vms"] if "keeps" in vm}
    assert kept == dict.fromkeys(users(40), policy)
