"""Findings as KRM results, as lines, and as an exit code."""

import pytest

from krm_fn.base.objects import Ref, place_of
from krm_fn.findings import results
from krm_fn.findings.finding import Finding

REF = Ref(api_version="kubevirt.io/v1", kind="VirtualMachine", name="db", namespace="team-a")
FINDING = Finding(
    rule="unresolved-instancetype",
    severity="error",
    message="no such thing",
    ref=REF,
    path=("spec", "instancetype", "name"),
    current="smal",
    proposed="small",
    upstream="expand",
    item=3,
    file="vm.yaml",
    index=1,
)


def test_a_result_has_all_that_the_finding_knows():
    assert results.to_krm(FINDING) == {
        "message": "no such thing",
        "severity": "error",
        "resourceRef": {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "db", "namespace": "team-a"},
        "field": {"path": "spec.instancetype.name", "currentValue": "smal", "proposedValue": "small"},
        "file": {"path": "vm.yaml", "index": 1},
        "tags": {
            "rule": "unresolved-instancetype",
            "doc": "docs/rules/unresolved-instancetype.md",
            "upstream": "expand",
        },
    }


def test_a_finding_about_no_object_has_neither_resource_nor_field():
    bare = Finding(rule="null-item", severity="warning", message="item 1 is null", path=("a",))
    assert results.to_krm(bare) == {
        "message": "item 1 is null",
        "severity": "warning",
        "tags": {"rule": "null-item", "doc": "docs/rules/null-item.md"},
    }


def test_a_line_names_severity_file_object_place_and_message():
    assert results.line(FINDING) == "error: vm.yaml: VirtualMachine team-a/db: spec.instancetype.name: no such thing"


def test_a_message_stays_one_line():
    assert results.line(Finding(rule="r", severity="info", message="a\nb")) == "info: a b"


def test_secrets_are_hidden_whether_they_are_the_value_or_inside_it():
    volume = {"name": "c", "cloudInitNoCloud": {"userData": "password: x", "networkData": "y"}}
    whole = results.to_krm(FINDING.but(current=volume, path=("spec", "volumes", 0)))["field"]["currentValue"]
    assert whole == {"name": "c", "cloudInitNoCloud": {"userData": "(hidden)", "networkData": "(hidden)"}}
    leaf = results.to_krm(FINDING.but(current="secret", path=("spec", "volumes", 0, "cloudInitNoCloud", "userData")))
    assert leaf["field"]["currentValue"] == "(hidden)"


def test_errors_come_first_then_files_indexes_and_paths_and_none_comes_twice():
    other = FINDING.but(severity="warning", file="a.yaml")
    first, second = FINDING.but(index=0), FINDING.but(path=("spec", "preference", "name"))
    assert results.ordered([other, second, FINDING, first, FINDING]) == (first, FINDING, second, other)


@pytest.mark.parametrize(
    ("severities", "fail_on", "code"),
    [
        (["warning"], "error", 0),
        (["warning", "error"], "error", 1),
        (["warning"], "warning", 1),
        (["info"], "warning", 0),
        (["error"], "never", 0),
        ([], "error", 0),
    ],
)
def test_the_exit_code_follows_fail_on(severities, fail_on, code):
    assert results.exit_code([FINDING.but(severity=severity) for severity in severities], fail_on) == code


@pytest.mark.parametrize(
    ("annotations", "place"),
    [
        ({"internal.config.kubernetes.io/path": "a.yaml", "internal.config.kubernetes.io/index": "2"}, ("a.yaml", 2)),
        ({"config.kubernetes.io/path": "a.yaml", "config.kubernetes.io/index": 2}, ("a.yaml", 2)),
        ({"config.kubernetes.io/path": "a.yaml", "config.kubernetes.io/index": "x"}, ("a.yaml", 0)),
        ({"config.kubernetes.io/origin": "path: ../base/vm.yaml\nrepo: x\n"}, ("../base/vm.yaml", 0)),
        ({"config.kubernetes.io/index": "2"}, ("", 0)),
    ],
)
def test_the_place_of_an_item_comes_from_the_hosts_annotations(annotations, place):
    assert place_of({"metadata": {"annotations": annotations}}) == place


def test_earlier_results_stay_first_and_ours_are_not_repeated():
    earlier = [{"message": "from another function"}, results.to_krm(FINDING)]
    assert results.merge(earlier, [FINDING]) == [{"message": "from another function"}, results.to_krm(FINDING)]


def test_results_of_any_shape_are_taken():
    assert results.merge("text", []) == []
    assert place_of(None) == ("", 0)


def test_a_line_commands_no_terminal():
    named = FINDING.but(message="no \x1b[2J such\nthing\u2028", ref=Ref(api_version="v1", kind="Pod", name="a\x07b"))
    assert results.line(named) == r"error: vm.yaml: Pod a\x07b: spec.instancetype.name: no \x1b[2J such thing"


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ("a b/ü: x.yaml", "a b/ü: x.yaml"),
        ("a\nb\x1b[31m.yaml", r'"a\nb\x1b[31m.yaml"'),
        ('"a".yaml', r'"\"a\".yaml"'),
        ("a\\n\u202e.yaml", r'"a\\n\u202e.yaml"'),
        ("a\udcff\x85\U000e0001.yaml", r'"a\xff\u0085\U000e0001.yaml"'),
        ("::error ::x.yaml", r'":\x3aerror :\x3ax.yaml"'),
        ("##[group]x.yaml", r'"#\x23[group]x.yaml"'),
    ],
)
def test_a_file_is_named_as_it_is_or_quoted_with_escapes(file, shown):
    assert results.place(FINDING.but(file=file)) == shown
