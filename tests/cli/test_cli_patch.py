"""`render -o patch`: RFC 6902 patches that lead from the old object to the new one."""

from krm_fn.base.json_patch import operations
from krm_fn.cli.outputs import entries

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
