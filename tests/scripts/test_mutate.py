"""Mutations of the package's logic: which there are, and that the tests run with them."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from mutate import FAILED, Copy, Mutant, chosen, sources, steps
from mutations import applied, changes_logic, mutations
from running import ROOT

COUNT = 60

LOGIC = '''\
"""A text with `a == 1` and not True in it."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    DEPTH = 3


class Box(Base, frozen=True):
    """The size is 1 + 1."""

    __slots__ = ("a", 2)
    size: Literal[4] = 5


def found(each: Literal[6]) -> Literal[7]:
    """Not 8."""
    assert each != 9
    for one in each:
        if one.a < 10 and not one.b:
            continue
        note(f"{one.a + 11}")
    return each
'''


def changes(source: str) -> list[tuple[str, str, str]]:
    """For each mutation its kind, the text that goes, and what takes its place."""
    data = source.encode()
    return [
        (found.kind, data[found.edit.start : found.edit.end].decode(), found.edit.after.decode()) for found in mutations(data)
    ]


def test_the_same_seed_gives_the_same_mutants() -> None:
    first = chosen("1", COUNT, [])
    assert first == chosen("1", COUNT, [])
    assert [mutant.number for mutant in first] == list(range(1, COUNT + 1))
    assert len({(mutant.file, mutant.mutation.edit.start, mutant.mutation.edit.end) for mutant in first}) == COUNT
    assert first != chosen("2", COUNT, [])


def test_each_mutant_parses_and_is_another_program() -> None:
    for mutant in chosen("1", COUNT, []):
        data = (ROOT / mutant.file).read_bytes()
        assert ast.dump(ast.parse(applied(data, mutant.mutation.edit))) != ast.dump(ast.parse(data))


def test_only_logic_is_mutated() -> None:
    assert changes(LOGIC) == [
        ("change_integer", "5", "6"),
        ("change_integer", "5", "4"),
        ("negate_condition", "one.a < 10 and not one.b", "not (one.a < 10 and not one.b)"),
        ("swap_and_or", "and", "or"),
        ("swap_comparison", "<", "<="),
        ("change_integer", "10", "11"),
        ("change_integer", "10", "9"),
        ("remove_not", "not ", ""),
        ("break_loop", "continue", "break"),
        ("delete_statement", 'note(f"{one.a + 11}")', "pass"),
        ("return_none", "each", "None"),
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("x = a is  not b", ("swap_comparison", "is  not", "is")),
        ("x = (a) not in (b)", ("swap_comparison", "not in", "in")),
        ("x = 'é' == b", ("swap_comparison", "==", "!=")),
        ("x = a + b", ("swap_plus_minus", "+", "-")),
        ("x -= b", ("swap_plus_minus", "-=", "+=")),
        ("x = [a for a in b if a]", ("negate_condition", "a", "not (a)")),
        ("x = 0", ("change_integer", "0", "(-1)")),
        ("x = True", ("swap_true_false", "True", "False")),
    ],
)
def test_an_edit_takes_the_place_of_the_bytes_of_its_node(source: str, expected: tuple[str, str, str]) -> None:
    kind, before, after = expected
    if kind == "swap_plus_minus":  # the sign alone, without what is behind it
        before, after = before[0], after[0]
    assert (kind, before, after) in changes(source)


@pytest.mark.parametrize("source", ["x = a + 'text'", "x = f'{1}' + a", "def f():\n    return None", "x: Literal[1]"])
def test_what_says_nothing_about_logic_has_no_mutation(source: str) -> None:
    assert changes(source) == []


def test_an_edit_that_makes_no_other_program_is_not_taken() -> None:
    (found,) = mutations(b"x = a == (b)")
    assert [changes_logic(b"x = a == (b)", found.edit._replace(after=after)) for after in (b"!=", b"==  ", b"=!")] == [
        True,
        False,
        False,
    ]


def test_what_is_excluded_or_generated_is_not_mutated() -> None:
    assert {"krm_fn/base/paths.py", "krm_fn/pipeline/stages.py"} <= set(sources([]))
    assert not [file for file in sources(["krm_fn/base", "krm_fn/pipeline/stages.py"]) if "/base/" in file or "stages" in file]
    assert "krm_fn/kubevirt/catalogue_names.py" not in sources([])


def test_the_nearest_tests_come_first() -> None:
    file = "krm_fn/kubevirt/schema/table.py"
    mutant = Mutant(1, file, mutations((ROOT / file).read_bytes())[0])
    folder = ROOT / "tests" / "kubevirt" / "schema"
    mirrored, *_, sample, inside, quick, _ = steps(mutant, ROOT)
    assert str(folder / "test_schema_table.py") in mirrored
    assert (sample, inside, quick) == (("--quick", str(folder)), (str(folder),), ("--quick", "tests"))
    assert quick not in steps(mutant, ROOT, near=True)


def test_a_mutant_is_caught_by_a_test_that_passes_without_it(tmp_path: Path) -> None:
    file = "krm_fn/base/quantity.py"
    found = [mutation for mutation in mutations((ROOT / file).read_bytes()) if mutation.kind == "return_none"]
    copy = Copy(tmp_path, 60)
    before = (tmp_path / file).read_bytes()
    assert copy.caught_by(Mutant(1, file, found[0])).startswith("tests/base/test_quantity.py::")
    assert (tmp_path / file).read_bytes() == before == (ROOT / file).read_bytes()


@pytest.mark.parametrize(
    ("line", "test"),
    [
        ("tests/test_a.py::test_b[x y] FAILED           [ 50%]", "tests/test_a.py::test_b[x y]"),
        ("tests/test_a.py::test_b ERROR                 [ 50%]", "tests/test_a.py::test_b"),
        ("ERROR tests/test_a.py - NameError: name 'x'", "tests/test_a.py"),
    ],
)
def test_the_test_that_failed_is_read_from_what_pytest_prints(line: str, test: str) -> None:
    found = FAILED.search(f"\n{line}\n")
    assert found is not None
    assert test in found.groups()


def test_the_list_of_mutants_has_their_lines_before_and_after() -> None:
    command = [sys.executable, "scripts/mutate.py", "--count", "3", "--list"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in ran.stdout.splitlines()]
    assert [row[0] for row in rows] == ["1", "2", "3"]
    for _, place, _, change in rows:
        file, _, line = place.partition(":")
        before, _, after = change.partition("  →  ")
        assert (ROOT / file).read_text().splitlines()[int(line) - 1].strip() == before != after
