"""Regular expressions that are compiled when they are first used. A run uses few of those that its modules have."""

from __future__ import annotations

import re
from typing import Any, AnyStr

METHODS = ("findall", "finditer", "fullmatch", "match", "search", "split", "sub", "subn", "flags", "groupindex", "groups")


def expression(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """What behaves as `re.compile(pattern, flags)`; a wrong pattern is an error of its first use."""
    made: Any = _Expression(pattern, flags)
    return made  # type: ignore[no-any-return]


class _Expression:
    def __init__(self, pattern: str | bytes, flags: int) -> None:
        self.pattern, self._asked = pattern, flags

    def __getattr__(self, name: str) -> Any:
        if name not in METHODS:
            raise AttributeError(name)
        compiled = re.compile(self.pattern, self._asked)
        self.__dict__.update((each, getattr(compiled, each)) for each in METHODS)
        return self.__dict__[name]
