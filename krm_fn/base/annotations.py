"""Names of `typing` and `collections.abc` for annotations, which nothing evaluates: importing either takes long.

A module that imports `typing` for another reason takes the names from there.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Container, Hashable, Iterable, Iterator, Mapping, Sequence
    from typing import Any, BinaryIO, Self, TextIO
else:

    class Any:
        """Stands for any type, with any parameters: `Sequence[str]` is `Sequence` again."""

        def __class_getitem__(cls, _: object) -> type:
            return cls

    Callable = Collection = Container = Hashable = Iterable = Iterator = Mapping = Sequence = BinaryIO = Self = TextIO = Any
