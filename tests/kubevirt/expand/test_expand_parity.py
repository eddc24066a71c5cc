"""What KubeVirt itself answered, case by case: VMs whose matchers name objects of the bundle, expanded directly."""

from __future__ import annotations

import re

import pytest
from measured import files

from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.expand import expand
from krm_fn.kubevirt.releases import parse

RELEASES = files("fuzz")
FILES = (*files("matrix"), *RELEASES)
KINDS = {"instancetype": "virtualmachineclusterinstancetype", "preference": "virtualmachineclusterpreference"}


def resolvable(cases):
    """Every VM that this test can resolve: its case, itself, the specs, and what KubeVirt answered."""
    for case in cases:
        for vm in case["items"]:
            if vm["kind"] == "VirtualMachine":
                namespace = vm["metadata"].get("namespace", "default")
                specs = {which: spec_of(case, vm, which, namespace) for which in KINDS}
                answer = case["expect"][f"{namespace}/{vm['metadata']['name']}"]
                if any(specs.values()) and False not in specs.values() and "upstreamCrashes" not in answer:
                    yield case, as_stored(vm, answer, parse(case["kubevirt"])), specs, answer


def as_stored(vm, answer, release):
    """The VM that the expander gets. Before 1.3.1 only admission writes defaults, so there it is the stored one."""
    stored = answer.get("admitted") if release.within(until=(1, 3, 1)) else None
    return {**stored, "metadata": vm["metadata"]} if stored else vm


def spec_of(case, vm, which, namespace):
    """The spec that a matcher names; None without a matcher, False where finding it takes more than a name."""
    matcher = vm["spec"].get(which)
    if not matcher:
        return None
    if "revisionName" in matcher or "inferFromVolume" in matcher or f"{which}Ref" in vm.get("status", {}):
        return False
    kind = matcher.get("kind", KINDS[which]).lower().removesuffix("s")
    for item in case["items"]:
        here = "cluster" in kind or item["metadata"].get("namespace", "default") == namespace
        if item["kind"].lower() == kind and item["metadata"]["name"] == matcher["name"] and here:
            return item["spec"]
    return False


def expanded(case, vm, specs):
    cluster, release = Cluster(configuration=case.get("config", {})), parse(case["kubevirt"])
    return expand(vm, **specs, cluster=cluster, release=release, defaults=True)


def unlike(got, wanted, vm):
    """True where a rendered VM isn't the one that KubeVirt answered, the namespace aside that it adds."""
    if got is None:
        return True
    wanted = dict(wanted, metadata=dict(wanted["metadata"]))
    if "namespace" not in vm["metadata"]:
        wanted["metadata"].pop("namespace", None)
    return got != wanted


def paths_in(text):
    found = re.search(r"VM fields?(?:\(s\))? (.*) conflicts? with selected instance type", text)
    return set(found.group(1).split(", ")) if found else set()


@pytest.mark.parametrize("name", FILES)
def test_every_vm_is_rendered_as_kubevirt_renders_it(name, cases) -> None:
    given = list(cases(name))
    checked = [
        (case["id"], unlike(expanded(case, vm, specs).vm, answer["expanded"], vm))
        for case, vm, specs, answer in resolvable(given)
        if "expanded" in answer
    ]
    assert len(checked) > len(given) / 10
    assert [case for case, wrong in checked if wrong] == []


@pytest.mark.parametrize("name", RELEASES)
def test_every_conflict_that_kubevirt_names_is_found(name, cases) -> None:
    missed = []
    for case, vm, specs, answer in resolvable(cases(name)):
        if "expandError" in answer:
            made = expanded(case, vm, specs)
            found = {conflict.upstream_path or ".".join(conflict.path) for conflict in made.conflicts}
            if made.vm is not None or not paths_in(answer["expandError"]) <= found:
                missed.append((case["id"], answer["expandError"]))
    assert missed == []


@pytest.mark.parametrize("name", FILES)
def test_requirements_are_unmet_where_admission_says_so(name, cases) -> None:
    wrong = []
    for case, vm, specs, answer in resolvable(cases(name)):
        made, causes = expanded(case, vm, specs), answer.get("admission", {}).get("causes", [])
        if made.vm is not None and "admission" in answer:
            words = ("divisible by", "checking preference requirements")
            named = {cause["field"] for cause in causes if any(word in cause["message"] for word in words)}
            found = {unmet.upstream_path or ".".join(unmet.path) for unmet in made.unmet}
            if not named <= found or bool(named) != bool(found):
                wrong.append((case["id"], named, found))
    assert wrong == []
