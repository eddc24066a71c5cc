"""What is taken for a text of a known shape is one: the strict reader takes it too, and says the same of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_large import ITEMS, SCALARS, fleet

from krm_fn.base.errors import InputError
from krm_fn.fast_path.fields import ANY, FIXED, TEXT, uses_of
from krm_fn.fast_path.shapes import KEPT, PATIENCE, Shapes
from krm_fn.pipeline.own_texts import EACH
from krm_fn.yamlio.plain.items import ODD, read_item
from krm_fn.yamlio.plain.lines import NotPlain

KIND = "VirtualMachine"
ENTRIES = ["- apiVersion: " + text for text in ITEMS.removeprefix("- apiVersion: ").split("\n- apiVersion: ")]
TEXTS = [text.rstrip("\n") + "\n" for text in ENTRIES]
FORM = "- apiVersion: v1\n  kind: A\n  metadata:\n    name: {}\n  a: {}\n  b: |\n    first {}\n      deeper {}\n    last\n"
VALUES = (*SCALARS, "vm-1", "vm-12", "vm", "'a'", "'b'", "''", "'", '"', "n", "no", "nor", "x:", "")


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


def look(shapes: Shapes, text: str) -> tuple[Any, Any] | None:
    """What is known of a text."""
    lines = text.split("\n")
    return shapes.find(lines) if shapes.pay_for(lines[1]) else None


def learn(shapes: Shapes, text: str) -> Any:
    """Learn from a text as far as it can be read."""
    try:
        value, layout = read_item(text)
    except (NotPlain, InputError):
        return None
    typed = isinstance(value, dict) and all(isinstance(value.get(key), str) for key in ("apiVersion", "kind"))
    return shapes.learn(text, value, layout) if typed and layout and layout != ODD else None


def all_of(use: int) -> Callable[[str], Callable[[tuple], int]]:
    """Every value is of this use but for the type of an object."""
    return lambda _: lambda path: FIXED if path in (("apiVersion",), ("kind",)) else use


def found(texts: list[str], use: int) -> list[tuple[str, str]]:
    """Those of the texts that are taken for one of a shape, each with the first of that shape."""
    shapes = Shapes(all_of(use))
    firsts: dict = {}
    pairs = []
    for text in texts:
        known = look(shapes, text)
        if known is None:
            likeness = learn(shapes, text)
            if likeness:
                firsts[likeness[0]] = text
            continue
        likeness, names = known
        pairs.append((text, firsts[likeness[0]]))
        value, _ = read_item(text)
        assert names == name_in(value)
        assert repr(likeness[0].value_of(text.split("\n"))) == repr(value)
    return pairs


def numbered(number: int, shape: int = 0) -> str:
    """A VM of which only the name differs, with a label more for each number of a shape."""
    labels = "".join(f"    labels{at}: x\n" for at in range(shape))
    return f"- apiVersion: kubevirt.io/v1\n  kind: {KIND}\n  metadata:\n    name: vm-{number}\n{labels}"


def known(texts: Iterable[str]) -> list[bool]:
    """For each of the texts whether its shape is known, where shapes are learned when they are wanted."""
    shapes, told = Shapes(uses_of), []
    for text in texts:
        told.append(look(shapes, text) is not None)
        if not told[-1] and shapes.wants(text.split("\n")):
            assert learn(shapes, text)
    return told


def test_a_shape_is_learned_from_the_second_of_its_kind():
    assert known(numbered(number) for number in range(5)) == [False, False, True, True, True]


def test_64_shapes_in_turn_are_all_known():
    told = known(numbered(number, number % 64) for number in range(640))
    assert told == [number >= 128 for number in range(640)]


def test_learning_ends_where_it_does_not_pay(monkeypatch: pytest.MonkeyPatch):
    learned = []
    by_text = Shapes.learn
    monkeypatch.setattr(Shapes, "learn", lambda *told: learned.append(told) or by_text(*told))
    assert not any(known(numbered(number, number // 2) for number in range(1000)))
    assert len(learned) < PATIENCE
    unlike = [numbered(number, number) for number in range(PATIENCE + 1)]
    assert known([*unlike, *(numbered(number) for number in range(100))])[len(unlike) :] == [False] * 100


def test_no_more_shapes_are_kept_than_there_is_room_for(monkeypatch: pytest.MonkeyPatch):
    shapes = Shapes(uses_of)
    monkeypatch.setattr("krm_fn.fast_path.shapes.PATIENCE", 10_000)
    for number in range(2 * KEPT + 10):
        for _ in range(2):
            if not look(shapes, numbered(0, number)) and shapes.wants(numbered(0, number).split("\n")):
                learn(shapes, numbered(0, number))
    assert [look(shapes, numbered(7, number)) is not None for number in (0, KEPT - 1, KEPT, 2 * KEPT)] == [
        True,
        True,
        False,
        False,
    ]


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


@pytest.mark.parametrize("quote", ["'", '"'])
def test_a_quote_that_stands_alone_belongs_to_no_shape(quote: str) -> None:
    first, second, third = (FORM.format("vm", value, "x", "x") for value in ("'a'", "'b'", quote))
    assert found([first, second, third], ANY) == [(second, first)]


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**32))
def test_an_object_that_stands_for_others_is_like_them_in_all_that_is_read(seed: int) -> None:
    rng = Random(seed)
    texts = [*TEXTS[-3:], *(text for vm in TEXTS[-3:] for text in entries(fleet(rng, vm)))]
    shapes = Shapes(uses_of)
    for text in texts * 2:
        known = look(shapes, text)
        if known:
            shape, difference = known[0]
            assert unread(shape.stand_in(difference)) == unread(read_item(text)[0])
        else:
            learn(shapes, text)
