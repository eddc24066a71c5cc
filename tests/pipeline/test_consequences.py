"""What follows from another finding: no host prints it; the library's results in mode `validate` have it, for they hold all."""

import json
import subprocess
import sysconfig
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from krm_fn import config, process
from krm_fn.base.placeholders import placeholders
from krm_fn.findings.finding import Finding
from krm_fn.hosts import function
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline import stages

COMMAND = f"{sysconfig.get_path('scripts')}/kubevirt-render"
FUNCTION_CONFIG = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines"}
SIZED = {"resources": {"requests": {"storage": "1Gi"}}}
SETTINGS = config.read({**FUNCTION_CONFIG, "spec": {"mode": "validate"}})
MEMORY = {"guest": "1Gi"}  # without any, no VM starts


def vm(name: str = "web", *, spec: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    memory = {} if "instancetype" in more else {"memory": MEMORY}
    template = {"spec": {"domain": {**memory, "devices": {}}, **(spec or {})}}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name},
        "spec": {"runStrategy": "Always", "template": template, **more},
    }


def size(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineClusterInstancetype",
        "metadata": {"name": "own"},
        "spec": {"cpu": {"guest": 1}, "memory": {"guest": "1500Mi", "hugepages": {"pageSize": "1Gi"}}, **spec},
    }


class Reported(NamedTuple):
    roots: list[Finding]
    following: list[Finding]


def reported(*items: Any, settings: Config = SETTINGS) -> Reported:
    """The errors that hosts print, and those that only follow from them."""
    roots = stages.render(items, settings).findings
    everything = stages.render(items, settings, judging=stages.Judging(following=True)).findings
    errors = [each for each in everything if each.severity == "error"]
    return Reported(roots=[each for each in errors if each in roots], following=[each for each in errors if each not in roots])


def rules(found: Reported, *, follows: bool) -> list[str]:
    return sorted(each.rule for each in (found.following if follows else found.roots))


def test_what_vms_inherit_follows_from_the_error_in_their_instancetype() -> None:
    found = reported(size(), vm("a", instancetype={"name": "own"}), vm("b", instancetype={"name": "own"}))
    assert rules(found, follows=True) == ["refused-memory", "refused-memory"]
    (root,) = found.roots
    assert (root.rule, root.path) == ("unusable-instancetype", ("spec", "memory", "guest"))
    assert root.message.startswith("KubeVirt refuses VirtualMachine a and 1 more because of it: ")


def test_what_a_vm_says_itself_follows_from_nothing() -> None:
    own = {"domain": {"memory": {"guest": "1500Mi", "hugepages": {"pageSize": "1Gi"}}, "devices": {}}}
    assert rules(reported(vm(spec=own)), follows=False) == ["refused-memory"]


def test_an_error_in_another_part_of_the_instancetype_hides_nothing() -> None:
    found = reported(size(hostDevice=[]), vm(spec={"hostname": "a_b"}, instancetype={"name": "own"}))
    assert rules(found, follows=False) == ["refused-name", "unknown-field", "unusable-instancetype"]


def test_a_requirement_cannot_be_measured_where_the_instancetype_is_not_found() -> None:
    found = reported(vm(instancetype={"name": "u1.smalll"}, preference={"name": "windows.11"}))
    assert rules(found, follows=False) == ["unresolved-instancetype"]
    assert set(rules(found, follows=True)) == {"unmet-requirement"}


@pytest.mark.parametrize("mode", ["expand", "annotate", "snapshot", "validate"])
def test_render_and_the_hosts_say_what_check_says_of_a_misspelt_instancetype(mode: str, tmp_path: Path) -> None:
    items = [vm(instancetype={"name": "u1.meduim"}, preference={"name": "windows.11"})]
    listing = {
        "apiVersion": "config.kubernetes.io/v1",
        "kind": "ResourceList",
        "items": items,
        "functionConfig": {**FUNCTION_CONFIG, "spec": {"mode": mode}},
    }
    library = {each["tags"]["rule"] for each in process(listing)["results"]}
    assert library == {"unresolved-instancetype"} | ({"unmet-requirement"} if mode == "validate" else set())
    out, err = BytesIO(), StringIO()
    assert function.run(json.dumps(listing).encode(), out, err) == 1
    assert [line.rpartition(" ")[2] for line in err.getvalue().splitlines()] == ["(unresolved-instancetype)"]
    assert out.getvalue().count(b"unmet-requirement") == 0
    (tmp_path / "vm.yaml").write_text(json.dumps(items[0]))
    rendered, checked = (
        subprocess.run([COMMAND, command, "vm.yaml"], cwd=tmp_path, capture_output=True, text=True, check=False)
        for command in ("render", "check")
    )
    assert rendered.stderr == f"kubevirt-render: {checked.stdout}"


@pytest.mark.parametrize("fleet", [1, 3])
def test_the_function_says_of_a_preference_with_an_error_what_the_command_says(fleet: int) -> None:
    kind = {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": "VirtualMachineClusterPreference"}
    requirements = {"cpu": {"guest": 4}, "architecture": "amd64"}  # the latter came with 1.6
    wants = {**kind, "metadata": {"name": "wants"}, "spec": {"requirements": requirements}}
    vms = [vm(str(number), instancetype={"name": "u1.small"}, preference={"name": "wants"}) for number in range(fleet)]
    given = {**FUNCTION_CONFIG, "spec": {"kubevirtVersion": "1.4", "severity": {"field-of-another-release": "error"}}}
    listing = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": [wants, *vms], "functionConfig": given}
    err = StringIO()
    function.run(yaml.dump(listing).encode(), BytesIO(), err)
    assert [line.rpartition(" ")[2] for line in err.getvalue().splitlines()] == ["(field-of-another-release)"]
    assert [each.rule for each in stages.render(listing["items"], config.read(given)).findings] == ["field-of-another-release"]


def test_an_interface_lacks_a_network_since_networks_is_misplaced() -> None:
    domain = {
        "memory": {"guest": "1Gi"},
        "devices": {"interfaces": [{"name": "default", "masquerade": {}}]},
        "networks": [{"name": "default", "pod": {}}],
    }
    found = reported(vm(spec={"domain": domain}))
    assert rules(found, follows=False) == ["unknown-field"]
    assert set(rules(found, follows=True)) == {"refused-network"}
    del domain["networks"]
    assert set(rules(reported(vm(spec={"domain": domain})), follows=False)) == {"refused-network"}


def test_a_matcher_of_a_wrong_type_is_reported_once() -> None:
    found = reported(vm(instancetype="u1.small"))
    assert (rules(found, follows=False), rules(found, follows=True)) == (["bad-matcher"], ["wrong-type"])
    found = reported(vm(instancetype={"name": True}, preference={"name": "fedora", "kind": []}))
    assert (rules(found, follows=False), rules(found, follows=True)) == (["wrong-type"] * 2, ["bad-matcher"] * 2)
    pool = {"replicas": 1, "selector": {}, "virtualMachineTemplate": {"spec": vm(preference=["a"])["spec"]}}
    made = {"apiVersion": "pool.kubevirt.io/v1beta1", "kind": "VirtualMachinePool", "metadata": {"name": "a"}, "spec": pool}
    found = reported(made)
    assert (rules(found, follows=False), rules(found, follows=True)) == (["bad-matcher"], ["wrong-type"])


def test_what_one_rule_alone_says_of_a_matcher_follows_from_nothing() -> None:
    domain = {"cpu": {"cores": "2"}, "devices": {}}
    found = reported(vm(spec={"domain": domain}, instancetype={"inferFromVolume": 5}, preference={}))
    assert rules(found, follows=False) == ["bad-matcher", "wrong-type", "wrong-type"]
    off = SETTINGS.but(severity={"wrong-type": "off"})
    found = reported(vm(instancetype={"name": 5}), settings=off)
    assert (rules(found, follows=False), rules(found, follows=True)) == (["bad-matcher"], [])


DATA = {"name": "data", "emptyDisk": {"capacity": "1Gi"}}


def disks(*given: Any, volumes: Any = (DATA,)) -> list[tuple[str, Any]]:
    """Rule and place of the findings about a VM with these disks and volumes."""
    found = reported(vm(spec={"domain": {"devices": {"disks": list(given)}}, "volumes": list(volumes)}))
    return [(each.rule, each.path[4:]) for each in found.roots]


def test_a_disk_without_a_name_is_reported_once() -> None:
    place = ("devices", "disks", 1, "name")
    data = {"name": "data", "disk": {}}
    assert disks(data, {"disk": {}}) == [("missing-field", place)]
    assert disks(data, {"disk": {}, "name": None}) == [("missing-field", place)]
    assert disks(data, {"disk": {}, "name": ""}) == [("refused-disk", place)]
    second = ("devices", "disks", 2, "name")
    assert disks(data, {"disk": {}}, {"disk": {}}) == [("missing-field", place), ("missing-field", second)]


NO_SIZES = ({"requests": {"memory": "4GiB"}}, {"limits": {"memory": "4 gigs"}}, {"requests": []}, [])


@pytest.mark.parametrize("resources", NO_SIZES)
def test_a_memory_size_that_is_none_is_reported_once(resources: object) -> None:
    found = reported(vm(spec={"domain": {"resources": resources, "devices": {}}}))
    assert [rules(found, follows=False), rules(found, follows=True)] == [["wrong-type"], ["never-starts"]]


def test_an_error_beside_the_resources_explains_no_missing_memory() -> None:
    found = reported(vm(spec={"domain": {"cpu": {"cores": "two"}, "devices": {}}}))
    assert rules(found, follows=False) == ["never-starts", "wrong-type"]


def test_a_disk_or_a_volume_in_an_old_form_is_reported_once() -> None:
    old = {"name": "disk", "disk": {}, "volumeName": "data"}
    assert disks(old) == [("unknown-field", ("devices", "disks", 0, "volumeName"))]
    registry = {"name": "root", "registryDisk": {"image": "example.com/fedora"}}
    found = disks({"name": "root", "disk": {}}, volumes=[registry])
    assert found == [("unknown-field", (0, "registryDisk"))]


def test_a_template_whose_storage_is_null_is_reported_once() -> None:
    spec = {"source": {"blank": {}}, "storage": None}
    volume = {"name": "data", "dataVolume": {"name": "dv"}}
    item = vm(spec={"volumes": [volume]}, dataVolumeTemplates=[{"metadata": {"name": "dv"}, "spec": spec}])
    found = list(stages.render([item], SETTINGS).findings)
    assert [each.message for each in found] == ["storage is null, so the template requests no storage; set storage"]


def test_a_name_in_capitals_is_reported_as_a_placeholder_instead_of_its_faults() -> None:
    volumes = [{"name": "root", "persistentVolumeClaim": {"claimName": "CLAIM_NAME"}}]
    spec = {"domain": {"memory": MEMORY, "devices": {"disks": [{"name": "root", "disk": {}}]}}, "volumes": volumes}
    template = {"metadata": {"labels": {"app": "__APP__"}}, "spec": spec}
    machines = [vm("__APP__", spec=spec), vm("VM_1", spec=spec), vm("VM_1", spec={"domain": {"memory": MEMORY, "devices": {}}})]
    machines[0]["spec"]["template"] = template
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "NAME"}}
    found = list(stages.render([*machines, secret], SETTINGS).findings)
    assert {each.rule for each in found} == {"unfilled-placeholder"}
    levels = {"__APP__": "info", "VM_1": "warning", "CLAIM_NAME": "warning", "NAME": "warning"}
    assert {each.current: each.severity for each in found} == levels


def test_capitals_and_underscores_elsewhere_are_no_placeholders() -> None:
    for value, path in (
        ("NAME", ("spec", "template", "metadata", "labels", "app")),
        ("ROOT_DISK", ("spec", "template", "spec", "volumes", 0, "name")),
        ("WEB_TIER", ("metadata", "labels", "name")),
        ("EU_WEST", ("spec", "template", "spec", "nodeSelector", "namespace")),
        ("WEB", ("metadata", "name")),
        ("web__1", ("metadata", "name")),
        ("__init__", ("metadata", "labels", "app")),
    ):
        assert placeholders(value, path) == (), value


def test_a_placeholder_is_reported_instead_of_the_errors_of_its_value() -> None:
    spec = {"domain": {"cpu": {"cores": "${CORES}"}, "devices": {}}}
    item = vm("${NAME}", spec=spec, instancetype={"name": "<size>"})
    found = list(stages.render([item], SETTINGS).findings)
    assert {each.rule for each in found} == {"unfilled-placeholder"}
    assert {each.current: each.severity for each in found} == {"${NAME}": "info", "<size>": "warning"}


@pytest.mark.parametrize(
    ("template", "volume", "is_known"),
    [("${{values.name}}-vm", "shop-vm", False), ("shop-vm", "${NAME}-vm", False), ("shop-vm", "web-vm", True)],
)
def test_names_with_placeholders_may_become_equal(template: str, volume: str, is_known: bool) -> None:
    made = {"metadata": {"name": template}, "spec": {"source": {"blank": {}}, "storage": SIZED}}
    spec = {"volumes": [{"name": "root", "dataVolume": {"name": volume}}]}
    item = vm(spec={"domain": {"devices": {"disks": [{"name": "root", "disk": {}}]}}, **spec}, dataVolumeTemplates=[made])
    found = {each.rule for each in stages.render([item], SETTINGS).findings}
    assert ("refused-data-volume-template" in found) == is_known


def test_no_error_follows_from_placeholders_even_where_nobody_wants_to_know_of_them() -> None:
    off = SETTINGS.but(severity={"unfilled-placeholder": "off"})
    whole = vm("whole")
    whole["spec"]["template"] = "${TEMPLATE}"
    own = {"apiVersion": "instancetype.kubevirt.io/v1beta1", "metadata": {"name": "own"}}
    size = {**own, "kind": "VirtualMachineClusterInstancetype", "spec": {"cpu": {"guest": "${N}"}, "memory": {"guest": "${M}"}}}
    wants = {"requirements": {"cpu": {"guest": 4}}, "devices": {"preferredDiskBus": "${BUS}"}}
    preference = {**own, "kind": "VirtualMachineClusterPreference", "spec": wants}
    disks = {"domain": {"devices": {"disks": [{"name": "${D}", "disk": {}}]}}, "volumes": [{"name": "${D}", "emptyDisk": {}}]}
    disks["volumes"][0]["emptyDisk"] = {"capacity": "${SIZE:=10GB}"}
    sized = vm("sized", spec=disks, instancetype={"name": "own"}, preference={"name": "own"})
    devices = vm(
        "devices", spec={"domain": {"memory": MEMORY, "devices": "${DEVICES}"}, "networks": [{"name": "default", "pod": {}}]}
    )
    named = vm("${NAME}", spec=disks, instancetype={"name": "${TYPE:=u1.gone}", "kind": "${KIND}"})
    for settings in (SETTINGS, off):
        found = stages.render([whole, size, preference, sized, devices, named, vm("${NAME}")], settings).findings
        assert not [each.message for each in found if each.rule != "unfilled-placeholder"]


def test_a_mistake_beside_placeholders_is_reported() -> None:
    cpu = {"cores": "${CORES}", "sockets": -1}
    item = vm("${NAME}", spec={"domain": {"memory": MEMORY, "cpu": cpu, "devices": {}}})
    found = [each for each in stages.render([item], SETTINGS).findings if each.rule != "unfilled-placeholder"]
    assert [each.current for each in found] == [-1]


def test_the_only_finding_may_follow_from_a_placeholder() -> None:
    item = {**vm("web"), "apiVersion": "${API_VERSION}"}
    assert list(stages.render([item], SETTINGS).findings) == []


@pytest.mark.parametrize("order", ["1", "0", [1], {"a": 1}])
def test_a_value_of_a_wrong_type_is_in_no_range(order: object) -> None:
    disks = [{"name": "root", "bootOrder": order, "disk": {}}]
    spec = {"domain": {"devices": {"disks": disks}}, "volumes": [{"name": "root", "containerDisk": {"image": "a"}}]}
    found = reported(vm(spec=spec))
    assert (rules(found, follows=False), rules(found, follows=True)) == (["wrong-type"], ["refused-disk"])
