"""What is taken for a text of a known shape is one: the strict reader takes it too, and says the same of it."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_large import ITEMS, SCALARS, fleet

from krm_fn.base.errors import InputError
from krm_fn.base.fleets import EACH
from krm_fn.fast_path.alike import Twin
from krm_fn.fast_path.shapes import Shapes
from krm_fn.fast_path.stencil import ANY, TEXT
from krm_fn.fast_path.unread import uses_of
from krm_fn.yamlio.plain.items import ODD, read_item
from krm_fn.yamlio.plain.lines import NotPlain

KIND = "VirtualMachine"
ENTRIES = ["- apiVersion: " + text for text in ITEMS.removeprefix("- apiVersion: ").split("\n- apiVersion: ")]
TEXTS = [text.rstrip("\n") + "\n" for text in ENTRIES]
FORM = "- apiVersion: v1\n  kind: A\n  metadata:\n    name: {}\n  a: {}\n  b: |\n    first {}\n      deeper {}\n    last\n"
VALUES = (*SCALARS, "vm-1", "vm-12", "vm", "'a'", "'b'", "''", "n", "no", "nor", "x:", "")


def skeleton(value: object) -> object:
    """The keys of a value and the lengths of its lists."""
    if isinstance(value, dict):
        return {key: skeleton(below) for key, below in value.items()}
    if isinstance(value, list):
        return [skeleton(below) for below in value]
    return None


def texts_where(value: object, other: object) -> bool:
    """True where whatever differs between two values of one skeleton is text in the first."""
    if isinstance(value, dict) and isinstance(other, dict):
        return all(texts_where(below, other[key]) for key, below in value.items())
    if isinstance(value, list) and isinstance(other, list):
        return all(map(texts_where, value, other))
    return value == other or isinstance(value, str)


def unread(value: object, path: tuple = ()) -> object:
    """The value without the texts that rendering doesn't read."""
    uses = uses_of(KIND)
    assert uses
    if isinstance(value, dict):
        return {key: unread(below, (*path, key)) for key, below in value.items()}
    if isinstance(value, list):
        return [unread(below, (*path, EACH)) for below in value]
    return None if uses(path) == TEXT else value


def name_in(value: dict) -> tuple:
    meta = value["metadata"]
    return meta.get("name"), meta.get("namespace")


def look(shapes: Shapes, text: str) -> tuple[Twin, tuple] | None:
    """What is known of a text, told by bytes or by lines."""
    data = f"{text}- next: 1\n".encode()
    told = shapes.find(KIND, data, 0, len(data))
    assert told is None or told[2] == len(text.encode())
    return told[:2] if told else shapes.look(KIND, text)


def learn(shapes: Shapes, text: str) -> Twin | None:
    """Learn from a text as far as it can be read."""
    try:
        value, layout = read_item(text)
    except (NotPlain, InputError):
        return None
    return shapes.learn(KIND, text, value, layout) if layout and layout != ODD else None


def found(texts: list[str], use: int) -> list[tuple[str, str]]:
    """Those of the texts that are taken for one of a shape, each with the first of that shape."""
    shapes = Shapes(lambda _: lambda __: use)
    firsts: dict = {}
    pairs = []
    for text in texts:
        known = look(shapes, text)
        if known is None:
            twin = learn(shapes, text)
            if twin:
                firsts[twin.shape] = text
            continue
        twin, names = known
        pairs.append((text, firsts[twin.shape]))
        assert names == name_in(read_item(text)[0])
    return pairs


def test_most_texts_of_a_fleet_are_told_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    looked_at = []
    by_lines = Shapes.look
    monkeypatch.setattr(Shapes, "look", lambda *told: looked_at.append(told) or by_lines(*told))
    shapes = Shapes(uses_of)
    texts = [TEXTS[-1].replace("000013", f"{number:06}") for number in range(300)]
    assert learn(shapes, texts[0])
    assert all(look(shapes, text) for text in texts)
    assert len(looked_at) < 5


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from([TEXT, ANY]))
def test_texts_of_one_shape_are_plain_and_have_the_same_keys(seed: int, use: int) -> None:
    rng = Random(seed)
    texts = [text for _ in range(3) for text in [rng.choice(TEXTS)] * 2 + entries(fleet(rng, rng.choice(TEXTS)))]
    for text, first in found(texts, use):
        value, layout = read_item(text)
        assert layout not in (None, ODD)
        assert skeleton(value) == skeleton(read_item(first)[0])
        assert use == ANY or texts_where(value, read_item(first)[0])


def entries(text: str) -> list[str]:
    return ["- apiVersion: " + entry.rstrip("\n") + "\n" for entry in ("\n" + text).split("\n- apiVersion: ")[1:]]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(*[st.sampled_from(VALUES)] * 4)))
def test_whatever_stands_in_a_value(rows: list[tuple[str, ...]]) -> None:
    texts = [FORM.format(*row) for row in rows]
    for text, first in found(texts, TEXT):
        value, other = read_item(text)[0], read_item(first)[0]
        assert skeleton(value) == skeleton(other)
        assert texts_where(value, other)


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32))
def test_a_stencil_tells_what_the_lines_tell(seed: int) -> None:
    rng = Random(seed)
    uses = uses_of(KIND)
    assert uses
    texts = [*TEXTS[-3:], *(text for vm in TEXTS[-3:] for text in entries(fleet(rng, vm)))]
    shapes = Shapes(lambda _: uses)
    for text in texts * 2:
        known, lines = look(shapes, text), text.split("\n")
        if known:
            shape = known[0].shape
            assert shape.fit(lines) is known[0]
            assert shape.names(lines, known[0]) == known[1]
            stand_in = known[0].stand_in()
            assert stand_in is None or unread(stand_in) == unread(read_item(text)[0])
        else:
            learn(shapes, text)
