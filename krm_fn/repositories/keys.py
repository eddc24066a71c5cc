"""The keys of a cache: for a unit, one digest of all that its judgement depends on.

These are the contents of its files, its settings, the options of the run, this program and the one that builds, and the
variables that kustomize is given. For a unit that is judged with what others offer, also what it takes of that.

And values as JSON text, of which keys are made, and which is kept: only the types named here come back.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import yaml

import krm_fn
from krm_fn.base import programs
from krm_fn.base.objects import Ref
from krm_fn.base.value import Value
from krm_fn.findings.finding import UNSET, Finding, Related, Suppressed
from krm_fn.kubevirt.releases import Release
from krm_fn.repositories import building, guard
from krm_fn.repositories.builds import SIZE, digest, digest_of
from krm_fn.repositories.fixes import Fix, Fixing
from krm_fn.repositories.judging import CheckedObject, UnitResult
from krm_fn.repositories.loading import Loaded, Options, Unit
from krm_fn.repositories.sharing import NOTHING, Offer, Reach, Taken
from krm_fn.sources.files import repository

# A JSON list is a tuple. All that is not plain is a map with one key: one of these, or the name of a type.
LIST, MAP, SET, NO_VALUE = "[", "{", "(", "?"
PLAIN = (type(None), bool, int, float, str)
TYPES: dict[str, Callable[..., Any]] = {
    each.__name__: each
    for each in (Finding, Fix, Fixing, Loaded, Offer, Reach, Ref, Related, Release, CheckedObject, Suppressed, UnitResult)
}


class UnstorableError(ValueError):
    """A value of a type that is not kept."""


def dumps(value: object) -> str:
    """The value as text: the same for values that are equal. Raises: UnstorableError."""
    try:
        return json.dumps(_taken_apart(value), separators=(",", ":"))
    except (ValueError, RecursionError) as error:
        raise UnstorableError(str(error)) from None


def loads(text: str | bytes) -> Any:
    """The value of a text. Raises: UnstorableError for a text that `dumps` did not make."""
    try:
        return _put_together(json.loads(text))
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise UnstorableError(str(error)) from None


def _taken_apart(value: Any) -> Any:
    if type(value) in PLAIN:
        return value
    if type(value) is tuple:
        return [_taken_apart(each) for each in value]
    if value is UNSET:
        return {NO_VALUE: None}
    if isinstance(value, Value):
        given = {name: each for name, each in vars(value).items() if each is not getattr(type(value), name, ...)}
        return {type(value).__name__: {name: _taken_apart(each) for name, each in sorted(given.items())}}
    return _collection(value)


def _collection(value: Any) -> Any:
    if type(value) is dict:
        return {MAP: [[_taken_apart(key), _taken_apart(below)] for key, below in value.items()]}
    if type(value) is list:
        return {LIST: [_taken_apart(each) for each in value]}
    if type(value) is frozenset:
        return {SET: [_taken_apart(each) for each in sorted(value)]}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):  # for keys: no such type comes back
        return {type(value).__name__: {name: _taken_apart(each) for name, each in value._asdict().items()}}
    if type(value) is bytes:
        return {"bytes": value.hex()}
    raise UnstorableError(f"a {type(value).__name__} is not kept")


def _put_together(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_put_together, value))
    if not isinstance(value, dict):
        return value
    ((name, below),) = value.items()
    if name in TYPES:
        return TYPES[name](**{field: _put_together(each) for field, each in below.items()})
    return COLLECTIONS[name](below)


COLLECTIONS: dict[str, Callable[[Any], Any]] = {
    NO_VALUE: lambda _: UNSET,
    MAP: lambda pairs: {_put_together(key): _put_together(below) for key, below in pairs},
    LIST: lambda found: [_put_together(each) for each in found],
    SET: lambda found: frozenset(map(_put_together, found)),
}


ALONE = dumps(NOTHING)


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
        return digest(self._run, self._of_building() if unit.target else "", self._of_settings(unit), dumps(parts))

    def is_current(self, unit: Unit) -> bool:
        """True where no file of a unit was written since its key was made."""
        return all(self._states.get(file) == _state(file) for file in unit.inputs)

    def _of_building(self) -> str:
        self._building = self._building or dumps(_built_by(self._options))
        return self._building

    def _of_settings(self, unit: Unit) -> str:
        number = id(unit.settings)  # the units keep their settings
        if number not in self._settings:
            self._settings[number] = dumps(unit.settings)
        return self._settings[number]

    def _file(self, file: str) -> str | None:
        if file not in self._files:
            self._states[file] = _state(file)
            self._files[file] = digest_of(file)
        return self._files[file]


def second(first: bytes, taken: Taken) -> bytes:
    """The key of a unit that takes something of others; `first` is the one that it has by itself."""
    return digest(first, dumps(taken) if taken is not NOTHING else ALONE)


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
    return dumps((_this_program(), environment, root, options.but(using=None, timeout=0)))


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
    return krm_fn.__version__, _digest_of_code(), yaml.__version__, sys.version


@lru_cache(maxsize=1)  # a process goes on with the code that it has loaded
def _digest_of_code() -> str:
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
