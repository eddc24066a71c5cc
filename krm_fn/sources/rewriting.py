"""What was read, written again with other objects."""

from __future__ import annotations

from codecs import BOM_UTF8
from typing import TYPE_CHECKING

from krm_fn import yamlio
from krm_fn.yamlio import ListText
from krm_fn.yamlio.documents import ended_as

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from krm_fn.sources.source import Source


def text_with(source: Source, items: Sequence[Any], before: Sequence[int] = ()) -> bytes:
    """The text of a source with other items; further ones come last, or where `before` says."""
    mark = BOM_UTF8 if source.data.startswith(BOM_UTF8) else b""  # reading leaves it out
    if isinstance(source.text, ListText):
        text = yamlio.write_resource_list(source.text, items, source.text.head.get("results") or [], before)
    else:
        text = yamlio.write_stream(source.text, items, before)
    return mark + ended_as(source.data, text)
