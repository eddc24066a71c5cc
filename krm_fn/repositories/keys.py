"""The keys of a cache: for a unit, one digest of all that its judgement depends on.

These are the contents of its files, its settings, the options of the run, this program and the one that builds, and the
variables that kustomize is given. For a unit that is judged with what others offer, also what it takes of that.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import lru_cache

import krm_fn
from krm_fn.base import programs
from krm_fn.repositories import building, cache, guard
from krm_fn.repositories.builds import SIZE, digest, digest_of
from krm_fn.repositories.loading import Options, Unit
from krm_fn.repositories.sharing import NOTHING, Taken
from krm_fn.sources.files import repository

ALONE = cache.dumps(NOTHING)


class Keys:
    """The keys of the units of one run; each file is read once."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._files: dict[str, str | None] = {}
        self._states: dict[str, tuple[int, ...]] = {}
        self._settings: dict[int, str] = {}
        self._run = digest(_of_run(options)).hex()
        self._building = ""  # asked for with the first target

    def of(self, unit: Unit) -> bytes | None:
        """The key of a unit; None for texts, where one of its files can't be read, and where users' rules judge it."""
        if unit.texts or unit.settings.config.rule_packages:  # nobody knows what the code of the rules reads
            return None
        files = unit.inputs
        digests = [self._file(file) for file in files]
        if None in digests:
            return None
        folders = [] if unit.target else [file for file in files if (os.path.dirname(file) or os.curdir) in unit.kustomized]  # noqa: PTH120
        own = unit.name, unit.target, unit.package, unit.steps
        parts = (own, tuple(files), tuple(folders), tuple(sorted(unit.unlisted)), tuple(digests), unit.before)
        return digest(self._run, self._of_building() if unit.target else "", self._of_settings(unit), cache.dumps(parts))

    def is_current(self, unit: Unit) -> bool:
        """True where no file of a unit was written since its key was made."""
        return all(self._states.get(file) == _state(file) for file in unit.inputs)

    def _of_building(self) -> str:
        self._building = self._building or cache.dumps(_built_by(self._options))
        return self._building

    def _of_settings(self, unit: Unit) -> str:
        number = id(unit.settings)  # the units keep their settings
        if number not in self._settings:
            self._settings[number] = cache.dumps(unit.settings)
        return self._settings[number]

    def _file(self, file: str) -> str | None:
        if file not in self._files:
            self._states[file] = _state(file)
            self._files[file] = digest_of(file)
        return self._files[file]


def second(first: bytes, taken: Taken) -> bytes:
    """The key of a unit that takes something of others; `first` is the one that it has by itself."""
    return digest(first, cache.dumps(taken) if taken is not NOTHING else ALONE)


def subjects(key: bytes) -> bytes:
    """The key of the objects of a unit."""
    return digest(key, "subjects")


def _state(file: str) -> tuple[int, ...]:
    try:
        found = os.stat(file)  # noqa: PTH116
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _of_run(options: Options) -> str:
    """What is the same for all units of a run."""
    environment = tuple((name, os.environ.get(name)) for name in guard.KEPT)
    root = os.path.relpath(repository(os.curdir))
    return cache.dumps((_this_program(), environment, root, options.but(using=None, timeout=0)))


def _built_by(options: Options) -> tuple[object, ...]:
    """What builds targets, which starts it to ask for its version."""
    using = options.using
    return (
        using.words if using else (),
        bool(using and using.network),
        building.version(using) if using else "",
        _program("helm"),
    )


def _program(name: str) -> tuple[str, tuple[int, ...]]:
    """Where a program is, and in which state."""
    found = programs.find(name) or ""
    return found, _state(found)


def _this_program() -> tuple[str, ...]:
    """Our version and what our code is: in a working copy, the version stays while the code changes."""
    import yaml  # takes as long to load as to judge a small folder

    return krm_fn.__version__, _digest_of_code(), yaml.__version__, sys.version


@lru_cache(maxsize=1)  # a process goes on with the code that it has loaded
def _digest_of_code() -> str:
    import hashlib  # this loads OpenSSL, which takes as long as to judge a small file

    made = hashlib.blake2b(digest_size=SIZE)
    for file in _code():
        with open(file, "rb") as source:  # noqa: PTH123
            made.update(hashlib.blake2b(source.read(), digest_size=SIZE).digest())
    return made.hexdigest()


def _code() -> Iterator[str]:
    archive = getattr(krm_fn.__loader__, "archive", None)
    if archive:
        yield archive
        return
    for folder in krm_fn.__path__:
        for above, folders, names in os.walk(folder):
            folders[:] = sorted(each for each in folders if each != "__pycache__")  # another run may write there now
            yield from (os.path.join(above, name) for name in sorted(names) if not name.endswith(".pyc"))  # noqa: PTH118
