"""`render -o patch`: RFC 6902 patches that lead from the old object to the new one."""

import jsonpatch
from hypothesis import given
from hypothesis import strategies as st

from krm_fn.cli.patch import entries, operations

OLD = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "web.1", "namespace": "shop", "annotations": {"example.com/a~b": "x"}},
    "spec": {"instancetype": {"name": "u1.small"}, "disks": [{"name": "a"}], "gone": [1, 2]},
}
NEW = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "web.1", "namespace": "shop", "annotations": {"example.com/a~b": "y"}},
    "spec": {"disks": [{"name": "a", "bus": "virtio"}, {"name": "b"}], "cpu": {"sockets": 1}, "gone": [1]},
}


def test_operations_come_in_the_order_of_the_keys():
    assert list(operations(OLD, NEW)) == [
        {"op": "replace", "path": "/metadata/annotations/example.com~1a~0b", "value": "y"},
        {"op": "add", "path": "/spec/cpu", "value": {"sockets": 1}},
        {"op": "add", "path": "/spec/disks/0/bus", "value": "virtio"},
        {"op": "add", "path": "/spec/disks/-", "value": {"name": "b"}},
        {"op": "replace", "path": "/spec/gone", "value": [1]},
        {"op": "remove", "path": "/spec/instancetype"},
    ]


def test_an_entry_targets_its_object_alone():
    assert entries([{"kind": "Other"}, OLD], [{"kind": "Other"}, NEW])[0]["target"] == {
        "group": "kubevirt.io",
        "version": "v1",
        "kind": "VirtualMachine",
        "name": "web\\.1",
        "namespace": "shop",
    }


def test_objects_inside_a_list_have_entries_of_their_own():
    before = [{"apiVersion": "v1", "kind": "List", "items": [{"kind": "Other"}, OLD]}]
    after = [{"apiVersion": "v1", "kind": "List", "items": [{"kind": "Other"}, NEW]}]
    assert [entry["target"]["name"] for entry in entries(before, after)] == ["web\\.1"]


def test_objects_that_did_not_change_or_were_added_have_no_entry():
    assert entries([OLD], [OLD, NEW]) == []


scalars = st.one_of(st.none(), st.booleans(), st.integers(0, 3), st.text("a/~.0", max_size=2))
trees = st.recursive(
    scalars, lambda below: st.lists(below, max_size=3) | st.dictionaries(st.text("ab/~", max_size=2), below, max_size=3)
)


@given(trees, trees)
def test_a_patch_applied_to_the_old_object_gives_the_new_one(old, new):
    assert jsonpatch.JsonPatch(list(operations({"x": old}, {"x": new}))).apply({"x": old}) == {"x": new}


@given(trees)
def test_no_operation_leads_from_an_object_to_itself(tree):
    assert list(operations(tree, tree)) == []
