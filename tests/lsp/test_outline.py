"""The keys of a text, read from its lines: as YAML reads them where it can, and always something."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from krm_fn.lsp.outline import Outline

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "kustomization-examples").rglob("*.yaml"))
TEXT = """\
apiVersion: kubevirt.io/v1 # a comment
kind: "VirtualMachine"
metadata: {name: 'a', labels: {x: "y, z"}, list: [1, {two: 2}]}
spec:
  template:
    spec:
      volumes:
      - name: one
        cloudInitNoCloud:
          userData: |
            key: not a key
      -   name: two
          "quoted key": 3
"""


def texts(value: object) -> object:
    """A value with all scalars as text, as an outline has them."""
    if isinstance(value, dict):
        return {str(key): texts(each) for key, each in value.items()} or ""
    if isinstance(value, list):
        return [texts(each) for each in value] or ""
    return value if isinstance(value, str) else ""


def shape(value: object) -> object:
    """A value without its scalars: those that span several lines are not in an outline."""
    if isinstance(value, dict):
        return {key.strip("\"'"): shape(each) for key, each in value.items()}
    return [shape(each) for each in value] if isinstance(value, list) else ""


def test_the_tree_is_that_of_yaml() -> None:
    (document,) = Outline(TEXT).documents
    wanted = yaml.safe_load(TEXT)
    assert shape(document.plain) == shape(texts(wanted))
    assert document.text("metadata", "labels", "x") == "y, z"
    assert document.text("metadata", "list", 1, "two") == "2"
    assert document.text("kind") == "VirtualMachine"


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: str(file.relative_to(ROOT)))
def test_the_trees_of_the_examples_are_those_of_yaml(file: Path) -> None:
    found = [shape(each.plain) for each in Outline(file.read_text()).documents]
    assert found == [shape(texts(each)) for each in yaml.safe_load_all(file.read_text()) if each is not None]


@pytest.mark.parametrize("file", EXAMPLES[:8], ids=lambda file: str(file.relative_to(ROOT)))
def test_places_lead_to_the_text_of_keys_and_values(file: Path) -> None:
    outline = Outline(file.read_text())
    for entry in (each for document in outline.documents for each in document.all()):
        line = outline.lines[entry.line]
        if isinstance(entry.step, str):
            assert line[entry.column : entry.key_end].strip("\"'") == entry.step
        if entry.value:
            assert line[entry.start : entry.end].strip("\"'") == entry.value


@pytest.mark.parametrize(
    "text", ["\n".join(" " * level + "a:" for level in range(1_500)), "- " * 1_500, "- a:\n" + " - - " * 999]
)
def test_what_is_nested_too_deeply_is_passed_over(text: str) -> None:
    entries = [each for document in Outline(text).documents for each in document.all()]
    assert max(len(each.path) for each in entries) == 100


@given(st.text(alphabet="ab:- \n#'\"{}[],|>&*!%", max_size=80), st.integers(0, 9), st.integers(0, 40))
def test_no_text_is_too_broken(text: str, line: int, character: int) -> None:
    outline = Outline(text)
    here = outline.here(line, character)
    assert here is None or here.start <= here.end
    for entry in (each for document in outline.documents for each in document.all()):
        assert entry.line <= entry.last < len(outline.lines)
        assert outline.object_of(entry).parent is None or outline.object_of(entry).child("kind")
