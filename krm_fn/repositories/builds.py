"""What was built of targets, for a process that judges the same targets again and again; and digests of the texts of files.

A target is built again only if one of its files has another text than before, or if somebody wants a failed build again. Two
digests that are equal stand for files that read the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from threading import Lock

from krm_fn.repositories import building
from krm_fn.repositories.building import Builder, Built
from krm_fn.repositories.types import Problem, Target
from krm_fn.sources.files import read_found

ABSENT = "absent"
# What a file may be that is no file: nothing is there, a part of its path is a file, it is a folder.
NO_FILE = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
SIZE = 32  # bytes


def digest(*parts: str | bytes) -> bytes:
    """One digest of several texts."""
    import hashlib  # this loads OpenSSL, which takes as long as to judge a small file

    made = hashlib.blake2b(digest_size=SIZE)
    for part in parts:
        data = part if isinstance(part, bytes) else part.encode(errors="surrogatepass")
        made.update(len(data).to_bytes(8, "big"))
        made.update(data)
    return made.digest()


def digest_of(file: str) -> str | None:
    """The digest of a file's text, with what is not saved yet; None if it can't be read, ABSENT if there is no file."""
    try:
        return digest(read_found(file)[0]).hex()
    except NO_FILE:
        return ABSENT
    except OSError:
        return None if os.path.isfile(file) else ABSENT  # noqa: PTH113


class Builds:
    """The last build of each target, also one that failed. Several threads may use it: only one at a time builds a target."""

    def __init__(self) -> None:
        # by the name of the target: what it was made of, and what was made
        self._kept: dict[str, tuple[object, Built | Problem]] = {}
        self._locks: dict[str, Lock] = {}

    def build(self, target: Target, using: Builder, *, flags: Sequence[str], timeout: float) -> Built | Problem:
        """What `building.build` makes of a target."""
        with self._locks.setdefault(target.name, Lock()):
            state = _state(target, using, flags)
            kept = self._kept.get(target.name)
            if kept and kept[0] == state:
                return kept[1]
            built = building.build(target, using, flags=flags, timeout=timeout)
            if _state(target, using, flags) == state:  # nobody has written a file in the meantime
                self._kept[target.name] = state, built
            return built

    def forget_failed(self, names: Iterable[str]) -> None:
        """Forget the failed builds of these targets: the reasons may be gone."""
        for name in names:
            kept = self._kept.get(name)
            if kept and not isinstance(kept[1], Built):
                self._kept.pop(name, None)

    def forget_all_but(self, names: Iterable[str]) -> None:
        """Keep only the targets of these names."""
        for name in self._kept.keys() - frozenset(names):
            self._kept.pop(name, None)


def _state(target: Target, using: Builder, flags: Sequence[str]) -> object:
    return target, using, tuple(flags), tuple(map(digest_of, target.inputs))
