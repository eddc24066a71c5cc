"""The bytes of a ResourceList, cut at its items and its other keys, and the conditions for the cuts."""

from __future__ import annotations

from krm_fn.yamlio.plain.characters import NotPlain

# A top-level key, its start, and the end of its lines.
Region = tuple[str, int, int]


KEYS = (b"apiVersion", b"kind", b"items", b"functionConfig", b"results")
CONTROLS = dict.fromkeys([*range(0x09), *range(0x0B, 0x20), 0x7F, 0x85, 0x2028, 0x2029, 0xFEFF])
NEAR = 1 << 16  # bytes before the end, where hosts write the function's config
LONGEST_KEY = 16  # bytes, with its colon
LARGEST_ITEM = 8 << 20  # bytes; libyaml reads larger ones in less memory


def regions(data: bytes) -> list[Region]:
    """The top-level keys of a list in plain form, in order. The second of two equal keys stays in the lines of another key.

    Raises: NotPlain.
    """
    starts = _leading(data)
    if not starts or not data.endswith(b"\n"):
        raise NotPlain
    found = {_key(data, at) for at in starts}
    if len(found) < len(starts):
        raise NotPlain
    starts += _behind(data, starts[-1], [key for key in KEYS if key not in found])
    starts.sort()
    return [(_key(data, start).decode(), start, end) for start, end in zip(starts, [*starts[1:], len(data)], strict=True)]


def _leading(data: bytes) -> list[int]:
    """The starts of the top-level keys up to `items`, found line by line. Those after `items` need a search."""
    starts: list[int] = []
    at = 0
    while at < len(data) and _key(data, at) in KEYS:
        starts.append(at)
        if _key(data, at) == b"items":
            break
        at = data.find(b"\n", at) + 1 or len(data)
        while data[at : at + 1] in (b" ", b"#", b"\n"):
            at = data.find(b"\n", at) + 1 or len(data)
    return starts


def _behind(data: bytes, start: int, keys: list[bytes]) -> list[int]:
    """The starts of these keys after `start`.

    If one of them is near the end, another one far before it stays in the lines of an item. Then that item is not plain.
    """
    for begin in (max(start, len(data) - NEAR), start):
        found = [at + 1 for key in keys if (at := data.find(b"\n" + key + b":", begin)) >= 0]
        if found:
            return found
    return []


def _key(data: bytes, at: int) -> bytes:
    return data[at : at + LONGEST_KEY].partition(b":")[0]


def check(data: bytes) -> None:
    """Raises: NotPlain if the input is not UTF-8."""
    if not data.isascii():
        from krm_fn.yamlio.layout import bad_byte

        if bad_byte(data) >= 0:
            raise NotPlain


def check_characters(text: str) -> None:
    """Raises: NotPlain if the text has a character that the plain form does not allow, whatever reads the rest of the text.

    Text that is read line by line does not need this check: each line is checked there.
    """
    if text.translate(CONTROLS) != text:
        raise NotPlain


def cut(data: bytes, start: int, end: int) -> list[int]:
    """The start of each item in the region of `items`.

    Raises: NotPlain.
    """
    found = [first_item(data, start)]
    while (stop := item_end(data, found[-1], end)) < end:
        found.append(stop)
    return found


def first_item(data: bytes, start: int) -> int:
    """The start of the first item in the region of `items`. Raises: NotPlain."""
    first = start + len(b"items:\n")
    if data[start:first] != b"items:\n" or data[first : first + 2] != b"- ":
        raise NotPlain
    return first


def item_end(data: bytes, start: int, end: int) -> int:
    """The end of the item that starts at `start`; `end` for the last one. Raises: NotPlain if it is too large."""
    stop = data.find(b"\n- ", start, end) + 1 or end
    if stop - start > LARGEST_ITEM:
        raise NotPlain
    return stop
