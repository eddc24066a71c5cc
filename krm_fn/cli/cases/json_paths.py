"""JSONPath, whose author may be a stranger: each value that a path looks at is work that a run does (`base.work`).

A path can go through an object again for each of its values, and its regular expressions can be of any form. So the library
gets the object in a form that counts what is looked at, and its regular expressions are those of `base.regex`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jsonpath import JSONPathEnvironment
from jsonpath.function_extensions import Match, Search

from krm_fn.base.paths import number_of_values
from krm_fn.base.regex import searching
from krm_fn.base.regex_syntax import WrongPatternError
from krm_fn.base.work import WORK

OF_VALUE = 40  # units of work for each value that is looked at
FLAGS = ((re.IGNORECASE, "i"), (re.MULTILINE, "m"), (re.DOTALL, "s"))


def values_at(path: str, obj: Any) -> list[Any]:
    """The values that a JSONPath selects. Raises: JSONPathError; Unsupported, where it takes too much work; RecursionError."""
    return [each.plain if isinstance(each, _Counted) else each for each in _Environment().findall(path, _counted(obj))]


class _Counted:
    """A map or a list that counts how many of its values are looked at."""

    def __init__(self, plain: Any) -> None:
        self.plain = plain

    def __len__(self) -> int:
        return len(self.plain)

    def __eq__(self, other: object) -> bool:
        WORK.spend(number_of_values(self.plain))
        return bool(self.plain == (other.plain if isinstance(other, _Counted) else other))

    __hash__ = None  # type: ignore[assignment]  # as of maps and lists

    def __iter__(self) -> Iterator[Any]:
        for each in self.plain:
            WORK.spend(OF_VALUE)
            yield _counted(each)

    def __getitem__(self, key: Any) -> Any:
        WORK.spend(OF_VALUE * (len(self.plain) if isinstance(key, slice) else 1))
        return _counted(self.plain[key])


class _Map(_Counted, Mapping[str, "Any"]):
    """A map."""


class _List(_Counted, Sequence["Any"]):
    """A list."""


def _counted(value: Any) -> Any:
    return _Map(value) if isinstance(value, dict) else _List(value) if isinstance(value, list) else value


def _finds(pattern: object, text: object) -> bool:
    """True if an expression is found in a text. A wrong one is not, as in JSONPath."""
    if not isinstance(pattern, str) or not isinstance(text, str):
        return False
    try:
        return searching(pattern, text, WORK.spend, ecma=True)(text, 0) is not None
    except WrongPatternError:
        return False


def _whole(pattern: object) -> object:
    return f"^(?:{pattern})$" if isinstance(pattern, str) else pattern


class _Search(Search):
    def __call__(self, value: object, pattern: object) -> bool:
        return _finds(pattern, value)


class _Match(Match):
    def __call__(self, value: object, pattern: object) -> bool:
        return _finds(_whole(pattern), value)


class _Environment(JSONPathEnvironment):
    def setup_function_extensions(self) -> None:
        super().setup_function_extensions()
        self.function_extensions |= {"search": _Search(), "match": _Match()}

    def compare(self, left: object, operator: str, right: object) -> bool:
        if operator != "=~" or not isinstance(right, re.Pattern):
            return super().compare(left, operator, right)
        flags = "".join(sign for flag, sign in FLAGS if right.flags & flag)
        return _finds(f"(?{flags}:{_whole(right.pattern)})" if flags else _whole(right.pattern), left)
