"""Policies that remember which objects pass say what policies that work out each answer say."""

import gzip
import json
import os
from pathlib import Path

import pytest

from krm_fn.base.work import WORK
from krm_fn.policies.admission import Policies, RememberedPolicies, Skipped
from krm_fn.policies.reads import EACH, PRESENT, field_of, part, reads_of

FILE = Path(__file__).resolve().parents[2] / "fixtures" / "policies" / "policies.jsonl.gz"
EVERY = int(os.environ.get("EVERY", "12"))  # case of the measured ones
TOGETHER = 8  # objects that each policy is asked about, beside its own


def cases():
    with gzip.open(FILE, "rt", encoding="utf-8") as lines:
        found = [json.loads(line) for number, line in enumerate(lines) if number % EVERY == 0]
    return [case for case in found if case["object"] and case["tags"][0] != "cost"]  # these loop for long, and read no object


def said(policies, obj):
    WORK.begin(0)
    return [each if isinstance(each, Skipped) else each._values()[1:] for each in policies.failures(obj, obj, "written")]


def spec(expression, message="", **variables):
    validation = {"expression": expression, **({"messageExpression": message} if message else {})}
    return {"validations": [validation], "variables": [{"name": key, "expression": each} for key, each in variables.items()]}


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        (spec("object.spec.a.b == 1"), [("spec", "a", "b")]),
        (spec("object.spec['a'].b == object.spec.c"), [("spec", "a", "b"), ("spec", "c")]),
        (spec("has(object.spec.a)"), [("spec", "a", PRESENT)]),
        (spec("'a' in object.spec.b"), [("spec", "b", "a")]),
        (spec("object.?spec.?a.orValue(1) == 1"), [("spec", "a")]),
        (spec("variables.a.b == 1", a="object.spec"), [("spec", "b")]),
        (spec("variables.a == 1", a="object.spec.b + 1"), [("spec", "b")]),
        (spec("(has(object.a) ? object.b : object.c).d == 1"), [("a", PRESENT), ("b", "d"), ("c", "d")]),
        (spec("object.a.all(x, x.b == 1)"), [("a", EACH, PRESENT), ("a", EACH, "b")]),
        (spec("object.a.filter(x, x.b).map(y, y.c) == []"), [("a", EACH, PRESENT), ("a", EACH, "b"), ("a", EACH, "c")]),
        (spec("object.a.filter(x, x.b) == []"), [("a",)]),
        (spec("object.a.all(object, object.b == 1)"), [("a", EACH, PRESENT), ("a", EACH, "b")]),
        (spec("object.a.transformList(i, x, x.b) == []"), [("a",)]),
        (spec("object.a[object.b] == 1"), [("a",), ("b",)]),
        (spec("oldObject == null || object != oldObject"), []),
        (spec("params.a == object.spec.a"), [("spec", "a")]),
    ],
)
def test_what_expressions_read(given, verdict):
    assert sorted(reads_of(given).verdict) == sorted(verdict)


def test_equal_answers_to_objects_of_all_cases():
    found = cases()
    assert len(found) > 100
    for number, case in enumerate(found):
        given = [each for key in ("policies", "bindings", "params", "namespaces") for each in case.get(key) or ()]
        remembered = RememberedPolicies(given)
        objects = [case["object"], *(other["object"] for other in found[number + 1 : number + TOGETHER])]
        objects += [{**each, "metadata": {**each["metadata"], "name": "other"}} for each in objects]
        for obj in objects:
            assert said(remembered, obj) == said(Policies(given), obj), (case["id"], obj["metadata"])


@pytest.mark.parametrize("expression", ["object == 1", "object.map(x, x) == []", "variables.a == 1", "((", "[object] == []"])
def test_what_may_read_all_of_an_object_is_not_remembered(expression):
    assert reads_of(spec(expression)) is None


@pytest.mark.parametrize(
    ("expression", "named"), [("request.name == 'a'", True), ("request.namespace == 'a'", False), ("request == 1", True)]
)
def test_the_name_of_a_request_is_read(expression, named):
    assert reads_of(spec(expression)).named == named


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (spec("object.spec.a.b < 4"), ("spec", "a", "b")),
        (spec("object.spec.a < 4 || object.spec.a == 9"), ("spec", "a")),
        (spec("has(object.spec.a) && has(object.spec.a.b) && object.spec.a.b < 4"), ("spec", "a", "b")),
        (spec("!has(object.spec.a)"), ("spec", "a")),
        (spec("object.spec.?a.?b.orValue(1) < int(params.data.c)"), ("spec", "a", "b")),
        (spec("variables.a.b < 4", "'x' + object.metadata.name", a="object.spec", c="object.d"), ("spec", "b")),
        (spec("object.spec.a < object.spec.b"), None),
        (spec("has(object.spec.a) || has(object.spec.b)"), None),
        (spec("object.spec.a.all(x, x.b == 1)"), None),
        (spec("object == oldObject"), None),
        (spec("true"), None),
        (spec("(("), None),
    ],
)
def test_the_one_field_that_a_validation_reads(given, field):
    assert field_of(given, 0) == field


def test_messages_do_not_decide():
    assert reads_of(spec("object.spec.a", "'x' + object.metadata.name")).verdict == (("spec", "a"),)


@pytest.mark.parametrize(
    "given", [{"validations": [{}]}, {"validations": [{"expression": {}}]}, {"variables": [{"name": "a"}]}]
)
def test_a_policy_without_an_expression_is_not_read(given):
    assert reads_of(given) is None
    assert field_of(given, 0) is None
    assert field_of(given, 7) is None


@pytest.mark.parametrize(
    ("one", "other", "path"),
    [
        ({"a": 1}, {"a": 1.0}, ("a",)),
        ({"a": 1}, {"a": True}, ("a",)),
        ({"a": None}, {}, ("a",)),
        ({"a": None}, {}, ("a", PRESENT)),
        ({"a": "b"}, {"a": {}}, ("a", "b")),
        ({"a": {}}, {}, ("a", "b")),
        ({"a": [{}]}, {"a": []}, ("a", EACH, "b")),
        ({"a": [{"b": 1}]}, {"a": [{"b": 2}]}, ("a", EACH, "b")),
        ({"a": {"x": 1}}, {"a": {"y": 1}}, ("a", EACH, "b")),
    ],
)
def test_parts_differ_where_an_expression_may_see_it(one, other, path):
    assert part(one, path) != part(other, path)


def test_objects_that_pass_and_differ_elsewhere_are_asked_once(monkeypatch):
    asked = []
    policy = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]
            },
            **spec("object.spec.a < 3"),
        },
    }
    binding = {**policy, "kind": "ValidatingAdmissionPolicyBinding", "spec": {"policyName": "p"}}
    remembered = RememberedPolicies([policy, binding])
    judged = Policies._judged
    monkeypatch.setattr(Policies, "_judged", lambda self, *given: asked.append(1) or judged(self, *given))
    vms = [
        {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": f"v{n}"}, "spec": {"a": n % 5}}
        for n in range(50)
    ]
    failed = [vm["metadata"]["name"] for vm in vms if said(remembered, vm)]
    assert len(failed) == 20
    assert len(asked) == 3 + 20
