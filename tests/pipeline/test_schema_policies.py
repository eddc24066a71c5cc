"""Policies in JSON Schema, on objects as they are written, rendered, started, and as pods."""

import io
from concurrent.futures import ThreadPoolExecutor

import pytest
from functions import resource_list

import krm_fn
from krm_fn import yamlio
from krm_fn.base.errors import ConfigError
from krm_fn.base.work import WORK
from krm_fn.hosts import function

VM = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "web", "namespace": "shop", "labels": {"tier": "db"}},
    "spec": {
        "runStrategy": "Always",
        "instancetype": {"name": "u1.small"},
        "template": {"spec": {"domain": {"devices": {}}}},
    },
}
NAMESPACE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"stage": "prod"}}}
SOCKETS = ("spec", "template", "spec", "domain", "cpu", "sockets")


def at(path, schema):
    """A schema for the value at a path."""
    for step in reversed(path):
        schema = {"properties": {step: schema}}
    return schema


def found(schema, *items, vm=VM, mode="expand", severity=None, **policy):
    """The results of one policy."""
    policies = [{"name": "p", "schema": schema, **policy}]
    spec = {"catalogue": "builtin", "severity": severity or {}, "mode": mode}
    return krm_fn.process(resource_list(vm, *items, schemaPolicies=policies, **spec))["results"]


def rules(results):
    return [result["tags"]["rule"] for result in results]


@pytest.mark.parametrize("mode", ["expand", "validate", "annotate", "snapshot"])
def test_a_policy_judges_the_rendered_vm_in_every_mode(mode):
    (result,) = [each for each in found(at(SOCKETS, {"minimum": 2}), mode=mode) if each["tags"]["rule"] == "policy/p"]
    assert result["severity"] == "error"
    assert result["message"] == "the policy requires minimum: 2"
    assert result["field"] == {"path": "spec.template.spec.domain.cpu.sockets", "currentValue": 1}
    assert result["resourceRef"]["name"] == "web"
    assert result["tags"] == {"rule": "policy/p"}


def test_a_policy_that_holds_finds_nothing():
    assert found(at(SOCKETS, {"maximum": 1})) == []


@pytest.mark.parametrize(
    ("on", "schema", "path"),
    [
        ("written", {"properties": {"spec": {"not": {"required": ["instancetype"]}}}}, "spec"),
        ("rendered", {"properties": {"spec": {"required": ["instancetype"]}}}, "spec"),
        ("instance", at(("spec", "domain", "cpu", "sockets"), {"const": 2}), "spec.template.spec.domain.cpu.sockets"),
        ("instance", at(("metadata", "labels"), False), "spec.template.metadata.labels"),
        ("pod", at(("memoryOverhead",), {"const": "1"}), ""),
    ],
)
def test_a_policy_judges_the_state_that_it_names(on, schema, path):
    vm = {**VM, "spec": {**VM["spec"], "template": {**VM["spec"]["template"], "metadata": {"labels": {"a": "b"}}}}}
    (result,) = found(schema, vm=vm, on=on)
    assert result.get("field", {}).get("path", "") == path


def test_the_message_of_a_pod_names_the_place_in_it():
    (result,) = found(at(("memoryOverhead",), {"const": "1"}), on="pod", message="too much")
    assert result["message"] == "too much (at memoryOverhead of the pod)"


def test_patches_come_before_policies():
    patch = {"patch": [{"op": "replace", "path": "/" + "/".join(SOCKETS), "value": 7}]}
    policy = {"name": "p", "schema": at(SOCKETS, {"const": 7})}
    spec = {"catalogue": "builtin", "schemaPolicies": [policy], "severity": {"unrepeatable-patch": "off"}}
    assert krm_fn.process(resource_list(VM, patches=[patch], **spec))["results"] == []
    assert rules(krm_fn.process(resource_list(VM, **spec))["results"]) == ["policy/p"]


def test_a_pool_is_judged_by_its_template():
    pool = {
        "apiVersion": "pool.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePool",
        "metadata": {"name": "pool"},
        "spec": {"replicas": 1, "selector": {}, "virtualMachineTemplate": {"spec": VM["spec"]}},
    }
    (result,) = found(at(SOCKETS, {"minimum": 2}), vm=pool)
    assert result["field"]["path"] == "spec.virtualMachineTemplate.spec.template.spec.domain.cpu.sockets"


@pytest.mark.parametrize(
    ("select", "selected"),
    [
        ({}, True),
        ({"kinds": ["VirtualMachine", "Other"]}, True),
        ({"kinds": ["VirtualMachinePool"]}, False),
        ({"namespaces": ["sh*"]}, True),
        ({"namespaces": ["!shop"]}, False),
        ({"namespaces": ["!lab"]}, True),
        ({"namespaces": ["*", "!shop"]}, False),
        ({"namespaces": ["lab"]}, False),
        ({"labels": {"tier": "db"}}, True),
        ({"labels": {"tier": "web"}}, False),
        ({"namespaceLabels": {"stage": "prod"}}, True),
        ({"namespaceLabels": {"stage": "dev"}}, False),
        ({"namespaceLabels": {"stage": "!dev", "other": "!*"}}, True),
        ({"namespaceLabels": {"stage": "!pr*"}}, False),
        ({"labels": {"tier": "*"}}, True),
        ({"labels": {"tier": "!*"}}, False),
        ({"labels": {"absent": "*"}}, False),
    ],
)
def test_a_policy_is_for_the_objects_that_it_selects(select, selected):
    assert bool(found(False, NAMESPACE, select=select)) == selected


def test_message_and_severity_are_those_of_the_policy():
    (result,) = found(False, message="no VMs here", severity=None, on="written")
    assert result["message"] == "no VMs here"
    policies = [{"name": "p", "schema": False, "severity": "info"}]
    (result,) = krm_fn.process(resource_list(VM, schemaPolicies=policies, catalogue="builtin"))["results"]
    assert result["severity"] == "info"


@pytest.mark.parametrize(("level", "severities"), [("warning", ["warning"]), ("off", [])])
def test_the_config_sets_the_severity_of_a_policy(level, severities):
    assert [each["severity"] for each in found(False, severity={"policy/p": level})] == severities


def test_an_annotation_silences_a_policy():
    vm = {**VM, "metadata": {**VM["metadata"], "annotations": {"kubevirt-render.dev/ignore": "policy/p: agreed until May"}}}
    assert found(False, vm=vm) == []


def test_a_vm_that_can_not_be_rendered_is_left_to_other_rules():
    vm = {**VM, "spec": {**VM["spec"], "instancetype": {"name": "nothing"}}}
    assert rules(found(False, vm=vm)) == ["unresolved-instancetype"]


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"required": ["a", "kind", "b"]}, "the policy requires a and b; add what is missing"),
        (at(("kind",), {"enum": ["A", "B"]}), "the policy requires enum: A or B"),
        (at(("kind",), {"pattern": "^A"}), "the policy requires pattern: ^A"),
        ({"anyOf": [False]}, "the value does not match anyOf of the policy; change it"),
        ({"additionalProperties": False}, "the policy requires additionalProperties: false"),
    ],
)
def test_without_a_message_the_keyword_is_named(schema, message):
    assert [each["message"] for each in found(schema, on="written")] == [message]


def test_no_secret_is_shown():
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "hunter2"}}
    results = found(at(("stringData", "a"), {"const": "x"}), secret, on="written")
    assert rules(results) == ["policy/p"]
    assert "hunter2" not in str(results)


DEEP = {"a": "b"}
for _ in range(3000):
    DEEP = {"a": DEEP}
BOMB = {f"d{n}": {"allOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 10} for n in range(12)}


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"$ref": "https://example.com/x"}, "$ref 'https://example.com/x' is not in the schema"),
        ({"$ref": "file:///etc/passwd"}, "$ref 'file:///etc/passwd' is not in the schema"),
        ({"$ref": "#/$defs/nothing"}, "$defs/nothing' is not in the schema"),
        ({"$dynamicRef": "https://example.com/x"}, "is not in the schema"),
        ({"$ref": "#"}, "it refers to itself without end"),
        ({"type": "nothing"}, "it is no JSON Schema: type is wrong"),
        (at(("kind",), {"pattern": "("}), "it is no JSON Schema: properties.kind.pattern is wrong"),
        (at(("kind",), {"pattern": "(?<=a)b"}), "the regular expression (?<=a)b: it has look-behind"),
        ({"$schema": "http://json-schema.org/draft-04/schema#"}, "its $schema is not "),
    ],
)
def test_a_schema_that_can_not_be_evaluated_is_one_finding(schema, why):
    (result,) = found(schema, on="written", mode="expand")
    assert result["tags"]["rule"] == "policy-not-evaluated"
    assert result["severity"] == "warning"
    assert result["message"].startswith("the policy p is not evaluated: schemaPolicies[0].schema: ")
    assert why in result["message"]


def test_a_wrong_policy_does_not_hide_the_others():
    policies = [{"name": "wrong", "schema": {"$ref": "#/x"}}, {"name": "right", "schema": False}]
    answer = krm_fn.process(resource_list(VM, schemaPolicies=policies, catalogue="builtin"))
    assert rules(answer["results"]) == ["policy/right", "policy-not-evaluated"]


def test_a_deep_object_is_no_crash():
    vm = {**VM, "metadata": {**VM["metadata"], "annotations": DEEP}}
    recursive = {"additionalProperties": {"$ref": "#"}}
    results = found(recursive, vm=vm, on="written")
    assert "policy-not-evaluated" in rules(results)


def called(levels, call):
    """What a call gives that many calls deep."""
    return called(levels - 1, call) if levels else call()


@pytest.mark.parametrize("keyword", ["items", "allOf", "not", "properties"])
def test_a_deep_schema_is_no_crash_wherever_the_stack_ends(capfd, keyword):
    schema = {"type": "object"}
    for _ in range(150):
        schema = {keyword: {"items": schema, "allOf": [schema], "not": schema, "properties": {"a": schema}}[keyword]}
    for levels in range(24):
        (result,) = called(levels, lambda: found(schema, on="written", mode="expand"))
        assert "it refers to itself without end, or an object is too deep" in result["message"]
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    ("policies", "message"),
    [
        ({}, "spec.schemaPolicies: found a map; expected a list of policies"),
        ([{"schema": {}}], "spec.schemaPolicies[0].name: found nothing; expected a name of lower case letters"),
        ([{"name": "A", "schema": {}}], "spec.schemaPolicies[0].name: found 'A'; expected a name of lower case letters"),
        ([{"name": "a"}], "spec.schemaPolicies[0].schema: found nothing; expected a JSON Schema"),
        ([{"name": "a", "schema": {}}, {"name": "a", "schema": {}}], "spec.schemaPolicies[1].name: another policy is named a"),
        (
            [{"name": "a", "schema": {}, "on": "render"}],
            "expected one of written, rendered, instance, pod; did you mean rendered",
        ),
        ([{"name": "a", "schema": {}, "selct": {}}], "spec.schemaPolicies[0].selct: unknown key; expected one of name"),
        (
            [{"name": "a", "schema": {}, "select": {"kinds": "x"}}],
            "spec.schemaPolicies[0].select.kinds: found 'x'; expected a list",
        ),
        ([{"name": "a", "schema": {}, "select": {"labels": {"a": 1}}}], "spec.schemaPolicies[0].select.labels.a: found 1"),
    ],
)
def test_a_wrong_policy_is_an_error_of_the_config(policies, message):
    with pytest.raises(ConfigError) as error:
        krm_fn.process(resource_list(VM, schemaPolicies=policies))
    assert message in str(error.value)


@pytest.mark.parametrize("key", ["on", "true", True])
def test_a_plain_on_that_a_reader_takes_for_true_is_understood(key):
    policies = [{"name": "p", "schema": {"properties": {"spec": {"required": ["instancetype"]}}}, key: "written"}]
    assert krm_fn.process(resource_list(VM, schemaPolicies=policies, catalogue="builtin"))["results"] == []


def test_the_function_gives_the_same_findings_and_writes_them_on_stderr():
    policies = [{"name": "p", "schema": at(SOCKETS, {"minimum": 2}), "message": "too small"}]
    given = resource_list(VM, schemaPolicies=policies, catalogue="builtin")
    out, err = io.BytesIO(), io.StringIO()
    assert function.run(yamlio.dump(given).encode(), out, err) == 1
    assert yamlio.read_resource_list(out.getvalue()).head["results"] == krm_fn.process(given)["results"]
    assert err.getvalue().endswith("spec.template.spec.domain.cpu.sockets: too small (policy/p)\n")


def test_a_schema_is_evaluated_in_a_thread():
    with ThreadPoolExecutor(1) as threads:
        result = threads.submit(found, at(("kind",), {"pattern": "^(X|Y)+"}), on="written").result()
    assert rules(result) == ["policy/p"]


ANNOTATIONS = ("metadata", "annotations")
LONG = {"long": "a" * 60 + "!", "a" * 60: "x"}


@pytest.mark.parametrize(
    ("schema", "values", "expected"),
    [
        (at((*ANNOTATIONS, "long"), {"pattern": "^(a|a)*$"}), LONG, ["policy/p"]),
        (at(ANNOTATIONS, {"patternProperties": {"^(a|a)*$": False}}), LONG, ["policy/p"]),
        (at((*ANNOTATIONS, "long"), {"pattern": "^(?!a)"}), LONG, ["policy/p"]),
        (
            at(ANNOTATIONS, {"additionalProperties": {"enum": [f"v{n}" for n in range(9_000)]}}),
            {"a": "v8999", "b": "w"},
            ["policy/p"],
        ),
        (
            at(ANNOTATIONS, {"additionalProperties": {"enum": [1, True, [0], {"a": 0}]}}),
            {"a": 1.0, "b": [False], "c": {"a": 0.0}},
            ["policy/p"],
        ),
        (
            at(ANNOTATIONS, {"additionalProperties": {"uniqueItems": True}}),
            {"a": [1, True, "1", [1], [True]], "b": [{"a": 1}, {"a": 1.0}]},
            ["policy/p"],
        ),
        (at(ANNOTATIONS, {"patternProperties": {"^a": True}, "unevaluatedProperties": False}), {"a": 1, "b": 1}, ["policy/p"]),
        (
            at((*ANNOTATIONS, "l"), {"prefixItems": [True], "contains": {"const": 3}, "unevaluatedItems": False}),
            {"l": [1, 2, 3]},
            ["policy/p"],
        ),
    ],
)
def test_what_takes_long_elsewhere_is_evaluated(schema, values, expected):
    vm = {**VM, "metadata": {**VM["metadata"], "annotations": values}}
    assert rules(found(schema, vm=vm, on="written")) == expected
    assert WORK.spent < 2_000_000


TEXTS = {f"key-{n}": f"{n}" for n in range(5_000)}
VALUES = [{"b": n} for n in range(5_000)]
MEMBERS = {"enum": [f"v{n}" for n in range(5_000)] + [f"{n}" for n in range(5_000)]}


@pytest.mark.parametrize(
    ("schema", "values", "spent"),
    [
        (at(ANNOTATIONS, {"additionalProperties": MEMBERS}), TEXTS, False),
        (at(ANNOTATIONS, {"additionalProperties": {"uniqueItems": True}}), {"a": VALUES}, False),
        (at(ANNOTATIONS, {"patternProperties": {f"^x{n}(a|b)*c": False for n in range(5_000)}}), TEXTS, True),
        (at(ANNOTATIONS, {"anyOf": [{"propertyNames": {"type": "number"}}] * 5_000}), TEXTS, True),
        ({"$ref": "#/$defs/d0", "$defs": {**BOMB, "d12": True}}, {}, True),
        ({"$ref": "#/$defs/d0", "$defs": {**BOMB, "d12": True}, "unevaluatedProperties": False}, {}, True),
        (
            {
                "$defs": {
                    "a": {"$schema": "http://json-schema.org/draft-07/schema#", "$ref": "#/$defs/d0"},
                    **BOMB,
                    "d12": True,
                },
                "$ref": "#/$defs/a",
            },
            {},
            True,
        ),
    ],
)
def test_a_schema_ends_by_the_work_that_it_takes(schema, values, spent):
    vm = {**VM, "metadata": {**VM["metadata"], "annotations": values}}
    results = found(schema, vm=vm, on="written")
    assert [each["tags"]["rule"] for each in results if each["message"].startswith("the policy p is not")] == [
        "policy-not-evaluated"
    ] * spent
    assert all(
        each["message"].startswith("the policy p is not evaluated: it takes more than its share") for each in results[:spent]
    )
    assert WORK.spent < 15_000_000


@pytest.mark.parametrize(("severity", "told"), [("error", "error"), ("warning", "warning"), ("info", "warning")])
def test_a_schema_that_takes_too_much_work_is_an_error_if_its_policy_is_one(severity, told):
    schema = {"$ref": "#/$defs/d0", "$defs": {**BOMB, "d12": True}}
    assert [each["severity"] for each in found(schema, on="written", severity={"policy/p": severity})] == [told]


def test_a_large_object_takes_little_work():
    vm = {**VM, "metadata": {**VM["metadata"], "annotations": {f"a{n}": "x" * 100 for n in range(100_000)}}}
    schema = at(("metadata", "annotations"), {"additionalProperties": {"maxLength": 10}})
    results = found(schema, vm=vm, on="written")
    assert WORK.spent < 3_000_000  # some for each annotation
    assert 0 < len(results) <= 20
