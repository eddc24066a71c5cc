"""Values that many rows have in common, kept once, with their numbers."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Generic, TypeVar

from krm_fn.base.objects import Object

Kept = TypeVar("Kept", bound="Hashable")


class Table(Generic[Kept]):
    """Values by their numbers, in the order in which they came first."""

    def __init__(self, *first: Kept) -> None:
        self._numbers: dict[Kept, int] = {value: number for number, value in enumerate(first)}

    def number(self, value: Kept) -> int:
        """The number of a value, which is kept."""
        return self._numbers.setdefault(value, len(self._numbers))

    @property
    def values(self) -> list[Kept]:
        return list(self._numbers)


class Tables:
    """What machines and findings have in common.

    `lines` are a text and the number of its path, `origins` the origins of values: word, name, text, notes. The first one is
    the machine's own manifest. `patterns` are the origins of all lines of a machine, `steps` the lines of its file, from the
    first one on. `figures` are a number and the text for it, `pods` are JSON.
    """

    def __init__(self) -> None:
        self.words: Table[str] = Table("")
        self.paths: Table[str] = Table()
        self.lines: Table[tuple[str, int]] = Table()
        self.origins: Table[tuple[int, str, str, tuple[str, ...]]] = Table((self.words.number("vm"), "", "", ()))
        self.patterns: Table[tuple[int, ...]] = Table(())
        self.steps: Table[tuple[int, ...]] = Table(())
        self.figures: Table[tuple[float, str]] = Table()
        self.pods: Table[str] = Table(json.dumps({}))

    def shown(self) -> Object:
        """The tables as plain data."""
        tables = {name: table.values for name, table in vars(self).items()}
        return {**tables, "pods": [json.loads(pod) for pod in self.pods.values]}
