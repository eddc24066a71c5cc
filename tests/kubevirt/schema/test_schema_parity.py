"""Objects that KubeVirt itself wrote have no unknown field, and none that it admitted is refused here."""

from __future__ import annotations

from typing import Any

import measured
import pytest

from krm_fn.base.objects import kind_of, name_of, namespace_of
from krm_fn.kubevirt import releases
from krm_fn.kubevirt.schema.checking import check
from krm_fn.kubevirt.schema.flaws import ELSEWHERE, TYPE, UNKNOWN, UNQUOTED

STRANGE = (UNKNOWN, ELSEWHERE, TYPE, UNQUOTED)
ADMISSION = measured.files("admission", "objects")
FILES = {**dict.fromkeys(ADMISSION, 1), **dict.fromkeys(measured.files("fuzz"), 5)}  # of the others, every fifth case is read


def answer(case: dict[str, Any], obj: dict[str, Any]) -> dict[str, Any]:
    """The answer of KubeVirt's admission for an object, {} if there is none."""
    name = f"{namespace_of(obj) or 'default'}/{name_of(obj)}"
    key = name if kind_of(obj) == "VirtualMachine" else f"{kind_of(obj)}/{name}"
    found: dict[str, Any] = case["expect"].get(key, {}).get("admission") or {}
    return found


@pytest.mark.parametrize("file", FILES)
def test_what_kubevirt_wrote_has_no_strange_field_and_what_it_admitted_is_not_refused(file: str, cases: measured.Cases) -> None:
    strange, refused = [], []
    for case in cases(file, every=FILES[file]):
        release = releases.parse(case["kubevirt"])
        for obj in case["items"]:
            for flaw in check(obj, release):
                strange += [(case["id"], flaw)] if flaw.kind in STRANGE else []
                refused += [(case["id"], flaw)] if flaw.upstream and answer(case, obj).get("allowed") else []
    assert (strange, refused) == ([], [])


@pytest.mark.parametrize("file", ADMISSION)
def test_what_kubevirts_schema_or_decoder_refused_is_refused(file: str) -> None:
    count, missed = 0, []
    for case in measured.cases(file):  # all: only few were refused so
        release = releases.parse(case["kubevirt"])
        for obj in case["items"]:
            found = answer(case, obj)
            causes = found.get("causes") or [{"message": found.get("message", "")}]
            if any(" in body " in cause["message"] or "cannot unmarshal" in cause["message"] for cause in causes):
                count += 1
                missed += [] if any(flaw.upstream for flaw in check(obj, release)) else [(case["id"], causes)]
    assert missed == []
    assert count > 0
