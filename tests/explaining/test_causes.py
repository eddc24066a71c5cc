"""The leaves of a rendered object and of its explanation are the same set, and sources are causes, over measured bundles.

`causes.py` removes each source from its object and renders again, without the code that explains.
EXPLAIN_EVERY=1 looks at every measured bundle, EXPLAIN_LEAVES says how many leaves of all files are judged.
"""

from __future__ import annotations

import os
import random
from typing import Any

import pytest
from causes import KINDS, RULES, Tally, bundles, resource_list
from measured import SAMPLE, Cases, files, preset_cases

EVERY = int(os.environ.get("EXPLAIN_EVERY", SAMPLE))  # one measured bundle of so many
LEAVES = int(os.environ.get("EXPLAIN_LEAVES", "500"))  # of all files
SEED = int(os.environ.get("EXPLAIN_SEED", "7"))
NAMES = files(*KINDS, "schema")


@pytest.mark.parametrize("name", NAMES)
def test_every_leaf_of_a_measured_bundle_has_a_source_that_is_a_cause(
    name: str, cases: Cases, pytestconfig: pytest.Config
) -> None:
    rng, tally, most = random.Random(f"{SEED} {name}"), Tally(), LEAVES // len(NAMES) + 1
    for case in cases(name, every=EVERY):
        for given in bundles(case, rng):
            tally.look(f"{name} {case['id']}", given, rng, min(2, most - tally.judged))
    assert tally.wrong == []
    assert tally.leaves > 0 or pytestconfig.getoption("quick")  # the sample of a few cases may render nothing
    assert set(tally.of) <= {"changed", "loser unchanged", "loser required", *RULES}


def of_presets(case: dict[str, Any]) -> list[dict[str, Any]]:
    """An instance, a replica set and a VM with the labels and the domain of a case about presets, and the presets."""
    metadata = {"name": "it", "namespace": "n"}
    about = {key: case["vm"].get(key, {}) for key in ("labels", "annotations")}
    template = {"metadata": about, "spec": {"domain": case["vm"].get("domain") or {}}}
    instance = {"kind": "VirtualMachineInstance", "metadata": {**metadata, **about}, "spec": template["spec"]}
    owner = {"kind": "VirtualMachineInstanceReplicaSet", "metadata": metadata, "spec": {"replicas": 1, "template": template}}
    vm = {"kind": "VirtualMachine", "metadata": metadata, "spec": {"runStrategy": "Always", "template": template}}
    presets = [
        {
            "kind": "VirtualMachineInstancePreset",
            "metadata": {"name": each["name"], "namespace": "n"},
            "spec": {key: each[key] for key in ("selector", "domain") if each.get(key)},
        }
        for each in case["presets"]
    ]
    return [{"apiVersion": "kubevirt.io/v1", **each} for each in (instance, owner, vm, *presets)]


def test_the_fields_of_presets_are_sources() -> None:
    tally, rng = Tally(), random.Random(SEED)
    for case in preset_cases():
        given = resource_list(of_presets(case), "v1.9.0", {"presets": "fold"})
        tally.look(case["case"], given, rng, 6)
    assert tally.wrong == []
    assert tally.sources["preset"] > 50
    assert tally.of["changed"] > 20


def test_the_settings_of_a_cluster_are_sources() -> None:
    vm = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "a", "namespace": "n"},
        "spec": {"instancetype": {"name": "size"}, "template": {"spec": {"domain": {"devices": {}}}}},
    }
    size = {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineClusterInstancetype",
        "metadata": {"name": "size"},
        "spec": {"cpu": {"guest": 2}, "memory": {"guest": "1Gi"}},
    }
    settings = {"machineType": "pc-q35-9.2", "network": {"defaultNetworkInterface": "masquerade"}, "cpuModel": "Haswell"}
    kubevirt = {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "kv", "namespace": "kubevirt"}}
    held = {**kubevirt, "spec": {"configuration": settings}}
    operator = {
        "apiVersion": "hco.kubevirt.io/v1beta1",
        "kind": "HyperConverged",
        "metadata": {"name": "kv", "namespace": "kubevirt-hyperconverged"},
        "spec": {"defaultCPUModel": "Haswell", "evictionStrategy": "None"},
    }
    for spec, items in (
        ({"configuration": settings}, [vm, size]),
        ({}, [vm, size, held]),
        ({"configuration": {"machineType": "other"}}, [vm, size, held]),
        ({}, [vm, size, operator]),
    ):
        tally = Tally()
        tally.look("settings", resource_list(items, "v1.9.0", {"defaults": "pinned", **spec}), random.Random(SEED), 40)
        assert tally.wrong == []
        assert tally.sources["configuration"] > 0, (items, tally.sources)


@pytest.mark.parametrize(
    "spec",
    [
        {"features": {"preferredPvspinlock": {"enabled": True}}},
        {"features": {"preferredHyperv": {"ipi": {"enabled": True}}}},
        {"clock": {"preferredTimer": {"hpet": {"present": True}}}},
    ],
)
def test_a_default_in_a_map_that_a_preference_writes_is_known_to_be_the_same(spec: dict[str, Any]) -> None:
    vm = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "a", "namespace": "n"},
        "spec": {"runStrategy": "Always", "preference": {"name": "likes"}, "template": {"spec": {"domain": {"devices": {}}}}},
    }
    likes = {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineClusterPreference",
        "metadata": {"name": "likes"},
        "spec": spec,
    }
    tally = Tally()
    tally.look("defaults", resource_list([vm, likes], "v1.3.1", {}), random.Random(SEED), 40)
    assert tally.wrong == []
    assert tally.of["default"] == 1


def test_a_size_that_hugepages_give_without_the_instancetypes_is_known_to_be_the_same() -> None:
    vm = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "a", "namespace": "n"},
        "spec": {"runStrategy": "Always", "instancetype": {"name": "size"}, "template": {"spec": {"domain": {"devices": {}}}}},
    }
    memory = {"guest": "1Gi", "hugepages": {"pageSize": "1Gi"}, "overcommitPercent": 10}
    size = {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineClusterInstancetype",
        "metadata": {"name": "size"},
        "spec": {"cpu": {"guest": 2}, "memory": memory},
    }
    tally = Tally()
    tally.look("hugepages", resource_list([vm, size], "v1.4.1", {"defaults": "pinned"}), random.Random(SEED), 40)
    assert tally.wrong == []
    assert tally.of["default"] == 3  # the cores and threads, too


def test_the_least_layout_of_a_stored_instancetype_is_known_though_a_preset_wants_another() -> None:
    held = {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": "VirtualMachineInstancetype"}
    stored = {**held, "metadata": {"name": "size"}, "spec": {"cpu": {"guest": 5}, "memory": {"guest": "1Gi"}}}
    metadata = {"name": "stored", "namespace": "n"}
    revision = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": metadata, "revision": 0, "data": stored}
    matcher = {"kind": "VirtualMachineInstancetype", "name": "size", "revisionName": "stored"}
    vm = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "a", "namespace": "n"},
        "spec": {"runStrategy": "Always", "instancetype": matcher, "template": {"spec": {"domain": {"devices": {}}}}},
    }
    preset = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstancePreset",
        "metadata": {"name": "threads", "namespace": "n"},
        "spec": {"selector": {}, "domain": {"cpu": {"threads": 4}}},
    }
    tally = Tally()
    given = resource_list([vm, revision, preset], "v1.5.3", {"defaults": "none", "presets": "fold"})
    tally.look("layout", given, random.Random(SEED), 40)
    assert tally.wrong == []
    assert tally.of["layout"] == 2  # the cores and the threads


def test_the_operations_of_the_config_s_patches_are_sources() -> None:
    vm = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "a", "namespace": "n"},
        "spec": {"runStrategy": "Always", "template": {"spec": {"domain": {"devices": {}}, "hostname": "b"}}},
    }
    patches = [
        {
            "target": {"kind": "VirtualMachine"},
            "patch": [
                {"op": "add", "path": "/spec/template/spec/subdomain", "value": "s"},
                {"op": "add", "path": "/metadata/labels", "value": {}},
                {"op": "add", "path": "/metadata/labels/tier", "value": "db"},
                {"op": "replace", "path": "/spec/template/spec/hostname", "value": "c"},
            ],
        }
    ]
    tally = Tally()
    tally.look("patches", resource_list([vm], "v1.9.0", {"patches": patches}), random.Random(SEED), 40)
    assert tally.wrong == []
    assert tally.sources["patch"] == 3


def test_a_source_that_is_none_is_found_out() -> None:
    """The check itself can fail: a leaf that is said to come from a field that does not give it."""
    from causes import judged

    vm = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "a", "namespace": "n"},
        "spec": {"preference": {"name": "likes"}, "template": {"spec": {"domain": {"devices": {}}}}},
    }
    likes = {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineClusterPreference",
        "metadata": {"name": "likes"},
        "spec": {"preferredSubdomain": "s", "preferredTerminationGracePeriodSeconds": 5},
    }
    given = resource_list([vm, likes], "v1.9.0", {})
    source = {"from": "preference", "item": 1, "field": "spec.preferredTerminationGracePeriodSeconds"}
    field = {"path": "spec.template.spec.subdomain", "value": "s", "source": source}
    assert judged(given, {"kind": "VirtualMachine", "item": 0}, field) == "WRONG"
    right = {**field, "source": {**source, "field": "spec.preferredSubdomain"}}
    assert judged(given, {"kind": "VirtualMachine", "item": 0}, right) == "changed"
