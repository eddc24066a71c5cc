"""Admission against what KubeVirt's own webhooks answered, through the whole function in mode validate."""

from __future__ import annotations

import measured
import pytest
from functions import run

FILES = measured.files("admission", "matrix", "objects", "fuzz")
PRESETS = "VirtualMachineInstancePresets is now deprecated"
WARNED = {"kind", "spec.running", "spec.launchSecurity", "spec.cpu.preferredCPUTopology"}


@pytest.mark.parametrize("name", FILES)
def test_every_case_is_judged_as_kubevirt_does(name, cases):
    given = list(cases(name))
    assert [difference for case in given for difference in _differences(case)] == []
    assert given


def _differences(case):
    release, answers = case["kubevirt"].removeprefix("v"), case["expect"]
    items = [item for item in case["items"] if item["kind"] != "KubeVirt"]
    _, results = run(*items, mode="validate", kubevirtVersion=release, configuration=case.get("config", {}))
    for name, answer in answers.items():
        verdict = answer.get("admission")
        if verdict is None:
            continue
        named = _paths(results, name)
        missing = {cause["field"] for cause in verdict["causes"] if cause["field"]} - named
        if bool(named) is verdict["allowed"] or missing:
            yield case["id"], name, verdict, named
        if verdict["allowed"] and name.count("/") == 2 and len(verdict.get("warnings", ())) != len(_warnings(results, name)):
            yield case["id"], name, verdict["warnings"], _warnings(results, name)
        if _warns_of_presets(verdict) and not _presets_warned_of(results, name.split("/")[-2]):
            yield case["id"], name, verdict["warnings"], "nothing is said of the presets"


def _warns_of_presets(verdict):
    return any(PRESETS in warning for warning in verdict.get("warnings", ()))


def _presets_warned_of(results, namespace):
    """The presets of the namespace that are told of; KubeVirt warns of them on the VM, which can do nothing about it."""
    return [
        result["resourceRef"]["name"]
        for result in results
        if result["tags"]["rule"] == "deprecated-field"
        and result["resourceRef"]["kind"] == "VirtualMachineInstancePreset"
        and result["resourceRef"].get("namespace", "default") == namespace
    ]


@pytest.mark.parametrize(("name", "count"), [("fuzz-v1.7.4", 23), ("fuzz-v1.8.4", 17), ("fuzz-v1.9.0", 75)])
def test_the_warnings_of_presets_are_among_the_cases(name, count):
    answers = [answer for case in measured.cases(name) for answer in case["expect"].values()]
    assert sum(_warns_of_presets(answer.get("admission", {})) for answer in answers) == count


def _about(results, name):
    kind, namespace, name = name.split("/") if name.count("/") == 2 else ("VirtualMachine", *name.split("/"))
    for result in results:
        ref = result.get("resourceRef", {})
        if (ref.get("kind"), ref.get("name")) == (kind, name) and ref.get("namespace", "default") in (namespace, ""):
            yield result


def _paths(results, name):
    """Upstream's paths of what admission refuses; "" stands for a refusal without a path."""
    return {
        result["tags"].get("upstreamPath") or result.get("field", {}).get("path", "")
        for result in _about(results, name)
        if result["severity"] == "error" and result["tags"].get("upstream") == "admission"
    }


def _warnings(results, name):
    """What KubeVirt's webhooks warn about; a preset is deprecated as a kind, of which they warn where it is used."""
    return [
        result["field"]["path"]
        for result in _about(results, name)
        if result["tags"]["rule"] == "deprecated-field"
        and result["severity"] == "warning"
        and result["field"]["path"] in WARNED - {"kind"}
    ]
