"""Findings that several targets share are reported once, in every format with their targets."""

import json
from xml.etree import ElementTree as ET

import pytest

from krm_fn import yamlio
from krm_fn.base.objects import Ref
from krm_fn.cli.formats import FORMATS, CheckReport, written
from krm_fn.findings.finding import Finding, Suppressed
from krm_fn.findings.fingerprints import merged, merged_suppressed

FOUND = Finding(
    rule="missing-object",
    severity="error",
    message="it is missing; add it",
    ref=Ref(api_version="kubevirt.io/v1", kind="VirtualMachine", name="web", namespace="shop"),
    path=("spec", "running"),
    file="base/web.yaml",
    line=3,
    column=5,
)


def of_target(findings, target):
    return [finding.but(targets=(target,)) for finding in findings]


def test_the_same_finding_of_several_targets_is_reported_once():
    per_target = [of_target([FOUND, FOUND.but(line=9, item=number)], name) for number, name in enumerate("cab")]
    assert merged([each for found in per_target for each in found]) == [
        FOUND.but(targets=("a", "b", "c")),
        FOUND.but(line=9, item=0, targets=("a", "b", "c")),
    ]


@pytest.mark.parametrize(
    "other",
    [
        {"rule": "other"},
        {"severity": "warning"},
        {"message": "else"},
        {"file": "other.yaml"},
        {"line": 4},
        {"column": 6},
        {"path": ("spec",)},
        {"ref": FOUND.ref.but(name="db")},
        {"ref": FOUND.ref.but(kind="VirtualMachineInstance")},
    ],
)
def test_findings_that_differ_stay_two(other):
    both = [*of_target([FOUND], "b"), *of_target([FOUND.but(**other)], "a")]
    assert merged(both) == both


def test_a_finding_of_a_base_is_the_same_in_the_namespaces_of_all_overlays():
    other = FOUND.but(ref=FOUND.ref.but(namespace="lab"))
    assert merged([*of_target([FOUND], "a"), *of_target([other], "b")]) == [FOUND.but(targets=("a", "b"))]
    assert len(merged([*of_target([FOUND.but(line=0)], "a"), *of_target([other.but(line=0)], "b")])) == 2


def test_a_target_that_has_a_finding_twice_is_named_once():
    assert merged(of_target([FOUND, FOUND], "a")) == of_target([FOUND], "a")


def test_without_targets_nothing_is_added():
    assert merged([FOUND]) == [FOUND]


def test_suppressed_findings_are_merged_by_what_silences_them():
    def of(target, reason):
        return Suppressed(finding=FOUND.but(targets=(target,)), by="ignore", reason=reason)

    found = merged_suppressed([of("b", "x"), of("a", "x"), of("a", "y")])
    assert [(each.reason, each.finding.targets) for each in found] == [("x", ("a", "b")), ("y", ("a",))]


# ---- the formats


def report(*targets, **more):
    return CheckReport(findings=(FOUND.but(targets=targets, fingerprint="0f"),), files=("base/web.yaml",), **more)


@pytest.mark.parametrize("name", FORMATS)
def test_no_format_speaks_of_targets_where_there_is_one(name):
    text = written(name, report())
    assert "[target" not in text
    assert '"targets"' not in text
    assert "targets:" not in text


@pytest.mark.parametrize(
    ("targets", "end"),
    [
        (("a",), "add it [target a] (missing-object)"),
        (("a", "b"), "add it [targets a and b] (missing-object)"),
        (tuple("abcde"), "add it [targets a, b, c and 2 more] (missing-object)"),
    ],
)
def test_text_names_the_first_targets_at_the_end(targets, end):
    assert written("text", report(*targets)).rstrip("\n").endswith(end)


def test_github_gitlab_and_markdown_name_them_in_the_text():
    assert written("github", report("a", "b")).endswith("add it [targets a and b]\n")
    assert json.loads(written("gitlab", report("a", "b")))[0]["description"].endswith("add it [targets a and b]")
    assert "add it (targets a and b; " in written("markdown", report("a", "b")).replace("`", "")


def test_machines_get_all_of_them_as_a_list():
    found = report(*"abcde")
    assert json.loads(written("json", found))["results"][0]["targets"] == list("abcde")
    assert json.loads(written("sarif", found))["runs"][0]["results"][0]["properties"]["targets"] == list("abcde")
    diagnosis = written("tap", found).partition("---\n")[2].partition("  ...")[0]
    assert yamlio.read_value(diagnosis)["targets"] == list("abcde")


def test_junit_has_them_in_the_text_of_the_failure():
    (failure,) = ET.fromstring(written("junit", report("a", "b"))).iter("failure")
    assert failure.text.endswith("add it [targets a and b]")
