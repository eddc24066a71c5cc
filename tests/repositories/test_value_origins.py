"""For a value of a built object: where it is written, held against what real kustomizes build."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trees import tree

from krm_fn import yamlio
from krm_fn.base.paths import get, leaves
from krm_fn.repositories.building import Builder, build
from krm_fn.repositories.delivering import given_of
from krm_fn.repositories.discovery import discover
from krm_fn.repositories.origins import Origins, WritingPlace, located
from krm_fn.repositories.writers import same_place
from krm_fn.sources.reading import of_built

FILES = {
    "base/kustomization.yaml": """\
resources:
  - vms.yaml
labels:
  - pairs:
      team: blue
""",
    "base/vms.yaml": """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: shop
spec:
  runStrategy: Always
---
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web
spec:
  instancetype:
    name: small
  runStrategy: Always
  template:
    spec:
      domain:
        devices:
          disks:
            - name: root
            - name: data
      terminationGracePeriodSeconds: 30
""",
    "comp/kustomization.yaml": """\
apiVersion: kustomize.config.k8s.io/v1alpha1
kind: Component
patches:
  - target:
      kind: VirtualMachine
      name: web
    patch: |-
      - op: replace
        path: /spec/runStrategy
        value: Halted
      - op: add
        path: /spec/template/spec/domain/devices/disks/-
        value:
          name: added
""",
    "overlay/kustomization.yaml": """\
namespace: north
namePrefix: n-
resources:
  - ../base
components:
  - ../comp
patches:
  - path: patch.yaml
  - patch: |
      apiVersion: kubevirt.io/v1
      kind: VirtualMachine
      metadata:
        name: web
      spec:
        template:
          spec:
            hostname: host
""",
    "overlay/patch.yaml": """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web
spec:
  instancetype:
    name: large
""",
}
DISKS = ("spec", "template", "spec", "domain", "devices", "disks")
EXPECTED = {
    ("spec", "instancetype", "name"): ("overlay/patch.yaml", 7, 11),
    ("spec", "runStrategy"): ("comp/kustomization.yaml", 10, 16),
    ("spec", "template", "spec", "hostname"): ("overlay/kustomization.yaml", 17, 23),
    ("spec", "template", "spec", "terminationGracePeriodSeconds"): ("base/vms.yaml", 23, 38),
    (*DISKS, 1, "name"): ("base/vms.yaml", 22, 21),
    (*DISKS, 2, "name"): ("comp/kustomization.yaml", 14, 17),
    ("metadata", "namespace"): ("overlay/kustomization.yaml", 1, 12),
    ("metadata", "name"): ("overlay/kustomization.yaml", 2, 13),
    ("metadata", "labels", "team"): ("base/kustomization.yaml", 5, 13),
    ("spec", "gone", "name"): ("base/vms.yaml", 13, 3),
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def texts(file):
    try:
        return yamlio.read_stream(Path(file).read_bytes())
    except OSError:
        return None


def built(kustomize):
    """The target, and its built objects, each with its file."""
    (target,) = discover(["."]).targets
    found = of_built(given_of(target, build(target, Builder(kustomize, ("build",)))))
    return target, [(obj, file) for obj, (file, _) in zip(found.items, found.places, strict=True)]


def place(origins, obj, path, file):
    origin = origins.of(obj, path, file)
    return (origin.file, *located(origin, texts(origin.file)))


def test_a_value_stands_where_it_was_written_last(here, kustomize):
    tree(here, FILES)
    target, objects = built(kustomize)
    ((web, file),) = [each for each in objects if each[0]["metadata"]["name"] == "n-web"]
    origins = Origins(target, texts)
    assert {path: place(origins, web, path, file) for path in EXPECTED} == EXPECTED


def test_another_object_is_not_taken_for_the_one_that_is_patched(here, kustomize):
    tree(here, FILES)
    target, objects = built(kustomize)
    ((shop, file),) = [each for each in objects if each[0]["metadata"]["name"] == "n-shop"]
    assert place(Origins(target, texts), shop, ("spec", "runStrategy"), file) == ("base/vms.yaml", 6, 16)


def test_every_value_has_an_origin_with_the_same_value(here, kustomize):
    tree(here, FILES)
    target, objects = built(kustomize)
    origins = Origins(target, texts)
    for obj, file in objects:
        for path, value in leaves(obj):
            origin = origins.of(obj, path, file)
            found = get(texts(origin.file).items[origin.item], origin.path)
            if origin.inside:
                found = get(yamlio.read_stream(found.encode()).items[origin.inside[0]], origin.inside[1])
            assert value == (f"{found}{value.removeprefix('n-')}" if path == ("metadata", "name") else found), path


def test_a_list_of_a_patch_replaces_the_one_of_the_base(here, kustomize):
    patch = FILES["overlay/patch.yaml"] + "  template: {spec: {domain: {devices: {disks: [{name: data}]}}}}\n"
    overlay = FILES["overlay/kustomization.yaml"].replace("components:\n  - ../comp\n", "")
    tree(here, {**FILES, "overlay/patch.yaml": patch, "overlay/kustomization.yaml": overlay, "comp/kustomization.yaml": ""})
    (here / "comp" / "kustomization.yaml").unlink()
    target, objects = built(kustomize)
    ((web, file),) = [each for each in objects if each[0]["metadata"]["name"] == "n-web"]
    origin = Origins(target, texts).of(web, (*DISKS, 0, "name"), file)
    assert origin == WritingPlace("overlay/patch.yaml", 0, (*DISKS, 0, "name"))


def test_a_list_that_is_merged_by_name_is_found_by_name(here, kustomize):
    deployment = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 1
  template:
    spec:
      containers:
        - {name: a, image: "one:1"}
        - {name: b, image: "two:1"}
"""
    about = "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\n"
    patch = about + "spec: {template: {spec: {containers: [{name: b, tty: true}]}}}\n"
    images = "images: [{name: one, newTag: '2'}]\nreplicas: [{name: web, count: 3}]\n"
    tree(here, {"a/kustomization.yaml": f"resources: [d.yaml]\npatchesStrategicMerge: [p.yaml]\n{images}"})
    tree(here, {"a/d.yaml": deployment, "a/p.yaml": patch})
    target, ((obj, file),) = built(kustomize)
    containers = ("spec", "template", "spec", "containers")
    number = [each["name"] for each in get(obj, containers)].index("b")
    origins = Origins(target, texts)
    assert origins.of(obj, (*containers, number, "tty"), file) == WritingPlace("a/p.yaml", 0, (*containers, 0, "tty"))
    assert origins.of(obj, (*containers, 1 - number, "image"), file) == WritingPlace(
        "a/kustomization.yaml", 0, ("images", 0, "newTag")
    )
    assert origins.of(obj, ("spec", "replicas"), file) == WritingPlace("a/kustomization.yaml", 0, ("replicas", 0, "count"))


def test_what_is_generated_comes_from_its_generator(here, kustomize):
    tree(here, {"a/kustomization.yaml": "configMapGenerator:\n  - name: one\n    literals: [a=b]\n  - name: two\n"})
    target, objects = built(kustomize)
    found = {obj["metadata"]["name"][:3]: Origins(target, texts).of(obj, ("data",), file) for obj, file in objects}
    assert found["one"] == WritingPlace("a/kustomization.yaml", 0, ("configMapGenerator", 0))


def test_two_ways_to_one_file_are_told_apart_by_the_names(here, kustomize):
    vm = FILES["base/vms.yaml"].partition("---\n")[2]
    tree(here, {"base/kustomization.yaml": "resources: [vm.yaml]", "base/vm.yaml": vm})
    for name in "ab":
        patch = FILES["overlay/patch.yaml"].replace("large", name)
        text = f"resources: [../base]\nnamePrefix: {name}-\npatches: [{{path: p.yaml}}]\n"
        tree(here, {f"{name}/kustomization.yaml": text, f"{name}/p.yaml": patch})
    tree(here, {"all/kustomization.yaml": "resources: [../a, ../b]"})
    target, objects = built(kustomize)
    origins = Origins(target, texts)
    path = ("spec", "instancetype", "name")
    assert {obj["metadata"]["name"]: origins.of(obj, path, file).file for obj, file in objects} == {
        "a-web": "a/p.yaml",
        "b-web": "b/p.yaml",
    }


def test_many_ways_to_one_file_take_no_time(here):
    tree(here, {"k0/kustomization.yaml": "resources: [vms.yaml]", "k0/vms.yaml": FILES["base/vms.yaml"]})
    for number in range(1, 30):
        one = f"resources: [../a{number}, ../b{number}]"
        tree(here, {f"k{number}/kustomization.yaml": one})
        for side in "ab":
            tree(here, {f"{side}{number}/kustomization.yaml": f"resources: [../k{number - 1}]"})
    (target,) = discover(["."]).targets
    obj = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "shop"},
        "spec": {"runStrategy": "Always"},
    }
    origin = Origins(target, texts).of(obj, ("spec", "runStrategy"), "k0/vms.yaml")
    assert origin == WritingPlace("k0/vms.yaml", 0, ("spec", "runStrategy"))


def test_a_value_of_a_patch_in_another_style_stands_at_its_start(here, kustomize):
    text = "resources: [../base]\npatches:\n  - target: {kind: VirtualMachine, name: web}\n"
    text += '    patch: \'[{"op": "replace", "path": "/spec/runStrategy", "value": "Halted"}]\'\n'
    files = {name: FILES[name] for name in ("base/kustomization.yaml", "base/vms.yaml")}
    tree(here, {**files, "overlay/kustomization.yaml": text})
    target, objects = built(kustomize)
    ((web, file),) = [each for each in objects if each[0]["metadata"]["name"] == "web"]
    assert place(Origins(target, texts), web, ("spec", "runStrategy"), file) == ("overlay/kustomization.yaml", 4, 12)


VALUES = st.recursive(
    st.integers(0, 3) | st.text("ab", max_size=2),
    lambda below: st.lists(below, max_size=3) | st.dictionaries(st.sampled_from(["name", "a", "b"]), below, max_size=3),
    max_leaves=12,
)


@given(VALUES, VALUES)
def test_what_is_found_in_another_object_has_the_same_value(one, other):
    for path, value in leaves(one):
        found = same_place(other, one, path, value)
        assert found is None or get(other, found) == value


@given(VALUES)
def test_each_value_of_an_object_is_found_in_the_object_itself(value):
    for path, leaf in leaves(value):
        names = same_place(value, value, path, leaf)
        assert names is None or get(value, names) == leaf
        if not any(isinstance(step, int) for step in path):
            assert names == path
