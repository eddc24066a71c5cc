"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import krm_fn
from krm_fn.base.expressions import expression

SOURCES = sorted(Path(krm_fn.__file__).parent.rglob("*.py"))


def test_it_answers_as_a_compiled_one() -> None:
    found = expression(r"(\w)(\d+)", re.IGNORECASE)
    assert found.pattern == r"(\w)(\d+)"
    assert found.sub(r"\2\1", "a1 B22") == "1a 22B"
    assert [each[0] for each in found.finditer("a1 B22")] == ["a1", "B22"]
    assert (found.groups, found.flags) == (2, re.compile(r"(\w)(\d+)", re.IGNORECASE).flags)


def test_it_is_compiled_at_its_first_use() -> None:
    wrong = expression("(")
    with pytest.raises(re.error):
        wrong.match("a")


def patterns(source: Path) -> list[tuple[str | bytes, str]]:
    """The modules' expressions that are one literal, with the names of their flags."""
    calls = [each for each in ast.walk(ast.parse(source.read_text())) if isinstance(each, ast.Call)]
    own = [each for each in calls if isinstance(each.func, ast.Name) and each.func.id == "expression"]
    literal = [(each.args[0].value, each.args[1:]) for each in own if each.args and isinstance(each.args[0], ast.Constant)]
    return [(text, ast.unparse(flags[0]) if flags else "0") for text, flags in literal]


def test_no_module_has_a_wrong_one() -> None:
    every = [each for source in SOURCES for each in patterns(source)]
    assert len(every) > 70
    for text, flags in every:
        re.compile(text, eval(flags, {"re": re}))
