"""Laws of conversions, over what was measured of KubeVirt and over the catalogue."""

from __future__ import annotations

import os
import random
from itertools import product
from typing import Any

import measured
import pytest

from krm_fn import config
from krm_fn.base.bundle import Bundle
from krm_fn.base.paths import copy, get, put, put_in, with_integers
from krm_fn.changes.diffing import compare
from krm_fn.changes.owners import key_of
from krm_fn.changes.pairs import Assumptions
from krm_fn.changes.sides import side
from krm_fn.cli.changes_words import sentence
from krm_fn.cli.conversions import NO_EFFECT, manifests, records
from krm_fn.converting.conversion import DIFFERS, EXACT, HEADROOM
from krm_fn.converting.rewriting import ToFlat, ToInstancetype
from krm_fn.converting.suggesting import ConversionWish
from krm_fn.kubevirt import catalogue
from krm_fn.kubevirt.releases import NEWEST
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline.capacity import facts_of
from krm_fn.pipeline.conversions import Conversions
from krm_fn.repositories.conversions import to_instancetype

# The releases whose pods are known, and what has flat VMs.
NAMES = [name for name in measured.files("admission", "fuzz", "migratable", "pods") if name.rpartition("-v")[2] >= "1.4"]
MOST = ConversionWish(own=True, smaller=True)
EVERY = int(os.environ.get("CONVERT_EVERY", "10"))  # one measured bundle of so many; of those that are changed, a tenth
SHAPES = [
    {"disks": disks, "preference": preference, "features": features}
    for preference, disks, features in product(
        ("", "fedora", "rhel.9", "linux.efi", "ubuntu"),
        ([], ["virtio"], ["sata"], ["virtio", "sata"], ["scsi"]),
        ({}, {"acpi": {}}),
    )
]


def conversions(items: list[Any], settings: Config, wish: ConversionWish = MOST) -> Conversions:
    return Conversions(facts_of(Bundle(items), settings), wish)


def settings_of(case: dict[str, Any]) -> Config:
    spec = {"kubevirtVersion": case["kubevirt"].removeprefix("v"), "configuration": case.get("config") or {}}
    form = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "spec": spec}
    return config.of_list({"items": [], "functionConfig": form})[0]


def place(vm: Any) -> tuple[int, Any]:
    return vm.entry.item, vm.entry.path


def untold(case: dict[str, Any]) -> list[Any]:
    """The VMs of a case whose instances differ otherwise than told once all are converted, with what differs."""
    items, settings = [with_integers(item) for item in case["items"]], settings_of(case)
    before = conversions(items, settings)
    found = [each for each in before.suggestions() if each.converted]
    new = list(items)
    for each in found:
        entry = each.facts.entry
        new[entry.item] = put_in(new[entry.item], entry.path, to_instancetype(each).manifest(entry.obj))
    after = conversions([*new, *manifests(found)], settings)
    vms = {place(vm): vm for vm in after.vms}
    proofs = ((each, before.before(each.facts), vms[place(each.facts)]) for each in found)
    judged = ((each, after.judged(was, vm) if was else None) for each, was, vm in proofs)
    return [(case["id"], each.instancetype, proof) for each, proof in judged if proof != each.proof]


@pytest.mark.parametrize("name", NAMES)
def test_each_instance_differs_as_told_and_in_nothing_else(name: str, cases: measured.Cases) -> None:
    assert [each for case in cases(name, every=EVERY) for each in untold(case)] == []


DOMAIN = ("spec", "template", "spec", "domain")
CHANGED = {
    ("cpu", "sockets"): (1, 2, 3, 8, 64),
    ("cpu", "cores"): (1, 2, 4),
    ("cpu", "maxSockets"): (2, 4, 16),
    ("memory", "guest"): ("512Mi", "1Gi", "3Gi", "4Gi", "1025Mi", "2049Mi", "16G", "64Gi"),
    ("memory", "maxGuest"): ("4Gi", "64Gi"),
    ("resources", "requests", "memory"): ("1Gi", "4Gi", "16Gi"),
    ("resources", "limits", "memory"): ("8Gi", "64Gi"),
    ("resources", "requests", "cpu"): ("100m", "2"),
}
VARIANTS = 12


def with_variants(items: list[Any], seed: str) -> list[Any]:
    """The items, and each flat VM with other sizes under other names."""
    draw, found = random.Random(seed), list(items)
    flat = [each for each in items if isinstance(get(each, DOMAIN), dict) and "instancetype" not in each["spec"]]
    for each, number in product(flat, range(VARIANTS)):
        new = copy(each)
        new["metadata"] = {**new["metadata"], "name": f"{seed}-{len(found)}"}
        for path in draw.sample(list(CHANGED), 3) if number else ():
            put(new, (*DOMAIN, *path), draw.choice(CHANGED[path]))
        found.append(new)
    return found


def mistold(case: dict[str, Any]) -> list[Any]:
    """The VMs of a case for which `diff` says something else than what is told of their conversion."""
    given = case.get("old") or case["items"]
    items, settings = [with_integers(item) for item in with_variants(given, case["id"])], settings_of(case)
    facts = facts_of(Bundle(items), settings)
    converting = Conversions(facts, MOST)
    found = list(converting.suggestions())
    new = list(items)
    for each in found:
        if each.converted:
            entry = each.facts.entry
            new[entry.item] = put_in(new[entry.item], entry.path, to_instancetype(each).manifest(entry.obj))
    answer = compare(side(items, settings), side([*new, *manifests(found)], settings), Assumptions())
    said = {(each["namespace"], each["name"], each["kind"]): each for each in answer["vms"]}
    pairs = [
        (each, told, said.get(key_of(each.facts.entry.obj), {}))
        for each, told in zip(found, records(facts, converting, found), strict=True)
    ]
    return [(case["id"], told, full) for each, told, full in pairs if each.converted and effect(told) != effect(full)]


def effect(record: dict[str, Any]) -> Any:
    """What is told of a record in words."""
    return sentence(record) if record else NO_EFFECT


@pytest.mark.parametrize("name", [*measured.files("changes"), *NAMES])
def test_what_is_told_of_running_vms_is_what_diff_says(name: str, cases: measured.Cases) -> None:
    assert [each for case in cases(name, every=EVERY * 10) for each in mistold(case)] == []


def referring(instancetype: str, number: int, shape: dict[str, Any]) -> dict[str, Any]:
    names = [f"disk{each}" for each in range(len(shape["disks"]))]
    disks = [{"name": name, "disk": {"bus": bus}} for name, bus in zip(names, shape["disks"], strict=True)]
    spec: dict[str, Any] = {"domain": {"devices": {"disks": disks}, "features": shape["features"]}}
    spec["volumes"] = [{"name": name, "containerDisk": {"image": "example.com/disk"}} for name in names]
    matchers = {"instancetype": {"name": instancetype}}
    if shape["preference"]:
        matchers["preference"] = {"name": shape["preference"]}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": f"vm{number}"},
        "spec": {"runStrategy": "Always", **matchers, "template": {"spec": spec}},
    }


@pytest.mark.parametrize("instancetype", catalogue.of(NEWEST).names(catalogue.INSTANCETYPE)[::4])
def test_a_flat_vm_is_the_same_and_finds_its_instancetype_again(instancetype: str) -> None:
    items = [referring(instancetype, number, shape) for number, shape in enumerate(SHAPES)]
    before = conversions(items, Config())
    changes = [
        ToFlat(
            at=(),
            release=vm.release,
            instancetype=vm.resolution.instancetype,
            preference=vm.resolution.preference,
            cluster=vm.cluster,
        )
        for vm in before.vms
    ]
    flat: list[Any] = [change.manifest(item) for change, item in zip(changes, items, strict=True)]
    after = conversions(flat, Config(), ConversionWish())
    starting = [(was, vm) for was, vm in zip(map(before.before, before.vms), after.vms, strict=True) if was]
    assert len(starting) >= 40
    proofs = [after.judged(was, vm) for was, vm in starting]
    assert {proof and proof.sort for proof in proofs} == {EXACT}
    assert {each.sort for each in after.suggestions() if each.facts in [vm for _, vm in starting]} == {EXACT}


def machine(domain: dict[str, Any], name: str = "web") -> dict[str, Any]:
    spec = {"domain": {"devices": {}, **domain}}
    vm = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": name}}
    return {**vm, "spec": {"runStrategy": "Always", "template": {"spec": spec}}}


def cpu(sockets: int, cores: int = 1, threads: int = 1) -> dict[str, Any]:
    return {"sockets": sockets, "cores": cores, "threads": threads}


EIGHT = {"memory": {"guest": "8Gi"}}


@pytest.mark.parametrize(
    ("domain", "sort", "name"),
    [
        ({"cpu": cpu(2), **EIGHT}, EXACT, "u1.large"),
        ({"cpu": cpu(1, 2), **EIGHT}, HEADROOM, "u1.large"),
        ({"cpu": cpu(2), "memory": {"guest": "8192Mi"}}, EXACT, "u1.large"),
        ({"cpu": cpu(2), "resources": {"requests": {"memory": "8Gi"}}}, HEADROOM, "u1.large"),
        ({"cpu": cpu(2), **EIGHT, "resources": {"requests": {"memory": "4Gi"}}}, EXACT, "o1.large"),
        ({"cpu": cpu(2), "memory": {"guest": "8G"}}, DIFFERS, "u1.large"),
        ({"cpu": {**cpu(2), "dedicatedCpuPlacement": True, "isolateEmulatorThread": True}, **EIGHT, "ioThreadsPolicy": "auto"},
         EXACT, "d1.large"),
        ({"cpu": {**cpu(2), "dedicatedCpuPlacement": True, "isolateEmulatorThread": True}, **EIGHT, "ioThreadsPolicy": "auto",
          "resources": {"requests": {"cpu": 2, "memory": "8Gi"}, "limits": {"cpu": 2, "memory": "8Gi"}}}, HEADROOM, "d1.large"),
    ],
)  # fmt: skip
def test_the_nearest_instancetype_has_the_traits_of_the_vm(domain: dict[str, Any], sort: str, name: str) -> None:
    (found,) = conversions([machine(domain)], Config(), ConversionWish()).suggestions()
    assert (found.sort, found.instancetype and found.instancetype.name) == (sort, name)


def test_a_preference_of_the_bundle_is_taken_that_makes_the_layout_the_same() -> None:
    preference = {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineClusterPreference",
        "metadata": {"name": "by-core"},
        "spec": {"cpu": {"preferredCPUTopology": "cores"}},
    }
    (found,) = conversions([machine({"cpu": cpu(1, 2), **EIGHT}), preference], Config(), ConversionWish()).suggestions()
    assert (found.sort, found.preference) == (EXACT, "by-core")


@pytest.mark.parametrize(
    ("domain", "spec"),
    [
        ({"cpu": cpu(1, 3), "memory": {"guest": "9Gi"}}, {"cpu": {"guest": 3}, "memory": {"guest": "9Gi"}}),
        (
            {"cpu": cpu(3), "memory": {"guest": "10Gi"}, "resources": {"requests": {"memory": "9Gi"}}},
            {"cpu": {"guest": 3}, "memory": {"guest": "10Gi", "overcommitPercent": 10}},
        ),
    ],
)
def test_an_instancetype_that_is_made_gives_the_same(domain: dict[str, Any], spec: dict[str, Any]) -> None:
    (found,) = conversions([machine(domain)], Config(), ConversionWish(own=True)).suggestions()
    assert found.instancetype is not None
    assert found.instancetype.spec == spec
    assert found.sort == EXACT


def test_vms_of_one_shape_get_the_same_answer_with_their_own_names() -> None:
    domain = {"cpu": cpu(2), **EIGHT}
    found = list(conversions([machine(domain, "one"), machine(domain, "two")], Config()).suggestions())
    assert [each.converted.vm["metadata"]["name"] for each in found if each.converted] == ["one", "two"]
    assert [to_instancetype(each).matchers["instancetype"]["name"] for each in found] == ["u1.large", "u1.large"]


def test_operations_on_sizes_go_and_others_stay() -> None:
    change = ToInstancetype(
        at=(),
        release=NEWEST,
        matchers={"instancetype": {"name": "small"}},
        spec={"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}},
    )
    domain = "/spec/template/spec/domain"
    kept = [
        {"op": "replace", "path": f"{domain}/cpu/model", "value": "host-model"},
        {"op": "add", "path": "/metadata/labels/a", "value": "b"},
    ]
    sized = [
        {"op": "replace", "path": f"{domain}/cpu/sockets", "value": 4},
        {"op": "remove", "path": f"{domain}/memory/guest"},
        {"op": "test", "path": f"{domain}/cpu/cores", "value": 1},
    ]
    partly = {"op": "add", "path": f"{domain}/cpu", "value": {"sockets": 4, "model": "host-model"}}
    assert change.patch(kept) is kept
    assert change.patch([*kept, *sized, partly]) == [*kept, {**partly, "value": {"model": "host-model"}}]
