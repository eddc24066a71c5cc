"""Targets, built by real kustomizes: what a plain build gives, with origins; and why one is not built."""

import subprocess
import tempfile
from pathlib import Path

import pytest
from trees import tree

from krm_fn import yamlio
from krm_fn.repositories import building
from krm_fn.repositories.building import Builder, Built, build
from krm_fn.repositories.complaints import HIDDEN, complaint
from krm_fn.repositories.delivering import given_of
from krm_fn.repositories.discovery import discover
from krm_fn.sources.reading import of_built

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: {}
spec:
  instancetype:
    name: small
"""
RENDER = "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nmetadata: {name: render}\n"
THING = "apiVersion: x.org/v1\nkind: Thing\nmetadata: {name: t}\n"
LABELS = """\
apiVersion: builtin
kind: LabelTransformer
metadata: {name: labels}
labels: {app: web}
fieldSpecs: [{path: metadata/labels, create: true}]
"""
FILES = {
    "base/kustomization.yaml": "resources: [vms.yaml]\nconfigMapGenerator: [{name: cm, literals: [a=b]}]\n",
    "base/vms.yaml": VM.format("web") + "---\n" + VM.format("shop"),
    "overlay/kustomization.yaml": "resources: [../base, service.yaml]\nnamePrefix: n-\npatches: [{path: patch.yaml}]\n",
    "overlay/service.yaml": "apiVersion: v1\nkind: Service\nmetadata: {name: a}\n",
    "overlay/patch.yaml": VM.format("web").replace("small", "large"),
}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    return tmp_path


def only(folder=".", **options):
    (target,) = discover([folder], **options).targets
    return target


def objects(data):
    return yamlio.read_stream(data).items


def problem(kustomize, name="overlay", **options):
    found = next(target for target in discover(["."]).targets if target.name == name)
    return build(found, Builder(kustomize, ("build",)), **options)


def test_a_build_is_a_plain_one_with_origins(here, kustomize):
    tree(here, FILES)
    built = build(only(), Builder(kustomize, ("build",)))
    plain = subprocess.run([kustomize, "build", "overlay"], capture_output=True, check=True).stdout
    found = of_built(given_of(only(), built))
    assert found.items == objects(plain)
    names = [obj["metadata"]["name"].partition("-cm-")[0] for obj in found.items]
    assert sorted(zip(names, [file for file, _ in found.places], strict=True)) == [
        ("n", "base/kustomization.yaml"),
        ("n-a", "overlay/service.yaml"),
        ("n-shop", "base/vms.yaml"),
        ("n-web", "base/vms.yaml"),
    ]


def test_the_order_of_the_target_is_kept(here, kustomize):
    if "4.5.4" in kustomize:
        pytest.skip("this release knows no sortOptions")
    order = FILES["overlay/kustomization.yaml"] + "sortOptions: {order: fifo}\nbuildMetadata: [managedByLabel]\n"
    tree(here, {**FILES, "overlay/kustomization.yaml": order})
    built = build(only(), Builder(kustomize, ("build",)))
    plain = subprocess.run([kustomize, "build", "overlay"], capture_output=True, check=True).stdout
    assert of_built(given_of(only(), built)).items == objects(plain)


def test_annotations_that_are_no_map_are_built_as_kustomize_alone_does(here, kustomize):
    held = VM.replace("  name: {}", "  name: {}\n  annotations: ${{ANNOTATIONS}}")
    tree(here, {"kustomization.yaml": "resources: [vms.yaml]\n", "vms.yaml": held.format("web")})
    found = of_built(given_of(only(), build(only(), Builder(kustomize, ("build",)))))
    assert found.places == [("vms.yaml", 0)]
    assert found.items == objects(subprocess.run([kustomize, "build", "."], capture_output=True, check=True).stdout)


def test_objects_are_found_where_a_patch_removes_their_annotations(here, kustomize):
    patch = "- {op: add, path: /metadata/annotations, value: {a: b}}"
    named = f'resources: [vms.yaml]\nnamePrefix: x-\npatches: [{{target: {{kind: VirtualMachine}}, patch: "{patch}"}}]\n'
    tree(here, {"kustomization.yaml": named, "vms.yaml": VM.format("web") + "---\n" + VM.format("shop")})
    found = of_built(given_of(only(), build(only(), Builder(kustomize, ("build",)))))
    assert sorted((obj["metadata"]["name"], file) for obj, (file, _) in zip(found.items, found.places, strict=True)) == [
        ("x-shop", "vms.yaml"),
        ("x-web", "vms.yaml"),
    ]


def test_what_kubectl_says_is_what_kustomize_says(here, kubectl):
    tree(here, {"kustomization.yaml": "resources: [absent.yaml]\n"})
    assert build(only(), Builder(kubectl, ("kustomize",))).detail == "absent.yaml: no such file or directory"
    tree(here, {"kustomization.yaml": "resources: [vm.yaml]\npatches: [{patch: 'a'}]\n", "vm.yaml": VM.format("web")})
    said = build(only(), Builder(kubectl, ("kustomize",))).detail
    assert said.startswith("trouble configuring builtin PatchTransformer with config: ...: unable to parse SM or JSON patch")


def test_nothing_is_left_and_no_file_is_changed(here, kustomize, monkeypatch, tmp_path_factory):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path_factory.mktemp("scratch")))
    listed = f"{FILES['overlay/kustomization.yaml']}transformers: [render.yaml]\n"
    tree(here, {**FILES, "overlay/kustomization.yaml": listed, "overlay/render.yaml": RENDER})
    before = {file: file.stat().st_mtime_ns for file in here.rglob("*")}
    assert isinstance(build(only(), Builder(kustomize, ("build",))), Built)
    assert {file: file.stat().st_mtime_ns for file in here.rglob("*")} == before
    assert not [*Path(tempfile.gettempdir()).iterdir()]


@pytest.mark.parametrize(
    ("added", "files"),
    [
        ("transformers: [render.yaml]", {"overlay/render.yaml": RENDER}),
        ("validators: [render.yaml]", {"overlay/render.yaml": RENDER}),
        ("transformers: [mixed.yaml]", {"overlay/mixed.yaml": f"{RENDER}---\n{LABELS}"}),
        ("transformers: [../tools]", {"tools/kustomization.yaml": "resources: [r.yaml]", "tools/r.yaml": RENDER}),
        (f"transformers:\n- |\n  {RENDER.replace(chr(10), chr(10) + '  ')}", {}),
    ],
    ids=["file", "validator", "mixed", "folder", "inline"],
)
def test_a_target_is_built_without_our_own_function(here, kustomize, added, files):
    tree(here, {**FILES, **files, "overlay/kustomization.yaml": f"{FILES['overlay/kustomization.yaml']}{added}\n"})
    built = build(only(), Builder(kustomize, ("build",)))
    assert isinstance(built, Built), built
    files = {file for file, _ in of_built(given_of(only(), built)).places}
    assert files == {"base/vms.yaml", "base/kustomization.yaml", "overlay/service.yaml"}
    labels = [obj["metadata"].get("labels") for obj in objects(built.data)]
    assert labels == [{"app": "web"} if "mixed" in added else None] * 4


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (
            {"a/kustomization.yaml": "resources: [b.yaml]"},
            ("a/kustomization.yaml", "refused", "a/b.yaml: no such file or directory"),
        ),
        (
            {"a/kustomization.yaml": "resources: [../b]", "b/kustomization.yaml": "resources: [c.yaml]"},
            ("b/kustomization.yaml", "refused", "b/c.yaml: no such file or directory"),
        ),
        ({"a/kustomization.yaml": "helmCharts: [{name: web}]"}, ("a/kustomization.yaml", "helm", "")),
        (
            {
                "a/kustomization.yaml": "generators: [g.yaml]",
                "a/g.yaml": "apiVersion: x.org/v1\nkind: Thing\nmetadata: {name: t}",
            },
            ("a/kustomization.yaml", "plugin", "Thing"),
        ),
    ],
    ids=["file", "base", "helm", "plugin"],
)
def test_a_problem_names_the_file_at_fault(here, kustomize, files, expected):
    tree(here, files)
    found = problem(kustomize, "a")
    assert (found.file, found.reason, found.detail) == expected


def test_a_patch_without_its_base_is_refused(here, kustomize):
    tree(here, {**FILES, "overlay/patch.yaml": VM.format("gone")})
    found = problem(kustomize)
    assert (found.file, found.reason) == ("overlay/kustomization.yaml", "refused")
    assert "no matches for Id" in found.detail
    assert "gone" in found.detail


def test_a_secret_is_in_no_message(here, kustomize):
    patch = "- op: remove\n  path: /spec/password/hunter2\n"
    text = FILES["overlay/kustomization.yaml"].replace(
        "{path: patch.yaml}", "{path: patch.yaml, target: {kind: VirtualMachine}}"
    )
    tree(here, {**FILES, "overlay/kustomization.yaml": text, "overlay/patch.yaml": patch})
    found = problem(kustomize)
    assert found.reason == "refused"
    assert "hunter2" not in found.detail


def test_what_is_missing_is_named_whatever_its_folder_is_called(here, kustomize):
    tree(here, {"a/credentials/kustomization.yaml": "secretGenerator: [{name: a, files: [clouds.yaml]}]\n"})
    found = problem(kustomize, "a/credentials")
    assert (found.reason, found.detail) == ("refused", "a/credentials/clouds.yaml: no such file or directory")


@pytest.mark.parametrize(("path", "is_shown"), [("/spec/volumes", True), ("/spec/password/hunter2", False)])
def test_a_place_that_a_patch_misses_is_named_unless_it_looks_secret(here, path, is_shown):
    tree(here, FILES)
    said = f"Error: replace operation does not apply: doc is missing key: {path}: missing value\n"
    found = complaint(said, only(), lambda whole: whole)
    assert found.detail == (said[len("Error: ") :].strip() if is_shown else HIDDEN)


def test_a_slow_build_is_stopped(here, kustomize):
    tree(here, FILES)
    found = problem(kustomize, timeout=0.001)
    assert (found.reason, found.detail) == ("slow", "0.001 s")


def test_a_build_reads_no_variable_of_ours_but_those_it_needs(here, kustomize, monkeypatch):
    monkeypatch.setenv("CI_TOKEN", "hunter2")
    tree(here, {"a/kustomization.yaml": "configMapGenerator: [{name: a, envs: [a.env]}]", "a/a.env": "CI_TOKEN\n"})
    built = problem(kustomize, "a")
    assert objects(built.data)[0]["data"] == {"CI_TOKEN": ""}


def test_kubectl_builds_too(here, kubectl):
    tree(here, FILES)
    built = build(only(), Builder(kubectl, ("kustomize",)))
    assert len(objects(built.data)) == 4


def test_a_program_is_found_on_the_path(here, kustomize):
    tree(here, FILES)
    assert building.builder(str(Path(kustomize).parent)) == Builder(kustomize, ("build",))
    assert building.builder(str(here)) is None
    assert building.version(Builder(kustomize, ("build",)))


def test_a_template_among_the_resources_is_rendered_elsewhere(here, kustomize):
    tree(
        here, {"overlay/kustomization.yaml": "resources: [vm.yaml]", "overlay/vm.yaml": "a: b\n{{ if .c }}\nd: e\n{{ end }}\n"}
    )
    found = problem(kustomize)
    assert (found.file, found.reason, found.detail) == ("overlay/kustomization.yaml", "template", "overlay/vm.yaml")
    tree(here, {"overlay/vm.yaml": "a: b\nc\nd: e\n"})
    assert problem(kustomize).reason == "refused"


def test_what_operator_sdk_makes_is_absent_in_the_project_of_an_operator(here, kustomize):
    tree(here, {"config/manifests/kustomization.yaml": "resources: [bases/a.yaml]"})
    assert problem(kustomize, "config/manifests").reason == "refused"
    tree(here, {"PROJECT": "version: '3'\n"})
    found = problem(kustomize, "config/manifests")
    made = "config/manifests/bases, which `operator-sdk generate kustomize manifests` makes"
    assert (found.reason, found.detail) == ("absent", made)


def test_a_file_beyond_the_folder_needs_a_flag(here, kustomize):
    tree(
        here,
        {**FILES, "overlay/kustomization.yaml": "resources: [../service.yaml]", "service.yaml": FILES["overlay/service.yaml"]},
    )
    found = problem(kustomize)
    assert (found.file, found.reason, found.detail) == ("overlay/kustomization.yaml", "restricted", "service.yaml")
    assert isinstance(problem(kustomize, flags=["--load-restrictor=LoadRestrictionsNone"]), Built)


@pytest.mark.parametrize(
    ("wanted", "files", "said"),
    [
        ("secret.yaml", {".gitignore": "secret.yaml\n"}, "overlay/secret.yaml, which git ignores"),
        ("secrets/a.yaml", {".gitignore": "secrets/\n"}, "overlay/secrets, which git ignores"),
        ("rbac.yaml", {"overlay/rbac.yaml.in": "{}"}, "overlay/rbac.yaml, made from rbac.yaml.in"),
        ("rbac.yaml", {"overlay/rbac.template.yaml": "{}"}, "overlay/rbac.yaml, made from rbac.template.yaml"),
        ("rbac.yaml", {"overlay/rbac-dist.yaml": "{}"}, "overlay/rbac.yaml, made from rbac-dist.yaml"),
        (
            "../vendored/vm",
            {".gitmodules": '[submodule "vendored"]\n\tpath = vendored\n\turl = https://example.com/vms\n'},
            "vendored, in a git submodule that is not checked out",
        ),
        ("gone.yaml", {".gitignore": "secret.yaml\n", "overlay/other.yaml.in": "{}"}, None),
        ("gone.yaml", {".gitmodules": "not a config"}, None),
    ],
    ids=[
        "ignored",
        "in an ignored folder",
        "template",
        "template by its stem",
        "what is distributed",
        "submodule",
        "gone",
        "broken submodules",
    ],
)
def test_a_file_that_git_leaves_out_or_a_template_makes_is_out_of_reach(here, kustomize, wanted, files, said):
    (here / ".git").rmdir()
    subprocess.run(["git", "init", "--quiet"], check=True)
    tree(here, {"overlay/kustomization.yaml": f"resources: [{wanted}]\n", **files})
    found = problem(kustomize)
    reason = ("made-later" if "made from" in said else "absent") if said else "refused"
    assert (found.reason, found.detail) == (reason, said or found.detail)


def test_a_complaint_keeps_the_slashes_that_begin_no_path(here, kustomize):
    patch = "patches: [{patch: '{apiVersion: kubevirt.io/v1, kind: VirtualMachine, metadata: {name: gone}}'}]\n"
    tree(here, {"overlay/kustomization.yaml": "resources: [vm.yaml]\n" + patch, "overlay/vm.yaml": VM.format("web")})
    assert "VirtualMachine.v1.kubevirt.io/gone" in problem(kustomize).detail
