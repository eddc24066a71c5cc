"""Policies of a bundle: what they are evaluated on, what is never guessed, and what hostile ones cost."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import krm_fn
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
SECONDS = 10  # of processor time; a few are usual


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


@pytest.mark.parametrize(
    ("expression", "why"),
    [
        ("request.userInfo.username == 'a'", "userInfo is known to the cluster only"),
        ("authorizer.group('').resource('pods').check('get').allowed()", "authorizer is known to the cluster only"),
        ("url(object.metadata.name).getHost() == ''", "url() is not available here"),
        ("object.metadata.name.matches('(?i)a')", "a regular expression that RE2 may read in another way"),
    ],
)
def test_what_cannot_be_evaluated_is_said_and_never_guessed(expression: str, why: str) -> None:
    ((rule, message),) = found([VM, SHOP, *policy(expression)])
    assert (rule, why in message) == ("policy-not-evaluated", True)


def test_a_policy_that_the_server_refuses_takes_no_part() -> None:
    ((rule, message),) = found([VM, SHOP, *policy("object.metadata.name == nobody", "false")])
    assert (rule, "nobody is not declared" in message) == ("refused-policy", True)


def test_a_policy_without_a_binding_is_not_evaluated() -> None:
    ((rule, _),) = found([VM, policy("false")[0]])
    assert rule == "unbound-policy"


HOSTILE = {
    "a long expression": " && ".join(["true"] * 20_000),
    "deep brackets": "(" * 5_000 + "true" + ")" * 5_000,
    "loops in loops": "[1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, " * 8 + "true" + "))" * 8,
    "a text that grows": "lists.range(9000).map(i, 'abcdefghij').map(x, x + x + x + x).join('').size() > 0",
    "a slow pattern": "('a' + 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa').matches('(a|a)*b')",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_expressions_end_soon_with_one_finding(name: str) -> None:
    started = time.process_time()
    assert len(found([VM, SHOP, *policy(HOSTILE[name])])) <= 1
    assert time.process_time() - started < SECONDS


def test_a_large_and_a_deep_object_end_soon() -> None:
    started = time.process_time()
    deep: Any = {}
    for _ in range(400):
        deep = {"a": deep}
    labels = {f"key-{number}": "v" * 50 for number in range(50_000)}
    large = {**VM, "metadata": {"name": "vm", "labels": labels}, "status": deep}
    found([large, *policy("object == object", "object.metadata.labels.all(k, k != '')")])
    assert time.process_time() - started < 2 * SECONDS


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
