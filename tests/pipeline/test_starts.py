"""What a VM needs is the same whether it is worked out or known from another VM."""

from __future__ import annotations

import pytest
from functions import instancetype, resource_list, vm

import krm_fn
from krm_fn.base.paths import copy, put
from krm_fn.pipeline import stopped
from krm_fn.pipeline.starts import Starts

TEMPLATE = ("spec", "template")
SPEC = (*TEMPLATE, "spec")
DOMAIN = (*SPEC, "domain")


def source(name, **labels):
    """A DataSource whose label decides about the architecture."""
    metadata = {"name": name, "namespace": "team", "labels": labels}
    return {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataSource", "metadata": metadata, "spec": {"source": {}}}


def machine(name, **places):
    found = vm(name, namespace="team")
    put(found, (*DOMAIN, "memory"), {"guest": "1Gi"})
    put(found, (*DOMAIN, "devices", "disks"), [{"name": "root", "lun": {}}])
    put(found, (*SPEC, "volumes"), [{"name": "root", "dataVolume": {"name": f"{name}-root"}}])
    for path, value in places.items():
        put(found, tuple(path.split("__")), value)
    return found


SIZE = {"resources": {"requests": {"storage": "1Gi"}}}
OWN = {
    "spec__template__metadata__labels": ({"app": "a"}, {"app": "b"}),
    "spec__template__spec__hostname": ("a", "b"),
    "spec__template__spec__domain__firmware": ({"serial": "1"}, {"serial": "2"}),
    "spec__runStrategy": ("Always", "Halted"),
}
MATTERS = {
    "spec__template__metadata__labels": ({"logVerbosity": "1"}, {"logVerbosity": "high"}),
    "spec__template__metadata__annotations": ({}, {"hooks.kubevirt.io/hookSidecars": '[{"image": "x"}]'}),
    "spec__template__spec__volumes": (
        [{"name": "root", "dataVolume": {"name": "r"}}],
        [{"name": "root", "dataVolume": {"name": "r", "hotpluggable": True}}],
    ),
    "spec__template__spec__domain__cpu": ({"cores": 1}, {"cores": 2}),
    "spec__dataVolumeTemplates": tuple(
        [{"metadata": {"name": f"{vm}-root"}, "spec": {"sourceRef": {"kind": "DataSource", "name": name}, "storage": SIZE}}]
        for vm, name in (("a", "arm"), ("b", "none"))
    ),
}
BESIDE = [source("arm", **{"template.kubevirt.io/architecture": "arm64"}), source("none")]
SETTINGS = {"persistentReservationConfiguration": {"enabled": True}, "developerConfiguration": {"featureGates": ["Sidecar"]}}
CONFIG = {"configuration": SETTINGS}


def capacity(*items):
    return krm_fn.capacity(resource_list(*items, *BESIDE, **CONFIG))


def pods(*items):
    return [(record.get("pod"), record.get("podError")) for record in capacity(*items)["vms"]]


@pytest.fixture
def worked_out(monkeypatch):
    """How many VMs are started."""
    started = []
    real = Starts._of_vm
    monkeypatch.setattr(Starts, "_of_vm", lambda self, vm: started.append(vm) or real(self, vm))
    return started


@pytest.mark.parametrize("place", OWN)
def test_what_no_pod_depends_on_is_started_once(place, worked_out) -> None:
    one, other = (machine(name, **{place: value}) for name, value in zip("ab", OWN[place], strict=True))
    together = capacity(one, other)["vms"]
    assert len(worked_out) == 1
    assert together == [capacity(one)["vms"][0], capacity(other)["vms"][0]]


@pytest.mark.parametrize("place", MATTERS)
def test_what_a_pod_depends_on_is_not_taken_from_another(place) -> None:
    one, other = (machine(name, **{place: value}) for name, value in zip("ab", MATTERS[place], strict=True))
    first, second = pods(one, other)
    assert first != second
    assert [first, second] == [*pods(one), *pods(other)]


def test_vms_of_different_instancetypes_differ() -> None:
    sizes = [instancetype("small", namespace="team"), instancetype("large", cpu=4, memory="8Gi", namespace="team")]
    vms = [vm(name, instancetype=name, namespace="team") for name in ("small", "large")]
    assert [record["vcpus"] for record in capacity(*sizes, *vms)["vms"]] == [2, 4]


def test_claims_count_where_they_are_reserved() -> None:
    found = [machine(name) for name in "ab"]
    for each in found:
        put(each, (*DOMAIN, "devices", "disks"), [{"name": "root", "lun": {"bus": "scsi", "reservation": True}}])
    first, second = pods(*found)
    assert first[0]["affinity"]["podAntiAffinity"] != second[0]["affinity"]["podAntiAffinity"]


def test_namespaces_count(worked_out) -> None:
    one, other = machine("a"), copy(machine("a"))
    other["metadata"]["namespace"] = "other"
    capacity(one, other)
    assert len(worked_out) == 2


def test_presets_choose_by_labels(worked_out) -> None:
    preset = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstancePreset",
        "metadata": {"name": "large", "namespace": "team"},
        "spec": {"selector": {"matchLabels": {"app": "b"}}, "domain": {"cpu": {"cores": 3}}},
    }
    place = "spec__template__metadata__labels"
    vms = [machine(name, **{place: value}) for name, value in zip("ab", OWN[place], strict=True)]
    assert [record["vcpus"] for record in capacity(preset, *vms)["vms"]] == [1, 3]
    assert len(worked_out) == 2


def test_why_an_instance_does_not_start_is_found_out_once_for_rules_and_quotas(monkeypatch) -> None:
    started = []
    real = stopped.start
    monkeypatch.setattr(stopped, "start", lambda *given, **named: started.append(1) or real(*given, **named))
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}}
    found = krm_fn.process(resource_list(vm("web"), quota, mode="validate"))["results"]
    assert [each["tags"]["rule"] for each in found if each["severity"] == "error"] == ["never-starts"]
    assert len(started) == 1
