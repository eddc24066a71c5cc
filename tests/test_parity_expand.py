"""What KubeVirt itself answered, case by case: VMs whose matchers name objects of the bundle, expanded directly."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import pytest

from krm_fn.cluster import Cluster
from krm_fn.expand import expand
from krm_fn.releases import parse

PARITY = Path(__file__).resolve().parents[1].parent / "shared" / "parity"
FILES = ["matrix-v1.9.0", "fuzz-v1.9.0", "fuzz-v1.8.4", "fuzz-v1.7.4", "fuzz-v1.6.6", "fuzz-v1.5.3", "fuzz-v1.4.1"]
KINDS = {"instancetype": "virtualmachineclusterinstancetype", "preference": "virtualmachineclusterpreference"}


def cases(name):
    """Every VM of a file that this test can resolve: its case, itself, the specs, and what KubeVirt answered."""
    path = PARITY / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip("the parity cases are not here")
    with gzip.open(path) as lines:
        for case in map(json.loads, lines):
            for vm in case["items"]:
                if vm["kind"] == "VirtualMachine":
                    namespace = vm["metadata"].get("namespace", "default")
                    specs = {which: spec_of(case, vm, which, namespace) for which in KINDS}
                    answer = case["expect"][f"{namespace}/{vm['metadata']['name']}"]
                    if any(specs.values()) and False not in specs.values() and "upstreamCrashes" not in answer:
                        yield case, vm, specs, answer


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
def test_every_vm_is_rendered_as_kubevirt_renders_it(name) -> None:
    checked = [
        (case["id"], unlike(expanded(case, vm, specs).vm, answer["expanded"], vm))
        for case, vm, specs, answer in cases(name)
        if "expanded" in answer
    ]
    assert len(checked) > 200
    assert [case for case, wrong in checked if wrong] == []


@pytest.mark.parametrize("name", FILES[1:])
def test_every_conflict_that_kubevirt_names_is_found(name) -> None:
    missed = []
    for case, vm, specs, answer in cases(name):
        if "expandError" in answer:
            made = expanded(case, vm, specs)
            found = {conflict.upstream_path or ".".join(conflict.path) for conflict in made.conflicts}
            if made.vm is not None or not paths_in(answer["expandError"]) <= found:
                missed.append((case["id"], answer["expandError"]))
    assert missed == []


@pytest.mark.parametrize("name", FILES)
def test_requirements_are_unmet_where_admission_says_so(name) -> None:
    wrong = []
    for case, vm, specs, answer in cases(name):
        made, causes = expanded(case, vm, specs), answer.get("admission", {}).get("causes", [])
        if made.vm is not None and "admission" in answer:
            words = ("divisible by", "checking preference requirements")
            named = {cause["field"] for cause in causes if any(word in cause["message"] for word in words)}
            found = {unmet.upstream_path or ".".join(unmet.path) for unmet in made.unmet}
            if not named <= found or bool(named) != bool(found):
                wrong.append((case["id"], named, found))
    assert wrong == []
