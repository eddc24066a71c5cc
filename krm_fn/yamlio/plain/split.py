"""The bytes of a ResourceList cut at its items and its other keys, with what must hold so that cutting is allowed."""

from __future__ import annotations

from krm_fn.yamlio.plain.lines import NotPlain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    # A top-level key, where it starts, and where its lines end.
    Region = tuple[str, int, int]

KEYS = (b"apiVersion", b"kind", b"items", b"functionConfig", b"results")
CONTROLS = bytes(set(range(0x20)) - {0x09, 0x0A}) + b"\x7f"
BLOCK = 1 << 20
LARGEST_ITEM = 8 << 20  # bytes; libyaml reads larger ones in less memory


def regions(data: bytes) -> list[Region]:
    """The top-level keys of a list in plain form, in order.

    Raises: NotPlain.
    """
    starts = sorted(at for key in KEYS for at in _starts(data, key))
    if not data.endswith(b"\n") or not starts or starts[0] != 0:
        raise NotPlain
    found = []
    for start, end in zip(starts, [*starts[1:], len(data)], strict=True):
        found.append((data[start : data.index(b":", start)].decode(), start, end))
    if len({key for key, _, _ in found}) != len(found):
        raise NotPlain
    return found


def _starts(data: bytes, key: bytes) -> Iterator[int]:
    if data.startswith(key + b":"):
        yield 0
    at = data.find(b"\n" + key + b":")
    while at >= 0:
        yield at + 1
        at = data.find(b"\n" + key + b":", at + 1)


def check(data: bytes) -> None:
    """Raises: NotPlain where a character or a line of the input, in whatever item, has no place in the plain form."""
    at = 0
    while at < len(data):
        end = data.find(b"\n", at + BLOCK) + 1 or len(data)
        _check_block(data[at:end])
        at = end


def _check_block(block: bytes) -> None:
    if len(block.translate(None, CONTROLS)) != len(block):
        raise NotPlain
    if not block.isascii():
        try:
            text = block.decode()
        except UnicodeDecodeError:
            raise NotPlain from None
        if any(char in text for char in "\x85\u2028\u2029\ufeff"):
            raise NotPlain


def cut(data: bytes, start: int, end: int) -> list[int]:
    """Where each item starts in the region of `items`.

    Raises: NotPlain.
    """
    first = start + len(b"items:\n")
    if data[start:first] != b"items:\n" or data[first : first + 2] != b"- ":
        raise NotPlain
    found = [first]
    at = data.find(b"\n- ", first, end)
    while at >= 0:
        found.append(at + 1)
        at = data.find(b"\n- ", at + 1, end)
    if any(stop - begin > LARGEST_ITEM for begin, stop in zip(found, [*found[1:], end], strict=True)):
        raise NotPlain
    return found
