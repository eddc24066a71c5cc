"""Of the findings of one rule in one object, the first thousand are reported, and the number of the others."""

import pytest

from krm_fn import config
from krm_fn.base.errors import InputError
from krm_fn.cli import baseline
from krm_fn.findings import fingerprints, results
from krm_fn.findings.finding import Finding
from krm_fn.findings.limits import COUNTED, MOST, MOST_IN_ALL, InAll, Limited, ProductLimit, counted, first, limited
from krm_fn.kubevirt import releases
from krm_fn.kubevirt.schema.flaws import Flaw
from krm_fn.pipeline import stages


def vm(name="web", *, spec=None, devices=None, **metadata):
    template = {"spec": {"domain": {"memory": {"guest": "1Gi"}, "devices": devices or {}}}}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, **metadata},
        "spec": {"runStrategy": "Always", "template": template, **(spec or {})},
    }


def found(*items, mode="validate", **spec):
    settings = config.read(
        {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "spec": {"mode": mode, **spec}}
    )
    return stages.render(items, settings).findings


def reported(findings, rule):
    return [each for each in findings if each.rule == rule]


def more(findings):
    """The ends of the messages that say how many were left out."""
    return [each.message.rpartition("; ")[2] for each in findings if "more of these" in each.message]


def finding(number, rule="a-rule", severity="error", item=0):
    return Finding(rule=rule, severity=severity, message=f"found {number}", item=item)


def test_the_first_come_as_they_are_found_and_the_last_of_them_with_the_number_of_the_others():
    assert list(first(range(3))) == [(0, 0), (1, 0), (2, 0)]
    numbers = list(first(range(MOST)))
    assert numbers == [(number, 0) for number in range(MOST)]
    assert list(first(range(MOST + 7))) == [*numbers[:-1], (MOST - 1, 7)]


def test_the_first_of_each_key_are_kept():
    mixed = [(key, number) for number in range(MOST + 1) for key in "ab"]
    assert [each for each, left_out in first(mixed, lambda one: one[0]) if left_out] == [("a", MOST - 1), ("b", MOST - 1)]


def test_a_message_without_others_is_as_it_was():
    assert counted("found", 0) == "found"
    assert counted("found", 12_345) == "found; 12,345 more of these are not reported"
    assert counted("found", 12_345, at_least=True) == "found; at least 12,345 more of these are not reported"


def test_rules_severities_and_objects_are_counted_apart():
    for differing in ({"rule": "another"}, {"severity": "warning"}, {"item": 1}):
        many = [finding(number, **more) for number in range(MOST) for more in ({}, differing)]
        assert len(list(limited(many))) == 2 * MOST
        assert more(limited(many)) == []
        assert more(limited([*many, finding(MOST, **differing)])) == ["1 more of these are not reported"]


def test_over_all_objects_the_first_findings_of_a_rule_and_severity_are_reported_and_how_many_more_there_are():
    limit = InAll(3)
    many = [finding(number, item=number) for number in range(MOST_IN_ALL + 7)]
    assert list(limit.first(many)) == many[:MOST_IN_ALL]
    (rest,) = limit.left_out()
    assert (rest.rule, rest.severity, rest.ref, rest.item, rest.more) == ("a-rule", "error", None, -1, 7)
    assert rest.message == "7 more findings of this rule are not reported; correct the reported ones first"


def test_so_many_as_two_an_object_are_all_reported():
    many = [finding(number) for number in range(2 * MOST_IN_ALL)]
    limit = InAll(MOST_IN_ALL)
    assert (list(limit.first(many)), list(limit.left_out())) == (many, [])


def test_over_all_objects_no_error_goes_for_many_warnings():
    limit = InAll(1)
    warnings = [finding(number, severity="warning") for number in range(MOST_IN_ALL + 1)]
    assert list(limit.first([*warnings, finding(0)]))[-1].severity == "error"
    assert [each.severity for each in limit.left_out()] == ["warning"]


def test_a_rule_with_far_too_many_findings_is_not_run_again_and_the_number_is_a_minimum():
    limit = InAll(1)
    list(limit.first(finding(number) for number in range(2 * MOST_IN_ALL - 1)))
    assert not limit.is_full("a-rule", "error")
    list(limit.first([finding(0)]))
    assert limit.is_full("a-rule", "error")
    assert not limit.is_full("a-rule", "warning")
    (rest,) = limit.left_out()
    assert rest.message.startswith("at least 10,000 more findings")


def test_an_error_that_is_not_reported_fails_the_run_whatever_annotations_and_baselines_say():
    spec = {"firmware": {"bootloader": {"efi": {"x": 1}}}}
    note = {"kubevirt-render.dev/ignore": "unknown-field: known"}
    known = [vm(f"known-{number}", spec={f"k{key}": 1 for key in range(MOST)}, annotations=note) for number in range(11)]
    findings = found(*known, vm("new", spec=spec))
    assert [(each.rule, each.message) for each in findings] == [
        ("unknown-field", "1,001 more findings of this rule are not reported; correct the reported ones first")
    ]
    assert results.exit_code(findings, "error") == 1
    printed = fingerprints.printed(findings)
    entries = tuple(baseline.Known(fingerprint=each.fingerprint, rule=each.rule) for each in printed)
    held = baseline.Baseline(file="b.yaml", entries=entries)
    assert baseline.split(printed, held, today="2026-01-01", release=releases.NEWEST).new == tuple(printed)
    assert baseline.updated(held, printed).entries == ()


def test_what_was_left_out_of_the_report_is_not_called_unused():
    note = {"kubevirt-render.dev/ignore": "unknown-field: known"}
    many = [vm(f"a-{number}", spec={f"k{key}": 1 for key in range(MOST)}, annotations=note) for number in range(11)]
    assert reported(found(*many), "unused-ignore") == []


def test_a_budget_ends_the_run_when_it_is_spent():
    budget = ProductLimit(3, "too much of it")
    budget.take(3)
    with pytest.raises(InputError, match="too much of it"):
        budget.take(1)


def test_of_what_is_added_the_last_of_each_sort_says_how_many_were_left_out():
    flaws = Limited()
    for number in range(MOST + 2):
        for kind in ("a", "b"):
            if flaws.takes(kind):
                flaws.add(Flaw(kind=kind, path=(number,)))
    kept = flaws.all()
    assert [each.path for each in kept if each.kind == "a"] == [(number,) for number in range(MOST)]
    assert [(each.kind, each.more) for each in kept if each.more] == [("a", 2), ("b", 2)]


def test_unknown_keys_of_one_object_are_reported_in_part():
    spec = {f"k{number}": 1 for number in range(MOST + 5)}
    findings = found(vm("a", spec=spec), vm("b", spec={"k": 1}))
    assert len(reported(findings, "unknown-field")) == MOST + 1
    assert more(findings) == ["5 more of these are not reported"]


def test_no_error_goes_for_many_warnings():
    gates = [f"Gate{number}" for number in range(MOST + 5)]
    kubevirt = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt"},
        "spec": {"configuration": {"developerConfiguration": {"featureGates": gates, "k": 1}}},
    }
    findings = found(kubevirt)
    assert len(reported(findings, "unknown-feature-gate")) == MOST
    assert len(reported(findings, "unknown-field")) == 1
    assert results.exit_code(findings, "error") == 1


def test_nulls_that_may_be_meant_don_t_count_as_values_of_a_wrong_type():
    nulls = {"disks": [{"name": f"d{number}", "disk": None} for number in range(MOST + 5)], "interfaces": 1}
    wrong = reported(found(vm(devices=nulls)), "wrong-type")
    assert [each.severity for each in wrong].count("warning") == MOST
    assert [each.path[-1] for each in wrong if each.severity == "error"] == ["interfaces"]
    assert more(wrong) == ["5 more of these are not reported"]


def test_refusals_of_several_checks_are_counted_together():
    disks = [{"name": f"d{number}", "disk": {"bus": "xxx"}} for number in range(MOST + 5)]
    refused = reported(found(vm(devices={"disks": disks})), "refused-disk")
    assert len(refused) == MOST
    assert more(refused) == [f"{MOST + 10:,} more of these are not reported"]  # each has no volume either


def test_what_would_take_long_is_counted_in_part():
    disks = [{"name": "a"}] * (COUNTED + MOST)
    refused = reported(found(vm(devices={"disks": disks})), "refused-disk")
    assert more(refused) == [f"at least {2 * COUNTED - MOST:,} more of these are not reported"]


@pytest.mark.parametrize("mode", ["expand", "validate"])
def test_null_items_are_reported_in_part(mode):
    findings = found(vm(), *[None] * (MOST + 1), mode=mode)
    assert len(reported(findings, "null-item")) == MOST
    assert more(findings) == ["1 more of these are not reported"]


def test_an_ignore_silences_findings_that_are_not_reported_too():
    note = {"kubevirt-render.dev/ignore": "unknown-field: all known"}
    assert found(vm(spec={f"k{number}": 1 for number in range(MOST + 5)}, annotations=note)) == ()


def test_results_repeat_no_text_that_is_very_long():
    def current(bus):
        devices = {"disks": [{"name": "a", "disk": {"bus": bus}}]}
        (one,) = [each for each in found(vm(devices=devices)) if each.path[-1] == "bus"]
        return results.to_krm(one)["field"].get("currentValue")

    assert current("x" * 10_000) == "x" * 10_000
    assert current("x" * 10_001) is None


def test_a_long_key_is_cut_in_messages():
    (one,) = found(vm(spec={"k" * 1000: 1}))
    assert f"no field {'k' * 77}... here" in one.message
    assert one.path == ("spec", "k" * 1000)


def test_results_of_earlier_functions_are_not_repeated():
    ours = [finding(number) for number in range(3)]
    earlier = [results.to_krm(ours[1]), {"message": "found 1"}, {"message": 1}, "odd", {"severity": "info"}]
    assert results.merge(earlier, ours) == [*earlier[1:], *map(results.to_krm, ours)]
