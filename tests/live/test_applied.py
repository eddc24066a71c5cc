"""What applying a manifest makes of a live object: every answer that a real API server gave."""

from __future__ import annotations

import json
import re
from typing import Any

import measured
import pytest

from krm_fn.live import ApplyConflictError, ApplyRefusedError, applied
from krm_fn.live.owners import owners_of, text_of

Answer = dict[str, Any]

LAST = "kubectl.kubernetes.io/last-applied-configuration"

# Whose managed fields differ though the objects agree.
OTHER_OWNERS = {
    "da5",  # a replace by an older API version drops the entry of the status
    "da284",  # the second apply of kubectl's migration is refused, and its entry keeps what it took over
    "da434",  # a `null` that the schema does not allow is stored, and owned by nobody
    "da480",  # the manifest brings managed fields, and the server starts with those
}


def asked(case: Answer, ask: Answer) -> Answer:
    options = {key: ask[key] for key in ("manner", "manager", "force", "migrate") if key in ask}
    try:
        return {"object": applied(case["live"], case["manifest"], **options)}
    except ApplyConflictError as error:
        return {"conflicts": error.conflicts}
    except ApplyRefusedError as error:
        return {"refused": [cause["field"] for cause in error.causes]}


def judged(obj: Answer) -> Answer:
    meta = obj["metadata"]
    found = {key: meta.get(key) for key in ("labels", "finalizers", "ownerReferences")}
    found["annotations"] = {key: value for key, value in meta.get("annotations", {}).items() if key != LAST}
    return {"spec": obj.get("spec"), **{key: value for key, value in found.items() if value}}


def typed(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def is_near(field: str, causes: list[str]) -> bool:
    """True if the field is among the causes, with a step more or less."""
    plain = [re.sub(r"\[[^\]]*\]", "", each).lstrip(".") for each in (field, *causes)]
    return any(plain[0] in (each, each.rpartition(".")[0]) or plain[0].rpartition(".")[0] == each for each in plain[1:])


def agrees(ask: Answer, answer: Answer) -> bool:
    if "conflicts" in ask:
        given = sorted((each["manager"], each["field"]) for each in answer.get("conflicts", ()))
        return given == sorted((each["manager"], each["field"]) for each in ask["conflicts"])
    if "refused" in ask:
        return "refused" in answer and all(is_near(field, answer["refused"]) for field in ask["refused"]["causes"])
    return "object" in answer and typed(judged(answer["object"])) == typed({**ask["result"], "spec": ask["result"].get("spec")})


def owned(obj: Answer | None) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for owner in owners_of(obj or {}):
        key = f"{owner.manager} {owner.operation}" + (f" /{owner.subresource}" if owner.subresource else "")
        found.setdefault(key, set()).update(map(text_of, owner.fields))
    return found


def moved(before: Answer | None, after: Answer) -> Answer:
    old, new, found = owned(before), owned(after), {}
    for key in {*old, *new}:
        gained, lost = new.get(key, set()) - old.get(key, set()), old.get(key, set()) - new.get(key, set())
        if gained or lost:
            gone: Any = sorted(lost) if key in new else "all"
            found[key] = {**({"+": sorted(gained)} if gained else {}), **({"-": gone} if lost else {})}
    return found


@pytest.mark.parametrize("name", measured.files("applied"))
def test_objects_conflicts_and_refusals_are_those_of_the_api_server(name: str, cases: measured.Cases) -> None:
    answers = [(case["id"], ask["manner"], agrees(ask, asked(case, ask))) for case in cases(name) for ask in case["asks"]]
    assert [answer[:2] for answer in answers if not answer[2]] == []
    assert answers


@pytest.mark.parametrize("name", measured.files("applied"))
def test_owners_are_those_of_the_api_server(name: str, cases: measured.Cases) -> None:
    other, count = set(), 0
    for case in cases(name):
        for ask in (each for each in case["asks"] if "owners" in each):
            count += 1
            found = moved(case["live"], asked(case, ask)["object"])
            if typed(found) != typed(ask["owners"]):
                other.add(case["id"])
    assert other <= OTHER_OWNERS
    assert count
