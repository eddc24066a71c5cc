"""The bundle's index."""

from krm_fn.base.bundle import Bundle
from krm_fn.base.objects import Ref, is_resource, previous_names, ref_of


def instancetype(name, namespace=None, kind="VirtualMachineInstancetype", **metadata):
    meta = {"name": name, **({"namespace": namespace} if namespace else {}), **metadata}
    return {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": kind, "metadata": meta, "spec": {}}


def test_an_object_without_a_namespace_is_in_the_default_one():
    bundle = Bundle([instancetype("small")])
    assert bundle.find("VirtualMachineInstancetype", "default", "small").item == 0
    assert bundle.find("VirtualMachineInstancetype", "prod", "small") is None


def test_cluster_kinds_are_in_no_namespace_whatever_they_say():
    bundle = Bundle([instancetype("small", "prod", "VirtualMachineClusterInstancetype")])
    assert bundle.find("VirtualMachineClusterInstancetype", "", "small").item == 0


def test_the_current_name_beats_a_previous_one():
    prefixed = {"internal.config.kubernetes.io/previousNames": "small,dev-small"}
    bundle = Bundle([instancetype("prod-small", annotations=prefixed), instancetype("small")])
    assert bundle.find("VirtualMachineInstancetype", "default", "small").item == 1
    assert bundle.find("VirtualMachineInstancetype", "default", "dev-small").item == 0


def test_of_two_equal_objects_the_first_is_found():
    bundle = Bundle([instancetype("small"), instancetype("small")])
    assert bundle.find("VirtualMachineInstancetype", "default", "small").item == 0


def test_lists_are_looked_into():
    bundle = Bundle([{"kind": "List", "items": [{"kind": "List", "items": [None, instancetype("a")]}]}, None, "text", 5])
    found = bundle.find("VirtualMachineInstancetype", "default", "a")
    assert (found.item, found.path) == (0, ("items", 0, "items", 1))
    assert bundle.nulls == (1,)


def test_names_and_namespaces_of_a_kind_are_in_the_bundles_order():
    bundle = Bundle([instancetype("b", "x"), instancetype("a", "x"), instancetype("a", "y"), instancetype("a", "x")])
    assert bundle.names("VirtualMachineInstancetype", "x") == ("b", "a")
    assert bundle.namespaces("VirtualMachineInstancetype", "a") == ("x", "y")


def test_objects_of_any_shape_are_taken():
    odd = {"kind": ["x"], "metadata": "text", "apiVersion": 5}
    assert ref_of(odd) == Ref(api_version="", kind="", name="", namespace="")
    assert not is_resource(odd)
    assert not is_resource(None)
    assert previous_names({"metadata": {"annotations": {"internal.config.kubernetes.io/previousNames": 5}}}) == ()
    assert Bundle([odd]).entries[0].obj is odd
