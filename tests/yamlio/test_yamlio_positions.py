"""The notes of the reader of libyaml's events, and edits that are made without reading the result back."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from test_yamlio_plain import shape
from yamlio_styled import edited, listed, streamed, value

from krm_fn.base.errors import InputError
from krm_fn.yamlio import write_resource_list, write_stream
from krm_fn.yamlio.compare import same
from krm_fn.yamlio.documents import read_documents, read_list
from krm_fn.yamlio.nodes import MERGE
from krm_fn.yamlio.positions import read_positions
from krm_fn.yamlio.texts import ENTRY, EXACT

seeds = st.integers(0, 2**32)
many = settings(max_examples=600, deadline=None)


def repeated(rng: Random) -> Any:
    """A map in which values occur more than once."""
    pool = [value(rng, 2) for _ in range(3)]
    return {key: rng.choice([*pool, {"a": rng.choice(pool)}]) for key in rng.sample("abcdefgh", rng.randint(1, 6))}


@many
@given(seeds, st.booleans())
def test_places_noted_in_passing_are_those_of_each_text_by_itself(seed: int, stream: bool) -> None:
    rng = Random(seed)
    items = [rng.choice([repeated(rng), value(rng, 4)]) for _ in range(rng.randint(1, 4))]
    try:
        text = read_documents(streamed(rng, items)) if stream else read_list(listed(rng, items, links=rng.choice([1, 4])))
    except InputError:
        assume(False)
    for number, piece in enumerate(text.pieces):
        own = text.text_of(number)
        if piece.form == EXACT and own[:1] not in ("[", "{"):
            continue  # a pair in a list in brackets, `[a: 1]`, is no pair in brackets by itself
        assert shape(text.tree_of(number, own)) == shape(read_positions(own, first_entry=piece.form == ENTRY))


@many
@given(seeds)
def test_a_list_with_crlf_changes_as_one_with_lf_does(seed: int) -> None:
    rng = Random(seed)
    data = listed(rng, [value(rng, 4) for _ in range(rng.randint(1, 4))], tame=rng.random() < 0.5)
    data = data.replace(b"\r\n", b"\n").rstrip(b"\n") + b"\n"
    one, other = read_list(data), read_list(data.replace(b"\n", b"\r\n"))
    assert repr(other.items) == repr(one.items)
    changed = [[edited(Random(seed), item, 4) for item in text.items] for text in (one, other)]
    assume(None not in changed[0])
    assert write_resource_list(other, changed[1]) == write_resource_list(one, changed[0]).replace(b"\n", b"\r\n")


@many
@given(seeds)
def test_aliases_keep_their_values_whatever_changes_around_them(seed: int) -> None:
    rng = Random(seed)
    data = listed(rng, [repeated(rng) for _ in range(rng.randint(1, 3))], links=4)
    text = read_list(data.replace(b"\r\n", b"\n").replace(b"\n", rng.choice([b"\n", b"\r\n"])))
    items = [edited(rng, item, 4) for item in text.items]
    assert same(read_list(write_resource_list(text, items)).items, [item for item in items if item is not None])


def test_a_second_byte_order_mark_moves_nothing() -> None:
    text = read_documents(b"\xef\xbb\xbf" * 2 + b"a: 1\n---\nb: 2\n")
    assert write_stream(text, [{"a": 1}, {"b": 3}]) == b"a: 1\n---\nb: 3\n"


@pytest.mark.parametrize(
    ("entry", "key"),
    [
        ("a: {}", "a"),
        ("on: {}", "true"),
        ("0x1F: {}", "31"),
        ("1.50: {}", "1.5"),
        ("app.kubernetes.io/part-of: {}", "app.kubernetes.io/part-of"),
        ("'a b': {}", "a b"),
        ('"\\x41" : {}', "A"),
        ("c:: {}", "c:"),
        ("&a a: {}", "a"),
        ("!!str 1: {}", "1"),
        ("<<: {}", MERGE),
        ("*x : {}", ("x",)),
        ("!e!x a: {}", ("!e!x a",)),
        ("? a\n  b\n: {}", ("a\n  b",)),
    ],
)
def test_a_key_is_read_again_where_it_stands_alone(entry: str, key: Any) -> None:
    text = f"%TAG !e! tag:e,2000:\n---\nx: &x 1\n{entry}\n"
    assert list(read_positions(text).entries) == ["x", key]
