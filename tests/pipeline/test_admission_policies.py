"""ValidatingAdmissionPolicies of the config and the bundle: what binds them, and what they are evaluated on."""

import pytest
from functions import resource_list

import krm_fn
from krm_fn.base.errors import ConfigError

GROUP = "admissionregistration.k8s.io/v1"
SOCKETS = "object.spec.template.spec.domain.?cpu.?sockets.orValue(1) < 4"
DOMAIN = {"devices": {}, "cpu": {"sockets": 4}, "memory": {"guest": "1Gi"}}
VM = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {
        "runStrategy": "Always",
        "instancetype": {"name": "u1.xlarge"},
        "template": {"spec": {"domain": {"devices": {}}}},
    },
}
POOL = {
    "apiVersion": "pool.kubevirt.io/v1beta1",
    "kind": "VirtualMachinePool",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"replicas": 1, "selector": {}, "virtualMachineTemplate": {"spec": VM["spec"]}},
}
INSTANCE = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachineInstance",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {"domain": DOMAIN},
}
REPLICAS = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachineInstanceReplicaSet",
    "metadata": {"name": "web", "namespace": "shop"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"domain": DOMAIN}},
    },
}
SHOP = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}}


def policy(expression, *, name="p", evaluate="", resources=("*",), operations=("CREATE", "UPDATE"), **spec):
    annotations = {"kubevirt-render.dev/evaluate": evaluate} if evaluate else {}
    rule = {
        "apiGroups": ["kubevirt.io", "pool.kubevirt.io"],
        "apiVersions": ["*"],
        "operations": list(operations),
        "resources": list(resources),
    }
    return {
        "apiVersion": GROUP,
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": expression}], **spec},
    }


def binding(name="p", *actions, **spec):
    spec = {"policyName": name, "validationActions": list(actions or ("Deny",)), **spec}
    return {"apiVersion": GROUP, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": f"b-{name}"}, "spec": spec}


def results(*items, policies=(), mode="expand", **spec):
    found = krm_fn.process(resource_list(*items, policies=list(policies), mode=mode, catalogue="builtin", **spec))["results"]
    return [each for each in found if "policy" in each["tags"]["rule"]]


def rules(found):
    return [each["tags"]["rule"] for each in found]


@pytest.mark.parametrize("mode", ["expand", "validate", "annotate", "snapshot"])
def test_policies_of_the_config_judge_in_every_mode(mode):
    found = results(VM, SHOP, policies=[policy("false"), binding()], mode=mode)
    assert [(each["severity"], each["tags"]) for each in found] == [
        ("error", {"rule": "policy/p", "binding": "b-p", "validation": "0", "upstream": "admission"})
    ]


def test_policies_of_the_config_do_not_leave_with_the_items():
    answer = krm_fn.process(resource_list(VM, policies=[policy("true"), binding()], catalogue="builtin"))
    assert [each["kind"] for each in answer["items"]] == ["VirtualMachine"]


def test_policies_of_the_bundle_leave_as_they_came():
    given = [policy("true"), binding()]
    assert krm_fn.process(resource_list(VM, *given, catalogue="builtin"))["items"][1:] == given


def test_a_policy_of_the_config_denies_where_nothing_binds_it_and_no_cluster_is_said_to_refuse():
    (found,) = results(VM, policies=[policy("false")])
    assert (found["severity"], found["tags"]) == ("error", {"rule": "policy/p", "validation": "0"})


def test_a_policy_of_the_config_that_needs_parameters_needs_a_binding():
    given = policy("params.data.a == 'b'", paramKind={"apiVersion": "v1", "kind": "ConfigMap"})
    (found,) = results(VM, policies=[given])
    assert found["message"] == (
        "the policy p is not evaluated: no binding names the policy; add one, because it chooses the parameters"
    )


def test_a_binding_of_the_bundle_binds_a_policy_of_the_config():
    (found,) = results(VM, SHOP, binding("p", "Warn"), policies=[policy("false")])
    assert (found["severity"], found["tags"]["binding"]) == ("warning", "b-p")


def test_the_config_wins_over_a_policy_of_the_bundle_with_the_same_name():
    assert rules(results(VM, SHOP, policy("true"), binding(), policies=[policy("false")])) == ["policy/p"]
    assert rules(results(VM, SHOP, policy("false"), binding(), policies=[policy("false")])) == ["policy/p"]


def test_a_parameter_of_the_config_counts_for_a_policy_of_the_bundle():
    given = policy("params.data.owner == 'me'", paramKind={"apiVersion": "v1", "kind": "ConfigMap"})
    bound = binding(paramRef={"name": "owner", "namespace": "rules", "parameterNotFoundAction": "Deny"})
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner", "namespace": "rules"}}
    (found,) = results(VM, SHOP, given, bound, policies=[{**owner, "data": {"owner": "you"}}])
    assert found["tags"]["param"] == "rules/owner"
    assert results(VM, SHOP, given, bound, policies=[{**owner, "data": {"owner": "me"}}]) == []


def test_a_missing_parameter_is_one_finding_about_the_object():
    given = policy("true", paramKind={"apiVersion": "v1", "kind": "ConfigMap"})
    bound = binding(paramRef={"name": "owner", "namespace": "rules", "parameterNotFoundAction": "Deny"})
    (found,) = results(VM, SHOP, given, bound)
    assert found["message"].startswith("failed to configure binding: no params found")
    assert "validation" not in found["tags"]


def test_a_namespace_among_the_policies_is_wrong():
    with pytest.raises(ConfigError, match=r"spec.policies\[0\]: a Namespace is no policy, binding or parameter"):
        results(VM, policies=[SHOP])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "spec.policies: found a map; expected a list of policies, bindings and parameters"),
        ([1], r"spec.policies\[0\]: found 1; expected an object with apiVersion, kind and metadata.name"),
        ([{"kind": "ConfigMap"}], r"spec.policies\[0\]: found a map; expected an object with apiVersion"),
        (["a.yaml"], r"spec.policies\[0\]: found 'a.yaml'; .* files are read for .kubevirt-render.yaml and --policy only"),
    ],
)
def test_what_is_no_policy_is_an_error_with_its_place(given, message):
    with pytest.raises(ConfigError, match=message):
        krm_fn.process(resource_list(VM, policies=given))


def test_a_config_map_has_policies_as_text():
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"policies": f"[{policy('false')}]"}}
    found = krm_fn.process({"items": [VM], "functionConfig": config})["results"]
    assert rules(found) == ["policy/p"]


def test_an_unknown_state_is_named_and_the_policy_is_not_evaluated():
    (found,) = results(VM, SHOP, policy("false", evaluate="rendred"), binding())
    assert found["tags"]["rule"] == "policy-not-evaluated"
    assert found["field"]["path"] == 'metadata.annotations["kubevirt-render.dev/evaluate"]'
    assert "found 'rendred'; expected one of written, rendered, instance, pod" in found["message"]


def test_a_binding_without_its_policy_is_reported_where_it_names_it():
    (found,) = results(VM, binding("absent"), mode="validate")
    assert (found["tags"]["rule"], found["severity"]) == ("unbound-policy", "warning")
    assert found["field"]["path"] == "spec.policyName"


@pytest.mark.parametrize(
    ("evaluate", "expression", "items"),
    [
        ("written", "has(object.spec.instancetype)", ["VirtualMachine"]),
        ("", "has(object.spec.instancetype)", ["VirtualMachine"]),
        ("rendered", "object.spec.template.spec.domain.cpu.sockets == 4", ["VirtualMachine"]),
        ("instance", "object.kind == 'VirtualMachineInstance' && object.spec.domain.cpu.sockets == 4", ["VirtualMachine"]),
        ("pod", "object.containers.exists(c, c.name == 'compute') && has(object.memoryOverhead)", ["VirtualMachine"]),
    ],
)
def test_a_policy_judges_the_state_that_its_annotation_names(evaluate, expression, items):
    given = policy(expression, evaluate=evaluate, resources=("virtualmachines",))
    opposite = policy(f"!({expression})", evaluate=evaluate, resources=("virtualmachines",))
    assert results(VM, SHOP, given, binding()) == []
    assert [each["resourceRef"]["kind"] for each in results(VM, SHOP, opposite, binding())] == items


@pytest.mark.parametrize(
    ("evaluate", "resources", "kinds"),
    [
        ("rendered", ("virtualmachines",), ["VirtualMachine", "VirtualMachinePool"]),
        ("rendered", ("virtualmachinepools",), ["VirtualMachinePool"]),
        ("rendered", ("virtualmachineinstances",), ["VirtualMachineInstance"]),
        (
            "instance",
            ("virtualmachineinstances",),
            ["VirtualMachine", "VirtualMachineInstance", "VirtualMachineInstanceReplicaSet", "VirtualMachinePool"],
        ),
        ("instance", ("virtualmachines",), ["VirtualMachine"]),
        ("pod", ("virtualmachines", "virtualmachinepools"), ["VirtualMachine", "VirtualMachinePool"]),
        ("pod", ("virtualmachineinstances",), ["VirtualMachineInstance"]),
        ("pod", ("virtualmachineinstancereplicasets",), ["VirtualMachineInstanceReplicaSet"]),
        ("written", ("virtualmachines",), ["VirtualMachine"]),
    ],
)
def test_rules_name_the_object_of_the_bundle_or_what_it_makes(evaluate, resources, kinds):
    found = results(VM, POOL, INSTANCE, REPLICAS, SHOP, policy("false", evaluate=evaluate, resources=resources), binding())
    assert sorted(each["resourceRef"]["kind"] for each in found) == kinds


def test_the_vm_of_a_pool_has_the_name_of_the_first_one():
    given = policy("object.metadata.name == 'web-0'", evaluate="rendered", resources=("virtualmachines",))
    assert results(POOL, SHOP, given, binding()) == []


def test_a_started_instance_has_no_mark_of_a_preview():
    expression = "!('config.kubernetes.io/local-config' in object.metadata.?annotations.orValue({}))"
    for obj in (VM, POOL, INSTANCE, REPLICAS):
        assert results(obj, SHOP, policy(expression, evaluate="instance"), binding()) == []


def test_the_cluster_refuses_only_what_the_policy_refuses_as_written():
    (found,) = results(VM, SHOP, policy(SOCKETS, evaluate="rendered"), binding())
    assert "upstream" not in found["tags"]
    flat = {**VM, "spec": {"runStrategy": "Always", "template": {"spec": {"domain": DOMAIN}}}}
    (found,) = results(flat, SHOP, policy(SOCKETS, evaluate="rendered"), binding())
    assert found["tags"]["upstream"] == "admission"


@pytest.mark.parametrize("action", ["Warn", "Audit"])
def test_a_cluster_does_not_refuse_what_a_binding_only_warns_about(action):
    (found,) = results(VM, SHOP, policy("false"), binding("p", action))
    assert "upstream" not in found["tags"]


def test_a_policy_that_is_off_is_silent_also_where_it_is_not_evaluated():
    given = [policy("request.userInfo.username == 'a'"), binding()]
    assert rules(results(VM, SHOP, *given)) == ["policy-not-evaluated"]
    assert results(VM, SHOP, *given, severity={"policy/p": "off"}) == []


def test_annotations_of_objects_silence_policies():
    vm = {**VM, "metadata": {**VM["metadata"], "annotations": {"kubevirt-render.dev/ignore": "policy/p: agreed"}}}
    assert results(vm, SHOP, policies=[policy("false")]) == []


def test_the_config_sets_the_severity_of_a_policy():
    assert [each["severity"] for each in results(VM, policies=[policy("false")], severity={"policy/p": "info"})] == ["info"]


def place(*items, policies):
    (found,) = results(*items, policies=policies)
    return found.get("field", {}).get("path")


SET = {**VM, "spec": {**VM["spec"], "instancetype": None, "template": {"spec": {"domain": DOMAIN}}}}


@pytest.mark.parametrize(
    ("item", "state", "path"),
    [
        (SET, "", "spec.template.spec.domain.cpu.sockets"),
        (SET, "rendered", "spec.template.spec.domain.cpu.sockets"),
        (VM, "rendered", None),  # the instancetype has it
    ],
)
def test_a_finding_is_about_the_field_that_the_validation_reads_if_the_object_has_it(item, state, path):
    assert place(item, SHOP, policies=[policy(SOCKETS, evaluate=state)]) == path


def test_a_field_of_the_instance_is_one_of_the_template():
    sockets = "object.spec.domain.cpu.sockets < 4"
    assert place(SET, SHOP, policies=[policy(sockets, evaluate="instance")]) == "spec.template.spec.domain.cpu.sockets"
    assert place(INSTANCE, SHOP, policies=[policy(sockets, evaluate="instance")]) == "spec.domain.cpu.sockets"
    (replicas,) = results(REPLICAS, SHOP, policies=[policy(sockets, evaluate="instance")])
    assert replicas["field"] == {"path": "spec.template.spec.domain.cpu.sockets"}


def test_a_field_of_a_pools_vm_is_one_of_its_template():
    pool = {**POOL, "spec": {**POOL["spec"], "virtualMachineTemplate": {"spec": SET["spec"]}}}
    path = "spec.virtualMachineTemplate.spec.template.spec.domain.cpu.sockets"
    assert place(pool, SHOP, policies=[policy(SOCKETS, evaluate="rendered")]) == path


def test_a_finding_about_several_fields_is_about_the_object():
    assert place(SET, SHOP, policies=[policy("object.spec.runStrategy == object.metadata.name")]) is None


def test_an_object_that_is_nested_deeply_is_a_finding_of_each_policy():
    deep: dict[str, object] = {}
    for _ in range(10_000):
        deep = {"a": deep}
    assert rules(results({**VM, "status": deep}, SHOP, policy("object.status == object.status"), binding())) == [
        "policy-not-evaluated"
    ]


@pytest.mark.parametrize("value", [False, True, 0, 1, ["true"]])
def test_an_expression_that_is_no_string_is_refused_for_that(value: object):
    (found,) = results(VM, SHOP, policy(value), binding())
    assert found["tags"]["rule"] == "refused-policy"
    assert "the value is not a string, as `true` and `1` are without quotes" in found["message"]
