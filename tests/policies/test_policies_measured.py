"""What Kubernetes' own code answers to policies: nothing may differ, and what is not evaluated is said."""

from __future__ import annotations

import copy
import gzip
import json
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import measured
import pytest

import krm_fn
from krm_fn.base.work import WORK
from krm_fn.policies.admission import Failure, Policies, Skipped

FILE = Path(__file__).resolve().parents[2] / "fixtures" / "policies" / "policies.jsonl.gz"
CONFIG = {
    "apiVersion": "kubevirt-render.dev/v1alpha1",
    "kind": "RenderVirtualMachines",
    "metadata": {"name": "render"},
    "spec": {"mode": "validate", "failOn": "never"},
}
LEVELS = {"Deny": "error", "Warn": "warning", "Audit": "info"}
# By group, the share of cases that are evaluated. Others depend on what only the cluster knows: who asks, or its kinds.
LEAST = {"real": 0.99, "match": 0.95, "cost": 1, "value": 1, "lib": 0.95, "expr": 0.95, "params": 0.72}
LEAST_OF_ALL = 0.95


@pytest.fixture(scope="module")
def states(pytestconfig: pytest.Config) -> dict[str, Counter[str]]:
    """By group, how many cases agree, are not evaluated, and differ; with `--quick`, of a sample of them."""
    found: dict[str, Counter[str]] = {}
    every = measured.SAMPLE if pytestconfig.getoption("quick") else 1
    with gzip.open(FILE, "rt", encoding="utf-8") as lines:
        for line in islice(lines, 0, None, every):
            case = json.loads(line)
            found.setdefault(case["tags"][0], Counter())[state(case)] += 1
    return found


def state(case: dict[str, Any]) -> str:
    here, skipped = created(case) if case["operation"] == "CREATE" else updated(case)
    there = {wanted(each) for each in case["expect"].get("failures") or ()}
    if {each[:5] for each in here if each[0] not in skipped} != {each[:5] for each in there if each[0] not in skipped}:
        return "differs"
    if any(each not in here for each in there if each[5] is not None and each[0] not in skipped):
        return "differs"
    return "not evaluated" if skipped else "agrees"


def objects(case: dict[str, Any]) -> list[Any]:
    return [each for kind in ("policies", "bindings", "params", "namespaces") for each in case.get(kind) or ()]


def created(case: dict[str, Any]) -> tuple[set[tuple[Any, ...]], set[str]]:
    """What the whole program says of the object, and the policies that it does not evaluate."""
    items = copy.deepcopy([case["object"], *objects(case)])
    results = krm_fn.process({"items": items, "functionConfig": CONFIG})["results"]
    skipped = {each["resourceRef"]["name"] for each in results if each["tags"]["rule"] == "policy-not-evaluated"}
    return {row(each) for each in results if each["tags"]["rule"].startswith("policy/")}, skipped


def updated(case: dict[str, Any]) -> tuple[set[tuple[Any, ...]], set[str]]:
    """What the policies say of an object that replaces another one, and those that are not evaluated."""
    WORK.begin(0)
    policies = Policies([case["object"], *objects(case)])
    found = list(policies.failures(case["object"], case["object"], "written", operation="UPDATE", old_object=case["oldObject"]))
    skipped = [each for each in (*policies.skipped(), *found) if isinstance(each, Skipped) and not each.refused]
    rows = {
        (each.policy["metadata"]["name"], each.binding, each.param, each.index, each.severity, each.message)
        for each in found
        if isinstance(each, Failure)
    }
    return rows, {each.policy["metadata"]["name"] for each in skipped}


def row(result: dict[str, Any]) -> tuple[Any, ...]:
    tags = result["tags"]
    index = int(tags.get("validation", -1))
    return tags["rule"][7:], tags.get("binding", ""), tags.get("param", ""), index, result["severity"], result["message"]


def wanted(failure: dict[str, Any]) -> tuple[Any, ...]:
    actions = ["Deny"] if failure["kind"] == "auditAnnotationError" else failure.get("actions") or ["Deny"]
    level = next(LEVELS[action] for action in LEVELS if action in actions)
    message = failure["message"] if failure["kind"] == "denied" else None
    return failure["policy"], failure.get("binding") or "", failure.get("param") or "", failure.get("index", -1), level, message


def test_no_answer_differs_and_most_cases_are_evaluated(states: dict[str, Counter[str]], pytestconfig: pytest.Config) -> None:
    """Two laws in one test: each worker would evaluate all cases for a test of its own."""
    assert {group: each["differs"] for group, each in states.items() if each["differs"]} == {}
    if pytestconfig.getoption("quick"):
        return  # a share of a sample says little
    total = Counter({name: sum(each[name] for each in states.values()) for name in ("agrees", "not evaluated")})
    shares = {group: states[group]["agrees"] / states[group].total() for group in LEAST}
    assert {group: share for group, share in shares.items() if share < LEAST[group]} == {}
    assert total["agrees"] / total.total() > LEAST_OF_ALL
