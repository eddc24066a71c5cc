"""Work grows with the input, not with its square: four times as much of one thing takes at most five times as long.

Every row is a shape of `shapes` and a way on which it was, or may become, quadratic. The times are of the processor, and of
runs in this process. `python bench/growth.py` measures all rows with both readers, with larger texts and the program as it is
started.
"""

from __future__ import annotations

import gc
import io
import time
from pathlib import Path

import pytest
from checking import run as run_command
from growing import LINE_ENDS, WAYS, Way, files_of, prepare, run
from measuring import calls
from shapes import SHAPES
from shapes.pieces import Files

from krm_fn.__main__ import guarded
from krm_fn.hosts.function import run as run_function

MOST_TIMES, TRIES = 5, 4
SMALL, LARGE = 15_000, 60_000  # bytes
MORE = {"function": 4}  # times as many bytes: the function treats a short list otherwise, as a whole
MEGABYTE, MEGABYTES = 1_000_000, 400

# In these the product of two numbers is limited: up to there work grows so. Beyond, the run ends with an error, nothing more is
# proposed, or no more patterns are matched.
LIMITED = (
    "presets-for-all",
    "presets-that-clash",
    "presets-that-disagree",
    "presets-in-no-order",
    "presets-that-give-nothing",
    "large-preset",
    "large-disagreement",
    "large-type",
    "refused-type",
    "large-sources",
    "slips",
    "profiles",
    "missing-revisions",
    "missing-claims",
    "missing-claims-of-one",
    "permitted-devices",
    "permitted-names",
    "presets-with-wrong-selectors",
    "wrong-for-required",
    "patterns",
    "pattern-for-long-text",
    "machine-expressions",
    "machine-globs",
    "quotas",
    "limit-ranges",
    "types-and-preferences",
    "globs-of-any-beginning",
    "external-of-any-beginning",
    "policies",
    "schemas",
    "patches-for-all",
    "patches-with-expressions",
    "pipeline",
    "nested-packages",
)

# The shapes that were reported to take minutes, and texts of so many bytes.
REPORTED = {
    ("presets-for-all", "fold"): MEGABYTE,
    ("presets-of-one-match", "function"): MEGABYTE,
    ("presets-and-vms", "migrate"): MEGABYTE,
    ("preset-with-expressions", "function"): MEGABYTE,
    ("preset-in-values", "function"): MEGABYTE,
    ("unreadable", "check"): MEGABYTE,
    ("unreadable-only", "check"): MEGABYTE,
    ("one-line", "check"): MEGABYTE,
    ("open-marks", "check"): MEGABYTE,
    ("quotas", "capacity"): MEGABYTE,
    ("limit-ranges", "check"): MEGABYTE,
    ("types-and-preferences", "matrix"): MEGABYTE,
    ("globs", "folder"): MEGABYTE,
    ("nodes", "nodes"): MEGABYTE,
    ("blank-lines", "function"): 4 * MEGABYTE,
}
# What these shapes are about is the text, so both readers get it.
OF_TEXT = ("unreadable", "unreadable-only", "one-line", "open-marks", "blank-lines")
# Shapes of whole repositories and large files: what grew with the product of two numbers shows in texts of so many bytes.
COUNTED = (
    *((shape, "folder") for shape in ("packages", "plugins", "unused", "flux-apart", "flux-sources")),
    *(("anchors", "explain"), ("same-addresses", "convert"), ("secrets", "convert")),
)
FEW, MANY = 60_000, 240_000
# What matches patterns is limited by time.
PATTERNS = (("pattern-for-long-text", "check"), ("machine-expressions", "oldest"), ("machine-globs", "check"))

ROWS = [(shape, way) for shape, (_, ways) in SHAPES.items() for way in ways.split()[:2] if shape not in LIMITED]


def seconds(files: Files, way: Way, folder: Path) -> float:
    """What a run in this process takes, which ends with findings or without."""
    arguments, stdin = prepare(files, way, folder)
    gc.disable()  # what other tests left behind would be looked through as well
    start = time.process_time()
    if arguments:
        code, _, err = run_command(*arguments, cwd=folder)
    else:
        out, told = io.BytesIO(), io.StringIO()
        code = guarded(lambda: run_function(stdin, out, told))
        err = told.getvalue()
    taken = time.process_time() - start
    gc.enable()
    assert code in (0, 1)
    assert "internal error" not in err
    return taken


@pytest.mark.parametrize(("shape", "way"), ROWS)
def test_four_times_as_much_takes_at_most_five_times_as_long(shape: str, way: str, tmp_path: Path) -> None:
    small, large = (files_of(shape, WAYS[way], size * MORE.get(way, 1)) for size in (SMALL, LARGE))
    folder = tmp_path / "run"
    seconds(small, WAYS[way], folder)  # loads what it needs
    tries = ((seconds(small, WAYS[way], folder), seconds(large, WAYS[way], folder)) for _ in range(TRIES))
    assert any(more <= MOST_TIMES * few for few, more in tries)


@pytest.mark.parametrize(("shape", "way"), COUNTED)
def test_four_times_as_large_a_repository_takes_at_most_five_times_as_many_calls(shape: str, way: str, tmp_path: Path) -> None:
    few, many = (counted(files_of(shape, WAYS[way], size), WAYS[way], tmp_path / "run") for size in (FEW, MANY))
    assert many <= MOST_TIMES * few


def counted(files: Files, way: Way, folder: Path) -> int:
    """How many functions a run calls."""
    (command, *rest), _ = prepare(files, way, folder)
    words = ("--no-cache", "--jobs", "1") if command == "check" else ("--jobs", "1")
    return calls(lambda: run_command(command, *words, *rest, cwd=folder))


@pytest.mark.parametrize(
    ("shape", "way", "reader"),
    [(*row, reader) for row in REPORTED for reader in (LINE_ENDS if row[0] in OF_TEXT else ["plain"])],
)
def test_a_large_text_takes_no_minutes_and_little_memory(shape: str, way: str, reader: str, tmp_path: Path) -> None:
    hold(files_of(shape, WAYS[way], REPORTED[shape, way], LINE_ENDS[reader]), WAYS[way], tmp_path / "run")


@pytest.mark.parametrize(("shape", "way"), PATTERNS)
def test_patterns_that_python_takes_for_ever_with_are_given_up(shape: str, way: str, tmp_path: Path) -> None:
    hold(files_of(shape, WAYS[way], MEGABYTE), WAYS[way], tmp_path / "run")


def hold(files: Files, way: Way, folder: Path) -> None:
    """A run in a separate process ends with or without findings, and keeps to the bound of memory.

    One that takes minutes is killed, as `measure` says. `python bench/growth.py` shows the seconds.
    """
    ran = run(files, way, folder)
    assert ran.code in (0, 1)
    assert "internal error" not in ran.err
    assert ran.megabytes <= MEGABYTES
