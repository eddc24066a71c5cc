"""VMs inside objects of other kinds, such as ConfigMaps, pipelines and patches of Flux: they are counted, and not judged."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from krm_fn.base import bundle
from krm_fn.base.objects import group_of, kind_of
from krm_fn.kubevirt.holders import RENDERED, holder_of
from krm_fn.kubevirt.templates import is_template

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from krm_fn.sources.source import Sources

KINDS = {row.kind: row.group for row in RENDERED}
# The kind of an object in a text, as YAML and JSON write it.
KIND = re.compile(rf"""^[\s{{,-]*["']?kind["']?\s*:\s*["']?({"|".join(KINDS)})\b""", re.MULTILINE)
IN_JSON = re.compile(rf'''[{{,]\s*"kind"\s*:\s*"({"|".join(KINDS)})"''')


def notes(found: Sources) -> Iterator[str]:
    """How many VMs stand inside objects of each other kind."""
    if not any(kind.encode() in source.data for source in found.sources for kind in KINDS):
        return
    counts: Counter[tuple[str, str]] = Counter()
    for entry in bundle.entries(found.items):
        if not (holder_of(entry.obj) or is_template(entry.obj)):
            outer = kind_of(entry.obj)
            counts.update((outer, kind) for kind in _inside(entry.obj))
    for (outer, kind), number in sorted(counts.items()):
        several = number > 1
        yield f"{number} {kind}{'s' * several} inside {outer} objects {'are' if several else 'is'} not judged"


def _inside(value: Any) -> Iterator[str]:
    """The kinds of the VMs inside a value."""
    if isinstance(value, dict):
        if isinstance(value.get("spec"), dict) and KINDS.get(kind_of(value)) == group_of(value):
            yield kind_of(value)
            return
        for below in value.values():
            yield from _inside(below)
    elif isinstance(value, list):
        for below in value:
            yield from _inside(below)
    elif isinstance(value, str) and "kubevirt.io/" in value:
        yield from _in_text(value)


def _in_text(text: str) -> Iterator[str]:
    pattern = IN_JSON if text.lstrip().startswith(("{", "[")) else KIND
    return (found[1] for found in pattern.finditer(text))
