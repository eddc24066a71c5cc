"""The measured answers lie in the repository, all of them, and nothing else is looked for outside of it."""

from __future__ import annotations

import re
import subprocess

import measured
import pytest
from running import ROOT

ROW = re.compile(r"^\| `([\w.-]+)` \| ([\d,]+) \|", re.MULTILINE)
TABLE = {name: int(count.replace(",", "")) for name, count in ROW.findall((measured.PARITY / "README.md").read_text())}
COUNTED = {"presets.yaml": measured.preset_cases, "yaml.json": measured.documents}

# Ways to name a folder beside the clone. A letter in brackets keeps this file from matching itself.
OUTSIDE = re.compile(
    r"""\.\./share[d]|\$share[d]\b|"share[d]"\ */|/\ *"share[d]"
    |\bshare[d]/(?:parity|api|catalogue|answers|facts|tools)
    |ROOT\.paren[t]|parents\[[1-9]\]\.paren[t]""",
    re.VERBOSE,
)


@pytest.mark.parametrize("name", TABLE)
def test_a_file_has_as_many_cases_as_its_row_says(name: str) -> None:
    given = COUNTED[name]() if name in COUNTED else measured.cases(name)
    assert sum(1 for _ in given) == TABLE[name]


def test_every_file_has_a_row() -> None:
    files = {path.name.removesuffix(measured.CASES) for path in measured.PARITY.iterdir()} - {"README.md"}
    assert files == set(TABLE)


def test_a_sample_has_cases_of_every_file() -> None:
    assert [name for name in TABLE if name not in COUNTED and not any(measured.cases(name, every=measured.SAMPLE))] == []


def test_nothing_is_looked_for_beside_the_repository() -> None:
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    files = [ROOT / name for name in tracked.split("\0") if (ROOT / name).is_file()]
    assert [path for path in files if OUTSIDE.search(path.read_bytes().decode(errors="replace"))] == []
