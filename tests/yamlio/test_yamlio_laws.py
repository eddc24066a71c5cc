"""Laws of reading and writing, on random values in random layouts with random changes."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from yamlio_styled import edited, listed, streamed, value

from krm_fn.base.errors import InputError
from krm_fn.yamlio import ListText, StreamText, read_resource_list, read_stream, write_resource_list, write_stream
from krm_fn.yamlio.compare import same

seeds = st.integers(0, 2**32)
many = settings(max_examples=600, deadline=None)


def a_list(seed: int, *, tame: bool = False) -> tuple[Random, bytes, ListText]:
    rng = Random(seed)
    items = [value(rng, 4) for _ in range(rng.randint(0, 4))]
    data = listed(rng, items, tame=tame)
    text = read_resource_list(data)
    assume(same(text.items, items) or b"|" in data)  # the layout of a literal may take in comments and empty lines
    return rng, data, text


def a_stream(seed: int) -> tuple[Random, bytes, StreamText]:
    rng = Random(seed)
    data = streamed(rng, [value(rng, 4) for _ in range(rng.randint(0, 4))])
    try:
        return rng, data, read_stream(data)
    except InputError:
        assume(False)
        raise


def present(items: list[Any]) -> list[Any]:
    return [item for item in items if item is not None]


def ended(data: bytes) -> bytes:
    data = data.removeprefix(b"\xef\xbb\xbf")
    return data if data.endswith(b"\n") else data + b"\n"


@many
@given(seeds)
def test_an_unchanged_list_keeps_its_bytes(seed: int) -> None:
    _, data, text = a_list(seed)
    assume(text.items and None not in text.items)
    assert write_resource_list(text, text.items) == ended(data)
    assert write_resource_list(text, json.loads(json.dumps(text.items))) == ended(data)


@many
@given(seeds)
def test_an_unchanged_stream_keeps_its_bytes(seed: int) -> None:
    _, data, text = a_stream(seed)
    assert write_stream(text, text.items) == ended(data)


@many
@given(seeds, st.booleans(), st.sampled_from([[], [{"message": "a: b", "severity": "error"}]]))
def test_a_written_list_reads_as_what_was_wanted(seed: int, tame: bool, results: list[Any]) -> None:
    rng, data, text = a_list(seed, tame=tame)
    items = [None if item is None else edited(rng, item, 4) for item in text.items]
    items += [value(rng, 3) for _ in range(rng.choice([0, 0, 1, 2]))]
    written = write_resource_list(text, items, results)
    back = read_resource_list(written)
    assert same(back.items, present(items))
    assert same(back.head, {**text.head, **({"results": results} if results else {})})
    assert written.endswith(b"\n")
    if data.startswith(b"{"):
        json.loads(written)


@many
@given(seeds)
def test_a_written_stream_reads_as_what_was_wanted(seed: int) -> None:
    rng, _, text = a_stream(seed)
    items = [None if item is None else edited(rng, item, 4) for item in text.items]
    items += [value(rng, 3) for _ in range(rng.choice([0, 0, 1]))]
    assert same(present(read_stream(write_stream(text, items)).items), present(items))


@many
@given(seeds)
def test_items_that_do_not_change_keep_their_bytes_in_order(seed: int) -> None:
    rng, data, text = a_list(seed, tame=True)
    assume(None not in text.items and len(text.items) > 1)
    touched = rng.randrange(len(text.items))
    items = [edited(rng, item, 4) if i == touched else item for i, item in enumerate(text.items)]
    written = write_resource_list(text, [{} if item is None else item for item in items])
    at = 0
    for i, piece in enumerate(text.pieces):
        if i != touched:
            at = written.index(data[piece.start : piece.end], at) + piece.end - piece.start


@many
@given(seeds)
def test_writing_twice_changes_nothing_more(seed: int) -> None:
    rng, _, text = a_list(seed)
    items = present([None if item is None else edited(rng, item, 4) for item in text.items])
    written = write_resource_list(text, items if len(items) == len(text.items) else text.items, [{"message": "m"}])
    again = read_resource_list(written)
    assert write_resource_list(again, again.items) == written


@many
@given(seeds)
def test_a_place_is_where_a_reader_finds_the_value(seed: int) -> None:
    _, data, text = a_list(seed, tame=True)
    lines = data.decode().split("\n")
    for i, item in enumerate(text.items):
        for path, leaf in [((), item), *([((key,), one) for key, one in item.items()] if isinstance(item, dict) else [])]:
            line, column = text.place(i, path)
            found = lines[line - 1][column - 1 :]
            if isinstance(leaf, bool) or (isinstance(leaf, int) and path):
                shown = {"True": ("true", "yes", "on"), "False": ("false", "no", "off")}.get(repr(leaf), (repr(leaf),))
                assert found.startswith(shown)
    assert text.place(len(text.items), ()) == (0, 0)
