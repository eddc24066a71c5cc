"""What KubeVirt's own code says of instances that start: whether they can be migrated, and their pods, key by key.

Quantities are compared by value, containers by name.
"""

from __future__ import annotations

import json

import pytest
from functions import resource_list
from measured import files

import krm_fn
from krm_fn.base.quantity import parse

KUBEVIRT = {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "kubevirt", "namespace": "kubevirt"}}
AMOUNTS = ("requests", "limits")
DRAWN = "hook-sidecar-"  # Go's maps number the sidecars of plug-ins as they like


def answers(case):
    """The records of a case by namespace and name."""
    items, config = case["items"], case.get("config")
    if config:
        items = [*items, {**KUBEVIRT, "spec": {"configuration": config}}]
    found = krm_fn.capacity(resource_list(*items, kubevirtVersion=case["kubevirt"].removeprefix("v")))
    return {f"{record['namespace']}/{record['name']}": record for record in found["vms"]}


def amounts(resources):
    return {name: parse(value).nanos for name, value in resources.items()}


def container(given):
    return {key: amounts(value) if key in AMOUNTS else value for key, value in given.items() if key != "name" and value}


def comparable(key, value):
    if key in AMOUNTS:
        return amounts(value)
    if key == "memoryOverhead":
        return parse(value).nanos
    if key == "hotplugPod":
        return {inner: comparable(inner, each) for inner, each in value.items()}
    if key in ("containers", "initContainers"):
        named = {each["name"]: container(each) for each in value if not each["name"].startswith(DRAWN)}
        drawn = [container(each) for each in value if each["name"].startswith(DRAWN)]
        return named, sorted(json.dumps(each, sort_keys=True) for each in drawn)
    return value


def difference(answer, record):
    """The keys of the answer in which the record differs."""
    if "podError" in answer:
        return [] if record.get("podError") else ["podError"]
    ours, theirs = record.get("pod", {}), answer.get("pod", {})
    keys = sorted({*ours, *theirs})
    return [
        key
        for key in keys
        if key not in ours or key not in theirs or comparable(key, ours[key]) != comparable(key, theirs[key])
    ]


@pytest.mark.parametrize("name", files("migratable"))
def test_migratability_agrees(name, cases):
    wrong, count = [], 0
    for case in cases(name):
        found = answers(case)
        for vm, answer in case["expect"].items():
            if answer.get("upstreamCrashes"):
                continue
            count += 1
            if found[vm].get("migratable") != answer:
                wrong.append((case["id"], vm))
    assert not wrong, f"{len(wrong)} of {count} disagree"
    assert count


@pytest.mark.parametrize("name", files("pods", "pods-matrix"))
def test_pods_agree(name, cases):
    wrong, count = [], 0
    for case in cases(name):
        found = answers(case)
        for vm, answer in case["expect"].items():
            count += 1
            differs = difference(answer, found[vm])
            if differs:
                wrong.append((case["id"], differs))
    assert not wrong, f"{len(wrong)} of {count} disagree"
    assert count


def test_errors_are_kubevirts_own(cases):
    for name in files("pods"):
        for case in cases(name):
            for vm, answer in case["expect"].items():
                if "podError" in answer:
                    assert answers(case)[vm]["podError"] == answer["podError"], case["id"]
