"""The bytes of a ResourceList cut at its items and its other keys, with what must hold so that cutting is allowed."""

from __future__ import annotations

from krm_fn.yamlio.plain.lines import NotPlain

TYPE_CHECKING = False
if TYPE_CHECKING:
    # A top-level key, where it starts, and where its lines end.
    Region = tuple[str, int, int]

KEYS = (b"apiVersion", b"kind", b"items", b"functionConfig", b"results")
CONTROLS = dict.fromkeys([*range(0x09), *range(0x0B, 0x20), 0x7F, 0x85, 0x2028, 0x2029, 0xFEFF])
NEAR = 1 << 16  # bytes before the end, where hosts write the function's config
LONGEST_KEY = 16  # bytes, with its colon
LARGEST_ITEM = 8 << 20  # bytes; libyaml reads larger ones in less memory


def regions(data: bytes) -> list[Region]:
    """The top-level keys of a list in plain form, in order. One that stands twice is left among the lines of another.

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
    """Where the top-level keys up to `items` start, which are found line by line; what follows has to be searched for."""
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
    """Where these keys start behind `start`.

    Where one stands near the end, one far before it is left among the lines of an item, which nobody takes for plain then.
    """
    for begin in (max(start, len(data) - NEAR), start):
        found = [at + 1 for key in keys if (at := data.find(b"\n" + key + b":", begin)) >= 0]
        if found:
            return found
    return []


def _key(data: bytes, at: int) -> bytes:
    return data[at : at + LONGEST_KEY].partition(b":")[0]


def check(data: bytes) -> None:
    """Raises: NotPlain where the input is no UTF-8."""
    if not data.isascii():
        from krm_fn.yamlio.layout import bad_byte

        if bad_byte(data) >= 0:
            raise NotPlain


def check_characters(text: str) -> None:
    """Raises: NotPlain where the text holds a character that has no place in the plain form, whoever reads the rest of it.

    What is read line by line needs no such look: every line is looked at there.
    """
    if text.translate(CONTROLS) != text:
        raise NotPlain


def cut(data: bytes, start: int, end: int) -> list[int]:
    """Where each item starts in the region of `items`.

    Raises: NotPlain.
    """
    found = [first_item(data, start)]
    while (stop := item_end(data, found[-1], end)) < end:
        found.append(stop)
    return found


def first_item(data: bytes, start: int) -> int:
    """Where the first item starts in the region of `items`. Raises: NotPlain."""
    first = start + len(b"items:\n")
    if data[start:first] != b"items:\n" or data[first : first + 2] != b"- ":
        raise NotPlain
    return first


def item_end(data: bytes, start: int, end: int) -> int:
    """Where an item ends that starts there, `end` where it is the last one. Raises: NotPlain where it is too large."""
    stop = data.find(b"\n- ", start, end) + 1 or end
    if stop - start > LARGEST_ITEM:
        raise NotPlain
    return stop
