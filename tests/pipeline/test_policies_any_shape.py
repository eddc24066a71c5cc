"""Policies answer for bundles in which anything stands at random places, the policies included, and remember nothing wrong."""

from __future__ import annotations

import copy
import json
from random import Random

import pytest
from functions import resource_list
from hypothesis import given, settings
from hypothesis import strategies as st
from test_any_shape import ODD, places

import krm_fn
from krm_fn.pipeline import admission_policies
from krm_fn.policies.admission import Policies

GROUP = "admissionregistration.k8s.io/v1"
CONSTRAINTS = {"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]}
VALIDATIONS = (
    "object.metadata.?labels.team.orValue('') != 'b'",
    "object.spec.template.spec.domain.?cpu.?cores.orValue(1) <= int(params.data.cores)",
    "!object.spec.template.spec.?volumes.orValue([]).exists(v, v.name == 'secret')",
    "namespaceObject.metadata.?labels.?tier.orValue('dev') == 'dev' || variables.disks.size() < 2",
    "request.name.startsWith('vm') && request.namespace in ['shop', 'default']",
    "variables.disks.map(d, d.name).isSorted() || has(object.spec.instancetype)",
    "quantity(object.spec.template.spec.domain.memory.guest).isLessThan(quantity('4Gi'))",
    "object.metadata == oldObject || object.spec.all(k, k != '')",
    "object.spec['template'].metadata.labels.exists(k, k.matches('^[a-z]+$'))",
)
EVERY = range(len(VALIDATIONS))
STATES = ("written", "rendered", "instance", "pod")
VARIABLES = [{"name": "disks", "expression": "object.spec.template.spec.domain.devices.?disks.orValue([])"}]


def policies(numbers=EVERY, turn=0):
    """Policies with their bindings: on each state, with parameters, selectors, conditions, messages and annotations."""
    return [each for number in numbers for each in bound(number, STATES[(number + turn) % 4])]


def bound(number, state):
    """One of the policies and its binding."""
    name = f"p{number}"
    spec = {
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "failurePolicy": ("Fail", "Ignore")[number % 2],
        "matchConstraints": {
            **CONSTRAINTS,
            **({"objectSelector": {"matchLabels": {"team": "a"}}} if number == 2 else {}),
            **({"namespaceSelector": {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}} if number == 3 else {}),
        },
        "matchConditions": [{"name": "c", "expression": "object.kind != 'KubeVirt' && has(object.metadata.name)"}],
        "variables": VARIABLES,
        "validations": [{"expression": VALIDATIONS[number], "messageExpression": "'in ' + string(object.metadata.name)"}],
        "auditAnnotations": [{"key": "k", "valueExpression": "string(object.kind)"}],
    }
    meta = {"name": name, "annotations": {"kubevirt-render.dev/evaluate": state}}
    param = {"selector": {"matchLabels": {"for": "policies"}}} if number % 2 else {"name": "limits", "namespace": "shop"}
    binding = {"policyName": name, "validationActions": ["Deny"], "paramRef": {**param, "parameterNotFoundAction": "Allow"}}
    return [
        {"apiVersion": GROUP, "kind": "ValidatingAdmissionPolicy", "metadata": meta, "spec": spec},
        {"apiVersion": GROUP, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name}, "spec": binding},
    ]


def vm(name, team, cores):
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": "shop", "labels": {"team": team}},
        "spec": {
            "runStrategy": "Always",
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {
                    "domain": {
                        "cpu": {"cores": cores},
                        "memory": {"guest": "2Gi"},
                        "devices": {"disks": [{"name": "root"}, {"name": "data"}]},
                    },
                    "volumes": [{"name": "root", "emptyDisk": {"capacity": "1Gi"}}],
                },
            },
        },
    }


BUNDLE = [
    *(vm(f"vm-{number}", "ab"[number % 2], number % 3 + 1) for number in range(6)),
    {**vm("pool", "a", 2), "kind": "VirtualMachinePool", "apiVersion": "pool.kubevirt.io/v1beta1"},
    {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "limits", "namespace": "shop", "labels": {"for": "policies"}},
        "data": {"cores": "2"},
    },
    {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop", "labels": {"tier": "dev"}}},
]
BUNDLE[6]["spec"] = {
    "replicas": 2,
    "selector": {"matchLabels": {"app": "pool"}},
    "virtualMachineTemplate": {"metadata": {"labels": {"app": "pool"}}, "spec": vm("pool", "a", 2)["spec"]},
}


def damaged(rng, items):
    """The same items with a few of their values replaced, removed or moved."""
    items = copy.deepcopy(items)
    for _ in range(rng.randint(1, 6)):
        found = list(places(items)) or [({"": 0}, "")]
        (holder, key), (other, at) = rng.choice(found), rng.choice(found)
        choice = rng.random()
        if choice < 0.2:
            del holder[key]
        else:
            holder[key] = copy.deepcopy(rng.choice(ODD) if choice < 0.6 else other[at])
    return items


def repeated(rng, items):
    """The same items and more of them, each a copy with a few other texts: what a memory may take for one seen before."""
    again = [copy.deepcopy(rng.choice(items)) for _ in range(3)]
    for each in again:
        texts = [(holder, key) for holder, key in places(each) if isinstance(holder[key], str)]
        for holder, key in rng.sample(texts, min(2, len(texts))):
            holder[key] += "x"
    return items + again


def answer(items):
    """The results for some items, without warnings of the rules."""
    results = krm_fn.process(resource_list(*items, mode="validate", failOn="never"))["results"]
    json.dumps(results)
    return [each for each in results if "polic" in each["tags"]["rule"]]


class Plain(Policies):
    """Policies that remember nothing."""

    def reads(self, _):
        """Nothing is known of what they read, so no VM repeats another one."""
        return


def plain(items):
    """The results of policies that are evaluated on each object anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(admission_policies, "RememberedPolicies", Plain)
        return answer(items)


def test_the_bundle_has_findings_of_all_kinds_as_it_is():
    found = answer(BUNDLE + policies())
    assert found == plain(BUNDLE + policies())
    assert len({each["tags"]["rule"] for each in found}) > 4


@settings(max_examples=150, deadline=None)
@given(seed=st.integers(0, 10**9), what=st.sampled_from(["objects", "policies", "all"]))
def test_damaged_policies_and_objects_have_the_same_answer_with_and_without_memory(seed, what):
    rng = Random(seed)
    objects, own = BUNDLE, policies(rng.sample(EVERY, rng.randint(1, len(EVERY))), rng.randint(0, 3))
    if what != "policies":
        objects = repeated(rng, damaged(rng, objects))
    if what != "objects":
        own = damaged(rng, own)
    items = objects + own
    assert answer(items) == plain(items)
