"""The fuzzer gives the same mutants again, goes on where it was, and finds what a reader or a command does wrong."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def fuzz(*arguments: str, package: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """A run of the fuzzer on the package in that folder."""
    env = {**os.environ, "PYTHONPATH": str(package), "PYTHONHASHSEED": "random"}
    command = [sys.executable, "scripts/fuzz", *arguments]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def test_a_mutant_is_the_same_in_every_run() -> None:
    first, again = fuzz("lists", "--only", "12"), fuzz("lists", "--only", "12")
    assert (first.returncode, first.stdout) == (0, again.stdout)
    assert "kind: " in first.stdout
    assert first.stdout.endswith("--- all laws hold\n")


def test_a_run_goes_on_where_the_last_one_was(tmp_path: Path) -> None:
    assert fuzz("lists", "--count", "20", "--state", str(tmp_path)).returncode == 0
    done = fuzz("lists", "--count", "40", "--state", str(tmp_path))
    assert (done.returncode, done.stdout.startswith("40 lists of seed 1: ")) == (0, True)
    assert json.loads((tmp_path / "lists" / "state.json").read_text())["next"] == 40


# What is changed at random, a module, what stands in it, and a mistake in its place.
PLANTED = {
    "a link may lead anywhere": (
        "trees",
        "krm_fn/sources/files.py",
        "    return any(os.path.commonpath((folder, real)) == folder for folder in folders)\n",
        "    return True\n",
    ),
    "kustomize gets all variables": (
        "trees",
        "krm_fn/repositories/guard.py",
        "    return {name: os.environ[name] for name in (*KEPT, *(FETCHING if network else ())) if name in os.environ}\n",
        "    return dict(os.environ)\n",
    ),
    "the line reader takes a value with a comment for text": (
        "lists",
        "krm_fn/yamlio/plain/lines.py",
        """    return rest if first in QUOTES else rest.partition(" #")[0].rstrip(" ")\n""",
        "    return rest\n",
    ),
    "the line reader takes a key twice": (
        "lists",
        "krm_fn/yamlio/plain/lines.py",
        "        elif key in into:\n            raise NotPlain\n",
        "",
    ),
    "a change ends a line too early": (
        "lists",
        "krm_fn/yamlio/plain/changes.py",
        "            at = end\n        return tuple(found)",
        "            at = end - 1\n        return tuple(found)",
    ),
}
WITHIN = {"lists": 1500, "trees": 30}


@pytest.mark.parametrize("mistake", sorted(PLANTED))
def test_a_mistake_is_found(tmp_path: Path, mistake: str) -> None:
    what, file, right, wrong = PLANTED[mistake]
    shutil.copytree(ROOT / "krm_fn", tmp_path / "krm_fn", ignore=shutil.ignore_patterns("__pycache__"))
    text = (tmp_path / file).read_text()
    assert text.count(right) == 1
    (tmp_path / file).write_text(text.replace(right, wrong))
    done = fuzz(what, "--count", str(WITHIN[what]), "--most", "1", package=tmp_path)
    assert done.returncode == 1, done.stdout
    assert "\nmutant " in f"\n{done.stdout}"
