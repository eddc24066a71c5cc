"""`krm_fn.capacity`: a record for each object that starts instances, and the sums."""

from __future__ import annotations

import json

import jsonschema
import pytest
from functions import instancetype, resource_list, vm

import krm_fn
from krm_fn.base.errors import ConfigError, InputError
from krm_fn.base.paths import put
from krm_fn.sizing.schema import schema

NEGATIVE = {"requests": {"memory": "-1Gi"}}


def capacity(*items, **spec):
    found = krm_fn.capacity(resource_list(*items, **spec))
    jsonschema.validate(found, schema())
    return found


def machine(name="web", *, cores=2, memory="1Gi", **metadata):
    found = vm(name, **metadata)
    put(found, ("spec", "template", "spec", "domain", "cpu"), {"cores": cores})
    put(found, ("spec", "template", "spec", "domain", "memory"), {"guest": memory})
    return found


def pool(replicas, vm):
    return {
        "apiVersion": "pool.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePool",
        "metadata": {"name": "fleet"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "fleet"}},
            "virtualMachineTemplate": {"metadata": {"labels": {"app": "fleet"}}, "spec": vm["spec"]},
        },
    }


def replica_set(replicas, template):
    template["metadata"] = {"labels": {"app": "set"}}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceReplicaSet",
        "metadata": {"name": "set"},
        "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "set"}}, "template": template},
    }


def instance(name, spec):
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": name}, "spec": spec}


def test_a_record_has_the_guest_and_the_pod() -> None:
    (record,) = capacity(machine())["vms"]
    pod, migratable = record.pop("pod"), record.pop("migratable")
    assert migratable["liveMigratable"]["reason"] == "InterfaceNotLiveMigratable"
    assert record == {
        "kind": "VirtualMachine",
        "namespace": "default",
        "name": "web",
        "starts": True,
        "evictionStrategy": "None",
        "vcpus": 2,
        "memory": "1Gi",
        "topology": {"sockets": 1, "cores": 2, "threads": 1},
    }
    # 1Gi and 276Mi of overhead for compute, 35M for the console's log; 200m and 5m of CPU
    assert pod["requests"]["memory"] == str(1024 * 2**20 + 276 * 2**20 + 35_000_000)
    assert (pod["requests"]["cpu"], pod["memoryOverhead"], pod["qosClass"]) == ("205m", "276Mi", "Burstable")


def test_a_vm_that_refers_needs_what_the_rendered_vm_needs() -> None:
    items = [instancetype(cpu=3, memory="3Gi"), vm(instancetype="small")]
    rendered = krm_fn.process(resource_list(*items, defaults="cluster"))["items"]
    refers, plain = capacity(*items)["vms"][0], capacity(*rendered)["vms"][0]
    assert refers.pop("instancetype") == "small"
    assert refers == plain


def test_a_pool_counts_as_often_as_it_has_machines() -> None:
    found = capacity(pool(3, machine()))
    (record,) = found["vms"]
    assert (record["kind"], record["replicas"], record["vcpus"]) == ("VirtualMachinePool", 3, 2)
    assert (found["totals"]["vms"], found["totals"]["pods"], found["totals"]["vcpus"]) == (3, 3, 6)
    assert (found["totals"]["memory"], found["totals"]["requests"]["cpu"]) == ("3Gi", "615m")


def test_replica_sets_and_instances_need_the_pod_of_a_vm() -> None:
    template = machine()["spec"]["template"]
    found = capacity(machine(), replica_set(2, template), instance("bare", template["spec"]))
    (of_vm, of_set, bare) = found["vms"]
    assert of_vm["pod"] == of_set["pod"] == bare["pod"]
    assert found["totals"]["pods"] == 4


def test_presets_reach_bare_instances_unless_they_are_ignored() -> None:
    preset = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstancePreset",
        "metadata": {"name": "large"},
        "spec": {"selector": {}, "domain": {"cpu": {"cores": 7}}},
    }
    bare = instance("bare", {"domain": {"devices": {}, "memory": {"guest": "1Gi"}}})
    assert capacity(preset, bare)["vms"][0]["vcpus"] == 7
    assert capacity(preset, bare, presets="ignore")["vms"][0]["vcpus"] == 1


def test_a_refused_vm_has_no_pod_and_says_why() -> None:
    wrong = machine(cores=1)
    put(wrong, ("spec", "template", "spec", "domain", "resources"), NEGATIVE)
    (record,) = capacity(wrong)["vms"]
    assert "pod" not in record
    assert "podError" not in record
    assert "-1Gi" in record["refused"][0]


def test_a_vm_whose_instancetype_is_missing_counts_as_refused() -> None:
    found = capacity(vm(instancetype="absent"), machine("fine"))
    assert "absent" in found["vms"][0]["refused"][0]
    assert (found["totals"]["vms"], found["totals"]["refused"], found["totals"]["pods"]) == (2, 1, 1)


def test_a_refused_replica_set_has_no_pod() -> None:
    (record,) = capacity(replica_set(2, {"spec": {"domain": {"devices": {}, "resources": NEGATIVE}}}))["vms"]
    assert record["refused"]
    assert "pod" not in record


def test_a_vm_that_only_people_start_does_not_start() -> None:
    halted = machine("halted")
    halted["spec"]["runStrategy"] = "Halted"
    assert [record["starts"] for record in capacity(halted, machine())["vms"]] == [False, True]


def storage(size, **more):
    return {"resources": {"requests": {"storage": size}}, **more}


def test_storage_is_summed_by_class() -> None:
    stored = machine()
    stored["spec"]["dataVolumeTemplates"] = [
        {"metadata": {"name": "root"}, "spec": {"source": {"blank": {}}, "storage": storage("10Gi", storageClassName="fast")}},
        {
            "metadata": {"name": "scratch"},
            "spec": {"source": {"blank": {}}, "pvc": storage("1Gi", accessModes=["ReadWriteOnce"])},
        },
    ]
    stored["spec"]["template"]["spec"]["volumes"] = [
        {"name": "root", "dataVolume": {"name": "root"}},
        {"name": "scratch", "dataVolume": {"name": "scratch"}},
        {"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}},
    ]
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "shared"},
        "spec": storage("5Gi", storageClassName="fast", accessModes=["ReadWriteMany"]),
    }
    found = capacity(stored, claim)
    assert found["vms"][0]["storage"] == [
        {"kind": "dataVolumeTemplate", "name": "root", "storageClass": "fast", "size": "10Gi"},
        {"kind": "dataVolumeTemplate", "name": "scratch", "size": "1Gi"},
        {"kind": "PersistentVolumeClaim", "name": "shared", "storageClass": "fast", "size": "5Gi"},
    ]
    assert found["totals"]["storage"] == {"": "1Gi", "fast": "15Gi"}


def test_the_claim_of_a_data_volume_counts_once() -> None:
    volume = {"kind": "DataVolume", "metadata": {"name": "root"}, "spec": {"storage": storage("4Gi")}}
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "root"}, "spec": storage("4Gi")}
    assert capacity({"apiVersion": "cdi.kubevirt.io/v1beta1", **volume}, claim)["totals"]["storage"] == {"": "4Gi"}


def test_the_order_of_the_bundle_changes_nothing() -> None:
    items = [instancetype(), vm("a", instancetype="small"), machine("b"), pool(2, machine())]
    there, back = capacity(*items), capacity(*reversed(items))
    assert there["totals"] == back["totals"]
    assert there["vms"] == back["vms"][::-1]


def test_more_guest_memory_never_makes_the_pod_smaller() -> None:
    sizes = [int(capacity(machine(memory=f"{size}Mi"))["vms"][0]["pod"]["requests"]["memory"]) for size in range(64, 4096, 191)]
    assert sizes == sorted(sizes)


def test_the_argument_is_left_as_it_was() -> None:
    given = resource_list(machine(), pool(2, machine()), instance("i", {"domain": {"devices": {}, "memory": {"guest": "1Gi"}}}))
    before = json.dumps(given)
    krm_fn.capacity(given)
    assert json.dumps(given) == before


def test_the_mode_does_not_matter() -> None:
    answers = [capacity(machine(), mode=mode) for mode in ("expand", "validate", "annotate", "snapshot")]
    assert all(answer == answers[0] for answer in answers)


def test_wrong_lists_are_errors() -> None:
    with pytest.raises(InputError, match="items is no list"):
        krm_fn.capacity({"items": {}})
    with pytest.raises(ConfigError):
        krm_fn.capacity(resource_list(mode="wrong"))


def test_pods_of_releases_that_were_not_measured_are_not_guessed():
    with pytest.raises(ConfigError) as raised:
        capacity(machine(), kubevirtVersion="1.3.1")
    assert str(raised.value) == "the pods of KubeVirt 1.3.1 are not known; set kubevirtVersion to 1.4 or later"
    assert len(capacity(machine(), kubevirtVersion="1.4.0")["vms"]) == 1


@pytest.mark.parametrize(("release", "wanted"), [("1.3", set()), ("1.4", {"quota-exceeded", "vm-over-quota"})])
def test_quotas_are_judged_in_releases_whose_pods_are_known(release, wanted):
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q", "namespace": "team"}}
    quota["spec"] = {"hard": {"requests.memory": "1Mi"}}
    found = krm_fn.process(resource_list(machine(namespace="team"), quota, mode="validate", kubevirtVersion=release))
    rules = {result["tags"]["rule"] for result in found.get("results", ())}
    assert rules & {"quota-exceeded", "vm-over-quota"} == wanted


def keeping(**domain):
    found = machine()
    found["spec"]["template"]["spec"]["domain"] |= domain
    return found


@pytest.mark.parametrize(
    "domain",
    [
        {"devices": {"tpm": {"persistent": True}}},
        {"firmware": {"bootloader": {"efi": {"persistent": True, "secureBoot": False}}}},
    ],
)
def test_what_a_guest_keeps_of_its_tpm_or_efi_needs_a_claim(domain) -> None:
    found = capacity(keeping(**domain), configuration={"vmStateStorageClass": "fast"})
    claim = {"kind": "backendStorage", "name": "persistent-state-for-web", "storageClass": "fast", "size": "10Mi"}
    assert found["vms"][0]["storage"] == [claim]
    assert found["totals"]["storage"] == {"fast": "10Mi"}


TRACKING = {
    "developerConfiguration": {"featureGates": ["IncrementalBackup"]},
    "changedBlockTrackingLabelSelectors": {"virtualMachineLabelSelector": {"matchLabels": {"track": "yes"}}},
}


@pytest.mark.parametrize(
    ("release", "size"),
    [("1.6", None), ("1.7", "10Mi"), ("1.8.4", "10Mi"), ("1.8.5", "522Mi"), ("1.9.0", "10Mi"), ("1.10", "522Mi")],
)
def test_changed_blocks_are_kept_in_a_claim_that_is_larger_since_1_8_5_and_1_10(release, size) -> None:
    found = machine()
    found["metadata"]["labels"] = {"track": "yes"}
    (record,) = capacity(found, configuration=TRACKING, kubevirtVersion=release)["vms"]
    assert [each["size"] for each in record.get("storage", ())] == ([size] if size else [])


def test_changed_blocks_are_kept_where_the_selectors_and_the_gate_say_so() -> None:
    found = machine()
    assert "storage" not in capacity(found, configuration=TRACKING)["vms"][0]
    found["metadata"]["labels"] = {"track": "yes"}
    closed = {**TRACKING, "developerConfiguration": {}}
    assert "storage" not in capacity(found, configuration=closed)["vms"][0]
    selector = {"namespaceLabelSelector": {"matchLabels": {"track": "yes"}}}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": {"track": "yes"}}}
    for items, has in (((space,), True), ((), False)):
        record = capacity(machine(), *items, configuration={**TRACKING, "changedBlockTrackingLabelSelectors": selector})["vms"][
            0
        ]
        assert ("storage" in record) is has


@pytest.mark.parametrize("tpm", [{}, {"persistent": False}, {"persistent": True, "enabled": False}])
def test_a_tpm_that_keeps_nothing_needs_no_claim(tpm) -> None:
    assert "storage" not in capacity(keeping(devices={"tpm": tpm}))["vms"][0]


def test_a_claim_for_state_that_the_bundle_has_is_not_counted_twice() -> None:
    spec = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteMany"]}
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "persistent-state-for-web"},
        "spec": spec,
    }
    found = capacity(keeping(devices={"tpm": {"persistent": True}}), claim)
    assert found["totals"]["storage"] == {"": "1Gi"}


def test_a_quota_counts_the_claim_for_state_and_no_data_volume() -> None:
    hard = {"requests.storage": "5Mi", "persistentvolumeclaims": "1", "count/datavolumes.cdi.kubevirt.io": "1"}
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "all"}, "spec": {"hard": hard}}
    (used,) = capacity(keeping(devices={"tpm": {"persistent": True}}), quota)["quotas"]
    assert used["used"] == {"requests.storage": "10Mi", "persistentvolumeclaims": "1", "count/datavolumes.cdi.kubevirt.io": "0"}
    assert used["exceeded"] == {"requests.storage": "5Mi"}


def test_every_machine_of_a_pool_has_its_claim_for_state() -> None:
    assert capacity(pool(3, keeping(devices={"tpm": {"persistent": True}})))["totals"]["storage"] == {"": "30Mi"}


@pytest.mark.parametrize(
    ("hints", "unknown"), [({}, True), ({"tscFrequency": 2100000000}, False), ({"tscFrequency": "x"}, True)]
)
def test_an_instance_that_has_its_frequency_can_be_migrated(hints, unknown) -> None:
    devices = {"interfaces": [{"name": "default", "masquerade": {}}]}
    features = {"hyperv": {"reenlightenment": {}}}
    spec = {
        "architecture": "amd64",
        "domain": {"memory": {"guest": "1Gi"}, "devices": devices, "features": features},
        "networks": [{"name": "default", "pod": {}}],
    }
    found = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": "web"}, "spec": spec}
    record = capacity({**found, "status": {"topologyHints": hints}})["vms"][0]
    assert ("unknown" in record["migratable"]) is unknown
