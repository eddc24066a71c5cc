"""The order of a bundle's items changes no finding: not who is blamed, not who is named as an example, no fingerprint."""

from __future__ import annotations

import re
from collections.abc import Iterator
from random import Random
from typing import Any

import measured
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruling import FOLDERS, documents, spec_of
from test_parity import resource_list

from krm_fn import config
from krm_fn.base.errors import InputError
from krm_fn.base.paths import canonical
from krm_fn.findings import fingerprints
from krm_fn.findings.finding import Finding
from krm_fn.kubevirt.releases import NEWEST
from krm_fn.migrate import migrate
from krm_fn.pipeline import stages
from krm_fn.rules.registry import all_rules

FILES = sorted(path for kind in ("bad", "good") for path in FOLDERS.glob(f"*/{kind}/*.yaml"))
PARITY = measured.files("admission", "fuzz", "inference", "matrix", "objects", "revisions")
MODES = ("expand", "annotate", "snapshot", "validate")
SHUFFLES = 4
CASES = 25  # of each parity file


def orders(items: list[Any]) -> Iterator[list[Any]]:
    """The items backwards, and in a few orders more."""
    yield items[::-1]
    for seed in range(SHUFFLES if len(items) > 2 else 0):
        yield Random(seed).sample(items, len(items))


def facts_of(findings: list[Finding]) -> list[str]:
    """What findings say, sorted, without the numbers of the items they speak of."""
    told = []
    for found in fingerprints.printed(findings):
        related = sorted((str(each.ref), str(each.path)) for each in found.related)
        message = re.sub(r"\bitem \d+", "item N", found.message)
        told.append(str((found.rule, found.severity, str(found.ref), found.path, message, related, found.fingerprint)))
    return sorted(told)


def config_of(spec: dict[str, Any]) -> config.Config:
    return config.read({"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "spec": spec})


def found(items: list[Any], spec: dict[str, Any], *, migrating: bool = False) -> list[str]:
    used = config_of(spec)
    return facts_of(list(migrate(items, used.release or NEWEST)[1] if migrating else stages.render(items, used).findings))


def rendered(items: list[Any], spec: dict[str, Any]) -> list[str]:
    """The objects that leave, sorted."""
    return sorted(map(canonical, stages.render(items, config_of(spec)).items))


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parts[-3]}/{path.parts[-2]}/{path.stem}")
def test_the_order_of_the_documents_of_a_fixture_changes_no_finding(path: Any) -> None:
    rule = path.parts[-3]
    try:
        items, _ = documents(path.read_text())
    except InputError:
        return  # of what can't be read only the place is known
    migrating = all_rules()[rule].family == "migration"
    wanted = found(items, spec_of(rule), migrating=migrating)
    for order in orders(items):
        assert found(order, spec_of(rule), migrating=migrating) == wanted


@pytest.mark.parametrize("mode", ["expand", "validate"])
@pytest.mark.parametrize("name", PARITY)
def test_the_order_of_a_measured_bundle_changes_no_finding(name: str, mode: str) -> None:
    for number, case in enumerate(measured.cases(name)):
        if number < CASES:
            spec = {**resource_list(case)["functionConfig"]["spec"], "mode": mode}
            wanted = found(case["items"], spec)
            for order in orders(case["items"]):
                assert found(order, spec) == wanted, case["id"]


def readable(text: str) -> list[Any]:
    try:
        return documents(text)[0]
    except InputError:
        return []


ITEMS = [item for path in FILES for item in readable(path.read_text())]


@pytest.mark.parametrize("mode", MODES)
def test_the_order_of_all_fixtures_together_changes_no_finding(mode: str) -> None:
    wanted = found(ITEMS, {"mode": mode})
    for order in orders(ITEMS):
        assert found(order, {"mode": mode}) == wanted


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(ITEMS), min_size=2, max_size=8), st.sampled_from(MODES), st.integers(0, 2**32))
def test_the_order_of_any_objects_changes_neither_findings_nor_objects(items: list[Any], mode: str, seed: int) -> None:
    order = Random(seed).sample(items, len(items))
    spec = {"mode": mode, "instances": "include", "presets": "fold"}
    assert found(order, spec) == found(items, spec)
    assert rendered(order, spec) == rendered(items, spec)


@pytest.mark.parametrize("metadata", [[{"name": "web"}], "web", 2, None])
@pytest.mark.parametrize("mode", MODES)
def test_objects_whose_metadata_is_no_map_are_ordered_too(metadata: Any, mode: str) -> None:
    items = [
        {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": metadata, "spec": spec} for spec in ({}, None)
    ]
    assert found(items, {"mode": mode}) == found(items[::-1], {"mode": mode})
