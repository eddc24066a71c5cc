"""git reads a repository and nothing of its settings: no program starts, nothing is fetched, and no other one is read."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from committing import NOBODY, commit, git
from trees import tree

from krm_fn.base.errors import UsageError
from krm_fn.lsp.session import Session, committed
from krm_fn.repositories import commits
from krm_fn.repositories.complaints import explanation
from krm_fn.repositories.git import repository_of

ROOT = Path(__file__).resolve().parents[2]
VM = (ROOT / "kustomization-examples" / "one-vm" / "vm.yaml").read_text()
OLD = {"vm.yaml": VM, "kustomization.yaml": "resources: [vm.yaml]\n"}


def output(folder, *words):
    ran = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, env={**os.environ, **NOBODY})
    return ran.stdout.decode().strip()


@pytest.fixture
def canary(tmp_path):
    """A program that leaves a file when it is started, and the file."""
    program, ran = tmp_path / "canary", tmp_path / "ran"
    program.write_text(f'#!/bin/sh\necho "$0 $*" >>{ran}\n')
    program.chmod(0o755)
    return program, ran


def with_programs(config, program):
    """All settings that start a program while git reads, or fetches what is missing."""
    rows = {
        "core.sshCommand": program,
        "core.fsmonitor": program,
        "core.hooksPath": program.parent,
        "core.pager": program,
        "core.editor": program,
        "core.askPass": program,
        "core.gitProxy": program,
        "core.alternateRefsCommand": program,
        "credential.helper": program,
        "diff.external": program,
        "filter.own.smudge": program,
        "filter.own.clean": program,
        "filter.own.process": program,
        "diff.own.textconv": program,
        "uploadpack.packObjectsHook": program,
        "alias.ls-tree": f"!{program}",
        "remote.origin.url": "ssh://git@127.0.0.1/x",
        "remote.origin.promisor": "true",
        "remote.origin.partialclonefilter": "blob:none",
        "remote.origin.uploadpack": program,
        "extensions.partialClone": "origin",
        "core.repositoryFormatVersion": "1",
    }
    for key, value in rows.items():
        subprocess.run(["git", "config", "--file", str(config), key, str(value)], check=True)


@pytest.fixture
def stranger(tmp_path, canary):
    """A clone of a stranger: its settings start programs, and the committed text of its VM is missing."""
    root = tmp_path / "stranger"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    commit(root, {**OLD, ".gitattributes": "*.yaml filter=own diff=own\n"})
    blob = output(root, "rev-parse", "HEAD:vm.yaml")
    (root / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with_programs(root / ".git" / "config", canary[0])
    return root


@pytest.fixture
def command():
    """Runs the command in a folder: its exit code, stdout and stderr."""

    def run(*arguments, cwd, **environment):
        words = [sys.executable, "-m", "krm_fn", *arguments]
        full = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONSAFEPATH": "1", "GIT_CONFIG_GLOBAL": os.devnull, **environment}
        ran = subprocess.run(words, cwd=cwd, env=full, capture_output=True, text=True, check=False, timeout=120)
        return ran.returncode, ran.stdout, ran.stderr

    return run


# The place of the VM's name.
NAME = next((line, text.index("web")) for line, text in enumerate(VM.split("\n")) if "name: web" in text)
MISSING = (
    "kubevirt-render: error: git does not have the contents of vm.yaml, and nothing is fetched here; "
    "run `git fetch --refetch --no-filter` first\n"
)


@pytest.mark.parametrize("words", [("diff", "--base", "HEAD"), ("check", "--base", "HEAD", ".")])
def test_a_missing_file_is_one_line_and_starts_nothing(stranger, canary, command, words):
    ran = command(*words, cwd=stranger)
    assert not canary[1].exists(), canary[1].read_text()
    assert ran == (1, "", MISSING)


def test_a_hover_starts_nothing(stranger, canary, monkeypatch):
    monkeypatch.chdir(stranger)
    session = Session()
    session.begin()
    for build in session.builds_before("vm.yaml", *NAME):
        build()
    assert "Against the last commit" not in session.hover("vm.yaml", *NAME).text
    committed(["vm.yaml"])
    assert not canary[1].exists(), canary[1].read_text()
    assert committed(["vm.yaml"]) is None
    assert committed(["kustomization.yaml"]) == {str(stranger / "kustomization.yaml"): b"resources: [vm.yaml]\n"}


@pytest.mark.parametrize("may_build", [True, False])
def test_git_is_not_called_where_nothing_is_built(here, canary, monkeypatch, may_build):
    monkeypatch.chdir(here)
    (here / "kustomization.yaml").unlink()
    (here / "vm.yaml").write_text(VM.replace("u1.small", "u1.large"))
    canary[0].rename(canary[0].with_name("git"))
    monkeypatch.setenv("PATH", str(canary[0].parent))
    session = Session()
    session.workspace.may_build = may_build
    session.begin()
    for build in session.builds_before("vm.yaml", *NAME):
        build()
    session.hover("vm.yaml", *NAME)
    session.hints("vm.yaml", 0, 100)
    assert canary[1].exists() == may_build


def test_a_missing_folder_of_a_commit_is_one_line(stranger, canary, command):
    root = output(stranger, "rev-parse", "HEAD^{tree}")
    (stranger / ".git" / "objects" / root[:2] / root[2:]).unlink()
    code, out, err = command("diff", "--base", "HEAD", cwd=stranger)
    assert (code, out) == (1, "")
    assert err.splitlines()[-1].startswith("kubevirt-render: error: git does not have all of commit ")
    assert not canary[1].exists(), canary[1].read_text()


def test_what_is_ignored_is_asked_without_the_settings(stranger, canary, command):
    (stranger / ".gitignore").write_text("made/\n")
    (stranger / "kustomization.yaml").write_text("resources: [vm.yaml, made]\n")
    _, out, _ = command("check", ".", cwd=stranger)
    assert "which git ignores" in out
    assert not canary[1].exists(), canary[1].read_text()


@pytest.fixture
def pushed(tmp_path, canary):
    """A clone of ours with a bare repository in it that a pull request has pushed."""
    root = tmp_path / "ours"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    commit(root, OLD)
    lab = root / "lab"
    git(tmp_path, "clone", "-q", "--bare", str(root), str(lab))
    for name in ("hooks", "info", "description", "packed-refs"):
        path = lab / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    (lab / "refs" / "heads" / "main").write_text(output(root, "rev-parse", "main") + "\n")
    with_programs(lab / "config", canary[0])
    subprocess.run(["git", "config", "--file", str(lab / "config"), "core.bare", "false"], check=True)
    subprocess.run(["git", "config", "--file", str(lab / "config"), "core.worktree", "."], check=True)
    for blob in (lab / "objects").rglob("??/*"):
        blob.chmod(0o644)
    commit(root, {"lab/vm.yaml": VM.replace("u1.small", "u1.large")})
    return root


def test_a_repository_that_a_pull_request_has_pushed_is_no_repository(pushed, canary, command):
    """git takes `lab` for a repository when it is started there; ours is the one above."""
    (pushed / "lab" / "vm.yaml").write_text(VM)
    code, out, err = command("diff", "--base", "HEAD", "-o", "json", cwd=pushed / "lab")
    assert not canary[1].exists(), canary[1].read_text()
    assert (code, '"name": "web"' in out or '"change": "changed"' in out) == (0, True), err


def test_a_file_of_git_that_leads_to_a_pushed_repository_is_refused(pushed, canary, command):
    shutil.rmtree(pushed / ".git")
    (pushed / ".git").write_text("gitdir: lab\n")
    subprocess.run(["git", "config", "--file", str(pushed / "lab" / "config"), "--unset", "core.worktree"], check=True)
    code, out, err = command("diff", "--base", "HEAD", cwd=pushed)
    assert not canary[1].exists(), canary[1].read_text()
    assert (code, out) == (2, "")
    assert "does not name this folder as its working tree" in err


@pytest.mark.parametrize("how", ["file", "link"])
def test_the_repository_of_another_folder_is_not_read(tmp_path, how):
    other, here = tmp_path / "private", tmp_path / "here"
    for folder in (other, here):
        folder.mkdir()
    git(other, "init", "-q", "-b", "main")
    commit(other, OLD)
    if how == "file":
        (here / ".git").write_text(f"gitdir: {other}/.git\n")
    else:
        (here / ".git").symlink_to(other / ".git")
    with pytest.raises(UsageError, match="does not name this folder as its working tree"):
        commits.repository_of(str(here))


def test_a_separate_folder_of_git_is_read_where_it_names_its_working_tree(tmp_path):
    here, apart = tmp_path / "here", tmp_path / "apart"
    git(tmp_path, "init", "-q", "-b", "main", "--separate-git-dir", str(apart), str(here))
    commit(here, OLD)
    with pytest.raises(UsageError, match=f"git --git-dir={apart} config core.worktree {here}"):
        commits.repository_of(str(here))
    git(here, "--git-dir", str(apart), "config", "core.worktree", str(here))
    assert commits.repository_of(str(here)).commit("HEAD") == output(here, "rev-parse", "HEAD")


# ---- what must still work


@pytest.fixture
def here(tmp_path):
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    commit(root, OLD)
    return root


def test_a_linked_working_tree_has_its_own_head_and_the_same_branches(here, tmp_path):
    git(here, "worktree", "add", "-q", "-b", "side", str(tmp_path / "side"))
    commit(tmp_path / "side", {"more.yaml": VM})
    found = commits.repository_of(str(tmp_path / "side"))
    for name in ("HEAD", "main", "side", "HEAD~1", "HEAD@{1}"):
        assert found.commit(name) == output(tmp_path / "side", "rev-parse", name)
    assert found.merge_base("main", "side") == output(here, "rev-parse", "main")
    assert commits.repository_of(str(here)).commit("HEAD") == output(here, "rev-parse", "main")


def test_a_submodule_is_a_repository(here, tmp_path):
    git(tmp_path, "init", "-q", "-b", "main", "outer")
    git(tmp_path / "outer", "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(here), "below")
    found = commits.repository_of(str(tmp_path / "outer" / "below"))
    assert (found.root, found.commit("HEAD")) == (str(tmp_path / "outer" / "below"), output(here, "rev-parse", "main"))


def test_each_kind_of_name_is_understood(here, tmp_path):
    git(here, "tag", "-a", "-m", "x", "v1")
    git(here, "clone", "-q", ".", str(tmp_path / "clone"))
    commit(tmp_path / "clone", {"more.yaml": VM})
    git(tmp_path / "clone", "pack-refs", "--all")
    git(tmp_path / "clone", "fetch", "-q", "origin", "main")
    found = commits.repository_of(str(tmp_path / "clone"))
    for name in ("v1", "origin/main", "FETCH_HEAD", "@{upstream}", "main@{u}", "HEAD~1", "HEAD@{1}", "@"):
        assert found.commit(name) == output(tmp_path / "clone", "rev-parse", f"{name}^{{commit}}"), name


def test_a_repository_with_other_digests_is_read(tmp_path):
    git(tmp_path, "init", "-q", "-b", "main", "--object-format=sha256", "other")
    commit(tmp_path / "other", OLD)
    found = commits.repository_of(str(tmp_path / "other"))
    entries = found.entries(found.commit("HEAD"))
    assert [(each.path, data) for each, data in found.contents(entries)] == [
        (name, text.encode()) for name, text in sorted(OLD.items())
    ]


def test_a_shallow_clone_and_one_with_shared_objects_are_read(here, tmp_path):
    commit(here, {"more.yaml": VM})
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{here}", "shallow")
    git(tmp_path, "clone", "-q", "--shared", str(here), "shared")
    for name in ("shallow", "shared"):
        found = commits.repository_of(str(tmp_path / name))
        assert len(found.entries(found.commit("HEAD"))) == 3


def test_a_split_index_and_the_files_that_git_ignores_are_read(here):
    git(here, "update-index", "--split-index")
    tree(here, {".gitignore": "*.tmp.yaml\nmade/\n", "a.tmp.yaml": "", "made/b.yaml": "", "kept.yaml": ""})
    (here / ".git" / "info" / "exclude").write_text("kept.yaml\n")
    found = commits.repository_of(str(here / "made"))
    assert sorted(found.ignored()) == ["a.tmp.yaml", "kept.yaml", "made"]
    assert explanation(str(here / "kept.yaml")) == "which git ignores"
    assert explanation(str(here / "other.yaml")) == ""


def test_variables_of_a_hook_lead_nowhere_else(here, tmp_path, monkeypatch):
    git(tmp_path, "init", "-q", "-b", "main", "other")
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "other" / ".git"))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    monkeypatch.setenv("GIT_OBJECT_DIRECTORY", str(tmp_path))
    found = commits.repository_of(str(here))
    monkeypatch.delenv("GIT_DIR")
    monkeypatch.delenv("GIT_OBJECT_DIRECTORY")
    assert found.commit("HEAD") == output(here, "rev-parse", "HEAD")


@pytest.mark.parametrize("text", ["gitdir: \0\n", "gitdir: a\0b\n"])
def test_a_file_of_git_that_names_no_place_is_refused(here, text):
    shutil.rmtree(here / ".git")
    (here / ".git").write_text(text)
    with pytest.raises(UsageError, match="is not a git repository"):
        commits.repository_of(str(here))


@pytest.mark.parametrize(("name", "words"), [("index", "ls-files"), ("packed-refs", "for-each-ref")])
def test_a_pipe_in_a_folder_of_git_is_not_read(here, name, words, monkeypatch):
    monkeypatch.setattr("krm_fn.repositories.git.TIMEOUT", 5)
    (here / ".git" / name).unlink(missing_ok=True)
    os.mkfifo(here / ".git" / name)
    assert repository_of(str(here)).finished(words).code == 0
