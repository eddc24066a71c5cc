"""`defaults: pinned`: what admission adds or draws stands in the output, so that another admission changes nothing."""

from __future__ import annotations

import pytest
from functions import instancetype, run, vm
from test_parity import RELEASES, expected_vm, key, of_kind, resource_list

import krm_fn
from krm_fn.base.paths import copy, drop, get, leaves

FIRMWARE = ("spec", "template", "spec", "domain", "firmware")
NOTES = ("spec", "template", "metadata", "annotations")
TOPOLOGY = (*NOTES, "kubevirt.io/pci-topology-version")

# Every release between which something differs: uuid, serial, PCI topology with an odd machine, the same on s390x.
WRITTEN = [
    ("1.4.1", False, False, False, False),
    ("1.5.2", False, False, False, False),
    ("1.5.3", False, True, False, False),
    ("1.6.0", True, False, False, False),
    ("1.6.1", True, True, False, False),
    ("1.6.4", True, True, True, True),
    ("1.6.5", True, True, True, False),
    ("1.6.6", True, True, False, False),
    ("1.7.1", True, True, False, False),
    ("1.7.2", True, True, True, True),
    ("1.7.3", True, True, True, False),
    ("1.7.4", True, True, False, False),
    ("1.8.0", True, True, True, True),
    ("1.8.2", True, True, True, False),
    ("1.8.3", True, True, False, False),
    ("1.9.0", True, True, False, False),
]


def of_spec(**spec):
    given = vm()
    given["spec"]["template"]["spec"].update(spec)
    return given


def pinned(*items, **spec):
    rendered, results = run(*items, defaults="pinned", **spec)
    assert results == []
    return next(item for item in rendered if item["kind"] != "ControllerRevision")


def has_pcie_topology(given, release):
    return get(pinned(given, kubevirtVersion=release), TOPOLOGY) == "v3"


def test_a_vm_that_refers_to_nothing_gets_what_admission_adds():
    assert pinned(vm(namespace="shop"))["spec"]["template"] == {
        "metadata": {"annotations": {"kubevirt.io/pci-topology-version": "v3"}},
        "spec": {
            "domain": {
                "devices": {},
                "machine": {"type": "q35"},
                "firmware": {
                    "uuid": "021062dd-7407-514b-828c-9be2f0493127",
                    "serial": "533f0f5e-671a-5c74-b222-e1fb633a9329",
                },
            },
            "architecture": "amd64",
        },
    }


@pytest.mark.parametrize(("release", "uuid", "serial", "odd_machine", "flat_bus"), WRITTEN)
def test_each_release_writes_what_its_own_webhook_writes(release, uuid, serial, odd_machine, flat_bus):
    firmware = get(pinned(vm(), kubevirtVersion=release), FIRMWARE, {})
    assert ("uuid" in firmware, "serial" in firmware) == (uuid, serial)
    odd = of_spec(domain={"devices": {}, "machine": {"type": "pc-i440fx-9.0"}})
    assert has_pcie_topology(odd, release) == odd_machine
    assert has_pcie_topology(of_spec(architecture="s390x"), release) == flat_bus


def test_two_namespaces_give_different_uuids_and_serials():
    values = [get(pinned(vm(namespace=namespace)), (*FIRMWARE, key)) for namespace in ("a", "b") for key in ("uuid", "serial")]
    assert len(set(values)) == 4


def test_a_vm_without_a_namespace_is_in_default():
    assert get(pinned(vm()), FIRMWARE) == get(pinned(vm(namespace="default")), FIRMWARE)


def test_values_that_are_there_stay():
    firmware = {"uuid": "11111111-2222-3333-4444-555555555555", "serial": "abc"}
    given = of_spec(architecture="arm64", domain={"devices": {}, "machine": {"type": "virt-9.0"}, "firmware": firmware})
    given["spec"]["template"]["metadata"] = {"annotations": {"kubevirt.io/pci-topology-version": "v2"}}
    assert pinned(given) == given


def test_one_of_the_two_firmware_values_may_be_missing():
    given = of_spec(domain={"devices": {}, "firmware": {"serial": "abc", "bootloader": {"bios": {}}}})
    firmware = get(pinned(given), FIRMWARE)
    assert (sorted(firmware), firmware["serial"]) == (["bootloader", "serial", "uuid"], "abc")


def test_an_expanded_vm_has_all_of_cluster_and_the_pinned_values():
    size = instancetype("small")
    rendered = pinned(vm(instancetype="small"), size)
    plain = run(vm(instancetype="small"), size, defaults="cluster")[0][0]
    for path in (FIRMWARE, NOTES):
        drop(rendered, path)
        drop(plain, path)
    assert rendered == plain


def test_what_go_writes_into_entries_of_lists_is_there_too():
    given = of_spec(volumes=[{"name": "disk", "hostDisk": {"path": "/d.img", "type": "DiskOrCreate"}}])
    given["spec"]["dataVolumeTemplates"] = [{"metadata": {"name": "root"}, "spec": {"storage": {"volumeMode": "Block"}}}]
    spec = pinned(given)["spec"]
    assert spec["dataVolumeTemplates"][0]["spec"] == {"storage": {"volumeMode": "Block", "resources": {}}}
    assert spec["template"]["spec"]["volumes"][0]["hostDisk"] == {"path": "/d.img", "type": "DiskOrCreate", "capacity": "0"}


def test_vms_of_a_pool_get_no_uuid_of_the_template_for_they_would_share_it():
    pool = {
        "apiVersion": "pool.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePool",
        "metadata": {"name": "web"},
        "spec": {"virtualMachineTemplate": {"spec": vm()["spec"]}},
    }
    template = pinned(pool)["spec"]["virtualMachineTemplate"]
    assert get(template, FIRMWARE) is None
    assert get(template, ("spec", "template", "spec", "architecture")) == "amd64"


def test_a_vm_whose_name_the_cluster_makes_up_gets_no_uuid():
    given = vm()
    given["metadata"] = {"generateName": "web-"}
    assert get(pinned(given), FIRMWARE) is None


@pytest.mark.parametrize("mode", ["annotate", "snapshot"])
def test_a_vm_that_keeps_its_references_is_pinned_as_well(mode):
    rendered = pinned(vm(instancetype="small"), instancetype("small"), mode=mode)
    assert rendered["spec"]["instancetype"]["name"] == "small"
    assert sorted(get(rendered, FIRMWARE)) == ["serial", "uuid"]


def test_the_kind_is_written_by_the_releases_that_write_it():
    given = vm()
    given["spec"]["instancetype"] = {"name": "small"}
    size = instancetype("small", kind="VirtualMachineClusterInstancetype")
    kinds = [
        get(pinned(given, size, mode="annotate", kubevirtVersion=release), ("spec", "instancetype", "kind"))
        for release in ("1.6", "1.7")
    ]
    assert kinds == ["virtualmachineclusterinstancetype", None]


def test_the_previewed_instance_has_the_pinned_uuid():
    rendered, _ = run(vm(), defaults="pinned", instances="include")
    assert get(rendered[1], ("spec", "domain", "firmware", "uuid")) == get(rendered[0], (*FIRMWARE, "uuid"))


ODD = {
    "cpu": 1,
    "devices": {"watchdog": {"i6300esb": 3}},
    "features": {"hyperv": {"synictimer": {"enabled": True}, "synic": 1}},
}


@pytest.mark.parametrize("domain", ["text", ["list"], {"devices": {}, "firmware": "text", "machine": 3}, ODD, {"memory": [1]}])
@pytest.mark.parametrize("metadata", ["text", {"annotations": ["list"]}, None])
def test_user_data_of_any_shape_is_left_alone(domain, metadata):
    given = of_spec(domain=domain)
    given["spec"]["template"]["metadata"] = metadata
    rendered, preview = run(given, defaults="pinned", instances="include")[0]
    assert get(rendered, ("spec", "template", "spec", "architecture")) == "amd64"
    assert preview["kind"] == "VirtualMachineInstance"


def answers(cases):
    """(case, the original VM, the VM as KubeVirt stores it at admission, whether it expands) for every VM that was admitted."""
    for case in cases:
        given = of_kind("VirtualMachine", case["items"])
        for vm_key, answer in case["expect"].items():
            if "admitted" in answer:
                yield case, given[vm_key], expected_vm(answer["admitted"], given[vm_key]), "expandError" not in answer


def rendered_vm(case, given, **spec):
    """The rendered VM; None if it cannot be rendered: then it does not change, and a result says why."""
    out = krm_fn.process(resource_list(case, defaults="pinned", **spec))
    rendered = of_kind("VirtualMachine", out["items"])[key(given)]
    failed = rendered == given and any(result["severity"] == "error" for result in out["results"])
    return None if failed else rendered


def as_measured(stored, admitted):
    """The VM without what the measured answers leave out: the drawn values and the topology. Nor are there new revisions."""
    for path in ((*FIRMWARE, "uuid"), (*FIRMWARE, "serial"), TOPOLOGY):
        if get(admitted, path) is None:
            drop(stored, path)
    for path in (FIRMWARE, NOTES):
        if get(admitted, path) is None and get(stored, path) == {}:
            drop(stored, path)
    for matcher in ("instancetype", "preference"):
        if get(admitted, ("spec", matcher, "revisionName")) is None:
            drop(stored, ("spec", matcher, "revisionName"))
    return stored


@pytest.mark.parametrize("name", RELEASES)
def test_a_vm_that_keeps_its_references_is_what_kubevirts_admission_stores(name, cases):
    wrong = []
    for case, given, admitted, expands in answers(cases(name)):
        rendered = rendered_vm(case, given, mode="snapshot")
        assert (rendered is not None) == expands, case["id"]
        if rendered is not None:
            wrong += [case["id"]] if as_measured(copy(rendered), admitted) != admitted else []
    assert wrong == []


def added(given, admitted):
    """Place and value of all that admission adds to a VM, but for its references, which are rendered."""
    for path, value in leaves(admitted):
        if get(given, path) != value and path[:2] not in (("spec", "instancetype"), ("spec", "preference")):
            yield path, value


@pytest.mark.parametrize("name", RELEASES)
def test_all_that_admission_adds_is_in_an_expanded_vm(name, cases):
    wrong = []
    for case, given, admitted, expands in answers(cases(name)):
        rendered = rendered_vm(case, given)
        assert (rendered is not None) == expands, case["id"]
        if rendered is not None:
            wrong += [(case["id"], path) for path, value in added(given, admitted) if get(rendered, path) != value]
    assert wrong == []


def test_admitting_a_pinned_vm_again_changes_nothing(cases):
    for case, given, *_ in answers(cases("fuzz-v1.9.0")):
        rendered = rendered_vm(case, given)
        if rendered is not None:
            again = {**case, "items": [rendered if item is given else item for item in case["items"]]}
            assert rendered_vm(again, rendered) == rendered


@pytest.mark.parametrize("defaults", ["pinned", "none"])
def test_the_preferred_storage_class_goes_into_a_copy_of_the_vm_where_none_is_named(defaults):
    given = vm(preference="fast")
    claims = [("pvc", {}), ("storage", {}), ("storage", {"storageClassName": "own"})]
    given["spec"]["dataVolumeTemplates"] = [{"metadata": {"name": "data"}, "spec": {key: claim}} for key, claim in claims]
    preference = {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePreference",
        "metadata": {"name": "fast"},
        "spec": {"volumes": {"preferredStorageClassName": "fast"}},
    }
    before = copy(given)
    rendered = run(given, preference, defaults=defaults)[0][0]
    assert given == before
    found = [template["spec"][key] for template, (key, _) in zip(rendered["spec"]["dataVolumeTemplates"], claims, strict=True)]
    assert [claim["storageClassName"] for claim in found] == ["fast", "fast", "own"]
