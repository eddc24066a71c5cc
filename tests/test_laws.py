"""Laws of the complete function, over the sampled bundles of every release and over bundles of any shape."""

import copy
import io
import os
import subprocess
import sys

import pytest
from functions import resource_list
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from measured import SAMPLE, cases, files

import krm_fn
from krm_fn import yamlio
from krm_fn.base.errors import InputError
from krm_fn.hosts import function

NAMES = files("fuzz", "matrix", "inference", "revisions")


def lists(name, **spec):
    for case in cases(name, every=SAMPLE):
        version = case["kubevirt"].removeprefix("v")
        yield resource_list(*case["items"], kubevirtVersion=version, configuration=case.get("config", {}), **spec)


@pytest.mark.parametrize("spec", [{}, {"mode": "annotate"}, {"mode": "snapshot"}, {"defaults": "none", "provenance": True}])
@pytest.mark.parametrize("name", NAMES)
def test_processing_twice_changes_nothing_more(name, spec):
    for given_list in lists(name, **spec):
        once = krm_fn.process(given_list)
        assert krm_fn.process(once)["items"] == once["items"]


@pytest.mark.parametrize("items", ["text", {"a": 1}, 7, True])
def test_items_that_are_no_list_are_refused(items):
    with pytest.raises(InputError, match="items is no list"):
        krm_fn.process({"items": items})


@pytest.mark.parametrize("of", [krm_fn.process, krm_fn.capacity, krm_fn.explain, lambda given: krm_fn.diff({}, given)])
@pytest.mark.parametrize(("given", "shown"), [([], "a list"), (None, "null"), ("items: []", "'items: \\[\\]'")])
def test_what_is_no_list_of_resources_is_refused(of, given, shown):
    with pytest.raises(InputError, match=f"found {shown}; expected a ResourceList: a map with items"):
        of(given)


@pytest.mark.parametrize("name", NAMES)
def test_the_argument_is_left_as_it_was(name):
    for given_list in lists(name):
        before = copy.deepcopy(given_list)
        krm_fn.process(given_list)
        assert given_list == before


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_the_items_matters_to_no_vm(name):
    for given_list in lists(name):
        forward = krm_fn.process(given_list)["items"]
        given_list["items"].reverse()
        assert krm_fn.process(given_list)["items"] == forward[::-1]


def function_bytes(data):
    out = io.BytesIO()
    function.run(data, out, io.StringIO())
    return out.getvalue()


@pytest.mark.parametrize("name", NAMES)
def test_the_function_and_the_library_give_the_same_results(name):
    for given_list in lists(name):
        written = yamlio.read_resource_list(function_bytes(yamlio.dump(given_list).encode()))
        answer = krm_fn.process(given_list)
        assert written.items == answer["items"]
        assert written.head.get("results", []) == answer["results"]


def test_the_same_bytes_leave_whatever_the_hash_seed():
    data = yamlio.dump(next(lists("fuzz-v1.9.0", failOn="never"))).encode()
    answers = set()
    for seed in ("0", "1", "4242"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-m", "krm_fn"], input=data, env=env, capture_output=True, check=True)
        answers.add(done.stdout)
    assert len(answers) == 1


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=5), below, max_size=3),
    max_leaves=6,
)
KINDS = st.sampled_from(
    [
        ("kubevirt.io/v1", "VirtualMachine"),
        ("kubevirt.io/v1", "VirtualMachineInstance"),
        ("kubevirt.io/v1", "VirtualMachineInstancePreset"),
        ("kubevirt.io/v1", "KubeVirt"),
        ("kubevirt.io/v1alpha1", "VirtualMachine"),
        ("pool.kubevirt.io/v1beta1", "VirtualMachinePool"),
        ("instancetype.kubevirt.io/v1beta1", "VirtualMachineInstancetype"),
        ("instancetype.kubevirt.io/v1beta1", "VirtualMachineClusterPreference"),
        ("apps/v1", "ControllerRevision"),
        ("v1", "List"),
    ]
)
FIELDS = ("spec", "template", "domain", "cpu", "memory", "instancetype", "preference", "name", "devices", "metadata", "items")


@st.composite
def mangled(draw):
    """An object of a known kind with anything at places where something else is expected."""
    api_version, kind = draw(KINDS)
    spec = draw(st.recursive(anything, lambda below: st.dictionaries(st.sampled_from(FIELDS), below, max_size=4), max_leaves=8))
    metadata = draw(st.just({"name": "a"}) | st.just({"name": "a", "labels": 5}) | anything)
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec, "items": draw(anything)}


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    items=st.lists(mangled() | anything, max_size=4),
    mode=st.sampled_from(["expand", "validate", "annotate", "snapshot"]),
    presets=st.sampled_from(["instance", "fold"]),
)
def test_objects_of_any_shape_raise_nothing_and_none_is_lost(items, mode, presets):
    out = krm_fn.process(resource_list(*items, mode=mode, presets=presets, instances="include", catalogue="builtin"))
    assert len(out["items"]) >= len([item for item in items if item is not None])
    assert all(result["severity"] in ("error", "warning", "info") and result["message"] for result in out["results"])
