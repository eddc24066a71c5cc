"""`diff --base`: a commit of a git repository against the working tree, with the kustomizations of both sides built."""

import json
import os
from pathlib import Path

import checking
import pytest
from committing import commit, git
from trees import tree

pytestmark = pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {{name: {name}, namespace: default}}
spec:
  runStrategy: Always
  {size}
  template: {{spec: {{domain: {{devices: {{}}}}}}}}
"""
TYPED = VM.format(name="typed", size="instancetype: {name: small, kind: VirtualMachineInstancetype}")
TYPE = """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineInstancetype
metadata: {name: small, namespace: default}
spec: {cpu: {guest: 2}, memory: {guest: 2Gi}}
"""
FILES = {
    "base/kustomization.yaml": "resources: [vm.yaml]\n",
    "base/vm.yaml": TYPED,
    "clusters/a/kustomization.yaml": "resources: [../../base]\n",
    "clusters/b/kustomization.yaml": "resources: [../../base]\n",
    "types/small.yaml": TYPE,
}
HALTED = TYPED.replace("Always", "Halted")


@pytest.fixture
def here(tmp_path, monkeypatch, kustomize):
    """A repository with one commit, and the newest kustomize on the PATH."""
    monkeypatch.setenv("PATH", f"{Path(kustomize).parent}:{os.environ['PATH']}")
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    commit(root, FILES)
    return root


def diff(root, *words, **more):
    return checking.run("diff", *words, cwd=root, **more)


def effects(root, *words):
    """Target, name and effect of each VM that changes."""
    code, out, err = diff(root, *words, "-o", "json")
    assert (code, err) == (0, "")
    return [(vm["target"], vm["name"], *vm["effect"]) for vm in json.loads(out)["vms"]]


def test_a_working_tree_without_changes_changes_no_vm(here):
    assert diff(here, "--base", "main") == (0, "none of 2 VMs change\n", "")


def test_an_edit_of_a_base_reaches_the_vms_of_all_targets(here):
    tree(here, {"base/vm.yaml": HALTED})
    assert effects(here, "--base", "main") == [("clusters/a", "typed", "stopped"), ("clusters/b", "typed", "stopped")]
    assert effects(here, "--base", "main", "clusters/b") == [("clusters/b", "typed", "stopped")]
    assert diff(here, "--base", "main")[1].startswith(
        "2 VirtualMachines: are stopped\n  default: typed (in clusters/a, clusters/b)\n"
    )
    each = diff(here, "--base", "main", "--no-group")[1]
    assert each.startswith(
        "VirtualMachine default/typed in clusters/a: is stopped\n\nVirtualMachine default/typed in clusters/b:"
    )


def test_an_instancetype_of_another_folder_reaches_the_vms_that_use_it(here):
    tree(here, {"types/small.yaml": TYPE.replace("guest: 2}", "guest: 4}")})
    kept = effects(here, "--base", "main")
    assert kept == [("clusters/a", "typed", "nothing"), ("clusters/b", "typed", "nothing")]
    (first, _) = json.loads(diff(here, "--base", "main", "--assume", "new", "-o", "json")[1])["vms"]
    assert {cause["source"] for change in first["changes"] for cause in change["causes"]} == {"instancetype"}


def test_two_commits_are_compared_without_the_working_tree(here):
    commit(here, {"base/vm.yaml": HALTED})
    tree(here, {"base/vm.yaml": "no: object\n"})
    assert effects(here, "--base", "main~1", "--head", "main", "clusters/a") == [("clusters/a", "typed", "stopped")]


def test_the_base_is_the_commit_that_both_sides_have_in_common(here):
    git(here, "switch", "-q", "-c", "topic")
    commit(here, {"clusters/b/kustomization.yaml": "namePrefix: my-\nresources: [../../base]\n"})
    git(here, "switch", "-q", "main")
    commit(here, {"base/vm.yaml": HALTED})
    git(here, "switch", "-q", "topic")
    assert {target for target, *_ in effects(here, "--base", "main")} == {"clusters/b"}
    assert {target for target, *_ in effects(here, "--base", "main", "--no-merge-base")} == {"clusters/a", "clusters/b"}


def test_paths_start_from_the_working_directory(here):
    tree(here, {"base/vm.yaml": HALTED, "clusters/b/kustomization.yaml": "resources: [../nowhere]\n"})
    code, out, err = diff(here / "clusters", "--base", "main")
    assert (code, out.splitlines()[0]) == (1, "VirtualMachine default/typed in a: is stopped")
    assert err.startswith("kubevirt-render: error: b/kustomization.yaml:")
    assert err.count("\n") == 1


def test_what_cannot_be_built_at_the_base_is_named_with_the_commit(here):
    commit(here, {"clusters/b/kustomization.yaml": "resources: [../nowhere]\n"})
    tree(here, FILES)
    code, out, err = diff(here, "--base", "main")
    assert (code, out.splitlines()[-1]) == (1, "none of 1 VM changes; 1 target is not compared")
    assert err.startswith("kubevirt-render: error: main:./clusters/b/kustomization.yaml:")


def test_each_side_has_the_config_of_its_commit(here):
    config = "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nspec: {{kubevirtVersion: '{}'}}\n"
    commit(here, {".kubevirt-render.yaml": config.format("1.6")})
    tree(here, {".kubevirt-render.yaml": config.format("7.5")})
    code, _, err = diff(here, "--base", "main")
    assert code == 2
    assert err.startswith("kubevirt-render: error: .kubevirt-render.yaml:3:")
    commit(here, {})
    tree(here, {".kubevirt-render.yaml": config.format("1.6")})
    code, _, err = diff(here, "--base", "main")
    assert code == 2
    assert err.startswith("kubevirt-render: error: main:./.kubevirt-render.yaml:3:")


def test_files_that_git_ignores_are_on_neither_side(here):
    tree(here, {".gitignore": "/build\n", "build/vm.yaml": VM.format(name="made", size="")})
    assert effects(here, "--base", "main") == []


def test_a_folder_that_is_new_has_new_vms(here):
    tree(here, {"clusters/c/kustomization.yaml": "resources: [../../base]\n"})
    assert effects(here / "clusters" / "c", "--base", "main") == [(".", "typed", "added")]


def test_wrong_arguments_are_one_line(here, tmp_path):
    wrong = {
        ("--base", "nowhere"): "there is no commit 'nowhere' in this repository",
        ("--base", "--output=x"): "there is no commit '--output=x' in this repository",
        ("--base", "main", ".."): ".. is outside of the git repository",
        ("--base", "main", "nothing"): "nothing is on neither side of the change",
        ("--head", "main", "a", "b"): "--head and --merge-base need --base",
        ("a", "b", "c"): "found 3 paths; expected BASE and HEAD",
    }
    for words, said in wrong.items():
        code, out, err = diff(here, *words)
        assert (code, out, err.count("\n")) == (2, "", 1), words
        assert err.startswith(f"kubevirt-render: error: {said}"), words


def test_there_must_be_a_repository_and_git(here, tmp_path):
    code, _, err = diff(tmp_path, "--base", "main")
    assert (code, err.count("\n")) == (2, 1)
    assert "git finds no working tree here" in err
    code, _, err = diff(here, "--base", "main", PATH=str(tmp_path))
    assert (code, err.count("\n")) == (2, 1)
    assert "found no program git on the PATH" in err


def test_histories_without_a_common_commit_need_a_flag(here):
    git(here, "switch", "-q", "--orphan", "other")
    commit(here, {**FILES, "notes.txt": "new\n"})
    code, _, err = diff(here, "--base", "main")
    assert (code, err.count("\n")) == (2, 1)
    assert "main and HEAD have no commit in common" in err
    assert effects(here, "--base", "main", "--no-merge-base") == []


def test_two_folders_with_kustomizations_are_compared_by_target(here, tmp_path):
    other = tree(tmp_path / "other", {**FILES, "base/vm.yaml": HALTED})
    assert effects(tmp_path, "repository", other.name) == [
        ("clusters/a", "typed", "stopped"),
        ("clusters/b", "typed", "stopped"),
    ]
