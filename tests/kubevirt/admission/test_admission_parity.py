"""Admission compared with the answers of KubeVirt's own webhooks, through the complete function in mode validate."""

from __future__ import annotations

import re
from collections import Counter

import measured
import pytest
from functions import run

FILES = measured.files("admission", "matrix", "objects", "fuzz", "hand")
CRASHING = measured.files("fuzz", "hand")
APPLIED = "virtualmachinepreset.kubevirt.io/"  # annotates an instance with each preset that was applied to it
# Each warning of KubeVirt's webhooks about the object itself: the place that it means, and its text. Groups of the text are the
# value at the place and what replaces it.
WARNINGS = (
    ("spec.running", r"spec\.running is deprecated, please use spec\.runStrategy instead\."),
    ("spec.launchSecurity", r"launchSecurity is deprecated and will be removed in a future release\. Use preference instead\."),
    (
        "spec.cpu.preferredCPUTopology",
        r"PreferredCPUTopology (\w+) is deprecated for removal in a future release, please use (\w+) instead",
    ),
)
# The warning about the presets that were applied to a VM's instance; the VM itself can do nothing about it.
OF_PRESETS = "kubevirt.io/v1 VirtualMachineInstancePresets is now deprecated and will be removed in v2."


@pytest.mark.parametrize("name", FILES)
def test_every_case_is_judged_as_kubevirt_does(name, cases, pytestconfig):
    """Also, that a preference crashes the webhook is said only where it did: that law needs the same runs."""
    given = [(case, _results(case)) for case in cases(name)]
    assert [difference for case, results in given for difference in _differences(case, results)] == []
    crashing = [(case, vm) for case, results in given for vm in _crashing(results)]
    assert [(case["id"], vm) for case, vm in crashing if not case["expect"].get(vm, {}).get("upstreamCrashes")] == []
    assert given
    assert crashing or name not in CRASHING or pytestconfig.getoption("quick")  # a sample may have none


def _results(case):
    release = case["kubevirt"].removeprefix("v")
    return run(*case["items"], mode="validate", kubevirtVersion=release, configuration=case.get("config", {}))[1]


def _crashing(results):
    """The VMs whose preference is said to crash the webhook."""
    found = [each["resourceRef"] for each in results if each["tags"]["rule"] == "crashing-preference"]
    return [f"{ref.get('namespace', 'default')}/{ref['name']}" for ref in found if ref["kind"] == "VirtualMachine"]


def _differences(case, results):
    for name, answer in case["expect"].items():
        verdict = answer.get("admission")
        if verdict is None:
            continue
        named = _paths(results, name)
        missing = {cause["field"] for cause in verdict["causes"] if cause["field"]} - named
        if bool(named) is verdict["allowed"] or missing:
            yield case["id"], name, verdict, named
        warnings = verdict.get("warnings", ())
        wanted, told = _meant(warnings), _warnings(results, name)
        if verdict["allowed"] and wanted != told:
            yield case["id"], name, wanted, told
        applied = _applied(answer) if OF_PRESETS in warnings else set()
        if not applied <= _presets_warned_of(results, name.split("/")[-2]) or bool(applied) != (OF_PRESETS in warnings):
            yield case["id"], name, warnings, "something else is said of the presets"


def _meant(warnings):
    """(place, value, replacement) of each warning about the object itself; an unknown text stands for its place."""
    return sorted(_read(warning) for warning in warnings if warning != OF_PRESETS)


def _read(warning):
    for place, text in WARNINGS:
        found = re.fullmatch(text, warning)
        if found:
            return (place, *(found.groups() or ("", "")))
    return warning, "", ""


def _applied(answer):
    """The presets that were applied to the instance of a VM."""
    annotations = answer["instance"]["annotations"]
    return {key.removeprefix(APPLIED) for key in annotations if key.startswith(APPLIED)}


def _presets_warned_of(results, namespace):
    """The presets of the namespace that are reported as deprecated kinds."""
    return {
        result["resourceRef"]["name"]
        for result in results
        if result["tags"]["rule"] == "deprecated-field"
        and (result["severity"], result["field"]["path"]) == ("warning", "kind")
        and result["resourceRef"]["kind"] == "VirtualMachineInstancePreset"
        and result["resourceRef"].get("namespace", "default") == namespace
    }


@pytest.mark.parametrize(("name", "count"), [("fuzz-v1.7.4", 23), ("fuzz-v1.8.4", 17), ("fuzz-v1.9.0", 75)])
def test_the_warnings_of_presets_are_among_the_cases(name, count):
    answers = [answer for case in measured.cases(name) for answer in case["expect"].values()]
    assert sum(OF_PRESETS in answer.get("admission", {}).get("warnings", ()) for answer in answers) == count


def test_the_warnings_about_fields_are_among_the_cases():
    answers = [answer for case in measured.cases("objects-v1.9.0") for answer in case["expect"].values()]
    meant = Counter(place for answer in answers for place, *_ in _meant(answer.get("admission", {}).get("warnings", ())))
    assert meant == {"spec.launchSecurity": 115, "spec.cpu.preferredCPUTopology": 157}


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
    """(place, value, replacement) of each warning about a deprecated field of the object; "" for values that are no text.

    That presets are deprecated as a kind is compared by `_presets_warned_of`: KubeVirt says so where one is applied.
    """
    fields = [
        result["field"]
        for result in _about(results, name)
        if (result["tags"]["rule"], result["severity"]) == ("deprecated-field", "warning") and result["field"]["path"] != "kind"
    ]
    return sorted((field["path"], _text(field.get("currentValue")), _text(field.get("proposedValue"))) for field in fields)


def _text(value):
    return value if isinstance(value, str) else ""
