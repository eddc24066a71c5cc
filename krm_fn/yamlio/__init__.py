"""YAML in, YAML out: plain values for the core, and the input's own text for everything that the core does not change.

`read_resource_list` and `read_stream` return texts, whose `items` are plain values. `write_resource_list` and `write_stream`
take such values back. An item that is the same object as the one that was read keeps its bytes. In a changed item, only the
changed lines differ.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterable, Sequence
from krm_fn.yamlio.emit import dump

__all__ = [
    "ListText",
    "StreamText",
    "dump",
    "ended_as",
    "read_resource_list",
    "read_stream",
    "read_value",
    "write_resource_list",
    "write_stream",
]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.yamlio.plain.text import PlainList
    from krm_fn.yamlio.texts import ListText, StreamText


def __getattr__(name: str) -> Any:
    """Load a function when it is first used: most lists are rendered without these."""
    if name == "dump":
        from krm_fn.yamlio.emit import dump

        return dump
    if name in __all__:
        from krm_fn.yamlio import texts

        return getattr(texts, name)
    raise AttributeError(f"module {__name__} has no {name}")


def read_late(data: bytes, group: str, kind: str) -> PlainList | None:
    """The text of a ResourceList in plain form whose items of this API group and kind are late; None for other texts.

    A late item is read when it is used. See `PlainList`.
    """
    from krm_fn.yamlio.plain.text import read_plain_list

    return read_plain_list(data, "", (group, kind))


def read_resource_list(data: bytes, *, file: str = "") -> ListText:
    """The text of one document that is a ResourceList; empty input is an empty list. Errors name `file`.

    Raises: InputError with line and column for broken YAML, a second document, another kind, items that are not a list, and
    for input that is made to exhaust the reader.
    """
    from krm_fn.yamlio.plain.text import read_plain_list

    text = read_plain_list(data, file)
    if text is not None:
        return text
    from krm_fn.yamlio.documents import read_list  # libyaml takes longer to load than a small list to read

    return read_list(data, file=file)


def read_stream(data: bytes, *, file: str = "") -> StreamText:
    """The text of any number of YAML or JSON documents. Errors name `file`.

    Raises: InputError with line and column for broken YAML and for input made to exhaust the reader.
    """
    from krm_fn.yamlio.streams import read_plain_stream

    text = read_plain_stream(data, file)
    if text is not None:
        return text
    from krm_fn.yamlio.documents import read_documents  # this loads libyaml, too

    return read_documents(data, file=file)


def read_value(text: str) -> Any:
    """The value of one YAML document, for example of a string in a ConfigMap; None for an empty one.

    Raises: InputError for broken YAML and for a second document.
    """
    from krm_fn.yamlio.documents import read_single

    return read_single(text)


def ended_as(data: bytes, out: bytes) -> bytes:
    """What was written, without its final line break if the input has none. A block of text that is new at the end keeps it."""
    if data.endswith((b"\n", b"\r")):
        return out
    from krm_fn.yamlio import documents  # this loads libyaml

    return documents.ended_as(data, out)


def write_resource_list(text: ListText, items: Sequence[Any], results: Sequence[Any] = (), before: Sequence[int] = ()) -> bytes:
    """The list with these items. Unchanged items keep their bytes, in changed items only the changed lines differ, and None
    leaves its item out. Additional items come last, or at the place that `before` gives (see `order`). `results` replace those
    of the input, if there are any.

    Raises: InputError for a changed item that no cluster accepts.
    """
    return b"".join(pieces_of_list(text, items, results, before))


def pieces_of_list(
    text: ListText, items: Sequence[Any], results: Sequence[Any] = (), before: Sequence[int] = ()
) -> Iterable[bytes]:
    """What `write_resource_list` returns, in pieces."""
    from krm_fn.yamlio.writing import write_list

    return write_list(text, items, results, before)


def write_stream(text: StreamText, items: Sequence[Any], before: Sequence[int] = ()) -> bytes:
    """The stream with these items. Empty documents stay; any other None leaves its document out.

    Additional items come last, or at the place that `before` gives (see `order`).
    Raises: InputError for a changed item that no cluster accepts.
    """
    from krm_fn.yamlio import writing

    return writing.write_stream(text, items, before)
