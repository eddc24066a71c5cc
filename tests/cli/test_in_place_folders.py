"""`--in-place` and kustomizations: bases of patched VMs are refused, and patches are never rewritten."""

import pytest
from checking import run
from test_render_folders import CONFIG_MAP, OVERLAY, REPOSITORY, SIZE, SIZE_PATCH, VM
from trees import tree

FIX = "render the kustomizations instead, for example with --output-dir, or use --force\n"


@pytest.fixture
def here(tmp_path):
    (tmp_path / ".git").mkdir()
    return tree(tmp_path, REPOSITORY)


def in_place(root, *words):
    return run("render", "--in-place", *(words or (".",)), cwd=root)


def texts(root):
    return {file.relative_to(root).as_posix(): file.read_text() for file in root.rglob("*") if file.is_file()}


def refused(by, about="it", file="base/vm.yaml"):
    return (
        f"kubevirt-render: error: {file}: VirtualMachine web is a base, and {by} changes {about}; "
        f"rendered here, it would keep the values from before that change; {FIX}"
    )


@pytest.mark.parametrize("path", [".", "base", "base/vm.yaml"])
def test_a_base_that_an_overlay_patches_is_refused_wherever_the_overlay_is(here, path):
    before = texts(here)
    code, out, err = in_place(here, path)
    assert (code, out) == (1, "")
    assert err.endswith(refused("overlays/north/size.yaml"))
    assert texts(here) == before


def test_from_another_folder_the_overlay_is_found_too(here):
    code, _, err = run("render", "--in-place", ".", cwd=here / "base")
    assert code == 1
    assert "overlays/north/size.yaml changes it" in err


def test_force_writes_the_base_and_no_patch(here):
    before = texts(here)
    left = "2 files are left alone: kustomizations use them as a patch or another part; --verbose names them"
    notes = [f"kubevirt-render: note: {text}" for text in (left, "base/vm.yaml: written")]
    assert in_place(here, ".", "--force") == (0, "", "\n".join(notes) + "\n")
    after = texts(here)
    assert "guest: 4Gi" in after.pop("base/vm.yaml")
    assert after == {file: text for file, text in before.items() if file != "base/vm.yaml"}


def test_force_alone_is_wrong_usage(here):
    assert run("render", "--force", ".", cwd=here) == (2, "", "kubevirt-render: error: --force needs --in-place\n")


def test_verbose_names_what_is_left_alone(here):
    err = in_place(here, ".", "--force", "-v")[2]
    for name in ("north", "south"):
        part = "left alone: a kustomization uses it as a patch or another part, not as a resource"
        assert f"note: overlays/{name}/size.yaml: {part}\n" in err


LABELS = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web, labels: {a: b}}\n"
OPERATION = '[{{"op": "add", "path": "{}", "value": "b"}}]'
HARMLESS = {
    "labels": {"size.yaml": LABELS},
    "another VM": {"size.yaml": SIZE_PATCH.format("u1.small").replace("web", "other")},
    "another kind": {"size.yaml": CONFIG_MAP.replace("other", "web")},
    "a label by an operation": {"op.yaml": OPERATION.format("/metadata/labels/a")},
    "a prefix and labels": {"kustomization.yaml": "resources: [../../base]\nnamePrefix: my-\ncommonLabels: {a: b}\n"},
    "a transformer of labels": {
        "kustomization.yaml": "resources: [../../base]\ntransformers: [t.yaml]\n",
        "t.yaml": "apiVersion: builtin\nkind: LabelTransformer\nmetadata: {name: t}\nlabels: {a: b}\n",
    },
    "our own function": {
        "kustomization.yaml": "resources: [../../base]\ntransformers: [t.yaml]\n",
        "t.yaml": "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nmetadata: {name: t}\n",
    },
}
WITH_OPERATION = "resources: [../../base]\npatches: [{path: op.yaml, target: {kind: VirtualMachine}}]\n"
WITH_INLINE = "resources: [../../base]\npatches: [{target: {name: w.*}, patch: '[{op: remove, path: /spec/instancetype}]'}]\n"
REPLACED = """\
resources: [../../base]
replacements:
- source: {kind: ConfigMap, name: c, fieldPath: data.size}
  targets: [{select: {kind: VirtualMachine}, fieldPaths: [spec.instancetype.name]}]
"""
CHANGES = {
    "an operation": ({"op.yaml": OPERATION.format("/spec/instancetype/name"), "kustomization.yaml": WITH_OPERATION}, "op.yaml"),
    "a patch in place": ({"kustomization.yaml": WITH_INLINE}, "kustomization.yaml"),
    "an old patch": (
        {
            "kustomization.yaml": "bases: [../../base]\npatchesStrategicMerge: [size.yaml]\n",
            "size.yaml": SIZE_PATCH.format("u1.small"),
        },
        "size.yaml",
    ),
    "a replacement": ({"kustomization.yaml": REPLACED}, "kustomization.yaml"),
    "a transformer": (
        {
            "kustomization.yaml": "resources: [../../base]\ntransformers: [t.yaml]\n",
            "t.yaml": "apiVersion: x/v1\nkind: Sizes\n",
        },
        "t.yaml",
    ),
    "a name with a prefix": (
        {
            "kustomization.yaml": "resources: [../middle]\npatches: [{path: size.yaml}]\n",
            "../middle/kustomization.yaml": "resources: [../../base]\nnamePrefix: my-\n",
            "size.yaml": SIZE_PATCH.format("u1.small").replace("web", "my-web"),
        },
        "size.yaml",
    ),
    "a component": (
        {
            "kustomization.yaml": "resources: [../../base]\ncomponents: [../../part]\n",
            "../../part/kustomization.yaml": "kind: Component\npatches: [{path: p.yaml}]\n",
            "../../part/p.yaml": SIZE_PATCH.format("u1.small"),
        },
        "../../part/p.yaml",
    ),
}


@pytest.fixture
def with_one_overlay(tmp_path):
    (tmp_path / ".git").mkdir()
    files = {file: text for file, text in REPOSITORY.items() if "south" not in file and "size" not in file}
    return tree(tmp_path, files)


@pytest.mark.parametrize("files", HARMLESS.values(), ids=HARMLESS)
def test_what_does_not_change_the_spec_refuses_nothing(with_one_overlay, files):
    here = with_one_overlay
    kustomization = WITH_OPERATION if "op.yaml" in files else OVERLAY.format("north")
    tree(here / "overlays/north", {"kustomization.yaml": kustomization, **files})
    code, _, err = in_place(here)
    assert code == 0, err
    assert err.endswith("base/vm.yaml: written\n")


@pytest.mark.parametrize(("files", "by"), CHANGES.values(), ids=CHANGES)
def test_what_changes_the_spec_is_named(with_one_overlay, files, by):
    here = with_one_overlay
    tree(here / "overlays/north", files)
    code, _, err = in_place(here)
    assert code == 1
    place = by.removeprefix("../../") if by.startswith("..") else f"overlays/north/{by}"
    assert err.endswith(refused(place))


def test_a_patch_of_the_instancetype_refuses_the_vm(with_one_overlay):
    here = tree(
        with_one_overlay,
        {
            "base/kustomization.yaml": "resources: [vm.yaml, size.yaml]\n",
            "base/vm.yaml": VM.replace("u1.medium", "own"),
            "base/size.yaml": SIZE.format(2),
            "overlays/north/size.yaml": SIZE.format(4),
        },
    )
    err = in_place(here)[2]
    assert err.endswith(refused("overlays/north/size.yaml", "its VirtualMachineClusterInstancetype own"))


def test_generators_and_values_are_no_vms_of_their_own(tmp_path):
    files = {
        "kustomization.yaml": "resources: [vm.yaml]\nconfigMapGenerator: [{name: a, files: [data.yaml]}]\ngenerators: [gen]\n",
        "vm.yaml": VM,
        "data.yaml": VM.replace("web", "data"),
        "gen/kustomization.yaml": "resources: [g.yaml]\n",
        "gen/g.yaml": VM.replace("web", "generator"),
    }
    tree(tmp_path, files)
    assert in_place(tmp_path)[0] == 0
    after = texts(tmp_path)
    assert "instancetype" not in after["vm.yaml"]
    assert {file: after[file] for file in files if file != "vm.yaml"} == {
        file: text for file, text in files.items() if file != "vm.yaml"
    }


def test_each_folder_is_rendered_with_its_own_instancetypes_and_those_that_are_clear(tmp_path):
    tree(
        tmp_path,
        {
            **{f"{name}/kustomization.yaml": "resources: [vm.yaml, size.yaml]\n" for name in ("a", "b")},
            **{f"{name}/vm.yaml": VM.replace("u1.medium", "own") for name in ("a", "b")},
            "a/size.yaml": SIZE.format(2),
            "b/size.yaml": SIZE.format(4),
            "c/vm.yaml": VM.replace("u1.medium", "own"),
        },
    )
    code, _, err = in_place(tmp_path)
    assert code == 0
    assert "ambiguous-reference" in err
    after = texts(tmp_path)
    assert "sockets: 2" in after["a/vm.yaml"]
    assert "sockets: 4" in after["b/vm.yaml"]
    assert after["c/vm.yaml"] == VM.replace("u1.medium", "own")


def test_twice_changes_nothing_more(with_one_overlay):
    tree(with_one_overlay, {"overlays/north/size.yaml": LABELS})
    in_place(with_one_overlay)
    code, out, err = in_place(with_one_overlay)
    assert (code, out) == (0, "")
    assert "written" not in err
