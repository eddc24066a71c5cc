"""The rules about machines that share what only one may have: addresses, identities, disks."""

import pytest
from linting import about, claim, machine, on_claim, pool, said, thing

MAC = "02:00:00:00:00:0a"
UUID = "5d307ca9-b3ef-428c-8861-06e72d69f223"


def on(network, name="web", *, binding="bridge", mac=MAC, **more):
    source = {"multus": {"networkName": network}} if network else {"pod": {}}
    interface = {"name": "lan", binding: {}, "macAddress": mac}
    return machine(name, interfaces=[interface], networks=[{"name": "lan", **source}], **more)


def shared(*items):
    return about("duplicate-mac-address", *items)


@pytest.mark.parametrize("spelt", ["02-00-00-00-00-0A", "0200.0000.000a"])
def test_one_address_on_one_network_however_it_is_spelt(spelt):
    assert said("duplicate-mac-address", on("lan", "a"), on("default/lan", "db", mac=spelt)) == [
        (
            "warning",
            "db",
            "spec.template.spec.domain.devices.interfaces[0].macAddress",
            "VirtualMachine a has the same MAC address on default/lan; give each its own, or delete macAddress",
        )
    ]


def test_an_object_that_comes_twice_is_one_machine():
    assert shared(on("lan"), on("lan")) == []
    assert in_two(writer("a"), writer("a")) == []


def test_a_vm_and_an_instance_of_one_name_are_one_machine():
    vm = writer("web")
    instance = thing("kubevirt.io/v1", "VirtualMachineInstance", "web", vm["spec"]["template"]["spec"])
    assert in_two(vm, instance) == []
    assert in_two(vm, instance, writer("db")) == [("warning", "web")]
    assert in_two(writer("web", strategy="Halted"), instance, writer("db")) == [("warning", "web")]
    assert in_two(vm, {**instance, "metadata": {"name": "web", "namespace": "lab"}}) == []


def test_each_after_the_first_by_name_is_told():
    assert shared(on("lan", "c"), on("lan", "b"), on("lan", "a")) == [("warning", "c"), ("warning", "b")]


@pytest.mark.parametrize(
    "other",
    [
        on("dmz", "db"),
        on("lan", "db", strategy="Halted"),
        on("lan", "db", strategy="Manual"),
        on("lan", "db", namespace="lab"),  # the network of that name there
    ],
)
def test_another_network_or_a_machine_that_stands_still_is_an_info(other):
    assert shared(on("lan", "a"), other) == [("info", "db")]


def test_a_bridge_on_the_pod_network_is_an_info():
    assert shared(on("", "a"), on("", "db")) == [("info", "db")]


@pytest.mark.parametrize("binding", ["masquerade", "passtBinding"])
def test_bindings_that_hide_the_address_are_passed_over(binding):
    assert shared(on("", binding=binding), on("", "db", binding=binding), on("lan", "c")) == []


def test_a_bond_of_one_machine_may_have_one_address():
    interfaces = [{"name": name, "sriov": {}, "macAddress": MAC} for name in ("a", "b")]
    networks = [{"name": name, "multus": {"networkName": name}} for name in ("a", "b")]
    assert shared(machine(interfaces=interfaces, networks=networks)) == []


def test_two_interfaces_of_one_machine_on_one_network_may_not():
    interfaces = [{"name": name, "bridge": {}, "macAddress": MAC} for name in ("a", "b")]
    networks = [{"name": name, "multus": {"networkName": "lan"}} for name in ("a", "b")]
    (found,) = said("duplicate-mac-address", machine(interfaces=interfaces, networks=networks))
    assert found[3].startswith("another interface of this machine has the same MAC address on default/lan; ")


@pytest.mark.parametrize(("replicas", "found"), [(3, [("warning", "pool")]), (2, [("warning", "pool")]), (1, []), (0, [])])
def test_a_pool_shares_with_itself_where_it_makes_several(replicas, found):
    assert shared(pool(on("lan"), replicas=replicas)) == found


def test_a_replica_set_shares_with_itself():
    template = {"spec": {"domain": {"firmware": {"uuid": UUID}}}}
    replica_set = thing("kubevirt.io/v1", "VirtualMachineInstanceReplicaSet", "set", {"replicas": 2, "template": template})
    fact = "each of the 2 machines of this template gets the same firmware UUID"
    assert said("duplicate-firmware-uuid", replica_set) == [
        ("warning", "set", "spec.template.spec.domain.firmware.uuid", f"{fact}; delete it, so that the cluster creates one")
    ]


def test_a_uuid_is_the_same_in_any_case_and_namespace():
    first, second = machine(firmware={"uuid": UUID}), machine("db", firmware={"uuid": UUID.upper()}, namespace="lab")
    assert about("duplicate-firmware-uuid", first, second) == [("warning", "db")]


def test_a_serial_is_an_info_and_cloud_inits_data_source_none():
    assert about("duplicate-firmware-serial", *(machine(name, firmware={"serial": "7"}) for name in "ab")) == [("info", "b")]
    assert about("duplicate-firmware-serial", *(machine(name, firmware={"serial": "ds=nocloud"}) for name in "ab")) == []


def writer(name, disk=None, **more):
    return machine(name, volumes={"data": on_claim("data")}, disks={"data": disk or {"disk": {}}}, **more)


def in_two(*items):
    return about("disk-in-two-machines", *items)


def test_two_that_write_are_told_at_the_second():
    fix = "give each its own disk, or, to share it, set shareable on the disks and ReadWriteMany on the claim"
    assert said("disk-in-two-machines", writer("a"), writer("b")) == [
        (
            "warning",
            "b",
            "spec.template.spec.volumes[0].persistentVolumeClaim.claimName",
            f"VirtualMachine a also writes to the claim data; {fix}",
        )
    ]


@pytest.mark.parametrize(
    "other",
    [
        writer("b", strategy="Halted"),
        writer("b", namespace="lab"),
        writer("b", {"disk": {"readonly": True}}),
        writer("b", {"cdrom": {"bus": "sata"}}),
        writer("b", {"lun": {"readonly": True}}),
        machine("b", volumes={"data": {"persistentVolumeClaim": {"claimName": "data", "readOnly": True}}}),
        machine("b", volumes={"data": {"ephemeral": on_claim("data")}}),
    ],
)
def test_who_does_not_run_or_does_not_write_clashes_with_nobody(other):
    assert in_two(writer("a"), other) == []


def test_one_that_is_started_by_hand_is_an_info():
    by_hand = writer("b", strategy="Manual")
    assert in_two(by_hand, writer("a")) == [("info", "b")]
    assert in_two(by_hand, writer("c", strategy="Manual")) == [("info", "c")]
    assert in_two(by_hand, writer("c", strategy="Halted")) == []


def test_running_true_runs():
    old = writer("b")
    del old["spec"]["runStrategy"]
    old["spec"]["running"] = True
    assert in_two(writer("a"), old) == [("warning", "b")]


def test_a_volume_without_a_disk_gets_one_that_writes():
    assert in_two(writer("a"), machine("b", volumes={"data": on_claim("data")})) == [("warning", "b")]


def test_a_writable_cdrom_writes():
    assert in_two(writer("a"), writer("b", {"cdrom": {"readonly": False}})) == [("warning", "b")]


def test_virtiofs_shares_files_and_no_disk():
    other = machine("b", volumes={"data": on_claim("data")})
    other["spec"]["template"]["spec"]["domain"]["devices"]["filesystems"] = [{"name": "data", "virtiofs": {}}]
    assert in_two(writer("a"), other) == []


@pytest.mark.parametrize(
    ("disks", "found"),
    [
        (({"shareable": True}, {"shareable": True}), []),
        (({"shareable": True}, {}), [("warning", "b")]),
        (({}, {"shareable": True}), [("warning", "b")]),
    ],
)
def test_both_disks_have_to_be_shareable(disks, found):
    assert in_two(*(writer(name, {"disk": {}, **disk}) for name, disk in zip("ab", disks, strict=True))) == found


@pytest.mark.parametrize(
    "given",
    [
        claim("data", ["ReadWriteMany"]),
        thing("cdi.kubevirt.io/v1beta1", "DataVolume", "data", {"storage": {"accessModes": ["ReadWriteMany"]}}),
        thing("cdi.kubevirt.io/v1beta1", "DataVolume", "data", {"pvc": {"accessModes": ["ReadWriteMany"]}}),
    ],
)
def test_a_claim_that_says_read_write_many_is_shared_knowingly(given):
    assert in_two(given, writer("a"), writer("b")) == []


def test_a_disk_that_is_a_file_is_locked_whatever_its_claim_allows():
    files = claim("data", ["ReadWriteMany"])
    files["spec"]["volumeMode"] = "Filesystem"
    assert in_two(files, writer("a"), writer("b")) == [("warning", "b")]
    assert in_two(files, *(writer(name, {"disk": {}, "shareable": True}) for name in "ab")) == []


def test_a_template_that_says_read_write_many_too():
    owner = machine("a", volumes={"data": {"dataVolume": {"name": "data"}}})
    template = {"metadata": {"name": "data"}, "spec": {"storage": {"accessModes": ["ReadWriteMany"]}}}
    owner["spec"]["dataVolumeTemplates"] = [template]
    assert in_two(owner, writer("b")) == []
    template["spec"] = {"storage": {}}
    assert in_two(owner, writer("b")) == [("warning", "b")]


@pytest.mark.parametrize(("replicas", "found"), [(2, [("warning", "pool")]), (1, []), (0, [])])
def test_a_pool_shares_a_claim_with_itself_where_it_makes_several(replicas, found):
    assert in_two(pool(writer("x"), replicas=replicas)) == found


def test_a_pool_shares_a_claim_with_itself_but_not_what_its_templates_make():
    assert in_two(pool(writer("x"))) == [("warning", "pool")]
    own = machine(volumes={"root": {"dataVolume": {"name": "root"}}})
    own["spec"]["dataVolumeTemplates"] = [{"metadata": {"name": "root"}, "spec": {"source": {"blank": {}}, "storage": {}}}]
    assert in_two(pool(own)) == []


@pytest.mark.parametrize(
    ("limit", "spec", "found"),
    [
        ("2Gi", {}, [("warning", "web")]),
        ("2Gi", {"kubevirtVersion": "1.5"}, []),  # KubeVirt refuses it
        ("2Gi", {"configuration": {"vmRolloutStrategy": "Stage"}}, []),
        ("4Gi", {}, []),
        ("4Gi", {"severity": {"little-headroom": "info"}}, [("info", "web")]),
        ("0", {}, []),
    ],
)
def test_a_limit_below_the_memory_of_a_guest_is_told_where_kubevirt_lets_it_in(limit, spec, found):
    vm = machine()
    domain = vm["spec"]["template"]["spec"]["domain"]
    domain |= {"memory": {"guest": "4Gi"}, "resources": {"limits": {"memory": limit}}}
    assert [each[:2] for each in said("little-headroom", vm, **spec)] == found


def test_a_limit_without_memory_of_a_guest_is_the_memory_of_the_guest():
    vm = machine()
    vm["spec"]["template"]["spec"]["domain"]["resources"] = {"limits": {"memory": "4Gi"}}
    assert said("little-headroom", vm) == []
    ((_, _, _, message),) = said("little-headroom", vm, severity={"little-headroom": "info"})
    assert message.startswith("the limit of 4Gi leaves QEMU only KubeVirt's estimate beside the guest's 4Gi")
