"""What expressions cost, in the units of the API server: each validation of the measured cases costs exactly as much."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from krm_fn.policies import judging
from krm_fn.policies.admission import Policies, Skipped

FILE = Path(__file__).resolve().parents[2] / "fixtures" / "policies" / "policies.jsonl.gz"


def measured(case: dict[str, Any]) -> int:
    """The cost of all validations with one parameter; 0 if there were several, or none, or it varied."""
    (found,) = case["expect"]["policies"].values()
    results = [each for binding in (found.get("bindings") or {}).values() for each in binding.get("results") or ()]
    return max(results[0]["cost"], 0) if len(results) == 1 else 0


def cases() -> list[dict[str, Any]]:
    with gzip.open(FILE, "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    return [each for each in found if len(each["policies"]) == 1 and each["tags"][0] != "cost" and measured(each)]


def spent(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> int | None:
    """The cost of the validations here; None for a policy that is not evaluated."""
    costs: list[int] = []
    spend = judging.spend

    def noted(steps: Any, place: str, names: Any, variables: Any, budget: int) -> Any:
        found = spend(steps, place, names, variables, budget)
        costs.extend([budget - found.left] if variables is not None else [])
        return found

    kinds = ("policies", "bindings", "params", "namespaces")
    policies = Policies([case["object"], *(each for kind in kinds for each in case.get(kind) or ())])
    with monkeypatch.context() as patched:
        patched.setattr(judging, "spend", noted)
        of = {"operation": case["operation"], "old_object": case["oldObject"]}
        found = list(policies.failures(case["object"], case["object"], "written", **of))
    return None if any(isinstance(each, Skipped) for each in found) or not costs else costs[0]


def test_validations_cost_what_they_cost_on_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = {each["id"]: (spent(each, monkeypatch), measured(each)) for each in cases()}
    known = {name: pair for name, pair in costs.items() if pair[0] is not None}
    assert {name: pair for name, pair in known.items() if pair[0] != pair[1]} == {}
    assert len(known) > 1_000
