"""Values that many rows have in common, kept once, with their numbers."""

from __future__ import annotations

import json
from collections.abc import Hashable
from typing import Generic, TypeVar

from krm_fn.base.objects import Object

Kept = TypeVar("Kept", bound="Hashable")


class ValueTable(Generic[Kept]):
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
        self.words: ValueTable[str] = ValueTable("")
        self.paths: ValueTable[str] = ValueTable()
        self.lines: ValueTable[tuple[str, int]] = ValueTable()
        self.origins: ValueTable[tuple[int, str, str, tuple[str, ...]]] = ValueTable((self.words.number("vm"), "", "", ()))
        self.patterns: ValueTable[tuple[int, ...]] = ValueTable(())
        self.steps: ValueTable[tuple[int, ...]] = ValueTable(())
        self.figures: ValueTable[tuple[float, str]] = ValueTable()
        self.pods: ValueTable[str] = ValueTable(json.dumps({}))

    def shown(self) -> Object:
        """The tables as plain data."""
        tables = {name: table.values for name, table in vars(self).items()}
        return {**tables, "pods": [json.loads(pod) for pod in self.pods.values]}
