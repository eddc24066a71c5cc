"""Mistakes that were planted in a bundle of 200 objects before any rule was looked at: each is found, and nothing else.

fixtures/planted/clean           the bundle, of several teams; nothing is to be found in it
fixtures/planted/first, second   files that stand over those of the same name
fixtures/planted/mistakes.yaml   what is wrong in them, and in which line
"""

import json
import shutil
from pathlib import Path

import pytest
from checking import check

from krm_fn import yamlio
from krm_fn.base import bundle
from krm_fn.sources import reading

PLANTED = Path(__file__).resolve().parents[2] / "fixtures" / "planted"
MISTAKES = yamlio.read_value((PLANTED / "mistakes.yaml").read_text())


def found(folder, *overlays):
    """Exit code, and (file, line, message) of each finding, of the bundle with the overlays' files over its own."""
    for overlay in ("clean", *overlays):
        shutil.copytree(PLANTED / overlay, folder, dirs_exist_ok=True)
    code, out, _ = check(".", "-o", "json", cwd=folder)
    return code, [(each["file"]["path"], each["line"], each["message"]) for each in json.loads(out)["results"]]


def test_the_clean_bundle_is_silent(tmp_path):
    assert found(tmp_path) == (0, [])


def test_the_bundle_has_200_objects():
    assert len(list(bundle.entries(reading.read([str(PLANTED / "clean")]).items))) == 200


@pytest.mark.parametrize(("name", "least"), [("first", 25), ("second", 25)])
def test_every_planted_mistake_is_found_in_its_line_and_nothing_else(name, least, tmp_path):
    mistakes = MISTAKES[name]
    places = {(each["file"], line): each["what"] for each in mistakes for line in (each["line"], each.get("or"))}
    code, findings = found(tmp_path, name)
    assert code == 1
    assert [each for each in findings if each[:2] not in places] == []
    told = sorted(places[file, line] for file, line, _ in findings)
    assert told == sorted(each["what"] for each in mistakes)
    assert len(told) >= least


def test_every_mistake_is_in_a_file_that_stands_over_one_of_the_bundle():
    for name, mistakes in MISTAKES.items():
        files = {path.relative_to(PLANTED / name).as_posix() for path in (PLANTED / name).rglob("*.yaml")}
        assert files == {each["file"] for each in mistakes}
        assert all((PLANTED / "clean" / file).exists() for file in files)
