"""Small immutable values, created with keywords and compared by their fields.

To import `dataclasses` takes longer than to render a bundle, and every build starts the function again. So the function uses
this base class instead. A subclass only lists its fields:

    class Release(Value):
        minor: int
        patch: int = 0
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Self, dataclass_transform
else:

    def dataclass_transform(**_: object) -> object:
        return lambda cls: cls


put = object.__setattr__


@dataclass_transform(kw_only_default=True, frozen_default=True)
class Value:
    """An immutable record; a field with a default may be left out.

    Raises: TypeError for an unknown or a missing field.
    """

    _fields: tuple[str, ...] = ()
    _required: frozenset[str] = frozenset()
    _accepted: set[tuple[str, ...]]  # combinations of field names that have passed the check

    def __init_subclass__(cls) -> None:
        own = [name for name in cls.__dict__.get("__annotations__", ()) if not name.startswith("_")]
        cls._fields = (*cls._fields, *own)
        cls._required = frozenset(name for name in cls._fields if not hasattr(cls, name))
        cls._accepted = set()

    def __init__(self, **given: Any) -> None:
        names = tuple(given)
        if names not in self._accepted:
            self._accept(names)
        for name, value in given.items():
            put(self, name, value)  # not into __dict__: that takes half the memory, and is faster to read

    def _accept(self, names: tuple[str, ...]) -> None:
        for name in self._fields:
            if name in self._required and name not in names:
                raise TypeError(f"{type(self).__name__} lacks {name}")
        for name in names:
            if name not in self._fields:
                raise TypeError(f"{type(self).__name__} has no field {name}")
        self._accepted.add(names)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable")

    def _values(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in self._fields])  # a generator takes half as long again

    def __eq__(self, other: object) -> bool:
        return other is self or (type(other) is type(self) and other._values() == self._values())

    def __hash__(self) -> int:
        return hash(self._values())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{n}={getattr(self, n)!r}' for n in self._fields)})"

    def but(self, **changed: Any) -> Self:
        """A copy of the value with some fields changed; the value itself where they have these values already."""
        for name, value in changed.items():
            if getattr(self, name, put) is not value:
                break
        else:
            return self
        cls = type(self)
        new = object.__new__(cls)
        for name in self._fields:
            value = changed.pop(name) if name in changed else getattr(self, name)
            if value is not getattr(cls, name, put):  # what has its default takes no room, and is not sent to other processes
                put(new, name, value)
        for name in changed:
            raise TypeError(f"{type(self).__name__} has no field {name}")
        return new
