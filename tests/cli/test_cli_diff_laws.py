"""Laws of `diff` over a repository: the examples, of which kustomize builds both sides."""

import json
import os
import shutil
from pathlib import Path
from random import Random

import checking
import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from running import ROOT

EXAMPLES = ROOT / "kustomization-examples"
# Folders that need no host but kustomize; in one of them a VM has an inferred preference, so that each apply of it is refused.
FOLDERS = ("one-vm", "quickstart", "validate-only")

pytestmark = pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
SEEDS = st.integers(0, 2**32)


@pytest.fixture
def sides(tmp_path, monkeypatch, kustomize):
    """Two copies of the examples, and the newest kustomize on the PATH."""
    monkeypatch.setenv("PATH", f"{Path(kustomize).parent}:{os.environ['PATH']}")
    for side in ("base", "head"):
        for name in FOLDERS:
            # the step in validate-only/wrong refuses its VM: the folder can't be built, and is not compared
            shutil.copytree(EXAMPLES / name, tmp_path / side / name, ignore=shutil.ignore_patterns("wrong"))
    return tmp_path


def answer(folder, *words, sides=("base", "head")):
    code, out, err = checking.run("diff", *sides, "-o", "json", "--fail-on", "never", *words, cwd=folder)
    assert (code, err) == (0, "")
    return json.loads(out)


def texts(folder):
    return {file: file.read_text() for file in sorted(folder.rglob("*.yaml"))}


def turned(value, random):
    """A value with the keys of all maps in another order."""
    if isinstance(value, dict):
        return {key: turned(value[key], random) for key in random.sample(list(value), len(value))}
    return [turned(each, random) for each in value] if isinstance(value, list) else value


def rewritten(text, random):
    """A file with comments, or with its keys in another order."""
    if random.random() < 0.5:
        return f"# a: comment\n{text}\n# another one\n"
    return yaml.safe_dump_all([turned(each, random) for each in yaml.safe_load_all(text)], sort_keys=False)


@pytest.mark.parametrize("gone", FOLDERS)
def test_what_is_added_is_removed_the_other_way_round(sides, gone):
    shutil.rmtree(sides / "head" / gone)
    removed = answer(sides)["vms"]
    added = answer(sides, sides=("head", "base"))["vms"]
    of_change = {
        change: [(each["target"], each["name"]) for each in found if each["change"] == change]
        for change, found in (("removed", removed), ("added", added))
    }
    assert of_change["removed"] == of_change["added"] != []


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(SEEDS, st.booleans())
def test_comments_and_the_order_of_keys_change_no_machine(sides, seed, new):
    random = Random(seed)
    for file, text in texts(sides / "base").items():
        (sides / "head" / file.relative_to(sides / "base")).write_text(rewritten(text, random))
    found = answer(sides, *(["--assume", "new"] if new else []))
    assert found["summary"]["total"] > 3
    assert (found["summary"]["changed"], found["summary"]["keeps"], found["renames"]) == (0, 0, [])
    assert all("asBefore" in record for record in found["vms"])
