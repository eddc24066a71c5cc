"""The text of a file with values that findings propose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn import yamlio
from krm_fn.base.paths import get, put_in
from krm_fn.findings.finding import UNSET
from krm_fn.sources import reading
from krm_fn.sources.rewriting import text_with
from krm_fn.yamlio.compare import same
from krm_fn.yamlio.documents import ended_as

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from krm_fn.base.paths import Path
    from krm_fn.repositories.fixes import Fix
    from krm_fn.yamlio.texts import Text


def fixed(data: bytes, fixes: Iterable[Fix]) -> tuple[bytes, list[Fix]]:
    """The text of a file with the fixes whose places are exactly known in it, and these.

    Raises: InputError where it can't be read or written.
    """
    source = reading.of_bytes(data).sources[0]
    source.text.quotes = True
    items = list(source.text.items)
    made: list[Fix] = []
    for fix in fixes:
        new = _with_fix(source.text, items, fix)
        if new is not None:
            items, made = new, [*made, fix]
    written = text_with(source, items) if made else data
    read_again = reading.of_bytes(written).sources[0].text.items if made else items
    return (written, made) if same(list(read_again), items) else (data, [])


def _with_fix(text: Text, items: list[Any], fix: Fix) -> list[Any] | None:
    """The items of a text with a fix; None where the place does not have the wrong value, or shares it with others."""
    at = fix.item, fix.path
    if fix.inside is None:
        return _with_value(text, items, at, fix.current, fix.proposed)
    outer = get(items, (fix.item, *fix.path))
    if not isinstance(outer, str):
        return None
    inner = yamlio.read_stream(outer.encode())
    inner.quotes = True
    new = _with_value(inner, list(inner.items), fix.inside, fix.current, fix.proposed)
    if new is None:
        return None
    return _with_value(text, items, at, outer, ended_as(outer.encode(), yamlio.write_stream(inner, new)).decode())


def _with_value(text: Text, items: list[Any], at: tuple[int, Path], current: Any, new: Any) -> list[Any] | None:
    number, path = at
    if not text.stands_alone(number, path) or not same(get(items, (number, *path), UNSET), current):
        return None
    return list(put_in(items, (number, *path), new))
