"""Laws that hold for every bundle, over the bundles whose pods KubeVirt's own code has rendered."""

from __future__ import annotations

import copy
import json
import random
from functools import cache

from functions import resource_list
from hypothesis import given, settings
from hypothesis import strategies as st
from measured import cases, files

import krm_fn
from krm_fn.base.paths import get, put
from krm_fn.base.quantity import parse

EVERY = 25
GUEST = ("spec", "template", "spec", "domain", "memory", "guest")
KUBEVIRT = {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "kubevirt", "namespace": "kubevirt"}}
many = settings(max_examples=150, deadline=None)


@cache
def bundles():
    """(items, release) of some cases of each release."""
    found = []
    for name in files("pods"):
        for case in cases(name, every=EVERY):
            config = case.get("config")
            cluster = [{**KUBEVIRT, "spec": {"configuration": config}}] if config else []
            found.append((json.dumps([*case["items"], *cluster]), case["kubevirt"].removeprefix("v")))
    return found


def bundle():
    """Items of a case, as objects of their own, and the release. The cases are read when the first test runs."""
    return st.integers(0, 10_000).map(_case)


def _case(number):
    text, release = bundles()[number % len(bundles())]
    return json.loads(text), release


def capacity(items, release):
    return krm_fn.capacity(resource_list(*items, kubevirtVersion=release, catalogue="builtin"))


def nanos(text):
    found = parse(text)
    assert found is not None
    return found.nanos


def amounts(given):
    return {name: nanos(value) for name, value in given.items() if nanos(value)}


def summed(*parts):
    found = {}
    for part in parts:
        for name, value in part.items():
            found[name] = found.get(name, 0) + value
    return {name: value for name, value in found.items() if value}


def pods(record):
    return [pod for pod in (record.get("pod"), record.get("pod", {}).get("hotplugPod")) if pod]


@many
@given(bundle())
def test_the_sums_are_those_of_the_parts(drawn):
    found = capacity(*drawn)
    for side in ("requests", "limits"):
        parts = [amounts(pod.get(side, {})) for record in found["vms"] for pod in pods(record) * record.get("replicas", 1)]
        assert amounts(found["totals"][side]) == summed(*parts)
    assert found["totals"]["pods"] == sum(len(pods(record)) * record.get("replicas", 1) for record in found["vms"])
    assert found["totals"]["vms"] == sum(record.get("replicas", 1) for record in found["vms"])


@many
@given(bundle(), st.lists(bundle(), max_size=3))
def test_bundles_in_different_namespaces_add_up(drawn, others):
    """Only what is namespaced and of one release may come together: here the VMs that refer to nothing."""
    release = drawn[1]
    alone = []
    for number, (items, _) in enumerate([drawn, *others]):
        machines = [item for item in items if item["kind"] == "VirtualMachine" and not refers(item)]
        alone.append([{**each, "metadata": {**each["metadata"], "namespace": f"n{number}"}} for each in machines])
    whole = capacity([item for items in alone for item in items], release)["totals"]
    parts = [capacity(items, release)["totals"] for items in alone]
    for side in ("requests", "limits", "storage"):
        assert amounts(whole[side]) == summed(*(amounts(part[side]) for part in parts))
    assert whole["vcpus"] == sum(part["vcpus"] for part in parts)


def refers(vm):
    return any(vm["spec"].get(matcher) for matcher in ("instancetype", "preference"))


@many
@given(bundle(), st.integers(1, 10))
def test_more_memory_of_the_guest_never_lowers_the_request(drawn, factor):
    items, release = drawn
    machines = [item for item in items if item["kind"] == "VirtualMachine" and get(item, GUEST)]
    before = requested(capacity(items, release))
    for item in machines:
        put(item, GUEST, str(nanos(get(item, GUEST)) * factor // 10**9))
    after = requested(capacity(items, release))
    for key in before.keys() & after.keys():
        assert before[key] <= after[key]


def requested(found):
    """The memory that each pod requests, huge pages included."""
    return {
        (record["namespace"], record["name"]): sum(
            value
            for name, value in amounts(record["pod"]["requests"]).items()
            if name == "memory" or name.startswith("hugepages-")
        )
        for record in found["vms"]
        if "pod" in record
    }


@many
@given(bundle(), st.randoms(use_true_random=False))
def test_the_order_of_a_bundle_changes_nothing(drawn, chance: random.Random):
    items, release = drawn
    before = capacity(items, release)
    chance.shuffle(items)
    after = capacity(items, release)
    assert by_name(before) == by_name(after)
    assert {key: before[key] for key in ("totals", "quotas")} == {key: after[key] for key in ("totals", "quotas")}


def by_name(found):
    return sorted(found["vms"], key=lambda record: (record["kind"], record["namespace"], record["name"]))


@many
@given(bundle())
def test_rendered_vms_need_what_vms_need_that_refer(drawn):
    items, release = drawn
    before = capacity(items, release)
    spec = {"kubevirtVersion": release, "catalogue": "builtin", "defaults": "cluster"}
    rendered = krm_fn.process(resource_list(*copy.deepcopy(items), **spec))["items"]
    after = {(each["namespace"], each["name"]): each for each in capacity(rendered, release)["vms"]}
    for record in before["vms"]:
        if "pod" in record and not refused(record):
            assert needs(after[record["namespace"], record["name"]]) == needs(record)


def refused(record):
    return record.get("refused")


def needs(record):
    return {key: record.get(key) for key in ("vcpus", "memory", "topology", "pod", "podError", "storage")}
