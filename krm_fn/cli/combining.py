"""What several units of a run print together: for each output of `render`, what is kept of a unit, and how that is combined."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from krm_fn import yamlio
from krm_fn.base.errors import InputError
from krm_fn.cli import joining, outputs, patch

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    from krm_fn.findings.finding import Finding
    from krm_fn.pipeline.stages import Outcome
    from krm_fn.sources.source import Sources


class Part(NamedTuple):
    """What is kept of one unit, and its name for messages."""

    name: str
    written: Any


class Patches(NamedTuple):
    """The patches of one unit, and how many objects they can't add."""

    entries: list[Any]
    left_out: int


class Combined(NamedTuple):
    """How an output is made of several units: `write` gives what is kept of one, `combine` the whole."""

    write: Callable[[Sources, Outcome], Any]
    combine: Callable[[Sequence[Part], Iterable[Finding]], bytes]


def _text(found: Sources, outcome: Outcome) -> bytes:
    return outputs.to_yaml(found, outcome)


def _items(_: Sources, outcome: Outcome) -> list[Any]:
    return outcome.in_order


def _patches(found: Sources, outcome: Outcome) -> Patches:
    return Patches(patch.entries(found.items, outcome.items), len(outputs.appended(found, outcome)))


def _one_stream(parts: Sequence[Part], _: Iterable[Finding]) -> bytes:
    return joining.joined(part.written for part in parts if part.written)


def _json_list(parts: Sequence[Part], _: Iterable[Finding]) -> bytes:
    return outputs.json_list([item for part in parts for item in part.written])


def _resource_list(parts: Sequence[Part], findings: Iterable[Finding]) -> bytes:
    return outputs.resource_list([item for part in parts for item in part.written], findings)


def _one_list_of_patches(parts: Sequence[Part], _: Iterable[Finding]) -> bytes:
    """Raises: InputError where two units have patches: a list of them belongs to one kustomization."""
    changed = [part for part in parts if part.written.entries]
    if len(changed) > 1:
        first, second = (part.name or "files that no kustomization uses" for part in changed[:2])
        raise InputError(f"patches belong to one kustomization, but VMs change in {first} and {second}; name one of them")
    return yamlio.dump([entry for part in changed for entry in part.written.entries]).encode()


COMBINED = {
    "yaml": Combined(_text, _one_stream),
    "json": Combined(_items, _json_list),
    "resourcelist": Combined(_items, _resource_list),
    "patch": Combined(_patches, _one_list_of_patches),
}
