"""Policies of a bundle: what they are evaluated on, what is never guessed, and what hostile ones cost."""

from __future__ import annotations

import gc
import subprocess
import sys
from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import krm_fn
from krm_fn.base.work import WORK
from krm_fn.policies.admission import Policies, Skipped
from krm_fn.policies.errors import RefusedError, Unsupported
from krm_fn.policies.syntax import parse
from krm_fn.policies.types import checked

GROUP = "admissionregistration.k8s.io/v1"
VM = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "vm", "namespace": "shop"},
    "spec": {
        "runStrategy": "Always",
        "instancetype": {"name": "u1.2xlarge"},
        "template": {"spec": {"domain": {"devices": {}}}},
    },
}
SHOP = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}
MOST = 13_000_000  # units of work that small input may take


def policy(*expressions: str, evaluate: str = "") -> list[dict[str, Any]]:
    annotations = {"kubevirt-render.dev/evaluate": evaluate} if evaluate else {}
    rule = {"apiGroups": ["kubevirt.io"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": each} for each in expressions],
    }
    binding = {"policyName": "p", "validationActions": ["Deny"]}
    return [
        {
            "apiVersion": GROUP,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": "p", "annotations": annotations},
            "spec": spec,
        },
        {"apiVersion": GROUP, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "b"}, "spec": binding},
    ]


def found(items: list[Any], mode: str = "validate") -> list[tuple[str, str]]:
    config = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "metadata": {"name": "r"}}
    results = krm_fn.process({"items": items, "functionConfig": {**config, "spec": {"mode": mode}}})["results"]
    return [(each["tags"]["rule"], each["message"]) for each in results if "policy" in each["tags"]["rule"]]


SIZE = "object.spec.template.spec.domain.cpu.sockets <= 4"


@pytest.mark.parametrize("mode", ["validate", "expand"])
def test_a_policy_sees_what_is_written_or_what_is_rendered(mode: str) -> None:
    (written,) = found([VM, SHOP, *policy(SIZE)], mode)
    assert "resulted in error" in written[1]
    rendered = found([VM, SHOP, *policy(SIZE, evaluate="rendered")], mode)
    assert rendered == [("policy/p", f"failed expression: {SIZE}")]


def test_a_namespace_that_is_not_in_the_bundle_is_taken_to_exist() -> None:
    refused, note = sorted(found([VM, *policy("false")]), reverse=True)
    assert refused == ("policy/p", "failed expression: false")
    assert "the namespace shop is not in the bundle" in note[1]


@pytest.mark.parametrize(
    ("state", "expression"),
    [("instance", "object.kind == 'VirtualMachineInstance' && false"), ("pod", "has(object.containers) && false")],
)
def test_a_policy_sees_the_instance_and_the_pod(state: str, expression: str) -> None:
    assert ("policy/p", f"failed expression: {expression}") in found([VM, SHOP, *policy(expression, evaluate=state)])


def test_a_namespace_is_of_no_account_for_what_rules_and_bindings_leave_out() -> None:
    """It is not in the bundle, so what depends on it is not known."""
    selector = {"matchLabels": {"env": "prod"}}
    judged, binding = policy("false")
    within = {"objectSelector": {"matchLabels": {"app": "x"}}}
    unbound = {**binding, "spec": {**binding["spec"], "matchResources": within}}
    other = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": "other"}}
    assert found([VM, other, judged, unbound]) == []
    (rule,) = judged["spec"]["matchConstraints"]["resourceRules"]
    pods = {"resourceRules": [{**rule, "resources": ["pods"]}], "namespaceSelector": selector}
    assert found([VM, {**judged, "spec": {**judged["spec"], "matchConstraints": pods}}, binding]) == []
    virtual_machines = {"resourceRules": [rule], "namespaceSelector": selector}
    ((name, _),) = found([VM, {**judged, "spec": {**judged["spec"], "matchConstraints": virtual_machines}}, binding])
    assert name == "policy-not-evaluated"


def test_null_counts_as_the_default_in_constraints() -> None:
    judged, binding = policy("false")
    (rule,) = judged["spec"]["matchConstraints"]["resourceRules"]
    rule |= {"scope": None, "apiVersions": ["v1alpha3"]}
    judged["spec"]["matchConstraints"]["matchPolicy"] = None
    assert found([VM, SHOP, judged, binding]) == [("policy/p", "failed expression: false")]


def test_the_name_of_an_object_without_one_is_absent_in_the_request() -> None:
    unnamed = {**VM, "metadata": {"generateName": "vm-", "namespace": "shop"}}
    assert list(Policies([SHOP, *policy("!has(request.name)")]).failures(unnamed, unnamed, "written")) == []
    assert list(Policies([SHOP, *policy("request.name == 'vm'")]).failures(VM, VM, "written")) == []


def test_all_that_the_api_server_refuses_of_a_policy_is_named() -> None:
    judged, binding = policy("object.x +", "true", "1")
    judged["spec"]["variables"] = [{"name": "v", "expression": "nothing"}]
    judged["spec"]["validations"][1]["messageExpression"] = "variables.v"
    judged["spec"].pop("matchConstraints")
    skipped = list(Policies([judged, binding]).skipped())
    assert all(each.refused for each in skipped)
    assert [each.place for each in skipped] == [
        "spec.matchConstraints",
        "spec.variables[0].expression",
        "spec.validations[0].expression",
        "spec.validations[1].messageExpression",
        "spec.validations[2].expression",
    ]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"matchConstraints": {}}, "spec.matchConstraints.resourceRules"),
        ({"validations": []}, "spec.validations"),
    ],
)
def test_a_policy_that_says_nothing_or_is_about_nothing_is_refused(change: dict[str, Any], place: str) -> None:
    judged, binding = policy("true")
    (skipped,) = Policies([{**judged, "spec": {**judged["spec"], **change}}, binding]).skipped()
    assert (skipped.place, skipped.refused) == (place, True)


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("request.userInfo.username == 'a'", "userInfo is known to the cluster only"),
        ("authorizer.group('').resource('pods').check('get').allowed()", "authorizer is known to the cluster only"),
        ("request.dryRun", "dryRun is known to the cluster only"),
        ("object.metadata.name.matches('\\\\p{Greek}')", "a script"),
        ("object.metadata.map(k, k)[0] == 'name'", "the order of the entries of a map"),
        ("object.spec.running || request.userInfo.username == 'a'", "userInfo is known to the cluster only"),
    ],
)
def test_what_cannot_be_evaluated_is_said_and_never_guessed(expression: str, why: str) -> None:
    ((rule, message),) = found([VM, SHOP, *policy(expression)])
    assert (rule, why in message) == ("policy-not-evaluated", True)


@pytest.mark.parametrize(
    ("expression", "holds"),
    [
        ("request.userInfo.username == 'a' || object.kind == 'VirtualMachine'", True),
        ("request.userInfo.groups.exists(g, g == 'a') && object.kind == 'Pod'", False),
        ("object.kind == 'Pod' ? request.dryRun : true", True),
        ("request.options.kind == 'CreateOptions'", True),
        ("has(request.userInfo)", True),
    ],
)
def test_what_does_not_depend_on_the_cluster_alone_is_decided(expression: str, holds: bool) -> None:
    rules = [rule for rule, _ in found([VM, SHOP, *policy(expression)])]
    assert rules == ([] if holds else ["policy/p"])


@pytest.mark.parametrize(
    ("rows", "row", "place"),
    [
        ("matchConditions", {"name": "c", "expression": "request.userInfo.username == 'a'"}, "matchConditions[0].expression"),
        ("validations", {"expression": "request.userInfo.username == 'a'"}, "validations[1].expression"),
        (
            "auditAnnotations",
            {"key": "k", "valueExpression": "request.userInfo.username"},
            "auditAnnotations[0].valueExpression",
        ),
        ("validations", {"expression": "{'a': 1, 'b': 2}.map(k, k)[0] == 'a'"}, "validations[1].expression"),
    ],
)
def test_the_finding_names_the_expression_that_cannot_be_evaluated(rows: str, row: dict[str, str], place: str) -> None:
    items = policy("true")
    items[0]["spec"].setdefault(rows, []).append(row)
    (result,) = krm_fn.process({"items": [VM, SHOP, *items]})["results"]
    assert (result["tags"]["rule"], result["field"]["path"]) == ("policy-not-evaluated", f"spec.{place}")


def test_a_message_that_only_the_cluster_knows_does_not_hide_the_refusal() -> None:
    items = policy("false")
    items[0]["spec"]["validations"][0]["messageExpression"] = "'not for ' + request.userInfo.username"
    (refused, note) = sorted(found([VM, SHOP, *items]), reverse=True)
    assert refused == ("policy/p", "failed expression: false")
    assert "the message of validation 0 depends on what only the cluster knows" in note[1]


LIMITS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "limits.example.com"},
}
LIMITS["spec"] = {
    "group": "example.com",
    "scope": "Namespaced",
    "names": {"kind": "Limit", "plural": "limits"},
    "versions": [{"name": "v1", "served": True}],
}


def test_the_kind_of_a_parameter_is_known_by_its_definition() -> None:
    items = policy("params.max > 1")
    items[0]["spec"]["paramKind"] = {"apiVersion": "example.com/v1", "kind": "Limit"}
    items[1]["spec"]["paramRef"] = {"name": "limit", "parameterNotFoundAction": "Deny"}
    ((rule, why),) = found([VM, SHOP, *items])
    assert (rule, "the bundle has no Limit" in why) == ("policy-not-evaluated", True)
    ((rule, why),) = found([VM, SHOP, LIMITS, *items])
    assert (rule, "no params found" in why) == ("policy/p", True)


def test_a_policy_that_the_server_refuses_takes_no_part() -> None:
    ((rule, message),) = found([VM, SHOP, *policy("object.metadata.name == nobody", "false")])
    assert (rule, "nobody is not declared" in message) == ("refused-policy", True)


def test_what_a_judgement_has_seen_is_free_when_it_ends() -> None:
    """Cycles are seldom looked for, and a run has very many judgements."""
    asked = policy("object.metadata.name == variables.wanted")
    asked[0]["spec"]["variables"] = [{"name": "wanted", "expression": "'vm'"}]
    policies = Policies([SHOP, *asked])
    gc.collect()
    gc.disable()
    assert [list(policies.failures(VM, VM, "written")) for _ in range(10)] == [[]] * 10
    cycles = gc.collect()
    gc.enable()
    assert cycles == 0


def test_a_policy_without_a_binding_is_not_evaluated() -> None:
    ((rule, _),) = found([VM, policy("false")[0]])
    assert rule == "unbound-policy"


HOSTILE = {
    "a long expression": " && ".join(["true"] * 20_000),
    "deep brackets": "(" * 5_000 + "true" + ")" * 5_000,
    "loops in loops": "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, " * 8 + "true" + "))" * 8,
    "a text that grows": "lists.range(9000).map(i, 'abcdefghij').map(x, x + x + x + x).join('').size() > 0",
    "a slow pattern": "('a' + 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa').matches('(a|a)*b')",
    "a large pattern": "object.metadata.name.matches('(((a{9}){9}){9}b{999}){999}')",
    "slow patterns on a long text": "lists.range(300).all(i, 'ab'.replace('', 'aaaaaaaaaaaaaaaa').matches('(a*)*c') || true)",
    "texts of texts": "lists.range(60).map(i, 'abcdefgh').join('x').replace('', 'abcdefgh'.replace('', 'abcdefgh')).size() > 0",
    "a list of lists": "[1].map(a, [a, a]).map(b, b + b).map(c, c + c).all(d, [d].map(e, e + e) == [])",
    "a long range": "lists.range(9000000000).size() > 0",
    "many numbers": "lists.range(900).map(i, lists.range(900).map(j, i * j).sum()).sum() > 0",
    "many comparisons": "lists.range(3000).map(i, string(i)).distinct().size() == lists.range(3000).distinct().size()",
    "a wide format": "'%.999999f'.format([1.5]) != ''",
    "a wide number": "int('1' + lists.range(20000).map(i, '0').join('')) > 0",
    "a chain of operators": " + ".join(["1"] * 5_000) + " > 0",
    "a chain of fields": "object" + ".a" * 5_000 + " == 1",
    "no CEL": "\\x00\\u{1F600}",
}
ODD: list[Any] = [None, True, 7, 1.5, "a", [], {}, [None], {"a": None}, 10**30, "\x00", {"": ""}]
ASKS = [
    "object.spec.template.all(k, k != '') && object.spec.template.spec.size() > 0",
    "object.spec.template + object.metadata.labels == object.status",
    "'%s'.format([object.spec.template]) == '' && quantity(object.status).asInteger() > 0",
    "object.metadata.labels.exists(k, v, k in object.spec.template && v.matches(k))",
]


@pytest.mark.parametrize("value", ODD, ids=repr)
def test_values_of_wrong_types_are_errors_of_the_expressions(value: Any) -> None:
    vm = {**VM, "metadata": {"name": "vm", "namespace": "shop"}, "spec": {"running": value, "template": value}, "status": value}
    rules = [rule for rule, _ in found([vm, SHOP, *policy(*ASKS)])]
    assert set(rules) <= {"policy/p", "policy-not-evaluated"}
    assert len(rules) <= len(ASKS)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_expressions_end_soon_with_one_finding(name: str) -> None:
    assert len(found([VM, SHOP, *policy(HOSTILE[name])])) <= 1
    assert WORK.spent < MOST


def test_a_large_object_ends_soon() -> None:
    labels = {f"key-{number}": "v" * 50 for number in range(150_000)}  # about 10 MB
    large = {**VM, "metadata": {"name": "vm", "namespace": "shop", "labels": labels}}
    asked = ["object == object", "object.metadata.labels.all(k, k != '')", "object.metadata.labels.map(k, k).size() > 9"]
    assert len(found([large, SHOP, *policy(*asked)])) <= 1
    assert WORK.spent < 2 * MOST


@pytest.mark.parametrize("depth", [400, 10_000])
def test_an_object_that_is_nested_deeply_is_one_finding(depth: int) -> None:
    deep: Any = {}
    for _ in range(depth):
        deep = {"a": deep}
    policies = Policies([SHOP, *policy("object.status == object.status", "true")])
    (skipped,) = policies.failures({**VM, "status": deep}, {**VM, "status": deep}, "written")
    assert isinstance(skipped, Skipped)
    assert skipped.why == "the object is nested too deeply"


def doubled(part: str, times: int) -> list[dict[str, str]]:
    """Variables of which each is made of the one before, twice."""
    made = [part.replace("X", f"variables.v{number}") for number in range(times)]
    return [{"name": f"v{number}", "expression": each} for number, each in enumerate(["[1, 2]", *made])]


SPENT = "it takes more than its share of the work of a run"
FIX = "write simpler expressions, or judge fewer objects at a time"
GROWING = {
    "lists that are compared": ("[X, X]", "dyn(variables.v40) == dyn(variables.v40)"),
    "lists that are made flat": ("[X, X]", "dyn(variables.v40).flatten(50).size() > 0"),
    "lists that are written": ("[X, X]", "'%s'.format([variables.v40]) == ''"),
    "lists that are gone through for their cost": ("[X, X]", "dyn(variables.v40).max() == 1"),
    "maps that are compared": ("{'a': X, 'b': X}", "dyn(variables.v40) == dyn(variables.v40)"),
    "types": ("{X: X}", "true"),
}


@pytest.mark.parametrize("name", GROWING)
def test_values_that_are_made_of_themselves_end_with_the_work_of_the_run(name: str) -> None:
    part, expression = GROWING[name]
    judged, binding = policy(expression)
    judged["spec"]["variables"] = doubled(part, 40)
    WORK.begin(0, 1, 64)
    policies = Policies([SHOP, judged, binding])
    said = [*policies.skipped(), *(each for _ in range(3) for each in policies.failures(VM, VM, "written"))]
    assert [each.why for each in said if isinstance(each, Skipped)] == [SPENT]
    assert WORK.spent <= 12_000_000 // 64


COSTLY = "lists.range(640).sort().size() > size(object.metadata.name)"  # for which the server counts much


def named(name: str, *expressions: str) -> list[dict[str, Any]]:
    judged, binding = policy(*expressions)
    spec = {**binding["spec"], "policyName": name}
    return [{**judged, "metadata": {"name": name}}, {**binding, "metadata": {"name": name}, "spec": spec}]


def test_policies_that_take_too_much_work_on_many_objects_are_one_finding_and_the_others_are_evaluated() -> None:
    vms = [{**VM, "metadata": {"name": f"vm-{number}", "namespace": "shop"}} for number in range(30)]
    costly = [each for name in ("a", "b", "c") for each in named(name, *[COSTLY] * 9)]
    results = found([*vms, SHOP, *costly, *named("light", "object.metadata.name == 'x'")])
    assert [rule for rule, _ in results if rule != "policy-not-evaluated"] == ["policy/light"] * 30
    (message,) = [message for rule, message in results if rule == "policy-not-evaluated"]
    assert message == f"the policy a is not evaluated: {SPENT}, and so do b and c; {FIX}"
    assert WORK.spent < MOST


@pytest.mark.parametrize(
    ("made", "failure_policy", "actions", "severity"),
    [
        ("expressions", None, ["Deny"], "error"),
        ("expressions", "Fail", ["Audit", "Deny"], "error"),
        ("expressions", "Ignore", ["Deny"], "warning"),
        ("expressions", "Fail", ["Warn"], "warning"),
        ("variables", None, ["Deny"], "error"),
        ("variables", "Fail", ["Warn"], "warning"),
    ],
)
def test_a_policy_that_takes_too_much_work_is_an_error_where_the_api_server_refuses_the_object(
    made: str, failure_policy: str | None, actions: list[str], severity: str
) -> None:
    judged, binding = policy(*[COSTLY] * 40)
    if made == "variables":
        judged, binding = policy("true")
        judged["spec"]["variables"] = doubled("{X: X}", 40)
    judged["spec"] |= {"failurePolicy": failure_policy} if failure_policy else {}
    binding["spec"]["validationActions"] = actions
    vms = [{**VM, "metadata": {"name": f"vm-{number}", "namespace": "shop"}} for number in range(10)]
    answer = krm_fn.process({"items": [*vms, SHOP, judged, binding]})
    spent = [each["severity"] for each in answer["results"] if each["tags"]["rule"] == "policy-not-evaluated"]
    assert spent == [severity]


def test_policies_that_take_too_much_work_are_one_finding_and_those_that_fail_open_another() -> None:
    vms = [{**VM, "metadata": {"name": f"vm-{number}", "namespace": "shop"}} for number in range(30)]
    costly = [each for name in ("a", "b", "c", "d") for each in named(name, *[COSTLY] * 9)]
    costly[0]["spec"] |= {"failurePolicy": "Ignore"}
    costly[4]["spec"] |= {"failurePolicy": "Ignore"}
    results = krm_fn.process({"items": [*vms, SHOP, *costly]})["results"]
    said = {each["severity"]: each["message"] for each in results if each["tags"]["rule"] == "policy-not-evaluated"}
    assert said == {
        "error": f"the policy b is not evaluated: {SPENT}, and so does d; {FIX}",
        "warning": f"the policy a is not evaluated: {SPENT}, and so does c; {FIX}",
    }


def test_bindings_parameters_and_objects_together_are_bounded() -> None:
    vms = [{**VM, "metadata": {"name": f"vm-{number}", "namespace": "shop"}} for number in range(60)]
    judged, binding = policy("object.metadata.name == params.data.x")
    judged["spec"]["paramKind"] = {"apiVersion": "v1", "kind": "ConfigMap"}
    spec = {**binding["spec"], "paramRef": {"namespace": "shop", "selector": {}, "parameterNotFoundAction": "Deny"}}
    bindings = [{**binding, "metadata": {"name": f"b{number}"}, "spec": spec} for number in range(60)]
    params = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": f"c{n}", "namespace": "shop"}, "data": {"x": "y"}}
        for n in range(60)
    ]
    rules = [rule for rule, _ in found([*vms, SHOP, judged, *bindings, *params])]
    assert rules.count("policy-not-evaluated") == 1
    assert len(rules) < 30_000  # of 216,000
    assert WORK.spent < MOST


def test_each_policy_has_its_part_of_the_work() -> None:
    WORK.begin(0, 4)
    for account in ("a", "b", "a"):
        WORK.use(account)
        with pytest.raises(Unsupported):
            WORK.spend(8_000_000)
    WORK.use("c")
    WORK.spend(1_000_000)


def test_the_work_of_a_run_grows_with_its_size_and_is_shared_by_its_bundles() -> None:
    left = []
    for size, runs in ((0, 1), (1_000_000, 1), (4_000_000, 1), (0, 4), (0, 1024)):
        WORK.begin(size, 1, runs)
        left.append(WORK.left)
    assert left == [6_000_000, 8_000_000, 32_000_000, 1_500_000, 75_000]


@given(st.text(alphabet="ab.()[]{}?:'\"!&|=<>+-*/% 1u,", max_size=40))
def test_any_text_is_parsed_or_refused(text: str) -> None:
    with suppress(RefusedError, Unsupported):
        checked(parse(text), {"a": "dyn", "b": "int"})


def test_a_long_list_is_evaluated_by_the_function_as_by_the_library() -> None:
    vms = [{**VM, "metadata": {"name": f"vm-{number}", "namespace": "shop"}} for number in range(120)]
    items = [*vms, SHOP, *policy(SIZE, evaluate="rendered")]
    config = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "metadata": {"name": "r"}}
    given = yaml.safe_dump(
        {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": items, "functionConfig": config}
    )
    ran = subprocess.run([sys.executable, "-m", "krm_fn"], input=given.encode(), capture_output=True, check=False)
    results = [each for each in yaml.safe_load(ran.stdout)["results"] if each["tags"]["rule"] == "policy/p"]
    assert (ran.returncode, len(results)) == (1, len(vms))
