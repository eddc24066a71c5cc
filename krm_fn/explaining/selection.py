"""Which values a user asks for: by a path, its last part, or a pattern."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING

from krm_fn.base.paths import steps

if TYPE_CHECKING:
    from krm_fn.base.objects import Object

GLOB = frozenset("*?")
START = "\0"


def normal(field: str) -> str:
    """A field as paths are written: without a dot before or behind it, and with double quotes."""
    return field.strip(".").replace("'", '"')


def is_pattern(field: str) -> bool:
    return not GLOB.isdisjoint(field)


def selected(record: Object, field: str) -> Object:
    """The record with the fields that are asked for alone."""
    if "fields" not in record:
        return record
    return {**record, "fields": [each for each in record["fields"] if names(field, each["path"])]}


def names(field: str, path: str) -> bool:
    """True if a field names a path, something around it, or what it ends with.

    A field that is no pattern may leave out the numbers of entries, and the quotes of keys such as `app.kubernetes.io/name`.
    """
    if is_pattern(field):
        return fnmatchcase(f".{_parted(path)}.", f"*.{_parted(field).replace('[', '[[]')}.*")
    plain = "".join(f"[{step}]" if isinstance(step, int) else f"{START}{step}" for step in steps(path))
    return _matcher(field).search(plain) is not None


def _parted(text: str) -> str:
    """A path with a dot before the number of an entry, too, so that a pattern for a list names its entries."""
    return text.replace("[", ".[")


@lru_cache(maxsize=8)
def _matcher(field: str) -> re.Pattern[str]:
    """What finds a field in a path without quotes and with START before each key. A dot in it may be one in a key."""
    keys = "".join(
        rf"\[{each}\]" if isinstance(each, int) else rf"(\[\d+\])*[{START}.]{re.escape(each)}" for each in steps(field)
    )
    return re.compile(rf"(?=[{START}\[]){keys}(?=[{START}\[]|$)" if keys else "(?!)")
