"""Functions and files of the package stay short enough to be read at a glance."""

from __future__ import annotations

import ast
from pathlib import Path
from statistics import median, quantiles

PACKAGE = Path(__file__).resolve().parents[1] / "krm_fn"
SOURCES = {file.relative_to(PACKAGE).as_posix(): file.read_text(encoding="utf-8") for file in PACKAGE.rglob("*.py")}
# Files that are still longer; none is added.
LONGER: set[str] = set()


def function_lengths() -> dict[str, int]:
    """The lines of each function, from its `def` to its end, docstring and all."""
    return {
        f"{file}:{node.lineno} {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for file, text in SOURCES.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_half_of_the_functions_have_at_most_8_lines() -> None:
    assert median(function_lengths().values()) <= 8


def test_of_20_functions_19_have_at_most_25_lines() -> None:
    assert quantiles(function_lengths().values(), n=20)[-1] <= 25


def test_no_function_has_more_than_50_lines() -> None:
    assert {name: length for name, length in function_lengths().items() if length > 50} == {}


def test_no_file_has_more_than_350_lines() -> None:
    assert {file for file, text in SOURCES.items() if text.count("\n") > 350} == LONGER


def test_a_class_name_has_one_meaning() -> None:
    places: dict[str, set[str]] = {}
    for file, text in SOURCES.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, set()).add(file)
    assert {name: files for name, files in places.items() if len(files) > 1} == {}
