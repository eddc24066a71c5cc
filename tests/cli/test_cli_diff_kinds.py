"""`diff` of pools, replica sets, instances and renames, as people read it."""

import json

import checking
from trees import tree

TEMPLATE = {
    "metadata": {"labels": {"app": "a"}},
    "spec": {"domain": {"cpu": {"sockets": 2}, "memory": {"guest": "1Gi"}, "devices": {}}},
}


def of(sockets):
    return {**TEMPLATE, "spec": {"domain": {**TEMPLATE["spec"]["domain"], "cpu": {"sockets": sockets}}}}


def vm(name, sockets=2, **spec):
    meta = {"name": name, "namespace": "ci"}
    given = {"runStrategy": "Always", "template": of(sockets), **spec}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": meta, "spec": given}


def pool(sockets, **spec):
    template = {"metadata": {"labels": {"app": "a"}}, "spec": {"runStrategy": "Always", "template": of(sockets)}}
    selector = {"matchLabels": {"app": "a"}}
    given = {"replicas": 5, "selector": selector, "virtualMachineTemplate": template, **spec}
    meta = {"name": "workers", "namespace": "ci"}
    return {"apiVersion": "pool.kubevirt.io/v1beta1", "kind": "VirtualMachinePool", "metadata": meta, "spec": given}


def instance(sockets):
    meta = {"name": "bare", "namespace": "ci"}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": meta, "spec": of(sockets)["spec"]}


def diff(folder, base, head, *words):
    files = {
        f"{side}.json": json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        for side, items in (("base", base), ("head", head))
    }
    tree(folder, files)
    return checking.run("diff", "base.json", "head.json", *words, cwd=folder)


def test_a_pool_says_that_its_vms_restart_and_how_many_at_once(tmp_path):
    code, out, _ = diff(tmp_path, [pool(2, maxUnavailable="40%")], [pool(4, maxUnavailable="40%")], "--fail-on", "restart")
    assert code == 1
    assert out.startswith("VirtualMachinePool ci/workers: KubeVirt restarts its VMs\n  at most 2 at once\n")
    field = "spec.virtualMachineTemplate.spec.template.spec.domain.cpu.sockets"
    assert f"  because of the manifest: {field}:\n    CPU sockets 2 → 4, after a restart\n" in out
    assert out.endswith("\n1 of 1 object changes: 1 restarted\n")


def test_an_unmanaged_pool_says_why_its_vms_stay(tmp_path):
    strategy = {"updateStrategy": {"unmanaged": {}}}
    code, out, _ = diff(tmp_path, [pool(2, **strategy)], [pool(4, replicas=3, **strategy)], "--fail-on", "recreate")
    assert code == 1
    first, second, third = out.splitlines()[:3]
    assert first == "VirtualMachinePool ci/workers: KubeVirt removes VMs; only VMs that are created from now on get the change"
    assert second == "  replicas: 5 → 3"
    assert third == "  the update strategy is unmanaged: VMs that exist stay as they are"


def test_the_edit_of_an_instance_is_refused(tmp_path):
    code, out, _ = diff(tmp_path, [instance(2)], [instance(4)])
    assert code == 1
    assert out.startswith("VirtualMachineInstance ci/bare: KubeVirt refuses the update\n  refused: spec.domain.cpu.sockets: ")


def test_a_rename_says_what_it_means(tmp_path):
    disk = {
        "metadata": {"name": "root"},
        "spec": {"source": {"blank": {}}, "storage": {"resources": {"requests": {"storage": "1Gi"}}}},
    }

    def machine(name):
        found = vm(name, dataVolumeTemplates=[disk])
        found["spec"]["template"]["spec"]["volumes"] = [{"name": "root", "dataVolume": {"name": "root"}}]
        return found

    code, out, _ = diff(tmp_path, [machine("old")], [machine("new")], "--fail-on", "recreate")
    assert code == 1
    assert out.splitlines()[:3] == [
        "VirtualMachine ci/new (was old): is renamed: KubeVirt deletes the VM of the old name and creates a new one",
        "  taken as a rename: the content is the same",
        "  deletes DataVolume/root, with its data (1Gi)",
    ]


def test_a_renamed_instancetype_is_listed_with_its_users(tmp_path):
    def size(name):
        meta = {"name": name, "namespace": "ci"}
        kind = {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": "VirtualMachineInstancetype"}
        return {**kind, "metadata": meta, "spec": {"cpu": {"guest": 2}, "memory": {"guest": "1Gi"}}}

    def user(name, of_size):
        matcher = {"name": of_size, "kind": "VirtualMachineInstancetype"}
        return vm(name, instancetype=matcher, template={"spec": {"domain": {"devices": {}}}})

    base, head = [size("small"), user("a", "small"), user("b", "small")], [size("tiny"), user("a", "tiny"), user("b", "small")]
    out = diff(tmp_path, base, head)[1]
    told = "VirtualMachineInstancetype ci/small is renamed to ci/tiny (the content is the same)"
    follows = "  1 refers to the new name: VirtualMachine ci/a; KubeVirt stores a revision of it for each VM"
    assert f"\n{told}\n{follows}\n  1 refers to the old name: VirtualMachine ci/b\n" in out
    marked = told.replace("ci/small", "`ci/small`").replace("ci/tiny", "`ci/tiny`")
    assert f"- {marked}\n" in diff(tmp_path, base, head, "-o", "markdown")[1]


def test_an_edit_that_reaches_no_machine_is_told_with_its_path(tmp_path):
    labelled = vm("web")
    labelled["metadata"]["labels"] = {"team": "a"}
    code, out, _ = diff(tmp_path, [vm("web")], [labelled])
    why = "metadata.labels is edited, but that changes no machine"
    assert (code, out) == (0, f"VirtualMachine ci/web: stays as it is\n  {why}\n\nnone of 1 VM changes\n")
    assert diff(tmp_path, [vm("web")], [labelled], "--fail-on", "any")[0] == 1


def test_patches_are_made_of_all_kinds(tmp_path):
    out = diff(tmp_path, [pool(2), instance(2)], [pool(4), instance(4)], "-o", "patch")[1]
    place = "/spec/virtualMachineTemplate/spec/template/spec/domain/cpu/sockets"
    assert f'{{"op": "replace", "path": "{place}", "value": 4}}' in out
    assert '{"op": "replace", "path": "/spec/domain/cpu/sockets", "value": 4}' in out
