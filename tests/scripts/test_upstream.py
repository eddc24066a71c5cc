"""The sources of KubeVirt that the scripts read, and their command line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import upstream
from cloning import check, clone
from upstream import ROOT, Order, Source, order, package_releases, put

SCRIPTS = ("make_schema", "make_catalogue", "make_gates", "check_served")
TAGS: dict[str, dict[str, str]] = {f"v1.{tag}": {} for tag in ("5.0", "6.0", "6.1", "6.2-rc.0", "6.2", "10.0", "x")}


def ordered(monkeypatch: pytest.MonkeyPatch, known: list[tuple[int, ...]], *arguments: str, only_known: bool = False) -> Order:
    monkeypatch.setattr(sys, "argv", ["make", *arguments])
    return order("Make.", known, only_known=only_known)


# The clone


def test_releases_are_the_tags_of_releases_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    assert clone(tmp_path, TAGS).versions == [(1, 5, 0), (1, 6, 0), (1, 6, 1), (1, 6, 2), (1, 10, 0)]


def test_the_patch_releases_of_a_minor_one_end_with_the_one_that_is_named(tmp_path: Path) -> None:
    assert clone(tmp_path, TAGS).patches((1, 6, 1)) == [(1, 6, 0), (1, 6, 1)]


def test_a_file_is_read_as_its_release_has_it(tmp_path: Path) -> None:
    source = clone(tmp_path, {"v1.5.0": {"a/b.txt": "old\n"}, "v1.6.0": {"a/b.txt": "new\n"}})
    assert (source.text((1, 5, 0), "a/b.txt"), source.text((1, 6, 0), "a/b.txt")) == ("old\n", "new\n")


def test_go_files_are_those_below_the_folders_without_tests_and_generated_ones(tmp_path: Path) -> None:
    names = ("a/b/types.go", "a/types_test.go", "a/b/deepcopy_generated.go", "a/BUILD.bazel", "c/c.go", "d.go", "e/e.go")
    source = clone(tmp_path, {"v1.5.0": {name: f"{name}\n" for name in names}})
    wanted = {name: f"{name}\n" for name in ("a/b/types.go", "c/c.go", "d.go")}
    assert source.go_files((1, 5, 0), "a", "c", "d.go", "absent") == wanted
    assert source.go_files((1, 5, 0), "absent") == {}


def test_a_bare_clone_will_do(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    clone(tmp_path / "work", {"v1.5.0": {"a": "text"}})
    subprocess.run(["git", "clone", "-q", "--bare", "work", "bare"], cwd=tmp_path, check=True, capture_output=True)
    assert Source(tmp_path / "bare").text((1, 5, 0), "a") == "text"


def test_a_tag_that_is_not_there_is_named_with_the_way_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=f"{tmp_path} has no tag v1.6.7; run git -C {tmp_path} fetch --tags"):
        clone(tmp_path, TAGS).patches((1, 6, 7))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"path 'absent' does not exist in 'v1.5.0'"):
        clone(tmp_path, TAGS).text((1, 5, 0), "absent")


# The command line


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_folder_that_is_no_clone_is_one_line_of_error(script: str, tmp_path: Path) -> None:
    done = check(script, "--source", str(tmp_path / "absent"))
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert done.stderr.startswith(f"git can't read {tmp_path / 'absent'}: fatal: ")


def test_without_a_release_all_of_the_table_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone(tmp_path, TAGS)
    given = ordered(monkeypatch, [(1, 5, 0), (1, 6, 0), (1, 6, 1)], "--source", str(tmp_path))
    assert (given.versions, given.check) == ([(1, 5, 0), (1, 6, 0), (1, 6, 1)], False)


def test_the_patch_releases_of_each_release_that_is_named_are_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone(tmp_path, TAGS)
    arguments = ("--source", str(tmp_path), "--release", "1.6.2", "--release", "1.10.0", "--check")
    given = ordered(monkeypatch, [(1, 5, 0)], *arguments)
    assert (given.versions, given.check) == ([(1, 6, 0), (1, 6, 1), (1, 6, 2), (1, 10, 0)], True)


def test_a_release_that_the_package_lacks_has_to_be_entered_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone(tmp_path, TAGS)
    with pytest.raises(SystemExit, match=r"^KubeVirt 1.10.0 is not in krm_fn/kubevirt/releases.py; enter it there first$"):
        ordered(monkeypatch, [(1, 6, 0)], "--source", str(tmp_path), "--release", "1.10.0", only_known=True)


@pytest.mark.parametrize("text", ["1.6", "v1.6.6", "1.6.x", "1.6.6.1", ""])
def test_a_release_without_its_patch_is_refused(text: str) -> None:
    done = check("make_schema", "--source", ".", "--release", text)
    assert done.returncode == 2
    assert f"argument --release: {text!r} is no release; expected one with its patch, such as 1.6.6" in done.stderr


def test_releases_of_the_package_are_all_patch_releases_up_to_the_newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upstream, "NEWEST_PATCH", {(1, 9): 1, (1, 10): 0})
    monkeypatch.setattr(upstream, "UNMEASURED", {(1, 9, 2): "release-1.9"})
    assert package_releases() == [(1, 9, 0), (1, 9, 1), (1, 9, 2), (1, 10, 0)]


def test_a_script_does_not_run_with_the_package_of_another_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[bool] = []
    monkeypatch.setattr(upstream, "ROOT", tmp_path)
    with pytest.raises(SystemExit) as caught:
        upstream.run_script(lambda: ran.append(True))
    fix = f"run {tmp_path}/.venv/bin/pip install -e {tmp_path}, or set PYTHONPATH={tmp_path}"
    assert (ran, caught.value.code) == ([], f"krm_fn was imported from {ROOT}, and this script is of {tmp_path}; {fix}")


# What is written


def test_texts_are_written_into_their_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("old\n")
    other.write_text("same\n")
    put({one: "new\n", other: "same\n"}, check=False)
    assert (one.read_text(), other.read_text()) == ("new\n", "same\n")
    assert capsys.readouterr().out == "one: written\nother: as before\n"


def test_a_check_writes_nothing_and_shows_what_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.write_text("a\nold\n")
    other.write_text("same\n")
    with pytest.raises(SystemExit) as ended:
        put({one: "a\nnew\n", other: "same\n"}, check=True)
    assert (ended.value.code, one.read_text()) == (1, "a\nold\n")
    assert capsys.readouterr().out == "one: differs\n--- one\n+++ made\n@@ -2 +2 @@\n-old\n+new\nother: as before\n"


def test_a_check_without_differences_succeeds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "one").write_text("same\n")
    put({tmp_path / "one": "same\n"}, check=True)
    assert capsys.readouterr().out == "one: as before\n"
