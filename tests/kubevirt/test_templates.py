"""Templates: their objects, with the default values of parameters filled in."""

import pytest

from krm_fn.base.bundle import Entry
from krm_fn.kubevirt.templates import is_template, template_of

OPENSHIFT = {"apiVersion": "template.openshift.io/v1", "kind": "Template"}
KUBEVIRT = {"apiVersion": "template.kubevirt.io/v1beta1", "kind": "VirtualMachineTemplate"}


def filled(value, *parameters):
    """What becomes of a value in a template with these parameters, and how many values are open."""
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "data": value}
    found = template_of(Entry({**OPENSHIFT, "objects": [obj], "parameters": list(parameters)}, 0))
    return found.objects[0][1]["data"], found.open


def parameter(value=None, **more):
    return {"name": "A", **({} if value is None else {"value": value}), **more}


@pytest.mark.parametrize(
    ("written", "default", "expected"),
    [
        ("${A}", "x", "x"),
        ("a-${A}-${A}", "x", "a-x-x"),
        ("${A}", "2", "2"),
        ("${{A}}", "2", 2),
        ("${{A}}", "true", True),
        ("${{A}}", '{"a": [1]}', {"a": [1]}),
        ("${{A}}", "a word", "a word"),
        ("${{A}}", "NaN", "NaN"),
        ("x ${{A}}", "2", "x ${{A}}"),
        ("$A", "2", "$A"),
        ("${A}", "", ""),
        ("${A}", 2, "2"),
        ("${A}", True, "true"),
        (["${A}", {"k": "${A}"}], "x", ["x", {"k": "x"}]),
        ({"os/${A}": 1}, "x", {"os/x": 1}),
        ("${A}", "${A}", "${A}"),
    ],
)
def test_a_parameter_is_replaced_by_its_default(written, default, expected):
    value, _ = filled(written, parameter(default))
    assert value == expected
    assert type(value) is type(expected)


@pytest.mark.parametrize(
    "declared",
    [
        parameter(),
        parameter(required=True),
        parameter("", required=True),
        parameter("", generate="expression", **{"from": "[a-z]{4}"}),
        parameter(generate="expression", **{"from": "[a-z]{4}"}),
        {"name": "B", "value": "x"},
        "no map",
    ],
)
@pytest.mark.parametrize("written", ["${A}", "${{A}}", "a-${A}"])
def test_a_parameter_without_a_default_stays_and_is_counted(written, declared):
    assert filled(written, declared) == (written, 1)


def test_a_value_that_is_generated_has_a_default_where_one_is_written():
    assert filled("${A}", parameter("x", generate="expression")) == ("x", 0)


def test_each_open_value_counts_once():
    assert filled(["${A}${B}", "${A}", "x"])[1] == 2


@pytest.mark.parametrize("api_version", ["template.openshift.io/v1", "v1"])
def test_the_objects_of_an_openshift_template(api_version):
    web, data = {"kind": "VirtualMachine"}, {"kind": "Secret"}
    obj = {"apiVersion": api_version, "kind": "Template", "objects": [web, "no map", data]}
    found = template_of(Entry(obj, 3, ("items", 1)))
    assert is_template(obj)
    assert found.objects == ((("items", 1, "objects", 0), web), (("items", 1, "objects", 2), data))


@pytest.mark.parametrize("version", ["v1alpha1", "v1beta1"])
def test_the_vm_of_a_template_of_kubevirt(version):
    spec = {"parameters": [parameter("web")], "virtualMachine": {"metadata": {"name": "${A}"}}}
    obj = {**KUBEVIRT, "apiVersion": f"template.kubevirt.io/{version}", "spec": spec}
    vm = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "web"}}
    assert is_template(obj)
    assert template_of(Entry(obj, 0)).objects == ((("spec", "virtualMachine"), vm),)


def test_a_namespace_counts_only_where_a_parameter_decides_it():
    for namespace, expected in (("shop", {}), ("${A}", {"namespace": "x"}), ("a-${A}", {"namespace": "a-x"})):
        obj = {**OPENSHIFT, "objects": [{"metadata": {"namespace": namespace}}], "parameters": [parameter("x")]}
        assert template_of(Entry(obj, 0)).objects[0][1] == {"metadata": expected}


@pytest.mark.parametrize("wrong", [None, "text", 3, [], {}, [None], {"objects": 1}])
def test_a_template_of_another_form_has_no_object_that_could_be_judged(wrong):
    for obj in ({**OPENSHIFT, "objects": wrong, "parameters": wrong}, {**KUBEVIRT, "spec": wrong}):
        assert len(template_of(Entry(obj, 0)).objects) <= 1


def test_a_template_of_pods_is_none_of_these():
    assert not is_template({"apiVersion": "argoproj.io/v1alpha1", "kind": "Template"})
    assert not is_template({"apiVersion": "v1", "kind": "PodTemplate"})
