"""The values of a VM that rendering does not read: with any text there, the VM is rendered in the same way."""

import pytest
from measured import files
from test_parity import resource_list

import krm_fn
from krm_fn.base.paths import copy, get, leaves, put
from krm_fn.fast_path.fields import FIXED, OPAQUE, READ, TEXT, uses_of
from krm_fn.pipeline.own_texts import EACH

FILES = files("matrix", "fuzz", "revisions", "admission")
MODES = ("expand", "annotate")
OTHER = "-other"


def pattern(path):
    return tuple(EACH if isinstance(step, int) else step for step in path)


def unread(vm):
    """The paths of the texts in a VM that rendering does not read, according to `fields`."""
    uses = uses_of("VirtualMachine")
    return [path for path, value in leaves(vm) if path and isinstance(value, str) and uses(pattern(path)) == TEXT]


def infers(vm):
    return any(get(vm, ("spec", matcher, "inferFromVolume")) for matcher in ("instancetype", "preference"))


def reported(rendered):
    return [(found.get("severity"), found["tags"]["rule"], found.get("field", {}).get("path")) for found in rendered["results"]]


def assert_unread(case, mode):
    given = resource_list(case, mode=mode, presets="ignore")  # presets select by labels
    changed = copy(given)
    paths = {}
    for number, item in enumerate(changed["items"]):
        if isinstance(item, dict) and item.get("kind") == "VirtualMachine" and not infers(item):
            paths[number] = [(path, get(item, path)) for path in unread(item)]
            for path, value in paths[number]:
                put(item, path, value + OTHER)
    wanted, found = krm_fn.process(given), krm_fn.process(changed)
    assert reported(found) == reported(wanted)
    for number, changes in paths.items():
        rendered = copy(found["items"][number])
        for path, value in changes:
            assert get(rendered, path) == value + OTHER
            put(rendered, path, value)
        assert rendered == wanted["items"][number]
    return any(paths.values())


@pytest.mark.parametrize("name", FILES)
def test_nothing_depends_on_what_is_not_read(name, cases):
    number = looked_at = 0
    for number, case in enumerate(cases(name)):
        if isinstance(case.get("items"), list):
            looked_at += assert_unread(case, MODES[number % 2])
    assert looked_at > number / 2


def test_what_is_read_decides():
    uses = uses_of("VirtualMachine")
    read = (
        ("metadata", "namespace"),
        ("metadata", "annotations", "kubevirt-render.dev/ignore"),
        ("spec", "instancetype", "name"),
        ("spec", "template", "metadata", "annotations", "a"),
        ("spec", "template", "spec", "volumes", EACH, "name"),
        ("spec", "template", "spec", "architecture"),
    )
    assert {uses(path) for path in read} == {READ}
    assert all(uses(tuple(step or "any" for step in row)) == TEXT for row in OPAQUE)


@pytest.mark.parametrize("kind", ["VirtualMachine", "ConfigMap"])
def test_objects_of_two_types_have_two_shapes(kind):
    uses = uses_of(kind)
    assert [uses(("apiVersion",)), uses(("kind",))] == [FIXED, FIXED]


def test_kinds_that_hold_vms_or_instances_are_always_looked_at():
    assert uses_of("VirtualMachinePool") is None
    assert uses_of("VirtualMachineInstance") is None
