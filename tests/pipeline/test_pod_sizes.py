"""Annotations with what the pod of each VM needs."""

import json
import subprocess
import sys

import pytest
from functions import instancetype, resource_list, run, vm

import krm_fn

PREFIX = "kubevirt-render.dev/pod-"


def pool(vm):
    labels = {"app": "fleet"}
    template = {"metadata": {"labels": labels}, "spec": vm["spec"]}
    spec = {"replicas": 3, "selector": {"matchLabels": labels}, "virtualMachineTemplate": template}
    return {"apiVersion": "pool.kubevirt.io/v1beta1", "kind": "VirtualMachinePool", "metadata": {"name": "fleet"}, "spec": spec}


def notes(obj):
    given = obj["metadata"].get("annotations", {})
    return {key.removeprefix(PREFIX): value for key, value in given.items() if key.startswith(PREFIX)}


def pod_of(*items, **spec):
    return krm_fn.capacity(resource_list(*items, **spec))["vms"][0]["pod"]


@pytest.mark.parametrize("mode", ["expand", "annotate", "snapshot"])
def test_a_vm_has_the_numbers_of_its_pod(mode):
    items = (vm(instancetype="small"), instancetype())
    (left,) = (item for item in run(*items, mode=mode, podSize=True)[0] if item["kind"] == "VirtualMachine")
    pod = pod_of(*items)
    assert notes(left) == {
        "cpu": pod["requests"]["cpu"],
        "memory": pod["requests"]["memory"],
        "cpu-limit": pod["limits"]["cpu"],
        "memory-limit": pod["limits"]["memory"],
        "memory-overhead": pod["memoryOverhead"],
        "qos-class": "Burstable",
        "requests": json.dumps(pod["requests"]),
        "limits": json.dumps(pod["limits"]),
    }


def test_a_vm_without_references_has_them_too():
    machine = vm()
    machine["spec"]["template"]["spec"]["domain"]["memory"] = {"guest": "1Gi"}
    (left,), _ = run(machine, podSize=True)
    assert notes(left)["cpu"] == pod_of(machine)["requests"]["cpu"]


def test_a_vm_that_never_starts_has_none():
    (left,), _ = run(vm(), podSize=True)
    assert notes(left) == {}


def test_the_vm_of_a_pool_has_them():
    (left, _), _ = run(pool(vm(instancetype="small")), instancetype(), podSize=True)
    assert notes(left["spec"]["virtualMachineTemplate"])["cpu"] == "205m"
    assert not notes(left)


def test_what_is_rendered_keeps_them():
    (once, _), _ = run(vm(instancetype="small"), instancetype(), podSize=True)
    (twice,), _ = run(once, podSize=True)
    assert twice is once


def test_other_annotations_stay():
    (left, _), _ = run(vm(instancetype="small", annotations={"a": "b"}), instancetype(), podSize=True, provenance=True)
    assert {"a", "kubevirt-render.dev/instancetype", f"{PREFIX}cpu"} <= set(left["metadata"]["annotations"])


def test_without_a_pod_there_are_none():
    lost, refused = vm("lost", instancetype="absent"), vm("refused")
    refused["spec"]["template"]["metadata"] = {"labels": {"logVerbosity": "much"}}
    items, _ = run(lost, refused, podSize=True)
    assert [notes(item) for item in items] == [{}, {}]


def test_validate_changes_nothing():
    given = vm()
    assert run(given, mode="validate", podSize=True)[0][0] is given


def test_by_default_there_are_none_and_nothing_of_it_is_loaded():
    (left, _), _ = run(vm(instancetype="small"), instancetype(), mode="annotate")
    assert not notes(left)
    program = (
        f"import sys, krm_fn; krm_fn.process({resource_list(vm(instancetype='small'), instancetype())!r});"
        "print([name for name in sys.modules if 'sizing' in name or 'pods' in name or 'pod_sizes' in name])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_settings_of_the_cluster_count():
    configuration = {"developerConfiguration": {"cpuAllocationRatio": 1}}
    (left, _), _ = run(vm(instancetype="small"), instancetype(), podSize=True, configuration=configuration)
    assert notes(left)["cpu"] == "2005m"
