"""Policies on VMs that repeat others: each of many VMs has the findings that it has alone."""

import pytest
from functions import instancetype, resource_list
from test_admission_policies import SHOP, binding, policy

import krm_fn
from krm_fn.base.paths import copy, get, put
from krm_fn.kubevirt.holders import TEMPLATE
from krm_fn.pipeline import policy_subjects
from krm_fn.pipeline.equivalents import EACH, KEY, TEXTS
from krm_fn.pipeline.policy_subjects import NAME

SMALL, LARGE = (instancetype(name, cpu=cpus, namespace="shop") for name, cpus in (("small", 1), ("large", 4)))
NO_CLOUD = {"userData": "x", "userDataBase64": "x", "secretRef": {"name": "x"}}
NETWORK = {"networkData": "x", "networkDataBase64": "x", "networkDataSecretRef": {"name": "x"}}
VM = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "x", "namespace": "shop", "labels": {"a": "x"}, "annotations": {"a": "x"}},
    "spec": {
        "runStrategy": "Always",
        "instancetype": {"kind": "VirtualMachineInstancetype", "name": "small"},
        "dataVolumeTemplates": [{"metadata": {"name": "x"}, "spec": {"source": {"blank": {}}, "storage": {}}}],
        "template": {
            "metadata": {"labels": {"a": "x"}},
            "spec": {
                "hostname": "x",
                "domain": {
                    "devices": {"interfaces": [{"name": "default", "masquerade": {}, "macAddress": "x"}]},
                    "firmware": {"uuid": "x", "serial": "x"},
                },
                "networks": [{"name": "default", "pod": {}}],
                "volumes": [
                    {"name": "a", "dataVolume": {"name": "x"}, "persistentVolumeClaim": {"claimName": "x"}},
                    {"name": "b", "cloudInitNoCloud": {**NO_CLOUD, **NETWORK}},
                    {"name": "c", "cloudInitConfigDrive": {**NO_CLOUD, **NETWORK}},
                ],
            },
        },
    },
}


def places():
    """Each text of the VM: its path, and the volume or other element that has it."""
    for pattern, _ in TEXTS:
        path = [("a" if step == KEY else step) for step in pattern]
        if EACH in path:
            number = path.index(EACH)
            path[number] = next(n for n in range(3) if isinstance(get(VM, (*path[:number], n, *path[number + 1 :])), str))
        yield tuple(path)


def where(path):
    """The expression for a path."""
    return "object" + "".join(f"[{step}]" if isinstance(step, int) else f"['{step}']" for step in path)


def machine(name, *path):
    """A VM with other texts than the others; at the path stands `bad`."""
    vm = copy(VM)
    for place in places():
        put(vm, place, f"{name}-text")
    put(vm, NAME, name)
    if path:
        put(vm, path, "bad")
    return vm


def found(vms, *policies, **spec):
    """The findings of policies by the name of the VM."""
    given = [each for one in policies for each in (one, binding(one["metadata"]["name"]))]
    results = krm_fn.process(resource_list(*vms, SMALL, LARGE, SHOP, policies=given, mode="validate", **spec))["results"]
    of_policies = [each for each in results if "policy" in each["tags"]["rule"]]
    return sorted(
        (each.get("resourceRef", {}).get("name", ""), each["tags"]["rule"], each["severity"], each["message"])
        for each in of_policies
    )


@pytest.fixture
def rendered(monkeypatch):
    """How many VMs are rendered for policies, in each of the passes."""
    counts = []
    real = policy_subjects.gather
    monkeypatch.setattr(policy_subjects, "gather", lambda *given: (facts := real(*given), counts.append(len(facts.vms)))[0])
    return counts


def instance_path(path):
    return path[len(TEMPLATE) :] if path[: len(TEMPLATE)] == TEMPLATE else path


@pytest.mark.parametrize("path", tuple(places()), ids=where)
@pytest.mark.parametrize("state", ["rendered", "instance"])
def test_a_policy_that_reads_a_text_is_asked_about_each_vm(state, path) -> None:
    in_instance = path == NAME or path[: len(TEMPLATE)] == TEMPLATE
    if state == "instance" and not in_instance:
        path = NAME
    read = where(path if state == "rendered" else instance_path(path))
    vms = [machine("one"), machine("two"), machine("bad" if path == NAME else "three", *path)]
    given = policy(f"{read} != 'bad'", evaluate=state)
    together = found(vms, given)
    assert [name for name, *_ in together] == [vms[2]["metadata"]["name"]]
    assert together == [each for vm in vms for each in found([vm], given)]


@pytest.mark.parametrize("state", ["rendered", "instance"])
def test_one_vm_stands_for_those_that_repeat_it(state, rendered) -> None:
    vms = [machine("one"), machine("two"), machine("three")]
    size = "object.spec.template.spec" if state == "rendered" else "object.spec"
    assert found(vms, policy(f"{size}.domain.cpu.sockets < 4", evaluate=state)) == []
    assert rendered == [1]


@pytest.mark.parametrize("state", ["rendered", "instance"])
def test_all_vms_have_the_finding_of_the_one_that_they_repeat(state, rendered) -> None:
    vms = [machine("one"), machine("two"), machine("three")]
    for vm in vms:
        put(vm, ("spec", "instancetype", "name"), "large")
    size = "object.spec.template.spec" if state == "rendered" else "object.spec"
    given = policy(f"{size}.domain.cpu.sockets < 4", evaluate=state)
    assert [name for name, *_ in found(vms, given)] == ["one", "three", "two"]
    assert rendered == [1, 2]


def test_vms_of_other_sizes_namespaces_and_fields_repeat_none(rendered) -> None:
    vms = [machine("one"), machine("two"), machine("three"), machine("four")]
    put(vms[1], ("spec", "instancetype", "name"), "large")
    put(vms[2], ("metadata", "namespace"), "dev")
    put(vms[3], ("spec", "template", "spec", "nodeSelector"), {"a": "b"})
    dev = {**copy(SMALL), "metadata": {**SMALL["metadata"], "namespace": "dev"}}
    given = policy("object.spec.template.spec.domain.cpu.sockets < 9", evaluate="rendered")
    assert found([*vms, dev, {**SHOP, "metadata": {"name": "dev"}}], given) == []
    assert rendered == [4]


@pytest.mark.parametrize("names", [("one", "two", "three"), ("two", "three", "one"), ("three", "one", "two")])
def test_the_uuid_that_is_made_of_the_name_is_read(names) -> None:
    vms = [machine(name) for name in names]
    for vm in vms:
        del vm["spec"]["template"]["spec"]["domain"]["firmware"]["uuid"]
    given = policy("object.spec.domain.firmware.uuid < '8'", evaluate="instance")
    together = found(vms, given)
    assert 0 < len(together) < 3
    assert together == sorted(each for vm in vms for each in found([vm], given))


@pytest.mark.parametrize("where_labels", [("metadata", "labels"), ("spec", "template", "metadata", "labels")])
def test_labels_that_a_policy_selects_by_are_read(where_labels) -> None:
    vms = [machine("one"), machine("two"), machine("three")]
    put(vms[2], (*where_labels, "tier"), "gold")
    constraints = policy("false")["spec"]["matchConstraints"]
    chosen = {**constraints, "objectSelector": {"matchLabels": {"tier": "gold"}}}
    given = policy("false", evaluate="instance", matchConstraints=chosen)
    assert [name for name, *_ in found(vms, given)] == ["three"]


@pytest.mark.parametrize("expression", ["request.name != 'three'", "object.metadata != {'name': 'three'}"])
def test_a_policy_that_may_read_names_is_asked_about_each_vm(expression, rendered) -> None:
    found([machine("one"), machine("two"), machine("three")], policy(expression, evaluate="rendered"))
    assert rendered == [3]
