"""Every distinct cause in KubeVirt's answers has a row or a rule here that names its place in KubeVirt's source."""

from __future__ import annotations

import re

import pytest
from functions import resource_list
from measured import files

from krm_fn import config
from krm_fn.base.bundle import Bundle
from krm_fn.base.objects import ref_of
from krm_fn.base.paths import dotted
from krm_fn.kubevirt.schema import examine
from krm_fn.pipeline import refusals
from krm_fn.pipeline.facts import gather
from krm_fn.rules import registry
from krm_fn.rules.registry import all_rules

PLACE = re.compile(r"(pkg|staging|vendor)/[\w./-]+(:[\w.]+)?")


def kind_of_cause(cause):
    """A cause without what differs from case to case: indexes, names, numbers."""
    field = re.sub(r"\[\d+\]", "[]", cause["field"])
    return re.sub(r"\w+\.k1|\.[a-z]+-[a-z]+$", "", field), re.sub(
        r"'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\d+\w*|\S*[./]\S*", "…", cause["message"]
    )


def places(case):
    """{object: {upstream's path: places in upstream's source}} of all that is refused in a case."""
    spec = {"kubevirtVersion": case["kubevirt"].removeprefix("v"), "configuration": case.get("config", {}), "mode": "validate"}
    settings = config.read(resource_list(**spec)["functionConfig"])
    facts = gather(Bundle([item for item in case["items"] if item["kind"] != "KubeVirt"]), settings)
    found = {}
    for refused in refusals.examine(facts):
        for cause in refused.causes:
            add(found, refused.entry, cause.upstream_path or dotted(cause.path), cause.upstream)
    for flawed in examine(facts.bundle, facts.release, complete=True):
        for finding in registry.judge("schema", flawed, {}):
            add(found, flawed.entry, finding.upstream_path or dotted(finding.path), all_rules()[finding.rule].upstream)
    for vm in facts.vms:
        for finding in registry.judge("vm", vm, {}):
            add(found, vm.entry, finding.upstream_path or dotted(finding.path), all_rules()[finding.rule].upstream)
    return found


def add(found, entry, path, place):
    ref = ref_of(entry.obj)
    for key in (f"{ref.namespace or 'default'}/{ref.name}", f"{ref.kind}/{ref.namespace or 'default'}/{ref.name}"):
        found.setdefault(key, {}).setdefault(path, set()).add(place)


@pytest.mark.parametrize("name", files("admission", "objects"))
def test_no_cause_is_without_its_place_upstream(name, cases, record_property):
    kinds, without = set(), {}
    for case in cases(name):
        here = None
        for obj, answer in case["expect"].items():
            for cause in answer.get("admission", {}).get("causes", ()):
                if not cause["field"]:
                    continue  # a cause without a path has nothing to be matched by
                here = places(case) if here is None else here
                kinds.add(kind_of_cause(cause))
                if not any(PLACE.fullmatch(place or "") for place in here.get(obj, {}).get(cause["field"], ())):
                    without.setdefault(kind_of_cause(cause), case["id"])
    record_property("figure", f"{name}: {len(kinds)} distinct causes, {len(without)} without a place")
    assert without == {}
    assert kinds
