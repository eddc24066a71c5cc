"""The strict reader compared with libyaml: both read and write the input that it accepts in the same way."""

from __future__ import annotations

import runpy
from pathlib import Path
from random import Random
from typing import Any

import measured
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mangling import changed, mangled
from yamlio_styled import edited, listed, value

from krm_fn.base.errors import InputError
from krm_fn.yamlio import write_resource_list
from krm_fn.yamlio.compare import same
from krm_fn.yamlio.documents import read_list
from krm_fn.yamlio.nodes import Node
from krm_fn.yamlio.plain.characters import NotPlain
from krm_fn.yamlio.plain.lines import is_rich, read
from krm_fn.yamlio.plain.text import PlainList, read_plain_list
from krm_fn.yamlio.plain.tree import tree
from krm_fn.yamlio.positions import read_positions
from krm_fn.yamlio.reader import read_piece

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(
    path for folder in ("fixtures", "kustomization-examples", "docs") for path in ROOT.joinpath(folder).rglob("*.yaml")
)
BENCH = runpy.run_path(str(ROOT / "bench" / "generate.py"))["bundle"](20).decode()
RESULTS = [{"message": "a: b", "severity": "error"}]

seeds = st.integers(0, 2**32)
many = settings(max_examples=1500, deadline=None)


def shape(node: Node) -> Any:
    """A tree as plain data."""
    entries = [(key, start, end, shape(below)) for key, (start, end, below) in node.entries.items()]
    return node.kind, node.start, node.end, bool(node.flow), entries, [shape(below) for below in node.nodes]


def agrees(text: str) -> bool:
    """True where the strict reader takes the text of an item; AssertionError where libyaml reads it in another way."""
    try:
        found = read(text)
    except NotPlain:
        return False
    first_entry = isinstance(found, list)
    if first_entry and len(found) != 1:
        return False
    wanted, anchors = read_piece(text, first_entry=first_entry)
    assert same(found[0] if first_entry else found, wanted)
    assert repr(found[0] if first_entry else found) == repr(wanted)
    assert not anchors
    assert is_rich(text) or shape(tree(text)) == shape(read_positions(text, first_entry=first_entry))
    return True


def both(data: bytes) -> tuple[PlainList, Any] | None:
    """What the strict reader and libyaml make of a list; None where the former leaves it to libyaml."""
    plain = read_plain_list(data, "")
    if plain is None:
        return None
    whole = read_list(data)
    assert repr(list(plain.items)) == repr(whole.items)
    assert repr(plain.head) == repr(whole.head)
    assert plain.pieces == whole.pieces
    return plain, whole


def items_of(text: str) -> list[str]:
    body = text.partition("\nitems:\n")[2].partition("\nfunctionConfig:")[0]
    return [("- " if i else "") + part + "\n" for i, part in enumerate(body.split("\n- "))]


def test_everything_that_kustomize_writes_is_taken() -> None:
    assert all(map(agrees, items_of(BENCH)))
    assert both(BENCH.encode())


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_both_readers_agree_on_files_of_the_project(path: Path) -> None:
    for text in path.read_text().split("\n---\n"):
        lines = [line for line in text.split("\n") if not line.startswith(("#", "---")) and line]
        agrees("\n".join(lines) + "\n")
        agrees("- " + "\n  ".join(lines) + "\n")


def test_both_readers_agree_on_recorded_documents() -> None:
    for document in measured.documents():
        agrees(document["yaml"])
        agrees(document["yaml"] + "\n")


@many
@given(seeds)
def test_both_readers_agree_on_mangled_items(seed: int) -> None:
    rng = Random(seed)
    text = mangled(rng, rng.choice(ITEMS))
    try:
        agrees(text)
    except InputError:
        pytest.fail(f"libyaml refuses {text!r}")


ITEMS = items_of(BENCH)


@many
@given(seeds)
def test_both_readers_agree_on_lists_of_any_layout(seed: int) -> None:
    rng = Random(seed)
    data = listed(rng, [value(rng, 4) for _ in range(rng.randint(0, 4))], tame=rng.random() < 0.8)
    texts = both(data)
    if texts is None:
        return
    plain, whole = texts
    items = [None if item is None else edited(rng, item, 4) for item in whole.items]
    items += [value(rng, 3) for _ in range(rng.choice([0, 0, 1, 2]))]
    results = rng.choice([[], RESULTS])
    assert write_resource_list(plain, items, results) == write_resource_list(whole, items, results)


@settings(max_examples=300, deadline=None)
@given(seeds)
def test_both_readers_agree_on_mangled_lists(seed: int) -> None:
    rng = Random(seed)
    texts = both(mangled(rng, BENCH).encode())
    if texts is None:
        return
    plain, whole = texts
    items = [changed(rng, item) if rng.random() < 0.3 else item for item in whole.items]
    assert write_resource_list(plain, items, RESULTS) == write_resource_list(whole, items, RESULTS)


@settings(max_examples=300, deadline=None)
@given(seeds)
def test_both_readers_give_the_same_places(seed: int) -> None:
    rng = Random(seed)
    texts = both(listed(rng, [value(rng, 4) for _ in range(3)], tame=True))
    if texts is None:
        return
    plain, whole = texts
    for number, item in enumerate(whole.items):
        for path in ((), *(((key,) for key in item) if isinstance(item, dict) else ())):
            assert plain.place(number, path) == whole.place(number, path)


QUOTED = (
    ("a: 'it''s'\n", {"a": "it's"}),
    ('a: "b\\tc \\x41\\u00e9\\U0001F600"\n', {"a": "b\tc Aé😀"}),
    ('a: "one\n  two\n\n  three\\\n  \\ four"\nb: 1\n', {"a": "one two\nthree four", "b": 1}),
    ("a: 'one\n  it''s two\n\n\n  three' # why\n", {"a": "one it's two\n\nthree"}),
    ("a: >\n  one\n  two\n\n  three\n    more\n  last\nb: >-\n  x\n  y\n", {"a": "one two\nthree\n  more\nlast\n", "b": "x y"}),
    ("a: [x, 'y', {b: 1}] # c\nd: { e: f, 'g': [] }  \n", {"a": ["x", "y", {"b": 1}], "d": {"e": "f", "g": []}}),
    ("a:   b # c: d\ne: # f\n  g: h  \n", {"a": "b", "e": {"g": "h"}}),
)


@pytest.mark.parametrize(("text", "value"), QUOTED)
def test_the_strict_reader_takes_what_people_write(text: str, value: object) -> None:
    assert read(text) == value
    assert agrees(text)


LEFT = r"""
a: "\ud800"
a: "\q"
a: [b
a: 'b'c
a: {b:1}
a: [&x b]
a: 'b
a: "b\"
a: {b: 1, b: 2}
"""


@pytest.mark.parametrize("text", LEFT.strip().split("\n"))
def test_the_strict_reader_leaves_to_libyaml_what_it_is_not_sure_of(text: str) -> None:
    with pytest.raises(NotPlain):
        read(text + "\n")


@many
@given(seeds)
def test_both_readers_agree_on_mangled_items_of_many_hands(seed: int) -> None:
    rng = Random(seed)
    text = mangled(rng, rng.choice(OF_HANDS))
    try:
        agrees(text)
    except InputError:
        pytest.fail(f"libyaml refuses {text!r}")


OF_HANDS = items_of(runpy.run_path(str(ROOT / "bench" / "hands.py"))["written"](400, 3).decode())
