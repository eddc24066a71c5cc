"""Globs of paths: `*` and `?` stay within one name, `**` stands for any folders, `[ab]` for one of these letters."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from krm_fn.repositories.kustomization import joined

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from krm_fn.repositories.types import Exclusion

FOLDERS, REST = "(?:[^/]+/)*", "(?:/.+)?"
WILD = re.compile(r"\*+|\?|\[!?[^]/]+\]")


@lru_cache(maxsize=1024)
def expression(glob: str) -> re.Pattern[str]:
    """What matches the paths that a glob stands for, and all that is below them."""
    parts = [part for part in glob.split("/") if part not in ("", ".")]
    out = ""
    for number, part in enumerate(parts):
        last = number == len(parts) - 1
        out += ("[^/]+(?:/.+)?" if last else FOLDERS) if part == "**" else _name(part) + ("" if last else "/")
    return re.compile(out + REST, re.DOTALL)


def _name(part: str) -> str:
    """The expression of one name with wildcards."""
    out, at = "", 0
    for wild in WILD.finditer(part):
        out += re.escape(part[at : wild.start()]) + _wild(wild[0])
        at = wild.end()
    return out + re.escape(part[at:])


def _wild(written: str) -> str:
    if written.startswith("["):
        return "[" + written[1:-1].replace("!", "^", written.startswith("[!")).replace("\\", "\\\\") + "]"
    return "[^/]" if written == "?" else "[^/]*"


def excluded(exclusions: Iterable[Exclusion]) -> Callable[[str], bool]:
    """What is true of the files that are left out."""
    rows = [(_prefix(each.folder), expression(each.glob)) for each in exclusions]

    def is_excluded(file: str) -> bool:
        return any(file.startswith(prefix) and pattern.fullmatch(file, len(prefix)) for prefix, pattern in rows)

    return is_excluded


def _prefix(folder: str) -> str:
    """What the paths of all that is in a folder start with."""
    found = joined(".", folder)
    return "" if found == "." else found + "/"
