"""The files of a commit, as they are stored; nothing that the repository configures is run."""

import os
import subprocess

import pytest

from krm_fn.base.errors import InputError, UsageError
from krm_fn.repositories import commits
from krm_fn.sources.files import LARGEST

NOBODY = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com"}
NOBODY |= {"GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com"}


def git(folder, *words):
    ran = subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, env={**os.environ, **NOBODY})
    return ran.stdout.decode().strip()


@pytest.fixture
def here(tmp_path):
    root = tmp_path / "repository"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    return root


def extracted(root, tmp_path):
    """The folder with the files of the commit main, and its submodules."""
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "change")
    repository = commits.repository_of(str(root))
    folder = tmp_path / "copy"
    folder.mkdir()
    return folder, commits.extract(repository, repository.commit("main"), folder)


def names(folder):
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*"))


def test_files_have_their_stored_bytes_and_modes(here, tmp_path):
    (here / "below").mkdir()
    (here / "below" / "new\nline ü").write_bytes(b"\0\r\n")
    (here / "empty").write_bytes(b"")
    (here / "program").write_text("#!/bin/sh\n")
    (here / "program").chmod(0o755)
    folder, submodules = extracted(here, tmp_path)
    assert names(folder) == [".git", "below", "below/new\nline ü", "empty", "program"]
    assert (folder / "below" / "new\nline ü").read_bytes() == b"\0\r\n"
    assert os.access(folder / "program", os.X_OK)
    assert not os.access(folder / "empty", os.X_OK)
    assert submodules == []


def test_no_filter_and_no_hook_runs_and_no_file_is_rewritten(here, tmp_path):
    ran = tmp_path / "ran"
    program = f"touch {ran}; cat"
    (here / ".gitattributes").write_text("* filter=own export-subst ident text eol=crlf\nhidden export-ignore\n")
    (here / "file").write_text("$Format:%H$ $Id$\n")
    (here / "hidden").write_text("")
    git(here, "add", "-A")
    for key in ("filter.own.smudge", "core.fsmonitor"):
        git(here, "config", key, program)
    folder, _ = extracted(here, tmp_path)
    ran.unlink(missing_ok=True)  # `git add` has run it
    repository = commits.repository_of(str(here))
    other = tmp_path / "other"
    other.mkdir()
    commits.extract(repository, repository.commit("main"), other)
    repository.ignored()
    assert not ran.exists()
    assert (folder / "file").read_text() == "$Format:%H$ $Id$\n"
    assert (folder / "hidden").exists()


def test_links_stay_links_if_they_lead_nowhere_outside(here, tmp_path):
    (here / "file").write_text("1")
    (here / "inside").symlink_to("file")
    (here / "up").symlink_to("..")
    (here / "absolute").symlink_to(tmp_path)
    (here / "through").symlink_to("up/secret")
    folder, _ = extracted(here, tmp_path)
    assert names(folder) == [".git", "file", "inside"]
    assert (folder / "inside").readlink().name == "file"


def forged(root, *entries):
    """The digest of a tree that git itself would not make, of entries: mode, name, and bytes or the digest of a tree."""
    listed = b""
    for mode, name, content in entries:
        digest = content if isinstance(content, str) else written(root, content)
        listed += f"{mode} {name}\0".encode() + bytes.fromhex(digest)
    return written(root, listed, "-t", "tree", "--literally")


def written(root, data, *more):
    words = ["git", "hash-object", "-w", "--stdin", *more]
    return subprocess.run(words, cwd=root, input=data, check=True, capture_output=True).stdout.decode().strip()


def test_no_link_is_made_through_a_link_of_a_forged_commit(here, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    below = forged(here, ("40000", "deep", forged(here, ("120000", "new", b"/etc/hostname"))), ("120000", "new", b"x"))
    links = (("120000", "empty", b""), ("120000", "no name", b"a\0b"), ("120000", "a", bytes(outside)), ("40000", "a", below))
    commit = git(here, "commit-tree", forged(here, *links), "-m", "forged")
    git(here, "update-ref", "refs/heads/main", commit)
    (folder := tmp_path / "copy").mkdir()
    repository = commits.repository_of(str(here))
    commits.extract(repository, repository.commit("main"), folder)
    assert (names(outside), names(folder)) == ([], [".git"])


def test_submodules_are_left_out(here, tmp_path):
    (here / "file").write_text("1")
    git(here, "add", "-A")
    git(here, "commit", "-q", "-m", "first")
    git(here, "update-index", "--add", "--cacheinfo", f"160000,{git(here, 'rev-parse', 'HEAD')},below/module")
    (here / "below" / "module").mkdir(parents=True)
    git(here, "commit", "-q", "-m", "second")
    repository = commits.repository_of(str(here))
    folder = tmp_path / "copy"
    folder.mkdir()
    assert commits.extract(repository, repository.commit("main"), folder) == ["below/module"]
    assert names(folder) == [".git", "file"]
    assert repository.submodules() == ["below/module"]


def test_large_commits_are_read_in_parts(here, tmp_path, monkeypatch):
    monkeypatch.setattr(commits, "AT_ONCE", 10)
    for number in range(7):
        (here / f"file-{number}").write_text("x" * number * 3)
    folder, _ = extracted(here, tmp_path)
    assert [(folder / f"file-{number}").read_text() for number in range(7)] == ["x" * number * 3 for number in range(7)]


def test_a_name_that_is_no_commit_is_refused(here):
    (here / "file").write_text("1")
    git(here, "add", "-A")
    git(here, "commit", "-q", "-m", "first")
    blob = git(here, "rev-parse", "HEAD:file")
    for name in ("nowhere", blob, "--help", ""):
        with pytest.raises(UsageError, match="there is no commit"):
            commits.repository_of(str(here)).commit(name)


def test_a_file_that_is_too_large_keeps_its_size_and_is_not_read(here, tmp_path):
    with (here / "disk.img").open("wb") as file:
        file.truncate(LARGEST + 1)
    (here / "vm.yaml").write_text("a: 1\n")
    folder, _ = extracted(here, tmp_path)
    assert (folder / "disk.img").stat().st_size == LARGEST + 1
    assert (folder / "disk.img").stat().st_blocks == 0
    assert (folder / "vm.yaml").read_text() == "a: 1\n"


def test_a_small_commit_with_very_many_files_is_refused(here):
    """Folders of ten folders of one digest: what git stores is a few hundred bytes."""
    (here / "vm.yaml").write_text("a: 1\n")
    git(here, "add", "-A")
    entry = f"100644 blob {git(here, 'rev-parse', ':vm.yaml')}"
    for _ in range(10):
        listed = "".join(f"{entry}\tsome-name-{number}\n" for number in range(10)).encode()
        made = subprocess.run(["git", "mktree"], cwd=here, input=listed, check=True, capture_output=True).stdout
        entry = f"040000 tree {made.decode().strip()}"
    forged = git(here, "commit-tree", "-m", "change", entry.rpartition(" ")[2])
    with pytest.raises(InputError, match="has more than 300,000 files"):
        commits.repository_of(str(here)).entries(forged)
