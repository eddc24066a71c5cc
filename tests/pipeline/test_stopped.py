"""VMs, pools and replica sets that KubeVirt lets in, and whose instances never start."""

from __future__ import annotations

import os

import measured
import pytest
from functions import instancetype, resource_list, told, vm
from measured import files
from test_parity import resource_list as measured_list

import krm_fn
from krm_fn import config
from krm_fn.base.bundle import Bundle
from krm_fn.base.paths import get, put
from krm_fn.kubevirt.instance.refusals import start_causes
from krm_fn.pipeline import stages
from krm_fn.pipeline.facts import gather
from krm_fn.pipeline.refusals import refused
from krm_fn.pipeline.stopped import Instances, is_sure

DOMAIN = ("spec", "template", "spec", "domain")
EVERY = int(os.environ.get("STARTS_EVERY", measured.SAMPLE))  # one measured bundle of so many
# The pods of earlier releases are not known, and so neither are their capacity and what a change does.
EARLIER = ("v1.0.1", "v1.1.1", "v1.2.2", "v1.3.1")
WITH_PODS = [
    name for name in files("admission", "fuzz", "inference", "migratable", "objects", "pods") if name[-6:] not in EARLIER
]
# What stops an instance behind its own admission: the API server gets its pod, or the node its machine.
BEHIND_ADMISSION = ("Kubernetes refuses the pod", "virt-handler", "qemu has no")


def machine(name="web", *, size="1Gi", **spec):
    found = vm(name)
    domain = get(found, DOMAIN)
    domain["memory"] = {"guest": size}
    if size is None:
        del domain["memory"]
    for place, value in spec.items():
        put(found, ("spec", "template", "spec", *place.split("__")), value)
    return found


def pool(machine):
    template = {"metadata": {"labels": {"app": "fleet"}}, "spec": machine["spec"]}
    return {
        "apiVersion": "pool.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePool",
        "metadata": {"name": "fleet"},
        "spec": {"replicas": 3, "selector": {"matchLabels": {"app": "fleet"}}, "virtualMachineTemplate": template},
    }


def replica_set(machine):
    template = {"metadata": {"labels": {"app": "set"}}, "spec": get(machine, ("spec", "template", "spec"))}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceReplicaSet",
        "metadata": {"name": "set"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "set"}}, "template": template},
    }


def stopped(*items, **spec):
    """(object, path, message) of each finding that an object never starts."""
    results = krm_fn.process(resource_list(*items, mode="validate", **spec))["results"]
    found = [each for each in results if each["tags"]["rule"] == "never-starts"]
    assert {(each["severity"], each["tags"]["upstream"]) for each in found} <= {("error", "start")}
    return [(each["resourceRef"]["name"], each["field"]["path"], each["message"]) for each in found]


@pytest.mark.parametrize("release", ["1.0", "1.3", "1.4", "1.9"])
def test_a_vm_without_memory_never_starts(release):
    message = "it never starts: the instance has no memory size; set memory.guest"
    found = [("web", "spec.template.spec.domain.memory.guest", message)]
    assert stopped(machine(size=None), kubevirtVersion=release) == found


def test_what_a_pool_and_a_replica_set_make_is_told_at_its_place_in_them():
    places = [(name, path) for name, path, _ in stopped(pool(machine(size=None)), replica_set(machine(size=None)))]
    assert places == [
        ("fleet", "spec.virtualMachineTemplate.spec.template.spec.domain.memory.guest"),
        ("set", "spec.template.spec.domain.memory.guest"),
    ]


def test_a_pool_whose_vms_are_refused_once_they_are_expanded_is_told():
    small = instancetype()
    small["spec"]["memory"]["hugepages"] = {"pageSize": "3Mi"}
    made = vm(instancetype="small")
    ((name, path, message),) = stopped(pool(made), small)
    assert (name, path) == ("fleet", "spec.virtualMachineTemplate.spec.template.spec.domain.memory.guest")
    assert message.startswith("its VMs never start: ")


def test_the_defaults_of_an_instance_count():
    disk = {"name": "root", "disk": {}, "dedicatedIOThread": True}
    volumes = [{"name": "root", "emptyDisk": {"capacity": "1Gi"}}]
    ((_, path, _),) = stopped(machine(domain__devices={"disks": [disk]}, volumes=volumes))
    assert path == "spec.template.spec.domain.devices.disks[0].dedicatedIOThread"
    on_virtio = {**disk, "disk": {"bus": "virtio"}}
    assert stopped(machine(domain__devices={"disks": [on_virtio]}, volumes=volumes)) == []


def test_a_preset_counts():
    preset = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstancePreset",
        "metadata": {"name": "sized"},
        "spec": {"selector": {}, "domain": {"resources": {"requests": {"memory": "1Gi"}}, "devices": {}}},
    }
    assert stopped(machine(size=None), preset) == []
    assert len(stopped(machine(size=None), preset, presets="ignore")) == 1


@pytest.mark.parametrize("configuration", [{}, {"configuration": {"developerConfiguration": {"featureGates": ["Macvtap"]}}}])
def test_a_binding_that_is_gone_stops_an_instance_of_1_3_whatever_the_gates_are(configuration):
    interface = {"name": "net", "macvtap": {}}
    networks = [{"name": "net", "multus": {"networkName": "lan"}}]
    items = [machine(domain__devices={"interfaces": [interface]}, networks=networks)]
    ((_, path, _),) = stopped(*items, kubevirtVersion="1.3", **configuration)
    assert path == "spec.template.spec.domain.devices.interfaces[0].macvtap"
    assert stopped(*items, kubevirtVersion="1.2", **configuration) == []


@pytest.mark.parametrize(
    ("release", "rules"), [("1.0", {"never-starts"}), ("1.8", {"never-starts"}), ("1.9", {"refused-network"})]
)
def test_an_interface_without_a_binding_is_refused_at_the_start_until_admission_refuses_it(release, rules):
    networks = [{"name": "net", "pod": {}}]
    found = machine(domain__devices={"interfaces": [{"name": "net"}]}, networks=networks)
    results = krm_fn.process(resource_list(found, mode="validate", kubevirtVersion=release))["results"]
    assert {each["tags"]["rule"] for each in results} == rules
    assert {each["field"]["path"] for each in results} == {"spec.template.spec.domain.devices.interfaces[0]"}


@pytest.mark.parametrize(
    ("architecture", "known", "unknown"),
    [
        ("amd64", ("q35", "pc-q35-8.2", "pc-q35-rhel9.4.0", "custom"), ("pc-q35", "q35-8.2", "pc-q35-latest")),
        ("arm64", ("virt", "virt-8.2", "virt-rhel9.4.0"), ("virtual", "virt-latest")),
        ("s390x", ("s390-ccw-virtio", "s390-ccw-virtio-9.0"), ("s390-ccw-virtio-",)),
    ],
)
def test_a_machine_type_that_qemu_lacks_is_a_warning_and_the_vm_counts(architecture, known, unknown):
    for given in (*known, *unknown):
        types = {key: {"emulatedMachines": ["*"]} for key in ("amd64", "arm64", "s390x")}
        item = machine(domain__machine={"type": given}, architecture=architecture)
        spec = {"configuration": {"architectureConfiguration": types}, "kubevirtVersion": "1.9"}
        results = krm_fn.process(resource_list(item, mode="validate", **spec))["results"]
        place = ("never-starts", "warning", "web", "spec.template.spec.domain.machine.type")
        assert told(results) == ([place] if given in unknown else []), given
        assert "pod" in krm_fn.capacity(resource_list(item, **spec))["vms"][0]


def test_what_is_wrong_with_the_vm_itself_is_told_alone():
    misspelt = machine(size=None)
    put(misspelt, (*DOMAIN, "memory"), {"gest": "1Gi"})
    misplaced = machine("misplaced", size=None, memory__guest="1Gi")
    refused_itself = machine("refused", size=None, domain__ioThreadsPolicy="none")
    missing = vm("missing", instancetype="none")
    settings, items = config.of_list(resource_list(misspelt, misplaced, refused_itself, missing, mode="validate"))
    found = {each.ref.name: each.rule for each in stages.render(items, settings).findings}
    assert found == {
        "missing": "unresolved-instancetype",
        "misplaced": "unknown-field",
        "refused": "refused-cpu",
        "web": "unknown-field",
    }
    assert len(stages.render(items, settings).findings) == 4


def test_many_vms_of_which_some_never_start_are_told_apart():
    vms = [machine(f"vm-{number}", size=None if number % 3 == 0 else "1Gi") for number in range(12)]
    assert [name for name, _, _ in stopped(*vms)] == ["vm-0", "vm-3", "vm-6", "vm-9"]


def test_a_vm_that_never_starts_counts_as_refused_and_has_no_pod():
    found = krm_fn.capacity(resource_list(machine(), machine("none", size=None), pool(machine(size=None))))
    why = ["the instance has no memory size; set memory.guest"]
    assert [(each["name"], each.get("refused"), "pod" in each) for each in found["vms"]] == [
        ("web", None, True),
        ("none", why, False),
        ("fleet", why, False),
    ]
    assert (found["totals"]["refused"], found["totals"]["pods"]) == (4, 1)


def machines(found):
    """The records or references of objects, each by its kind, namespace and name."""
    return {(each["kind"], each.get("namespace") or "default", each["name"]): each for each in found}


def of_check(case):
    """The messages about each machine of a bundle that never starts, and the objects that have another error."""
    errors = [each for each in krm_fn.process(measured_list(case, mode="validate"))["results"] if each["severity"] == "error"]
    starts, others = {}, set()
    for each in errors:
        (place,) = machines([each["resourceRef"]]) if "resourceRef" in each else [()]
        if each["tags"]["rule"] == "never-starts":
            starts.setdefault(place, []).append(each["message"])
        else:
            others.add(place)
    return starts, others


@pytest.mark.parametrize("kind", ["admission", "fuzz", "inference", "migratable", "objects", "pods"])
def test_check_capacity_and_diff_name_the_same_machines_that_never_start(kind):
    wrong, count = [], 0
    for name in files(kind):
        for case in measured.cases(name, every=EVERY) if name[-6:] not in EARLIER else ():
            given = {"config": {}, **case}
            new = measured_list(given)
            (starts, others), records = of_check(given), machines(krm_fn.capacity(new)["vms"])
            kinds = {kind for kind, _, _ in records}
            old = {**new, "items": [item for item in new["items"] if item["kind"] not in kinds]}
            created = machines(krm_fn.diff(old, new)["vms"])
            for place in records.keys() - others:
                count += 1
                if not (place in starts) == ("refused" in records[place]) == ("startError" in created[place]):
                    wrong.append((case["id"], place))
    assert wrong == []
    assert count


@pytest.mark.parametrize("name", files("starts"))
def test_a_vm_is_told_never_to_start_where_kubevirt_refuses_its_instance(name, cases):
    answers = {(each["of"], each["case"]): each["expect"] for each in cases(name)}
    wrong, seen = [], set()
    for bundle in sorted({of for of, _ in answers}):
        for number, case in enumerate(measured.cases(bundle)):
            for key, answer in answers.get((bundle, case["id"]), {}).items():
                allowed = answer["instanceAdmission"]["allowed"]
                if not (allowed and number % EVERY):
                    seen.add(allowed)
                    wrong += [] if agrees(case, key, allowed=allowed) else [(case["id"], key)]
    assert wrong == []
    assert seen == {True, False}


def agrees(case, key, *, allowed):
    """True where check says the same of an instance. It may say more of its pod, and more of its VM instead."""
    starts, others = of_check({"config": {}, **case})
    place = ("VirtualMachine", *key.split("/"))
    said = starts.get(place, ())
    behind = [message for message in said if any(why in message for why in BEHIND_ADMISSION)]
    return len(said) == len(behind) if allowed else bool(said) or place in others


@pytest.mark.parametrize("name", files("pods", "pods-matrix"))
def test_no_vm_that_has_a_pod_is_told_never_to_start(name, cases):
    wrong, count = [], 0
    for case in cases(name):
        out = krm_fn.process(measured_list(case, mode="validate"))
        count += 1
        wrong += [(case["id"], each["message"]) for each in out["results"] if each["tags"]["rule"] == "never-starts"]
    assert wrong == []
    assert count


def sure(case):
    """The VMs of a case that are let in and whose instance starts for sure, each with the instance."""
    settings, items = config.of_list(measured_list(case, mode="validate", defaults="cluster"))
    facts = gather(Bundle(items), settings)
    instances = Instances(facts)
    for each in facts.vms:
        known = not (instances.presets or each.resolution.errors or each.troubled or refused(each))
        if known and is_sure(each, facts.bundle):
            yield each, instances.of_vm(each)


@pytest.mark.parametrize("kind", ["fuzz", "admission", "pods", "hand"])
def test_a_vm_that_is_sure_to_start_is_not_refused(kind, cases):
    wrong = count = 0
    for name in files(kind):
        for case in cases(name):
            for each, made in sure(case):
                count += 1
                wrong += made is None or bool(start_causes(made, cluster=each.cluster, release=each.release))
    assert count
    assert wrong == 0


def test_a_vm_that_never_starts_blocks_no_drain():
    interfaces = [{"name": "default", "bridge": {}}]
    given = {"evictionStrategy": "LiveMigrate", "networks": [{"name": "default", "pod": {}}]}
    results = krm_fn.process(
        resource_list(
            machine(domain__devices={"interfaces": interfaces}, **given),
            machine("none", size=None, domain__devices={"interfaces": interfaces}, **given),
            mode="validate",
        )
    )["results"]
    assert sorted((rule, name) for rule, _, name, _ in told(results)) == [("blocked-drain", "web"), ("never-starts", "none")]
