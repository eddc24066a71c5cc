"""What follows from another finding: KRM results have it, `check` leaves it out."""

from typing import Any

from krm_fn import config, core
from krm_fn.findings import Finding

SPEC = {"mode": "validate"}
SETTINGS = config.read({"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "spec": SPEC})


def vm(name: str = "web", *, spec: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    template = {"spec": {"domain": {"devices": {}}, **(spec or {})}}
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


def told(*items: Any) -> list[Finding]:
    return [each for each in core.render(items, SETTINGS).findings if each.severity == "error"]


def rules(found: list[Finding], *, follows: bool) -> list[str]:
    return sorted(each.rule for each in found if each.follows is follows)


def test_what_vms_inherit_follows_from_the_error_in_their_instancetype() -> None:
    found = told(size(), vm("a", instancetype={"name": "own"}), vm("b", instancetype={"name": "own"}))
    assert rules(found, follows=True) == ["refused-memory", "refused-memory"]
    (root,) = [each for each in found if not each.follows]
    assert (root.rule, root.path) == ("unusable-instancetype", ("spec", "memory", "guest"))
    assert root.message.startswith("VirtualMachine a and 1 more are refused for it: ")


def test_what_a_vm_says_itself_follows_from_nothing() -> None:
    own = {"domain": {"memory": {"guest": "1500Mi", "hugepages": {"pageSize": "1Gi"}}, "devices": {}}}
    assert rules(told(vm(spec=own)), follows=False) == ["refused-memory"]


def test_an_error_in_another_part_of_the_instancetype_hides_nothing() -> None:
    found = told(size(hostDevice=[]), vm(spec={"hostname": "a_b"}, instancetype={"name": "own"}))
    assert rules(found, follows=False) == ["refused-name", "unknown-field", "unusable-instancetype"]


def test_a_requirement_cannot_be_measured_where_the_instancetype_is_not_found() -> None:
    found = told(vm(instancetype={"name": "u1.smalll"}, preference={"name": "windows.11"}))
    assert rules(found, follows=False) == ["unresolved-instancetype"]
    assert set(rules(found, follows=True)) == {"unmet-requirement"}


def test_an_interface_lacks_a_network_since_networks_is_misplaced() -> None:
    domain = {
        "memory": {"guest": "1Gi"},
        "devices": {"interfaces": [{"name": "default", "masquerade": {}}]},
        "networks": [{"name": "default", "pod": {}}],
    }
    found = told(vm(spec={"domain": domain}))
    assert rules(found, follows=False) == ["unknown-field"]
    assert set(rules(found, follows=True)) == {"refused-network"}
    del domain["networks"]
    assert set(rules(told(vm(spec={"domain": domain})), follows=False)) == {"refused-network"}


def test_a_matcher_of_a_wrong_type_is_told_once() -> None:
    found = told(vm(instancetype="u1.small"))
    assert (rules(found, follows=False), rules(found, follows=True)) == (["bad-matcher"], ["wrong-type"])
    found = told(vm(instancetype={"name": True}, preference={"name": "fedora", "kind": []}))
    assert (rules(found, follows=False), rules(found, follows=True)) == (["wrong-type"] * 2, ["bad-matcher"] * 2)
    pool = {"replicas": 1, "selector": {}, "virtualMachineTemplate": {"spec": vm(preference=["a"])["spec"]}}
    made = {"apiVersion": "pool.kubevirt.io/v1beta1", "kind": "VirtualMachinePool", "metadata": {"name": "a"}, "spec": pool}
    found = told(made)
    assert (rules(found, follows=False), rules(found, follows=True)) == (["bad-matcher"], ["wrong-type"])


def test_what_one_rule_alone_says_of_a_matcher_follows_from_nothing() -> None:
    domain = {"cpu": {"cores": "2"}, "devices": {}}
    found = told(vm(spec={"domain": domain}, instancetype={"inferFromVolume": 5}, preference={}))
    assert rules(found, follows=False) == ["bad-matcher", "wrong-type", "wrong-type"]
    off = SETTINGS.but(severity={"wrong-type": "off"})
    found = list(core.render([vm(instancetype={"name": 5})], off).findings)
    assert [(each.rule, each.follows) for each in found] == [("bad-matcher", False)]


DATA = {"name": "data", "emptyDisk": {"capacity": "1Gi"}}


def disks(*given: Any, volumes: Any = (DATA,)) -> list[tuple[str, Any]]:
    """Rule and place of what is told of a VM with these disks and volumes."""
    found = told(vm(spec={"domain": {"devices": {"disks": list(given)}}, "volumes": list(volumes)}))
    return [(each.rule, each.path[4:]) for each in found if not each.follows]


def test_a_disk_without_a_name_is_told_once() -> None:
    place = ("devices", "disks", 1, "name")
    data = {"name": "data", "disk": {}}
    assert disks(data, {"disk": {}}) == [("missing-field", place)]
    assert disks(data, {"disk": {}, "name": None}) == [("missing-field", place)]
    assert disks(data, {"disk": {}, "name": ""}) == [("refused-disk", place)]
    second = ("devices", "disks", 2, "name")
    assert disks(data, {"disk": {}}, {"disk": {}}) == [("missing-field", place), ("missing-field", second)]


def test_a_disk_or_a_volume_in_an_old_form_is_told_once() -> None:
    old = {"name": "disk", "disk": {}, "volumeName": "data"}
    assert disks(old) == [("unknown-field", ("devices", "disks", 0, "volumeName"))]
    registry = {"name": "root", "registryDisk": {"image": "example.com/fedora"}}
    found = disks({"name": "root", "disk": {}}, volumes=[registry])
    assert found == [("unknown-field", (0, "registryDisk"))]


def test_a_template_whose_storage_is_null_is_told_once() -> None:
    spec = {"source": {"blank": {}}, "storage": None}
    volume = {"name": "data", "dataVolume": {"name": "dv"}}
    item = vm(spec={"volumes": [volume]}, dataVolumeTemplates=[{"metadata": {"name": "dv"}, "spec": spec}])
    found = [each for each in core.render([item], SETTINGS).findings if not each.follows]
    assert [each.message for each in found] == ["storage holds null, so the template asks for no storage; set storage"]


def test_a_placeholder_is_told_in_place_of_the_errors_that_its_value_is() -> None:
    spec = {"domain": {"cpu": {"cores": "${CORES}"}, "devices": {}}}
    item = vm("${NAME}", spec=spec, instancetype={"name": "<size>"})
    found = [each for each in core.render([item], SETTINGS).findings if not each.follows]
    assert {each.rule for each in found} == {"unfilled-placeholder"}
    assert {each.current: each.severity for each in found} == {"${NAME}": "info", "<size>": "warning", "${CORES}": "info"}
