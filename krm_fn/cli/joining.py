"""Texts of several sources made one stream that kubectl and kustomize read.

Both cut a stream at the lines that are `---`, and read each part as one document. So they refuse it for a directive, and for a
document that begins on the line of its mark. And kubectl takes all for JSON that begins as JSON does.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from krm_fn import yamlio
from krm_fn.yamlio.order import in_order
from krm_fn.yamlio.writing import write_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from krm_fn.yamlio import StreamText

BOM, MARK = b"\xef\xbb\xbf", b"---\n"
# How lines begin that have to be looked at, and such lines.
ODD = (b"%", b"...", b"--- ", b"---\t")
DIRECTIVE = re.compile(rb"^%.*\n?", re.MULTILINE)
HANDLE = re.compile(rb"^%TAG\s", re.MULTILINE)
END = re.compile(rb"^\.\.\.(?=\s|\Z)[ \t\r]*\n?", re.MULTILINE)
# What stands before a document: empty lines, comments and directives; then the line of its mark, with nothing but a comment.
HEAD = re.compile(rb"(?:[ \t]*(?:#.*|\r)?\n|%.*\n)*")
MARKED = re.compile(rb"---[ \t]*(?:[ \t]#.*|\r)?(?:\n|\Z)")
BEGUN = re.compile(rb"---[ \t]+")


def joined(chunks: Iterable[bytes]) -> bytes:
    """The texts as one stream."""
    closed = [_closed(chunk) for chunk in chunks]
    out = b"".join(chunk if number == 0 or MARKED.match(chunk) else MARK + chunk for number, chunk in enumerate(closed))
    several = len(closed) > 1 or b"\n---" in out
    return MARK + out if several and out.lstrip().startswith(b"{") else out


def _closed(chunk: bytes) -> bytes:
    """The text of a stream so that another may follow: without byte order mark and first `---`, ended by a line end."""
    chunk = chunk.removeprefix(BOM).removeprefix(MARK).removeprefix(b"---\r\n")
    return chunk if chunk.endswith(b"\n") else chunk + b"\n"


def text_of(text: StreamText, items: Sequence[Any], before: Sequence[int] = ()) -> bytes:
    """The documents of a stream with these items; an item of None is left out with its document.

    More items come where `before` says; see `yamlio.order`.
    """
    if not any(text.data.startswith(odd) or b"\n" + odd in text.data for odd in ODD):
        return yamlio.write_stream(text, items, before)
    kept = len(items) - len(before)
    documents = [b"" if item is None else _plain(text, number, item) for number, item in enumerate(items[:kept])]
    documents += [MARK + yamlio.dump(item).encode() for item in items[kept:]]
    return b"".join(in_order(documents, before, kept))


def _plain(text: StreamText, number: int, item: Any) -> bytes:
    """The document behind a mark of its own, and without directives."""
    written = write_document(text, number, item)
    end = _end(HEAD, written)
    head, rest = written[:end], END.sub(b"", written[end:])
    if HANDLE.search(head) and b"!" in rest:  # tags mean something else without it
        return MARK + yamlio.dump(item).encode()
    marked = _end(MARKED, rest)
    body = rest[marked or _end(BEGUN, rest) :]
    return (rest[:marked] or MARK) + DIRECTIVE.sub(b"", head) + (body if body.endswith(b"\n") else body + b"\n")


def _end(pattern: re.Pattern[bytes], text: bytes) -> int:
    """Where what the pattern finds at the start of a text ends; 0 where it finds nothing."""
    found = pattern.match(text)
    return found.end() if found else 0
