"""The answers of a real API server to single objects, compared with the findings here.

The answers are in fixtures/parity, whose README says how they were measured. No webhook of KubeVirt ran.
"""

from __future__ import annotations

import re
from typing import Any

import measured
import pytest
from functions import resource_list

from krm_fn import process
from krm_fn.base.paths import steps

FILES = ("schema-v1.9.0", "schema-v1.6.6")
# The rules that say what the API server refuses. Other rules speak of objects that it takes.
FAMILY = frozenset(
    (
        "bad-matcher",
        "field-of-another-release",
        "invalid-label",
        "invalid-metadata",
        "invalid-name",
        "missing-field",
        "missing-template",
        "unknown-field",
        "unknown-kind",
        "unserved-api-version",
        "value-not-allowed",
        "value-out-of-range",
        "wrong-type",
    )
)
NEAR = 2  # steps between the place that the server names and the place that is named here
# Where the server answers only that it can't decode the metadata, it names a Go field; paths of owners lack the index.
GO_FIELD = re.compile(r"Go struct field \w+\.([\w.]+)")
TEMPLATE = ("spec", "virtualMachineTemplate")

# Here KubeVirt's webhooks decide otherwise than the definitions alone: the mutating one rewrites a VM or an instance before
# the API server checks it against the definition. It reads these numbers and texts as quantities, and leaves out an empty text.
QUANTITIES = ("s1-01350", "s1-01484", "s1-04601", "s2-00751", "s3-00888", "s11-00050", "s11-00055", "s11-00844", "s11-00857")
POINTS = ("s1-04625", "s2-00730", "s11-01255", "s11-01263")  # "." is zero to Go
REWRITTEN = frozenset((*QUANTITIES, *POINTS, "s3-00014"))
# The server names a place below a key that is spelled like one of something secret (`somekey`, `httpHeaders`). Here the path
# ends with that key.
HIDDEN = frozenset(("s1-01365", "s2-02016", "s2-04194", "s2-04196", "s2-04199", "s3-04111", "s11-03754"))


def errors(case: dict[str, Any]) -> list[tuple[str, str, tuple[Any, ...]]]:
    """Rule, upstream and path of each error; what only never starts is let in."""
    config = {"mode": "validate", "kubevirtVersion": case["kubevirt"], "failOn": "never"}
    results = process(resource_list(case["object"], **config))["results"]
    return [
        (each["tags"]["rule"], each["tags"].get("upstream", ""), plain(each.get("field", {}).get("path", "")))
        for each in results
        if each["severity"] == "error" and each["tags"]["rule"] != "never-starts"
    ]


def plain(path: str) -> tuple[Any, ...]:
    """The steps of a path; keys with dots are taken apart, as the server writes them."""
    return tuple(part for step in steps(path) for part in (str(step).split(".") if isinstance(step, str) else [step]))


def near(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """True where one path leads to the other, or a little beyond it."""
    one, other = (tuple(s for s in path if "ownerReferences" not in path or not isinstance(s, int)) for path in (one, other))
    shared = min(len(one), len(other))
    return one[:shared] == other[:shared] and abs(len(one) - len(other)) <= NEAR


def refused_at(cause: dict[str, Any]) -> tuple[Any, ...]:
    field = "" if cause["field"] == "<nil>" else cause["field"]
    decoded = "" if field else "".join(GO_FIELD.findall(cause["message"])[:1])
    return plain(field.removeprefix(".") or decoded)


def agrees(case: dict[str, Any]) -> bool:
    found = errors(case)
    if case["accepted"]:
        # What webhooks would refuse they didn't see, and the VMs of a pool were not made.
        return not any(rule in FAMILY and upstream != "admission" and path[:2] != TEMPLATE for rule, upstream, path in found)
    places = [refused_at(cause) for cause in case["causes"]]
    named = [place for place in places if place and place[0] in case["object"]]
    return bool(found) and (not named or any(near(place, path) for place in named for _, _, path in found))


@pytest.mark.parametrize("file", FILES)
def test_the_api_servers_answer_is_the_one_given_here(file: str, cases: measured.Cases) -> None:
    assert [case["id"] for case in cases(file) if agrees(case) == (case["id"] in REWRITTEN | HIDDEN)] == []


@pytest.mark.parametrize("file", FILES)
def test_nothing_that_the_mutating_webhook_rewrites_is_an_error(file: str, cases: measured.Cases) -> None:
    for case in cases(file):
        if case["id"] in REWRITTEN:
            assert [found for found in errors(case) if found[0] in FAMILY and found[1] != "admission"] == []
