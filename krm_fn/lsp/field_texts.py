"""What fields mean, in our own words: the lines of `field_texts.txt`."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from krm_fn.kubevirt.holders import HOLDERS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

FILE = Path(__file__).with_suffix(".txt")
VM, INSTANCE = "VirtualMachine", "VirtualMachineInstance"
SPEC = ("spec",)
EACH = "[]"


@cache
def table() -> Mapping[tuple[str, str], str]:
    """The texts by kind and path."""
    return dict(_rows())


def _rows() -> Iterator[tuple[tuple[str, str], str]]:
    kind = ""
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            kind = line.strip("[]")
        elif line and not line.startswith("#"):
            path, text = line.split("  ", 1)
            yield (kind, path), text


def text_of(group: str, kind: str, path: Sequence[Any]) -> str:
    """What the field at a path of an object means; "" where there is no text."""
    for described, below in _described(group, kind, tuple(path)):
        if found := table().get((described, written(below))):
            return found
    return ""


def written(path: Sequence[Any]) -> str:
    """A path as the table has it: `spec.volumes[].name`."""
    return ".".join(step if isinstance(step, str) else EACH for step in path).replace(f".{EACH}", EACH)


def _described(group: str, kind: str, path: tuple[Any, ...]) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """The kinds that describe a place, with the path from their roots."""
    holder = HOLDERS.get((group, kind))
    if holder is None:
        yield kind.replace("Cluster", ""), path
        return
    if holder.vm is not None and path[: len(holder.vm)] == holder.vm:
        yield VM, path[len(holder.vm) :]
    if path[: len(holder.instance)] == holder.instance:
        yield INSTANCE, (*SPEC, *path[len(holder.instance) :])
