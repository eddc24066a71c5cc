"""The ways from the bytes of a list to the bytes that leave, and what has to hold of them.

All that the fuzzer knows of the program stands here: each way takes bytes, a stream for bytes and one for text, and gives an
exit code, or None where it leaves the list to the next way. A reader that comes or goes is one row of `WAYS`.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, BinaryIO, NamedTuple, TextIO
from zlib import crc32

import yaml

import krm_fn
from krm_fn.base.errors import RenderError
from krm_fn.hosts import function
from krm_fn.yamlio.documents import read_list
from krm_fn.yamlio.plain.text import read_plain_list

Way = Callable[[bytes, BinaryIO, TextIO], int | None]
read_once = lru_cache(maxsize=1)(read_list)  # what holds the output against the input reads the same list again


def _with_plain_reader(data: bytes, out: BinaryIO, err: TextIO) -> int | None:
    return function.run_all(data, out, err) if read_plain_list(data, "") else None


def _with_libyaml(data: bytes, out: BinaryIO, err: TextIO) -> int:
    return function.run_all(data, out, err, read=read_once)


# A way that gives no exit code leaves the list to the next one, as the function does.
WAYS: dict[str, Way] = {"the function": function.run, "all items at once": _with_plain_reader, "libyaml": _with_libyaml}
EXIT_CODES = (0, 1, 2)
LONG = re.compile(r"\b\d{20,}\b")
ONE_IN = 4  # lists are held against the library as well, which costs as much as a way


class Answer(NamedTuple):
    """What a way leads to: exit code, stdout and stderr; `refused` where it wrote nothing and says why on stderr."""

    code: int
    out: bytes
    err: str
    refused: bool = False


class Item(NamedTuple):
    """An entry of `items`: its value, and its text with the comments in front of it."""

    value: Any
    text: str


def answer(way: Way, data: bytes) -> Answer | None:
    """What a way answers, None where it leaves the list to the next one. Any exception but a clean error is raised."""
    out, err = io.BytesIO(), io.StringIO()
    try:
        code = way(data, out, err)
    except RenderError as error:
        return Answer(error.exit_code, out.getvalue(), str(error), refused=True)
    return None if code is None else Answer(code, out.getvalue(), err.getvalue())


def judged(data: bytes) -> tuple[str, bool]:
    """The first law that does not hold for a list, "" where all do; and whether the list can be read.

    Raises: what a way raises beside clean errors.
    """
    answers = [(name, found) for name, way in WAYS.items() if (found := answer(way, data))]
    (first, wanted), *others = answers
    for name, found in others:
        for part in Answer._fields:
            if getattr(found, part) != getattr(wanted, part):
                return f"{first} and {name} differ in {part}", not wanted.refused
    return _broken_by(data, wanted), not wanted.refused


def _broken_by(data: bytes, found: Answer) -> str:
    """The first law about one answer that does not hold."""
    if found.code not in EXIT_CODES:
        return f"the exit code is {found.code}"
    if any(not line.isprintable() for line in found.err.split("\n")):
        return "stderr holds a control character"
    if found.refused:
        return "an error came with output" if found.out else ""
    return "" if found.out == data and crc32(data) % ONE_IN else _broken_by_output(data, found.out)


def _broken_by_output(data: bytes, out: bytes) -> str:
    """The first law about the bytes that leave that does not hold."""
    before = read_once(data)
    try:
        after = before if out == data else read_list(out)
    except RenderError as error:
        return f"the output can not be read: {error}"
    if not crc32(data) % ONE_IN and _shown(data, after.items) != _shown(data, _rendered(before.items, before.head)):
        return "the output reads as other items than krm_fn.process gives"
    return "" if after is before else _changed_bytes(items_of(data, before.items), items_of(out, after.items))


def _shown(data: bytes, items: list[Any]) -> str:
    """The items as text: it differs for `1`, `1.0` and `true`, and for another order of keys where no merge decides it.

    Numbers beyond 64 bits are read as floats, which the library gives as integers where they are whole.
    """
    return LONG.sub(lambda found: repr(float(found[0])), json.dumps(items, sort_keys=b"<<" in data))


def _rendered(items: list[Any], head: dict[str, Any]) -> list[Any]:
    """The items as the library renders them; a wrong config leaves them as they came, without nulls, which no list keeps."""
    try:
        rendered: list[Any] = krm_fn.process({**head, "items": items})["items"]
    except RenderError:
        return [item for item in items if item is not None]
    return rendered


def _changed_bytes(before: list[Item], after: list[Item]) -> str:
    """Says which item lost its bytes though its value is the same."""
    if len(after) < len(before) or any(item.value is None for item in before):
        return ""  # nulls leave
    for number, (old, new) in enumerate(zip(before, _without_stored(before, after), strict=False)):
        if repr(old.value) == repr(new.value) and not _keeps(old.text, new.text, last=number == len(before) - 1):
            return f"item {number} is untouched, but its bytes changed"
    return ""


def _without_stored(before: list[Item], after: list[Item]) -> list[Item]:
    """The items without the ControllerRevisions that mode `snapshot` puts before the VMs that they are for."""
    if len(after) == len(before):
        return after
    known = {repr(item.value) for item in before}
    return [item for item in after if repr(item.value) in known or not _is_revision(item.value)]


def _is_revision(value: Any) -> bool:
    return isinstance(value, dict) and value.get("kind") == "ControllerRevision"


def _keeps(old: str, new: str, *, last: bool) -> bool:
    """True where an item's text is as it was, as far as it has to be.

    Comments behind the last item may come to stand behind items that are added. A block of text that ends the input without a
    line break gets another header: it must not gain the break. An alias is written out where what it leads to changes.
    """
    if old == new or "*" in old:
        return True
    return last and (old.rstrip().startswith(new) or _without_headers(old) == _without_headers(new))


def _without_headers(text: str) -> list[str]:
    """The lines without the marks that say how a block of text ends."""
    return [re.sub(r"([|>])([-+0-9]*)", r"\1", line) for line in text.split("\n")]


def items_of(data: bytes, values: list[Any]) -> list[Item]:
    """The entries of `items` with their texts, as PyYAML places them; nothing where they are no plain list."""
    text = data.decode().lstrip("\ufeff")
    spans = _spans(text)
    if len(spans) != len(values):
        return []
    return [Item(value, text[start:end].rstrip()) for value, (start, end) in zip(values, spans, strict=True)]


def _spans(text: str) -> list[tuple[int, int]]:
    """Where the entries of the top-level list `items` start and end."""
    found: list[tuple[int, int]] = []
    path: list[Any] = []  # of each open collection: whether it is a map, and the key that waits in a map
    start = 0
    for event in yaml.parse(text, Loader=yaml.CSafeLoader):
        is_item = len(path) == 2 and path[0][1] == "items" and not path[1][0]
        if isinstance(event, yaml.CollectionStartEvent):
            start = event.start_mark.index if is_item else start
            path.append([isinstance(event, yaml.MappingStartEvent), None])
            continue
        if isinstance(event, yaml.CollectionEndEvent):
            path.pop()
            if len(path) == 2 and path[0][1] == "items" and not path[1][0]:
                found.append((start, event.end_mark.index))
        elif is_item and isinstance(event, yaml.NodeEvent):
            found.append((event.start_mark.index, event.end_mark.index))
        if path and path[-1][0] and isinstance(event, (yaml.NodeEvent, yaml.CollectionEndEvent)):
            _step(path[-1], event)
    return found


def _step(level: list[Any], event: Any) -> None:
    """Take a finished node of a map for its next key, or for the value of the key that waits."""
    level[1] = None if level[1] is not None else getattr(event, "value", "")
