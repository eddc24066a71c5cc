"""Objects that KubeVirt itself wrote have no unknown field, and none that it admitted is refused here."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from krm_fn import releases
from krm_fn.resource import kind_of, name_of, namespace_of
from krm_fn.schema.checking import check
from krm_fn.schema.flaws import ELSEWHERE, TYPE, UNKNOWN, UNQUOTED

if TYPE_CHECKING:
    from collections.abc import Iterator

CASES = Path(__file__).resolve().parents[1].parent / "shared" / "parity"
pytestmark = pytest.mark.skipif(not CASES.is_dir(), reason="the parity cases are not beside this checkout")
STRANGE = (UNKNOWN, ELSEWHERE, TYPE, UNQUOTED)

# How many cases of each file are read: all of those about admission, a part of the others.
FILES = {
    "admission-v1.9.0": 4000,
    "objects-v1.9.0": 2500,
    "fuzz-v1.9.0": 400,
    "fuzz-v1.8.4": 200,
    "fuzz-v1.7.4": 200,
    "fuzz-v1.6.6": 200,
    "fuzz-v1.5.3": 200,
    "fuzz-v1.4.1": 200,
}


def cases(file: str) -> Iterator[dict[str, Any]]:
    with gzip.open(CASES / f"{file}.jsonl.gz", "rt") as lines:
        for _, line in zip(range(FILES[file]), lines, strict=False):
            yield json.loads(line)


def answer(case: dict[str, Any], obj: dict[str, Any]) -> dict[str, Any]:
    """What KubeVirt's admission said of an object, {} where it was not asked."""
    name = f"{namespace_of(obj) or 'default'}/{name_of(obj)}"
    key = name if kind_of(obj) == "VirtualMachine" else f"{kind_of(obj)}/{name}"
    found: dict[str, Any] = case["expect"].get(key, {}).get("admission") or {}
    return found


@pytest.mark.parametrize("file", FILES)
def test_what_kubevirt_wrote_has_no_strange_field_and_what_it_admitted_is_not_refused(file: str) -> None:
    strange, refused = [], []
    for case in cases(file):
        release = releases.parse(case["kubevirt"])
        for obj in case["items"]:
            for flaw in check(obj, release):
                strange += [(case["id"], flaw)] if flaw.kind in STRANGE else []
                refused += [(case["id"], flaw)] if flaw.upstream and answer(case, obj).get("allowed") else []
    assert (strange, refused) == ([], [])


@pytest.mark.parametrize("file", ["admission-v1.9.0", "objects-v1.9.0"])
def test_what_kubevirts_schema_or_decoder_refused_is_refused(file: str) -> None:
    count, missed = 0, []
    for case in cases(file):
        release = releases.parse(case["kubevirt"])
        for obj in case["items"]:
            found = answer(case, obj)
            causes = found.get("causes") or [{"message": found.get("message", "")}]
            if any(" in body " in cause["message"] or "cannot unmarshal" in cause["message"] for cause in causes):
                count += 1
                missed += [] if any(flaw.upstream for flaw in check(obj, release)) else [(case["id"], causes)]
    assert missed == []
    assert count > 0
