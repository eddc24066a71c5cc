"""Streams that are cut at their documents, compared with streams that libyaml reads completely: both agree."""

from __future__ import annotations

import runpy
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import measured
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mangling import changed, mangled
from yamlio_styled import edited, streamed, value

from krm_fn.base.errors import InputError
from krm_fn.yamlio import read_stream, write_stream
from krm_fn.yamlio.documents import read_documents
from krm_fn.yamlio.streams import ODD, PlainStream, read_plain_stream

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted(
    path for folder in ("fixtures", "kustomization-examples", "docs") for path in ROOT.joinpath(folder).rglob("*.y*ml")
)
LISTED = runpy.run_path(str(ROOT / "bench" / "generate.py"))["bundle"](20).decode()
ITEMS = [
    "\n".join(line[2:] for line in item.split("\n")) + "\n"
    for item in ("\n" + LISTED.partition("\nitems:\n")[2].partition("\nfunctionConfig:")[0]).split("\n- ")[1:]
    for item in ["  " + item]
]
VM = next(item for item in ITEMS if "kind: VirtualMachine\n" in item)
BEFORE = (
    "",
    "# comment\n",
    "\n",
    "...\n",
    "---\n",
    "--- # mark\n",
    "--- \n",
    "---\n# é\n\n",
    "# a --- b\n---\n",
    "%YAML 1.1\n---\n",
    "--- {a: 1}\n",
)
BEHIND = ("", "", "---\n", "\n", "\n\n---\n", "# comment\n", "   \n", "...\n")

seeds = st.integers(0, 2**32)


def both(data: bytes) -> tuple[PlainStream, Any] | None:
    """What the two readers make of a stream, once they agree; None where the first leaves it to libyaml, or both refuse it."""
    try:
        cut = read_plain_stream(data, "a.yaml")
    except InputError:
        assert refusal(lambda: read_plain_stream(data, "a.yaml")) == refusal(lambda: read_documents(data, file="a.yaml"))
        return None
    if cut is None:
        return None
    whole = read_documents(data, file="a.yaml")
    assert repr(cut.items) == repr(whole.items)
    assert (cut.pieces, cut.data) == (whole.pieces, whole.data)
    assert isinstance(cut, PlainStream)
    return cut, whole


def written_alike(rng: Random, texts: tuple[PlainStream, Any], change: Callable[[Random, Any], Any] = changed) -> None:
    cut, whole = texts
    news = [change(rng, item) if rng.random() < 0.9 else item for item in whole.items]
    news = [new if rng.random() < 0.8 else None for new in news] + ([value(rng, 3)] if rng.random() < 0.2 else [])
    assert write_stream(cut, news) == write_stream(whole, news)
    for new in news[:1]:
        assert write_stream(cut, [new, *cut.items[1:]]) == write_stream(whole, [new, *whole.items[1:]])


def placed_alike(texts: tuple[PlainStream, Any]) -> None:
    cut, whole = texts
    for number, item in enumerate(whole.items):
        for path in ((), *paths(item)):
            assert cut.place(number, path) == whole.place(number, path), path
            assert cut.place(number, path, key=True) == whole.place(number, path, key=True), path


def paths(item: Any, above: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inside = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
    return [path for key, below in inside for path in ((*above, key), *paths(below, (*above, key)))]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_both_readers_read_write_and_place_files_of_the_project_in_the_same_way(path: Path) -> None:
    try:
        texts = both(path.read_bytes())
    except InputError:
        pytest.fail("what libyaml refuses was taken")
    if texts:
        written_alike(Random(path.name), texts)
        placed_alike(texts)


def test_both_readers_read_recorded_documents_in_the_same_way() -> None:
    documents = [document["yaml"] for document in measured.documents()]
    taken = [both(text.encode()) for text in documents]
    pairs = [both(f"{VM}---\n{text}\n---\n{VM}".encode()) for text in documents]
    assert sum(map(bool, taken)) > len(documents) / 2
    assert sum(map(bool, pairs)) > len(documents) / 2


def test_what_people_and_tools_write_is_not_left_to_libyaml() -> None:
    text = "# a comment\n---\n" + "---\n".join(ITEMS) + "---\n# the last one\n\n" + VM
    cut, whole = both(text.encode()) or pytest.fail("left to libyaml")
    assert ODD not in cut.layouts
    placed_alike((cut, whole))


def test_one_document_in_another_form_does_not_hold_up_the_others() -> None:
    cut, _ = both(f"{VM}---\n{{a: [1]}}\n---\n# nothing\n---\n{VM}".encode()) or pytest.fail("left to libyaml")
    assert [layout == ODD for layout in cut.layouts] == [False, True, True, False]


@settings(max_examples=1500, deadline=None)
@given(seeds)
def test_both_readers_read_write_and_place_streams_of_any_layout_in_the_same_way(seed: int) -> None:
    rng = Random(seed)
    items = [None if rng.random() < 0.1 else value(rng, 4) for _ in range(rng.randint(0, 4))]
    data = streamed(rng, items, tame=rng.random() < 0.7)
    if rng.random() < 0.1:
        data = rng.choice([b"\xef\xbb\xbf" + data, data.rstrip(b"\n"), data.replace(b"\n", b"\r\n"), b"\n" + data])
    texts = read_alike(data)
    if texts:
        written_alike(rng, texts, rng.choice((changed, lambda rng, item: edited(rng, item, 4))))
        placed_alike(texts)


@settings(max_examples=600, deadline=None)
@given(seeds)
def test_both_readers_read_write_and_place_mangled_streams_in_the_same_way(seed: int) -> None:
    rng = Random(seed)
    text = "".join(rng.choice(BEFORE) + rng.choice(ITEMS) + rng.choice(BEHIND) for _ in range(rng.randint(1, 3)))
    texts = read_alike((mangled(rng, text) if rng.random() < 0.7 else text).encode())
    if texts:
        written_alike(rng, texts)


def read_alike(data: bytes) -> tuple[PlainStream, Any] | None:
    """Like `both`; an input that libyaml refuses is refused with the same words."""
    wanted = refusal(lambda: read_documents(data, file="a.yaml"))
    assert refusal(lambda: read_stream(data, file="a.yaml")) == wanted
    return None if wanted else both(data)


def refusal(read: Callable[[], Any]) -> str:
    try:
        read()
    except InputError as error:
        return str(error)
    return ""


def test_the_aliases_of_all_documents_count_together() -> None:
    text = "a: &a [1, 2]\nb: [*a, *a]\n"
    assert read_plain_stream(f"{VM}---\n{text}".encode(), "") is None
    assert read_stream(f"{VM}---\n{text}".encode()).items[1] == {"a": [1, 2], "b": [[1, 2], [1, 2]]}


def test_a_long_text_that_aliases_repeat_very_often_is_refused() -> None:
    """Each use of the text would take as long as the text itself."""
    repeated = "- *a\n" * 4_000
    for place in (f"- &a {{name: {'b' * 400}}}", f"- &a {{{'b' * 400}: name}}", f"- &a [{'b' * 400}]", f"- &a {'b' * 400}"):
        assert len(read_stream(f"{place}\n{repeated}".encode()).items[0]) == 4_001
        longer = place.replace("b" * 400, "b" * 1_000).encode()
        with pytest.raises(InputError, match="the aliases expand to more than 100,000 values"):
            read_stream(longer + b"\n" + repeated.encode())
