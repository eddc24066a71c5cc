"""The laws of presets: which presets match, what is copied, what is refused, and the facts about it."""

from __future__ import annotations

import pytest

from krm_fn.base.bundle import Bundle, Entry
from krm_fn.base.paths import copy
from krm_fn.kubevirt.presets import PresetFacts, Presets, apply_presets, fold_presets
from krm_fn.kubevirt.presets.facts import Applied, Selector, problems
from krm_fn.kubevirt.releases import NEWEST, Release
from krm_fn.rules.registry import load

V0_6 = Release(version=(0, 6, 0))
APPLIED = "virtualmachinepreset.kubevirt.io/"
EXCLUDE = "virtualmachineinstancepresets.admission.kubevirt.io/exclude"


def preset(name, domain, selector=None, *, namespace=None, api="kubevirt.io/v1", kind="VirtualMachineInstancePreset"):
    metadata = {"name": name} if namespace is None else {"name": name, "namespace": namespace}
    return {"apiVersion": api, "kind": kind, "metadata": metadata, "spec": {"selector": selector or {}, "domain": domain}}


def instance(domain, labels=None, annotations=None, **metadata):
    metadata |= {key: value for key, value in (("labels", labels), ("annotations", annotations)) if value is not None}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": metadata, "spec": {"domain": domain}}


def vm(domain, labels=None):
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "web", "labels": {"size": "small"}},
        "spec": {"runStrategy": "Always", "template": {"metadata": {"labels": labels or {}}, "spec": {"domain": domain}}},
    }


def apply(obj, *presets, release=NEWEST):
    return apply_presets(obj, [Entry(obj=one, item=n) for n, one in enumerate(presets)], release=release)


def findings(applied, *, prefix=(), release=NEWEST):
    """(rule, severity, path, upstream, message) of every finding."""
    entry = Entry(obj=instance({}), item=9)
    facts = PresetFacts(entry=entry, applied=applied, release=release, prefix=prefix)
    return [
        (rule.id, hit.severity or rule.severity, hit.path, hit.upstream, hit.message)
        for rule in load("preset")
        for hit in rule.check(facts)
    ]


def test_a_section_the_instance_lacks_is_copied_and_the_preset_named():
    found = apply(instance({"devices": {}}), preset("two", {"cpu": {"cores": 2}}))
    assert found == Applied(
        instance=instance({"devices": {}, "cpu": {"cores": 2}}, annotations={APPLIED + "two": "kubevirt.io/v1"}),
        applied=("two",),
    )


def test_the_arguments_stay_as_they_were():
    given = instance({"devices": {}}, labels={"a": "b"}, annotations={"x": "y"})
    two = preset("two", {"features": {"apic": {}}})
    before = copy([given, two])
    found = apply(given, two)
    found.instance["spec"]["domain"]["features"]["apic"]["enabled"] = False
    assert [given, two] == before


def test_an_instance_that_no_preset_matches_comes_back_itself():
    given = instance({}, labels={"a": "b"})
    assert apply(given, preset("two", {"cpu": {"cores": 2}}, {"matchLabels": {"a": "c"}})).instance is given


def test_features_are_copied_with_the_acpi_that_go_always_writes():
    found = apply(instance({}), preset("apic", {"features": {"apic": {}}}))
    assert found.instance["spec"]["domain"] == {"features": {"acpi": {}, "apic": {}}}


def test_amounts_are_copied_in_the_shortest_form():
    found = apply(instance({}), preset("m", {"resources": {"requests": {"memory": "1024Mi"}}}))
    assert found.instance["spec"]["domain"] == {"resources": {"requests": {"memory": "1Gi"}}}


def test_zeros_of_gos_plain_fields_and_empty_lists_are_not_copied():
    cpu = {"model": "m", "cores": 0, "isolateEmulatorThread": False, "features": [], "realtime": {"mask": ""}}
    applied = apply(instance({}), preset("p", {"cpu": cpu, "features": {"kvm": {"hidden": False}, "apic": {"enabled": False}}}))
    assert applied.instance["spec"]["domain"] == {
        "cpu": {"model": "m", "realtime": {}},
        "features": {"acpi": {}, "kvm": {}, "apic": {"enabled": False}},
    }


def test_zeros_of_gos_plain_fields_are_no_difference():
    small = preset("two", {"cpu": {"cores": 2}})
    assert apply(instance({"cpu": {"cores": 2, "sockets": 0, "model": "", "features": []}}), small).conflicts == ()


def test_a_preset_is_applied_in_part_beside_a_conflict():
    found = apply(instance({"cpu": {"cores": 6}}), preset("mix", {"cpu": {"cores": 4}, "ioThreadsPolicy": "shared"}))
    assert found.instance["spec"]["domain"] == {"cpu": {"cores": 6}, "ioThreadsPolicy": "shared"}
    assert findings(found) == [
        (
            "preset-conflict",
            "warning",
            ("spec", "domain", "cpu"),
            "",
            (
                "VirtualMachineInstancePreset mix is applied in part: spec.domain.cpu is {cores: 4} in the preset and "
                "{cores: 6} in the instance, which keeps it; set the same value, or delete one"
            ),
        )
    ]


def test_one_amount_in_two_spellings_is_a_conflict_of_severity_info():
    found = apply(
        instance({"resources": {"requests": {"memory": "1024Mi"}}}), preset("g", {"resources": {"requests": {"memory": "1Gi"}}})
    )
    assert found.applied == ("g",)
    assert findings(found) == [
        (
            "preset-conflict",
            "info",
            ("spec", "domain", "resources", "requests", "memory"),
            "",
            (
                "VirtualMachineInstancePreset g is applied in part: KubeVirt treats spec.domain.resources.requests.memory "
                "'1Gi' and '1024Mi' of the instance as different; write it the same way in both"
            ),
        )
    ]


def test_amounts_whose_text_go_does_not_keep_are_equal():
    found = apply(
        instance({"resources": {"requests": {"memory": "8192Mi"}}}), preset("g", {"resources": {"requests": {"memory": "8Gi"}}})
    )
    assert (found.applied, found.conflicts) == (("g",), ())


def test_presets_that_disagree_refuse_the_instance_though_it_decides_itself():
    given = instance({"cpu": {"cores": 2}})
    found = apply(given, preset("four", {"cpu": {"cores": 4}}), preset("eight", {"cpu": {"cores": 8}}))
    assert (found.instance is given, found.refused) == (True, "disagreement")
    assert findings(found) == [
        (
            "presets-disagree",
            "error",
            ("metadata", "labels"),
            "admission",
            (
                "VirtualMachineInstancePreset eight and VirtualMachineInstancePreset four both match and set different "
                "values (spec.domain.cpu {cores: 8} != {cores: 4}), so KubeVirt refuses the instance; "
                "set the same value, or narrow a selector"
            ),
        )
    ]


def test_a_vm_whose_instance_would_be_refused_is_admitted_itself():
    found = apply(instance({}), preset("four", {"cpu": {"cores": 4}}), preset("eight", {"cpu": {"cores": 8}}))
    assert [(one[1], one[3]) for one in findings(found, prefix=("spec", "template"))] == [("error", "")]


def test_an_invalid_selector_refuses_every_instance_of_its_namespace():
    broken = preset("broken", {}, {"matchExpressions": [{"key": "os", "operator": "Gt", "values": ["1"]}]}, namespace="a")
    assert apply(instance({}, namespace="b"), broken).refused == ""
    found = apply(instance({}, namespace="a"), broken)
    assert found.refused == "selector"
    assert findings(found) == [
        (
            "invalid-preset-selector",
            "error",
            (),
            "admission",
            (
                "VirtualMachineInstancePreset a/broken: spec.selector.matchExpressions[0].operator 'Gt' is not one of In, "
                "NotIn, Exists, DoesNotExist, so KubeVirt refuses every instance in the namespace; correct it"
            ),
        )
    ]


def test_the_controller_passed_over_an_invalid_selector():
    broken = preset("broken", {}, {"matchLabels": {"os": "!"}})
    found = apply(instance({}), broken, preset("two", {"cpu": {"cores": 2}}), release=V0_6)
    assert (found.applied, found.refused) == (("two",), "")
    assert [one[:2] for one in findings(found, release=V0_6)] == [("invalid-preset-selector", "warning")]


def test_an_excluded_instance_is_left_alone_even_by_broken_presets():
    given = instance({}, annotations={EXCLUDE: "true"})
    assert apply(given, preset("broken", {}, {"matchLabels": {"os": "!"}})) == Applied(instance=given, excluded=True)


def test_the_order_matters_only_for_requests_that_differ_and_are_not_in_conflict():
    cpu, memory = ({"resources": {"requests": one}} for one in ({"cpu": "1"}, {"memory": "1Gi"}))
    found = apply(instance({}), preset("a", cpu), preset("b", memory))
    assert found.instance["spec"]["domain"] == cpu
    assert [one[:3] for one in findings(found)] == [
        ("preset-not-applied", "warning", ("spec", "domain")),
        ("preset-order-matters", "warning", ("spec", "domain", "resources", "requests")),
    ]
    assert apply(instance({}), preset("a", cpu), preset("b", cpu)).order == ()
    assert apply(instance(cpu), preset("a", cpu), preset("b", memory)).order == ()


def test_a_preset_that_sets_nothing_presets_reach_is_named():
    found = apply(instance({}), preset("big", {"memory": {"guest": "1Gi"}}))
    assert [one[4] for one in findings(found)] == [
        (
            "VirtualMachineInstancePreset big matches, but sets nothing that presets apply (resources.requests, cpu, firmware, "
            "clock, clock.timer, features, devices.watchdog, ioThreadsPolicy); set the values here instead"
        )
    ]


def test_a_name_too_long_for_an_annotation_is_named():
    found = apply(instance({}), preset("n" * 64, {"cpu": {"cores": 2}}))
    assert [one[:4] for one in findings(found)] == [
        ("preset-name-too-long", "error", ("metadata", "annotations", APPLIED + "n" * 64), "admission")
    ]


def test_the_first_api_version_is_treated_as_its_last_release_did():
    first = {
        "apiVersion": "kubevirt.io/v1alpha1",
        "kind": "VirtualMachine",
        "metadata": {"name": "web"},
        "spec": {"domain": {}},
    }
    two = preset("two", {"cpu": {"cores": 2}}, api="kubevirt.io/v1alpha1", kind="VirtualMachinePreset")
    assert apply(first, two).instance["metadata"]["annotations"] == {
        "virtualmachinepreset.kubevirt.io/two": "kubevirt.io/v1alpha1",
        "presets.virtualmachines.kubevirt.io/presets-applied": "kubevirt.io/v1alpha1",
    }


def test_the_controllers_marker_is_written_whatever_happened_and_stops_a_second_time():
    second = instance({}) | {"apiVersion": "kubevirt.io/v1alpha2"}
    marked = apply(second).instance
    assert marked["metadata"]["annotations"] == {"presets.virtualmachines.kubevirt.io/presets-applied": "kubevirt.io/v1alpha2"}
    assert apply(marked, preset("two", {"cpu": {"cores": 2}})).instance is marked


def test_presets_come_from_the_namespace_by_name_and_of_the_kind_of_the_time():
    old = preset("a", {}, api="kubevirt.io/v1alpha1", kind="VirtualMachinePreset")
    bundle = Bundle([preset("c", {}, namespace="default"), preset("b", {}), preset("d", {}, namespace="x"), old])
    presets = Presets(bundle)
    names = [one.entry.obj["metadata"]["name"] for one in presets.seen_by("kubevirt.io/v1", "default").presets]
    assert names == ["b", "c"]
    assert [one.entry.obj for one in presets.seen_by("kubevirt.io/v1alpha1", "default").presets] == [old]


@pytest.mark.parametrize("template", [None, "", "text", 7, True, [], ["x"]])
def test_nothing_is_folded_into_what_is_no_template(template):
    odd = vm({}) | {"spec": {"template": template}}
    assert fold_presets(odd, [preset("two", {"cpu": {"cores": 2}})], release=NEWEST, namespace="default").instance is odd


def test_folding_goes_by_the_templates_labels_and_annotates_the_template():
    small = preset("two", {"cpu": {"cores": 2}}, {"matchLabels": {"size": "small"}})
    unlabelled = vm({})
    assert fold_presets(unlabelled, [small], release=NEWEST, namespace="default").instance is unlabelled
    assert fold_presets(vm({}, {"size": "small"}), [small], release=NEWEST, namespace="default").instance == {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "web", "labels": {"size": "small"}},
        "spec": {
            "runStrategy": "Always",
            "template": {
                "metadata": {"labels": {"size": "small"}, "annotations": {APPLIED + "two": "kubevirt.io/v1"}},
                "spec": {"domain": {"cpu": {"cores": 2}}},
            },
        },
    }


def test_folding_leaves_out_the_firmware_that_never_reaches_an_instance():
    efi = preset("efi", {"firmware": {"bootloader": {"efi": {}}}, "cpu": {"cores": 2}})
    found = fold_presets(vm({}), [efi], release=NEWEST, namespace="default")
    assert found.instance["spec"]["template"]["spec"] == {"domain": {"cpu": {"cores": 2}}}
    assert [one[4] for one in findings(found, prefix=("spec", "template"))] == [
        (
            "VirtualMachineInstancePreset efi is applied in part: spec.domain.firmware of a preset never reaches a VM, whose "
            "instance has its own; set it in the VM's template"
        )
    ]


def test_folding_leaves_the_templates_own_firmware_as_it_is():
    own = {"firmware": {"serial": "s"}}
    efi = preset("efi", {"firmware": {"bootloader": {"efi": {}}}, "cpu": {"cores": 2}})
    found = fold_presets(vm(own), [efi], release=NEWEST, namespace="default")
    assert found.instance["spec"]["template"]["spec"]["domain"] == {"firmware": {"serial": "s"}, "cpu": {"cores": 2}}
    assert [clash.current for one in found.conflicts for clash in one.clashes] == [{"serial": "s"}]


def test_facts_are_troubled_if_a_rule_may_have_a_finding():
    two = preset("two", {"cpu": {"cores": 2}})
    assert [apply(instance(domain), two).troubled for domain in ({}, {"cpu": {}})] == [False, True]


@pytest.mark.parametrize("junk", ["text", 3, ["a"], True])
def test_data_of_any_shape_makes_no_exception(junk):
    whole = {"cpu": {"cores": 2}, "clock": {"timer": {}}, "resources": {"requests": {"cpu": 1}}, "devices": {"watchdog": {}}}
    odd = [{"cpu": junk}, {"clock": junk}, {"resources": junk}, {"resources": {"requests": junk}}, {"devices": junk}, junk]
    for domain in odd:
        apply(instance(domain), preset("a", whole))
        apply(instance({}), preset("a", domain))
        fold_presets(vm(domain), [preset("a", whole)], release=NEWEST, namespace="default")
    for broken in ({"metadata": junk}, {"spec": junk}, {"metadata": {"annotations": junk}}, {"metadata": {"labels": junk}}):
        apply({**instance({}), **broken}, preset("a", whole))
    for selector in (junk, {"matchLabels": junk}, {"matchExpressions": junk}, {"matchExpressions": [{"key": junk}]}):
        findings(apply(instance({}), preset("a", whole, selector)))


@pytest.mark.parametrize(
    ("expression", "taken"),
    [
        ({"key": "os", "operator": "In", "values": ["a", "b"]}, [{"os": "a"}]),
        ({"key": "os", "operator": "NotIn", "values": ["a"]}, [{}, {"os": "c"}]),
        ({"key": "os", "operator": "Exists"}, [{"os": "a"}, {"os": "c"}]),
        ({"key": "os", "operator": "DoesNotExist"}, [{}]),
    ],
)
def test_the_four_operators_take_these_labels(expression, taken):
    selector = Selector({"matchExpressions": [expression]})
    assert [labels for labels in ({}, {"os": "a"}, {"os": "c"}) if selector.takes(labels)] == taken


@pytest.mark.parametrize(
    ("selector", "reason"),
    [
        ({"matchLabels": {"": "a"}}, "key"),
        ({"matchLabels": {"-a": "a"}}, "key"),
        ({"matchLabels": {"a/b/c": "a"}}, "key"),
        ({"matchLabels": {"Upper.io/a": "a"}}, "key"),
        ({"matchLabels": {"-a.io/a": "a"}}, "key"),
        ({"matchLabels": {"a-.io/a": "a"}}, "key"),
        ({"matchLabels": {"a..io/a": "a"}}, "key"),
        ({"matchLabels": {"a" * 64: "a"}}, "key"),
        ({"matchLabels": {"a": "b" * 64}}, "value"),
        ({"matchLabels": {"a": "b c"}}, "value"),
        ({"matchLabels": {"a": 1}}, "value"),
        ({"matchExpressions": [{"key": "a", "operator": "in", "values": ["b"]}]}, "operator"),
        ({"matchExpressions": [{"key": "a", "operator": "In"}]}, "values-missing"),
        ({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}, "values-given"),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": ["-"]}]}, "value"),
        ({"matchExpressions": ["os"]}, "form"),
        ({"matchExpressions": [{"key": "a", "operator": "In", "values": "b"}]}, "form"),
        ("all", "form"),
    ],
)
def test_selectors_that_the_api_refuses_are_invalid(selector, reason):
    assert [problem.reason for problem in problems(selector)] == [reason]


@pytest.mark.parametrize(
    "selector",
    [
        None,
        {},
        {"matchLabels": None},
        {"matchLabels": {"example.com/a": ""}},
        {"matchLabels": {"x.y/a": "b"}},
        {"matchLabels": {"a-b_c.D": "x-y_z.9"}},
    ],
)
def test_selectors_that_the_api_takes_are_valid(selector):
    assert list(problems(selector)) == []
