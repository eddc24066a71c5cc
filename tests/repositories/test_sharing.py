"""What the targets of one cluster offer one another, and what a target takes."""

import pickle

import pytest

from krm_fn import yamlio
from krm_fn.repositories.sharing import Offered, offers, reach, reachable, taken_by, words


def obj(kind, name, namespace="", group="instancetype.kubevirt.io/v1beta1", **rest):
    about = {"name": name, **({"namespace": namespace} if namespace else {})}
    return {"apiVersion": group, "kind": kind, "metadata": about, **rest}


def size(name="small", cpus=1, **rest):
    return obj("VirtualMachineClusterInstancetype", name, spec={"cpu": {"guest": cpus}}, **rest)


def claim(name, namespace="shop", **spec):
    return obj("PersistentVolumeClaim", name, namespace, "v1", spec=spec)


def image(name, namespace, source):
    return obj("DataSource", name, namespace, "cdi.kubevirt.io/v1beta1", spec={"source": {"pvc": source}})


VM = obj("VirtualMachine", "web", "shop", "kubevirt.io/v1", spec={"instancetype": {"name": "small"}})


def offered(**targets):
    places = [(f"{name}/all.yaml", number) for name, items in targets.items() for number in range(len(items))]
    rest = iter(places)
    return Offered([o for name, items in targets.items() for o in offers(items, name, [next(rest) for _ in items])])


def taken(items, found, text=None):
    return taken_by(reach(items, yamlio.dump(items).encode() if text is None else text), found)


def named(found):
    return [(each.kind, each.namespace, each.name, each.target) for each in found.offers]


def test_what_the_target_lacks_and_names_is_taken():
    found = taken([VM], offered(types=[size(), size("large")], shop=[VM]))
    assert named(found) == [("VirtualMachineClusterInstancetype", "", "small", "types")]
    assert found.notes == ("VirtualMachineClusterInstancetype small comes from target types",)
    beside = found.surroundings()
    assert (beside.context, beside.places, beside.ambiguous) == ((size(),), (("types/all.yaml", 0),), ())


def test_an_object_whose_name_is_misspelt_is_taken_and_no_note_says_so():
    found = taken([VM], offered(types=[size("smal"), size("large")], shop=[VM]))
    assert named(found) == [("VirtualMachineClusterInstancetype", "", "smal", "types")]
    assert found.notes == ()


def test_what_the_target_has_is_taken_from_nobody():
    assert named(taken([VM, size(cpus=3)], offered(types=[size()], others=[size(cpus=2)]))) == []


def test_equal_objects_of_several_targets_count_as_one():
    relabelled = {**size(), "metadata": {"name": "small", "labels": {"app": "x"}}, "status": {"a": 1}}
    found = taken([VM], offered(a=[size()], b=[relabelled]))
    assert named(found) == [("VirtualMachineClusterInstancetype", "", "small", "a")]
    assert found.notes == ("VirtualMachineClusterInstancetype small comes from targets a and b, which have the same one",)


def test_different_objects_of_one_name_are_ambiguous():
    found = taken([VM], offered(a=[size()], b=[size(cpus=2)], c=[size()]))
    assert found.offers == ()
    (unclear,) = found.ambiguous
    assert (unclear.kind, unclear.namespace, unclear.name) == ("VirtualMachineClusterInstancetype", "", "small")
    assert unclear.where == ("a/all.yaml", "b/all.yaml")


def test_default_labels_make_a_difference():
    labels = {"instancetype.kubevirt.io/default-instancetype": "small"}
    labelled = {**claim("root"), "metadata": {"name": "root", "namespace": "shop", "labels": labels}}
    found = taken([VM], offered(a=[claim("root")], b=[labelled]), b"root")
    assert [each.name for each in found.ambiguous] == ["root"]


def test_what_a_taken_object_names_is_taken_too():
    source = {"name": "golden", "namespace": "images"}
    found = offered(
        infra=[image("fedora", "images", source), claim("golden", "images"), claim("golden", "other"), claim("golden", "shop")]
    )
    assert named(taken([VM], found, b"sourceRef: {kind: DataSource, name: fedora, namespace: images}")) == [
        ("DataSource", "images", "fedora", "infra"),
        ("PersistentVolumeClaim", "images", "golden", "infra"),
        ("PersistentVolumeClaim", "shop", "golden", "infra"),
    ]


def test_a_namespace_that_is_met_later_counts_too():
    found = offered(
        a=[claim("golden", "images"), image("fedora", "shop", {"name": "other", "namespace": "images"})],
    )
    assert named(taken([VM], found, b"golden fedora")) == [
        ("DataSource", "shop", "fedora", "a"),
        ("PersistentVolumeClaim", "images", "golden", "a"),
    ]


@pytest.mark.parametrize(
    "item",
    [
        VM,
        obj("Secret", "key", "shop", "v1"),
        obj("VirtualMachineClusterInstancetype", "small", group="example.com/v1"),
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim"},
    ],
)
def test_other_objects_are_not_offered(item):
    assert offers([item, None], "a") == ()


def test_objects_in_lists_are_offered():
    (offer,) = offers([None, {"apiVersion": "v1", "kind": "List", "items": [claim("root", "")]}], "a")
    assert offer.key == ("PersistentVolumeClaim", "", "default", "root")
    assert offer.where == "a"


def test_offers_travel_to_other_processes():
    found = offers([size(), claim("root")], "a")
    assert pickle.loads(pickle.dumps(found)) == found
    beside = taken([VM], Offered(found)).surroundings()
    assert pickle.loads(pickle.dumps(beside)) == beside


def test_a_claim_of_the_same_name_in_a_foreign_namespace_is_not_taken():
    assert named(taken([VM], offered(a=[claim("root", "other")]), b"root")) == []


def test_what_words_reach_is_enough_to_take_the_same():
    chain = image("fedora", "images", {"name": "golden", "namespace": "images"})
    found = offered(
        types=[size(), size("large")],
        disks=[claim("golden", "images"), claim("golden", "other"), claim("unused"), claim("twice", size="1")],
        others=[
            claim("twice", size="2"),
            claim("own", size="3"),
            obj("NetworkAttachmentDefinition", "n", "", "k8s.cni.cncf.io/v1"),
        ],
        images=[chain, image("debian", "images", {"name": "unused", "namespace": "shop"})],
    )
    source = {"sourceRef": {"kind": "DataSource", "name": "fedora", "namespace": "images"}}
    vm = obj(
        "VirtualMachine", "web", "shop", "kubevirt.io/v1", spec={"instancetype": {"name": "small"}, "uses": ["twice", "n"]}
    )
    items = [vm, claim("own"), obj("DataVolume", "root", "shop", "cdi.kubevirt.io/v1beta1", spec=source), {"kind": "Pod"}]
    text = yamlio.dump(items).encode()
    keys = reachable(words(text), found)
    assert sorted(name for *_, name in keys) == ["fedora", "golden", "n", "own", "small", "twice"]
    reached = reach(items, text)
    assert taken_by(reached, Offered(offer for key in keys for offer in found.of(key))) == taken_by(reached, found)


def test_what_is_similar_to_words_is_enough_to_take_what_is_misspelt():
    whole = offered(types=[size("smal"), size("large")], shop=[VM])
    text = yamlio.dump([VM]).encode()
    keys = whole.near(words(text), whole.namespaces)
    part = Offered([offer for key in keys for offer in whole.of(key)])
    assert taken([VM], part) == taken([VM], whole)


def test_words_are_what_may_be_a_name():
    assert words(b'a: {"b-c.d": [shop/net, "x"]} # \xff') == {"a", "b-c.d", "shop", "net", "x"}
