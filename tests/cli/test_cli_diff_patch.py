"""`diff -o patch`: RFC 6902 patches from the rendering of BASE to that of HEAD, without secrets."""

import copy
import json

import checking
import jsonpatch
import pytest
import yaml
from trees import tree

import krm_fn

TYPE = {
    "apiVersion": "instancetype.kubevirt.io/v1beta1",
    "kind": "VirtualMachineInstancetype",
    "metadata": {"name": "small", "namespace": "default"},
    "spec": {"cpu": {"guest": 2}, "memory": {"guest": "2Gi"}},
}
DISKS = ["root", "data", "ci"]
VM = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "runStrategy": "Always",
        "instancetype": {"name": "small", "kind": "VirtualMachineInstancetype"},
        "template": {
            "spec": {
                "domain": {"devices": {"disks": [{"name": name, "disk": {"bus": "virtio"}} for name in DISKS]}},
                "volumes": [
                    {"name": "root", "containerDisk": {"image": "example.com/root"}},
                    {"name": "data", "emptyDisk": {"capacity": "1Gi"}},
                    {"name": "ci", "cloudInitNoCloud": {"userData": "#cloud-config\npassword: hunter2\n"}},
                ],
            }
        },
    },
}


def spec_of(vm):
    return vm["spec"]["template"]["spec"]


def rendered(items):
    return [item for item in krm_fn.process({"items": items})["items"] if item["kind"] == "VirtualMachine"]


def run(folder, base, head):
    files = {"base.json": json.dumps({"kind": "List", "apiVersion": "v1", "items": base})}
    files |= {"head.json": json.dumps({"kind": "List", "apiVersion": "v1", "items": head})}
    return checking.run("diff", "base.json", "head.json", "-o", "patch", "--fail-on", "never", cwd=tree(folder, files))


@pytest.fixture
def without_data():
    vm = copy.deepcopy(VM)
    del spec_of(vm)["volumes"][1]
    del spec_of(vm)["domain"]["devices"]["disks"][1]
    return vm


def test_the_patch_of_a_vm_makes_the_new_rendering_of_the_old_one(tmp_path, without_data):
    larger = {**TYPE, "spec": {"cpu": {"guest": 4}, "memory": {"guest": "2Gi"}}}
    code, out, err = run(tmp_path, [TYPE, VM], [larger, without_data])
    assert (code, err) == (0, "")
    (entry,) = yaml.safe_load(out)
    assert entry["target"] == {
        "group": "kubevirt.io",
        "version": "v1",
        "kind": "VirtualMachine",
        "name": "web",
        "namespace": "default",
    }
    (before,), (after,) = rendered([TYPE, VM]), rendered([larger, without_data])
    assert jsonpatch.JsonPatch.from_string(entry["patch"]).apply(before) == after
    assert "hunter2" not in out


def test_a_patch_that_would_show_a_secret_is_left_out_and_named(tmp_path):
    other = copy.deepcopy(VM)
    spec_of(other)["volumes"][2]["cloudInitNoCloud"]["userData"] = "#cloud-config\npassword: other\n"
    code, out, err = run(tmp_path, [TYPE, VM], [TYPE, other])
    assert (code, out) == (1, "[]\n")
    path = "spec.template.spec.volumes[2].cloudInitNoCloud.userData"
    assert err.startswith(f"kubevirt-render: error: VirtualMachine default/web: {path}: the patch would show a secret")
    assert "hunter2" not in err
    assert err.count("\n") == 1


def test_a_secret_can_be_removed(tmp_path):
    other = copy.deepcopy(VM)
    spec_of(other)["volumes"].pop()
    spec_of(other)["domain"]["devices"]["disks"].pop()
    code, out, _ = run(tmp_path, [TYPE, VM], [TYPE, other])
    assert code == 0
    assert {each["op"] for each in json.loads(yaml.safe_load(out)[0]["patch"])} == {"remove"}


def test_vms_of_one_side_have_no_patch(tmp_path):
    _, out, err = run(tmp_path, [TYPE, VM], [TYPE, {**VM, "metadata": {"name": "other"}}])
    assert "VMs that are renamed: 1" in err
    code, out, err = run(
        tmp_path, [TYPE, VM], [TYPE, {**VM, "metadata": {"name": "other"}, "spec": {**VM["spec"], "runStrategy": "Halted"}}]
    )
    assert (code, out) == (0, "[]\n")
    assert "VMs that are added: 1" in err
    assert "VMs that are removed: 1" in err
