"""Admission of the kinds beside VirtualMachine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from admitting import PLAIN
from hypothesis import given, settings
from hypothesis import strategies as st

from krm_fn import releases
from krm_fn.admission.objects import KINDS, admit_object
from krm_fn.cluster import Cluster
from krm_fn.instance.defaults import set_webhook_defaults
from krm_fn.paths import copy, dotted, put

PARITY = Path(__file__).resolve().parents[1].parent / "shared" / "parity" / "objects-v1.9.0.jsonl.gz"
VMI_SPEC = PLAIN["spec"]["template"]["spec"]
GROUPS = {kind: group for group, kind in KINDS}


def _object(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": f"{GROUPS[kind]}/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}


def _paths(kind: str, spec: dict[str, Any]) -> list[tuple[str, str]]:
    causes = admit_object(_object(kind, spec), cluster=Cluster(), release=releases.NEWEST)
    return [(dotted(cause.path), cause.upstream_path) for cause in causes]


def _instance(changes: dict[tuple[str, ...], Any]) -> list[tuple[str, str]]:
    obj = _object("VirtualMachineInstance", copy(VMI_SPEC))
    for path, value in changes.items():
        put(obj, path, value)
    done = copy(obj)
    set_webhook_defaults(done["spec"], cluster=Cluster(), release=releases.NEWEST)
    causes = admit_object(obj, completed=done, cluster=Cluster(), release=releases.NEWEST)
    return [(dotted(cause.path), cause.upstream_path) for cause in causes]


REPLICAS = {"selector": {"matchLabels": {"app": "x"}}, "template": {"metadata": {"labels": {"app": "x"}}, "spec": VMI_SPEC}}
POOL = {
    "selector": {"matchLabels": {"app": "x"}},
    "virtualMachineTemplate": {"metadata": {"labels": {"app": "x"}}, "spec": PLAIN["spec"]},
}

DEVICES = ("spec", "domain", "devices")
FEATURES = ("spec", "domain", "features")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({("spec", "architecture"): "riscv64"}, [("spec.architecture", "")]),
        ({(*DEVICES, "watchdog"): {"diag288": {}}}, [("spec.domain.devices.watchdog", "")]),
        ({(*DEVICES, "video"): {"type": "x"}}, [("spec.domain.devices.video.type", "")]),
        (
            {("metadata", "labels"): {"kubevirt.io/nodeName": "x"}},
            [('metadata.labels["kubevirt.io/nodeName"]', "metadata.labels")],
        ),
        (
            {FEATURES: {"hyperv": {"synic": {"enabled": True}, "vpindex": {"enabled": False}}}},
            [("spec.domain.features.hyperv.synic", "spec.domain.features.hyperv.domain.features.hyperv.synic")],
        ),
        ({FEATURES: {"hyperv": {}, "hypervPassthrough": {}}}, [("spec.domain.features.hyperv", "")]),
        (
            {("spec", "architecture"): "arm64", (*DEVICES, "sound"): {"name": "x"}},
            [("spec.domain.devices.sound", "")],
        ),
        (
            {
                ("spec", "architecture"): "arm64",
                ("spec", "domain", "cpu", "model"): "host-model",
                ("spec", "domain", "firmware"): {"bootloader": {"bios": {}}},
                (*DEVICES, "disks"): [{"name": "root", "disk": {"bus": "sata"}}],
                (*DEVICES, "watchdog"): {"i6300esb": {}},
            },
            [
                ("spec.domain.devices.watchdog", ""),
                ("spec.domain.firmware.bootloader.bios", ""),
                ("spec.domain.cpu.model", ""),
                ("spec.domain.devices.disks[0].disk.bus", ""),
            ],
        ),
        (
            {FEATURES: {"hyperv": {"evmcs": {"enabled": True}, "vapic": {"enabled": False}}}},
            [
                ("spec.domain.features.hyperv.evmcs", "spec.domain.features.hyperv.domain.features.hyperv.evmcs"),
                ("spec.domain.cpu.features", ""),
            ],
        ),
        ({("spec", "volumes"): [*VMI_SPEC["volumes"], {"name": "m", "memoryDump": {"claimName": "x"}}]}, []),
        (
            {
                ("spec", "volumes"): [*VMI_SPEC["volumes"], {"name": "p", "containerPath": {"path": "/var/run/libvirt/x"}}],
                (*DEVICES, "filesystems"): [{"name": "p", "virtiofs": {}}],
            },
            [("spec.volumes[1].containerPath.path", "spec.domain.volumes[1].containerPath.path")],
        ),
        (
            {
                ("spec", "volumes"): [*VMI_SPEC["volumes"], {"name": "p", "containerPath": {"path": "/x"}}],
                (*DEVICES, "disks"): [{"name": "root"}, {"name": "p"}],
            },
            [("spec.volumes[1]", "spec.domain.volumes[1]")],
        ),
    ],
)
def test_an_instance_is_judged_with_its_defaults(changes, expected):
    assert _instance(changes) == expected


def test_an_instance_without_its_defaults_is_judged_as_it_stands():
    spec = {"domain": {"devices": {}, "features": {"hyperv": {"evmcs": {}}}}, "volumes": [{"name": "a", "emptyDisk": {}}]}
    assert set(_paths("VirtualMachineInstance", spec)) == {
        ("spec.architecture", ""),
        ("spec.domain.cpu.features", ""),
        ("spec.domain.memory.guest", ""),
        ("spec.volumes[0].name", "spec.domain.volumes[0].name"),
    }
    spec["domain"]["cpu"] = {"features": [{"name": "vmx", "policy": "disable"}]}
    assert ("spec.domain.cpu.features[0].policy", "") in _paths("VirtualMachineInstance", spec)


SELECTED = "spec.selector.matchLabels.app"


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        ("VirtualMachineInstanceReplicaSet", REPLICAS, []),
        ("VirtualMachineInstanceReplicaSet", {"selector": {}}, [("spec.template", "")]),
        (
            "VirtualMachineInstanceReplicaSet",
            {**REPLICAS, "selector": {"matchLabels": {"app": "y"}}},
            [(SELECTED, "spec.selector")],
        ),
        (
            "VirtualMachineInstanceReplicaSet",
            {**REPLICAS, "selector": {"matchExpressions": [{"key": "app", "operator": "Is"}]}},
            [("spec.selector.matchExpressions[0].operator", "spec.selector")],
        ),
        ("VirtualMachinePool", POOL, []),
        ("VirtualMachinePool", {**POOL, "maxUnavailable": "101%"}, [("spec.maxUnavailable", "")]),
        ("VirtualMachinePool", {**POOL, "maxUnavailable": "50%"}, []),
        ("VirtualMachinePool", {**POOL, "maxUnavailable": 0}, [("spec.maxUnavailable", "")]),
        ("VirtualMachinePool", {**POOL, "updateStrategy": {"unmanaged": {}, "proactive": {}}}, [("spec.updateStrategy", "")]),
        (
            "VirtualMachinePool",
            {**POOL, "virtualMachineTemplate": {**POOL["virtualMachineTemplate"], "spec": {**PLAIN["spec"], "running": True}}},
            [("spec.virtualMachineTemplate.spec.running", "")],
        ),
        ("VirtualMachinePool", {"selector": {}}, [("spec.virtualMachineTemplate", "spec.template")]),
        (
            "VirtualMachinePool",
            {"selector": {}, "virtualMachineTemplate": {}},
            [("spec.virtualMachineTemplate.spec.template", "")],
        ),
        ("VirtualMachinePool", {**POOL, "selector": None}, [("spec.selector", "")]),
        ("VirtualMachinePool", {**POOL, "maxUnavailable": "x%"}, [("spec.maxUnavailable", "")]),
        *(
            (
                "VirtualMachineInstanceReplicaSet",
                {**REPLICAS, "selector": {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}},
                []
                if takes
                else [("spec.selector.matchExpressions[0]." + ("values" if values else "operator"), "spec.selector")],
            )
            for key, operator, values, takes in (
                ("app", "In", ["x"], True),
                ("app", "In", ["y"], False),
                ("app", "NotIn", ["y"], True),
                ("app", "Exists", [], True),
                ("tier", "Exists", [], False),
                ("tier", "DoesNotExist", [], True),
            )
        ),
        ("VirtualMachineInstancePreset", {"selector": {}}, [("spec.domain", "")]),
        (
            "VirtualMachineInstancePreset",
            {"domain": {"devices": {"disks": [{"name": "a", "io": "x"}]}}},
            [("spec.domain.devices.disks[0].io", "spec.domain.devices.disks.domain.devices.disks[0].io")],
        ),
        ("VirtualMachineInstancetype", {"memory": {"overcommitPercent": 101}}, [("spec.memory.overcommitPercent", "")]),
        ("VirtualMachineClusterInstancetype", {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}, []),
        ("VirtualMachinePreference", {"cpu": {"preferredCPUTopology": ""}}, [("spec.cpu.preferredCPUTopology", "")]),
        (
            "VirtualMachinePreference",
            {"cpu": {"preferredCPUTopology": "preferSpread", "spreadOptions": {"across": "Sockets"}}},
            [("spec.cpu.spreadOptions.across", "")],
        ),
        (
            "VirtualMachinePreference",
            {"cpu": {"preferredCPUTopology": "cores", "spreadOptions": {"across": "Sockets"}}},
            [],
        ),
        (
            "VirtualMachineClusterPreference",
            {"cpu": {"preferredCPUTopology": "spread", "spreadOptions": {"across": "CoresThreads", "ratio": 3}}},
            [("spec.cpu.spreadOptions.ratio", "")],
        ),
    ],
)
def test_each_kind_is_judged_by_its_own_checks(kind, spec, expected):
    assert _paths(kind, spec) == expected


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(sorted(GROUPS)),
    st.recursive(
        st.none() | st.integers() | st.text(max_size=2) | st.booleans(),
        lambda below: (
            st.lists(below, max_size=2)
            | st.dictionaries(
                st.sampled_from(["selector", "template", "spec", "domain", "virtualMachineTemplate", "cpu", "metadata"]),
                below,
                max_size=3,
            )
        ),
        max_leaves=8,
    ),
)
def test_no_shape_of_a_spec_throws(kind, spec):
    obj = {**_object(kind, {}), "spec": spec}
    assert isinstance(admit_object(obj, completed=obj, cluster=Cluster(), release=releases.NEWEST), tuple)
