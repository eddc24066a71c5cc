"""Patches of the config, applied to rendered VMs."""

import copy

import pytest
from functions import resource_list
from hypothesis import given, settings
from hypothesis import strategies as st

import krm_fn
from krm_fn.base.errors import ConfigError

VM = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "web", "namespace": "shop", "labels": {"tier": "db", "env": "prod"}},
    "spec": {
        "runStrategy": "Always",
        "instancetype": {"name": "u1.small"},
        "template": {"spec": {"domain": {"devices": {}}}},
    },
}
MEMORY = "/spec/template/spec/domain/memory/guest"


def processed(*patches, vm=VM, **spec):
    return krm_fn.process(resource_list(vm, patches=list(patches), **{"catalogue": "builtin", **spec}))


def rendered(*operations, vm=VM, target=None, **spec):
    """The object that leaves, with one patch."""
    return processed({"target": target or {}, "patch": list(operations)}, vm=vm, **spec)["items"][0]


def rules(answer):
    return [result["tags"]["rule"] for result in answer["results"]]


LABEL = {"op": "add", "path": "/metadata/labels/patched", "value": "yes"}


def is_patched(target, vm=VM):
    return "patched" in rendered(LABEL, vm=vm, target=target)["metadata"]["labels"]


def test_a_patch_changes_what_was_rendered():
    (vm,) = processed({"patch": [{"op": "replace", "path": MEMORY, "value": "3Gi"}]})["items"]
    assert vm["spec"]["template"]["spec"]["domain"]["memory"] == {"guest": "3Gi"}
    assert "instancetype" not in vm["spec"]


def test_patches_apply_in_order_each_to_the_result_of_the_one_before():
    first = {"patch": [{"op": "add", "path": "/metadata/labels/a", "value": "1"}]}
    second = {
        "target": {"labelSelector": "a=1"},
        "patch": [{"op": "move", "from": "/metadata/labels/a", "path": "/metadata/labels/b"}],
    }
    labels = processed(first, second, severity={"unrepeatable-patch": "off"})["items"][0]["metadata"]["labels"]
    assert labels == {"tier": "db", "env": "prod", "b": "1"}


def test_the_config_and_the_items_are_left_as_they_were():
    value = {"deep": ["a"]}
    patch = {
        "patch": [{"op": "add", "path": "/metadata/x", "value": value}, {"op": "add", "path": "/metadata/x/deep/0", "value": 1}]
    }
    before = copy.deepcopy((VM, patch))
    processed(patch)
    assert (VM, patch) == before


@pytest.mark.parametrize(
    ("target", "selected"),
    [
        ({}, True),
        ({"kind": "VirtualMachine", "group": "kubevirt.io", "version": "v1", "name": "web", "namespace": "shop"}, True),
        ({"kind": "Virtual"}, False),
        ({"kind": "Machine"}, False),
        ({"name": "w.*|db"}, True),
        ({"name": "db|we"}, False),
        ({"name": "web\n"}, False),
        ({"name": "", "kind": None}, True),
        ({"namespace": "default"}, False),
        ({"labelSelector": "tier=db,env!=test"}, True),
        ({"labelSelector": "tier==db , env in (prod, test)"}, True),
        ({"labelSelector": "tier notin (db)"}, False),
        ({"labelSelector": "absent notin (db)"}, True),
        ({"labelSelector": "absent!=x,!absent"}, True),
        ({"labelSelector": "absent"}, False),
        ({"labelSelector": "tier"}, True),
        ({"annotationSelector": "tier"}, False),
    ],
)
def test_a_target_selects_as_that_of_a_kustomization(target, selected):
    assert is_patched(target) == selected


def test_a_vm_without_namespace_is_in_default():
    vm = {**VM, "metadata": {"name": "web", "labels": {}}}
    assert is_patched({"namespace": "default"}, vm)


def test_a_pool_is_patched_as_a_whole():
    pool = {
        "apiVersion": "pool.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePool",
        "metadata": {"name": "pool"},
        "spec": {"replicas": 1, "selector": {}, "virtualMachineTemplate": {"spec": VM["spec"]}},
    }
    operation = {"op": "replace", "path": "/spec/replicas", "value": 3}
    found = rendered(operation, vm=pool, target={"kind": "VirtualMachinePool"})
    assert found["spec"]["replicas"] == 3
    assert "instancetype" not in found["spec"]["virtualMachineTemplate"]["spec"]


@pytest.mark.parametrize(
    ("operation", "why"),
    [
        ({"op": "test", "path": MEMORY, "value": "3Gi"}, "the value there is another one"),
        ({"op": "test", "path": "/spec/template/spec/domain/cpu/cores", "value": True}, "the value there is another one"),
        ({"op": "remove", "path": "/spec/nothing"}, "the rendered object has no such place"),
        ({"op": "replace", "path": "/spec/nothing", "value": 1}, "the rendered object has no such place"),
        ({"op": "add", "path": "/spec/runStrategy/x", "value": 1}, "can't be applied: "),
        ({"op": "add", "path": "", "value": 1}, "what is left is not this object"),
        ({"op": "replace", "path": "/metadata/name", "value": "db"}, "what is left is not this object"),
    ],
)
@pytest.mark.parametrize("mode", ["expand", "validate"])
def test_a_vm_that_can_not_be_patched_stays_as_it_is(operation, why, mode):
    answer = processed({"patch": [operation]}, mode=mode)
    assert answer["items"] == [VM]
    (result,) = [each for each in answer["results"] if each["tags"]["rule"] == "failed-patch"]
    assert result["severity"] == "error"
    assert result["message"].startswith(
        f"patches[0].patch[0] ({operation['op']} {operation['path'] or '/'}) can't be applied: "
    )
    assert why in result["message"]


def test_other_vms_are_rendered():
    other = {**VM, "metadata": {"name": "db", "namespace": "shop"}}
    patch = {"target": {"name": "web"}, "patch": [{"op": "remove", "path": "/x"}]}
    answer = krm_fn.process(resource_list(VM, other, patches=[patch], catalogue="builtin"))
    assert ["instancetype" in item["spec"] for item in answer["items"]] == [True, False]


def test_a_vm_with_an_error_is_not_patched():
    vm = {**VM, "spec": {**VM["spec"], "instancetype": {"name": "nothing"}}}
    answer = processed({"patch": [LABEL]}, vm=vm)
    assert answer["items"] == [vm]


@pytest.mark.parametrize("mode", ["validate", "annotate", "snapshot"])
def test_other_modes_write_no_patch(mode):
    (vm, *_) = processed({"patch": [LABEL]}, mode=mode)["items"]
    assert "patched" not in vm["metadata"]["labels"]


def test_no_value_is_shown_that_a_test_compares():
    vm = copy.deepcopy(VM)
    vm["spec"]["template"]["spec"]["volumes"] = [{"name": "a", "cloudInitNoCloud": {"userData": "hunter2"}}]
    operation = {"op": "test", "path": "/spec/template/spec/volumes/0/cloudInitNoCloud/userData", "value": "hunter3"}
    assert "hunter" not in str(processed({"patch": [operation]}, vm=vm)["results"])


def test_an_object_that_copies_itself_again_and_again_is_refused():
    operations = [{"op": "copy", "from": "/spec", "path": f"/spec/x{number}"} for number in range(60)]
    answer = processed({"patch": operations})
    assert rules(answer) == ["failed-patch"]
    assert "the result is too large" in answer["results"][0]["message"]


def test_an_expression_with_very_many_ways_through_a_name_is_matched():
    vm = {**VM, "metadata": {"name": "a" * 40 + "!"}}
    assert "failed-patch" not in rules(processed({"target": {"name": "(a|a)*b"}, "patch": [LABEL]}, vm=vm))


def test_an_expression_that_runs_away_is_a_finding():
    vm = {**VM, "metadata": {"name": "a" * 2_000 + "!"}}
    answer = processed({"target": {"name": "(a*)*" * 100 + "b"}, "patch": [LABEL]}, vm=vm)
    assert "takes too long" in answer["results"][0]["message"]


def fleet(count):
    return [{**VM, "metadata": {"name": f"v{number}", "labels": {}}} for number in range(count)]


@pytest.mark.parametrize("target", [{"kind": "VirtualMachine"}, {"name": "w.*"}, {"labelSelector": "a=b"}])
def test_patches_that_are_compared_with_too_many_vms_are_one_finding(target):
    patches = [{"target": target, "patch": [LABEL]}] * 2_000
    answer = krm_fn.process(resource_list(*fleet(500), patches=patches, catalogue="builtin"))
    (result,) = answer["results"]
    assert result["tags"]["rule"] == "failed-patch"
    assert "the patches of the config take more than their share of the work of a run" in result["message"]
    left = [each for each in answer["items"] if "instancetype" in each["spec"]]
    assert f"not rendered, like {len(left) - 1} other VMs" in result["message"]


def test_patches_that_name_their_vms_are_not_compared_with_others():
    patches = [{"target": {"name": f"v{number}"}, "patch": [LABEL]} for number in range(2_000)]
    answer = krm_fn.process(resource_list(*fleet(500), patches=patches, catalogue="builtin"))
    assert not answer["results"]
    assert all("patched" in each["metadata"]["labels"] for each in answer["items"])


@pytest.mark.parametrize("name", ["web", "we.", "w[e]b", "(?i)WEB", "web|db"])
def test_a_name_is_an_expression_or_the_name_itself(name):
    assert is_patched({"name": name})


def test_an_error_names_the_place_before_the_patch():
    """Operations are tried in place; what an earlier one of the same patch made is not there any more."""
    answer = processed(
        {"patch": [{"op": "add", "path": "/metadata/labels/b", "value": "1"}]},
        {"patch": [{"op": "add", "path": "/metadata/a", "value": {}}, {"op": "remove", "path": "/metadata/name"}]},
    )
    (result,) = answer["results"]
    assert result["field"]["path"] == "metadata.name"


@pytest.mark.parametrize(
    ("patch", "unrepeatable"),
    [
        ([LABEL], False),
        ([{"op": "test", "path": MEMORY, "value": "2Gi"}, LABEL], False),
        ([{"op": "add", "path": "/metadata/finalizers", "value": []}], False),
        (
            [
                {"op": "add", "path": "/metadata/finalizers", "value": []},
                {"op": "add", "path": "/metadata/finalizers/-", "value": "a/b"},
            ],
            False,
        ),
        ([{"op": "remove", "path": MEMORY}], True),
        ([{"op": "test", "path": MEMORY, "value": "2Gi"}, {"op": "replace", "path": MEMORY, "value": "3Gi"}], True),
        ([{"op": "add", "path": "/spec/template/spec/networks/-", "value": {"name": "a"}}], True),
        ([{"op": "add", "path": "/spec/instancetype", "value": {"name": "u1.large"}}], True),
    ],
)
def test_a_patch_that_does_not_repeat_is_told(patch, unrepeatable):
    answer = processed({"patch": patch}, failOn="never")
    assert ("unrepeatable-patch" in rules(answer)) == unrepeatable
    again = processed({"patch": patch}, vm=answer["items"][0])
    assert unrepeatable or again["items"] == answer["items"]


POINTERS = st.sampled_from(
    (
        *(
            "",
            "/metadata",
            "/metadata/labels",
            "/metadata/labels/a",
            "/metadata/name",
            "/spec",
            "/spec/runStrategy",
            "/spec/runStrategy/x",
        ),
        *(
            "/spec/instancetype",
            "/spec/template/spec/networks",
            "/spec/template/spec/networks/0",
            "/spec/template/spec/networks/-",
        ),
        MEMORY,
    )
)
VALUES = st.sampled_from(["web", {}, [], 1, True, None, {"name": "default", "pod": {}}, {"name": "u1.large"}, "2Gi"])
OPERATIONS = st.builds(
    lambda op, path, source, value: {
        "op": op,
        "path": path,
        **({"from": source} if op in ("move", "copy") else {"value": value}),
    },
    st.sampled_from(["add", "remove", "replace", "move", "copy", "test"]),
    POINTERS,
    POINTERS,
    VALUES,
)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.fixed_dictionaries({"patch": st.lists(OPERATIONS, max_size=3)}), max_size=3))
def test_rendering_again_changes_nothing_or_it_is_told(patches):
    answer = processed(*patches, defaults="none")
    told = {"unrepeatable-patch", "failed-patch"} & set(rules(answer))
    again = processed(*patches, vm=answer["items"][0], defaults="none")
    assert told or again["items"] == answer["items"]


@pytest.mark.parametrize(
    ("patches", "message"),
    [
        ({}, "spec.patches: found a map; expected a list of patches"),
        ([{"ptch": []}], "spec.patches[0].ptch: unknown key; expected one of target, patch; did you mean patch"),
        ([{}], "spec.patches[0].patch: found nothing; expected a list of operations"),
        ([{"patch": "["}], "spec.patches[0].patch: the text is not valid YAML"),
        ([{"patch": [{"op": "ad"}]}], "spec.patches[0].patch[0].op: found 'ad'; expected one of add, remove"),
        ([{"patch": [{"op": "add", "path": "/a"}]}], "spec.patches[0].patch[0].value: the operation add needs this key"),
        (
            [{"patch": [{"op": "copy", "path": "/a", "from": 1}]}],
            "spec.patches[0].patch[0].from: found 1; expected a JSON pointer",
        ),
        ([{"patch": [{"op": "remove", "path": "a"}]}], "spec.patches[0].patch[0].path: found 'a'; expected a JSON pointer"),
        ([{"patch": [{"op": "remove", "path": "/~2"}]}], "spec.patches[0].patch[0].path: found ~ in a JSON pointer; write ~0"),
        ([{"patch": [], "target": {"name": "("}}], "spec.patches[0].target.name: the regular expression is wrong"),
        ([{"patch": [], "target": {"name": 1}}], "spec.patches[0].target.name: found 1; expected text"),
        ([{"patch": [], "target": {"labelSelector": "a in b"}}], "spec.patches[0].target.labelSelector: the selector is wrong"),
        (
            [{"patch": [], "target": {"names": "a"}}],
            "spec.patches[0].target.names: unknown key; expected one of group, version",
        ),
    ],
)
def test_a_wrong_patch_is_an_error_of_the_config(patches, message):
    with pytest.raises(ConfigError) as error:
        krm_fn.process(resource_list(VM, patches=patches))
    assert str(error.value).startswith(message)


def test_a_patch_may_be_text_as_in_a_kustomization():
    (vm,) = processed({"patch": "- op: replace\n  path: /spec/runStrategy\n  value: Manual\n"})["items"]
    assert vm["spec"]["runStrategy"] == "Manual"
