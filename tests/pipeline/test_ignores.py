"""The annotation by which an object silences rules about itself, in the core and so in every front end."""

import copy

from functions import instancetype, run, told, vm

from krm_fn import config
from krm_fn.pipeline import stages

IGNORE = "kubevirt-render.dev/ignore"
CONFLICT = ("instancetype-conflict", "error", "web", "spec.template.spec.domain.cpu.cores")


def conflicting(name="web", ignore=None, **metadata):
    machine = vm(name, instancetype="small", **metadata)
    machine["spec"]["template"]["spec"]["domain"]["cpu"] = {"cores": 4}
    if ignore is not None:
        machine["metadata"]["annotations"] = {IGNORE: ignore}
    return machine


def rules(*items, **spec):
    return [(rule, name) for rule, _, name, _ in told(run(*items, **spec)[1])]


def test_an_ignored_rule_does_not_report_the_object():
    assert run(instancetype(), conflicting(ignore="instancetype-conflict: known"))[1] == []


def test_an_ignored_rule_still_reports_other_objects():
    items = instancetype(), conflicting("a", ignore="instancetype-conflict: known"), conflicting("b")
    assert rules(*items) == [("instancetype-conflict", "b")]


def test_objects_in_one_list_are_distinguished():
    items = [conflicting("a", ignore="instancetype-conflict: known"), conflicting("b")]
    listing = {"apiVersion": "v1", "kind": "List", "items": items}
    assert rules(instancetype(), listing) == [("instancetype-conflict", "b")]


def test_the_annotation_and_the_vm_do_not_change():
    machine = conflicting(ignore="instancetype-conflict: known")
    before = copy.deepcopy(machine)
    items, _ = run(instancetype(), machine)
    assert items[1] == before


def test_several_rules_and_several_lines_are_read():
    machine = conflicting(ignore="bad-matcher , instancetype-conflict: known\n\nnull-item: why: not\n")
    assert rules(instancetype(), machine) == []


def test_no_reason_no_silence():
    machine = conflicting(ignore="instancetype-conflict")
    assert rules(instancetype(), machine) == [("instancetype-conflict", "web"), ("bad-ignore", "web")]


def test_a_misspelt_rule_is_reported_and_the_others_are_silenced():
    (result,) = run(instancetype(), conflicting(ignore="instancetype-conflict, instancetype-conflct: known"))[1]
    assert result["message"] == "instancetype-conflct is not a rule; did you mean instancetype-conflict"
    assert result["field"]["path"] == f'metadata.annotations["{IGNORE}"]'


def test_an_unused_ignore_is_reported_only_if_all_rules_run():
    machine = vm(instancetype="small")
    machine["metadata"]["annotations"] = {IGNORE: "unused-instancetype: for later"}
    assert rules(instancetype(), machine) == []
    assert rules(instancetype(), machine, mode="validate") == [("unused-ignore", "web")]


def test_a_rule_that_is_off_leaves_no_unused_ignore():
    machine = vm(instancetype="small")
    machine["metadata"]["annotations"] = {IGNORE: "instancetype-conflict: for later"}
    assert rules(instancetype(), machine, mode="validate", severity={"instancetype-conflict": "off"}) == []


def test_a_rule_that_another_release_has_leaves_no_unused_ignore():
    machine = vm(instancetype="small")
    machine["metadata"]["annotations"] = {IGNORE: "copied-revision: for later"}
    assert rules(instancetype(), machine, mode="validate", kubevirtVersion="1.4") == []
    assert rules(instancetype(), machine, mode="validate", kubevirtVersion="1.5") == [("unused-ignore", "web")]


def test_a_rule_that_does_not_run_leaves_no_unused_ignore():
    machine = vm()
    machine["spec"]["template"]["spec"]["domain"]["memory"] = {"guest": "1Gi"}
    machine["metadata"]["annotations"] = {IGNORE: "unexpanded-vm: it stays as it is"}
    assert rules(machine, mode="validate") == []
    assert rules(machine, mode="validate", severity={"unexpanded-vm": "error"}) == [("unused-ignore", "web")]


def test_a_rule_about_the_bundle_is_ignored_at_the_object_it_names():
    twin = instancetype(cpu=4)
    twin["metadata"]["annotations"] = {IGNORE: "duplicate-object: one of them goes"}
    assert rules(instancetype(), twin) == []


def test_ignores_can_not_be_ignored():
    machine = conflicting(ignore="bad-ignore, unused-ignore: no")
    assert rules(instancetype(), machine) == [("instancetype-conflict", "web"), ("bad-ignore", "web"), ("bad-ignore", "web")]


def test_an_empty_annotation_is_none_and_another_shape_is_reported():
    assert rules(instancetype(), conflicting(ignore="")) == [("instancetype-conflict", "web")]
    assert rules(instancetype(), conflicting(ignore={"a": [1]})) == [("instancetype-conflict", "web"), ("bad-ignore", "web")]


def test_the_outcome_has_the_ignored_findings_with_their_reasons():
    outcome = stages.render([instancetype(), conflicting(ignore="instancetype-conflict: known")], config.read(None))
    assert [(each.finding.rule, each.by, each.reason) for each in outcome.ignored] == [
        ("instancetype-conflict", "ignore", "known")
    ]


def test_the_severity_of_findings_about_ignores_is_the_configs():
    machine = conflicting(ignore="instancetype-conflict, x: known")
    assert told(run(instancetype(), machine, severity={"bad-ignore": "error"})[1])[0][1] == "error"
    assert run(instancetype(), machine, severity={"bad-ignore": "off"})[1] == []
