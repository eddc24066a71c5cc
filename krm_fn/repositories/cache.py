"""What came of units in earlier runs, by keys that stand for all that it depends on.

Whoever writes into a cache decides what a run reports. So it counts only where nobody else may write, what it holds has codes
that only the user can make, and it is refused where it could come with the files that are judged. What else goes wrong with it
never fails a run: the cache is off from then on. What is kept is JSON text: only the types named here come back, and nothing
that is read is ever run.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from krm_fn.base.errors import RenderError, UsageError
from krm_fn.base.objects import Ref
from krm_fn.base.value import Value
from krm_fn.findings.finding import UNSET, Finding, Related, Suppressed
from krm_fn.kubevirt.releases import Release
from krm_fn.repositories import git
from krm_fn.repositories.fixes import Fix, Fixing
from krm_fn.repositories.judging import CheckedObject, UnitResult
from krm_fn.repositories.loading import Loaded
from krm_fn.repositories.sharing import Offer, Reach
from krm_fn.sources.files import CAREFUL, folder_of, is_within, repository

if TYPE_CHECKING:
    from krm_fn.repositories.store import Store


# A JSON list is a tuple. All that is not plain is a map with one key: one of these, or the name of a type.
LIST, MAP, SET, NOTHING = "[", "{", "(", "?"
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
        return {NOTHING: None}
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
    NOTHING: lambda _: UNSET,
    MAP: lambda pairs: {_put_together(key): _put_together(below) for key, below in pairs},
    LIST: lambda found: [_put_together(each) for each in found],
    SET: lambda found: frozenset(map(_put_together, found)),
}


NAME = "kubevirt-render-1.sqlite"  # another number where the table differs
LIMIT = 512 * 1024 * 1024  # bytes
PENDING, PAUSE = 64, 2.0  # texts, and seconds, after which they are written
# The secret that the codes are made with: a variable, for runs that share a cache, or a file with so many bytes.
VARIABLE, SHORTEST = "KUBEVIRT_RENDER_CACHE_KEY", 32
SECRET, SIZE, STATE = "cache.key", 32, ("XDG_STATE_HOME", ".local/state")
FIX = "; name a folder outside of the repository, or use --no-cache"


class Cache:
    """The cache in a folder. `note` gets one line where it can't be used.

    Only one process of a run may use it. Raises: UsageError where the secret in the environment is too short.
    """

    def __init__(self, folder: str, *, note: Callable[[str], None] = lambda _: None, limit: int = LIMIT) -> None:
        self._file, self._note, self._limit = Path(folder) / NAME, note, limit
        self._pending: dict[bytes, bytes] = {}
        self._used: set[bytes] = set()
        self._written = time.monotonic()
        self._store: Store | None = None
        self._store = self._opened()

    @property
    def is_on(self) -> bool:
        """False where nothing is kept."""
        return self._store is not None

    def get(self, key: bytes) -> Any:
        """What is kept under a key, None where nothing is."""
        store = self._store
        text, is_fresh = (store and self._attempted(lambda: store.get(key))) or (None, True)
        if not is_fresh:
            self._used.add(key)
        with suppress(UnstorableError):
            return loads(text) if text is not None else None
        return None

    def put(self, key: bytes, value: object) -> None:
        """Keep a value; what can't be kept is left out."""
        if self._store:
            with suppress(UnstorableError):
                self._pending[key] = dumps(value).encode()
            if len(self._pending) >= PENDING or time.monotonic() - self._written > PAUSE:
                self._attempted(self._write)

    def close(self) -> None:
        """Write what is not written yet, and make room where there is too much."""
        if self._store:
            self._attempted(self._write)
        if store := self._store:
            self._attempted(lambda: store.shrink(self._limit))
            self._store = None
            store.close()

    def _opened(self) -> Store | None:
        try:
            from krm_fn.repositories.store import Store
        except ImportError:
            self._turn_off("this Python has no SQLite")
            return None
        found: Store | None = self._attempted(lambda: Store(self._file, _secret()))
        return found

    def _write(self) -> None:
        if self._store and (self._pending or self._used):
            self._store.write(self._pending, self._used)
            self._pending.clear()
            self._used.clear()
            self._written = time.monotonic()

    def _attempted(self, work: Callable[[], Any]) -> Any:
        """What the work gives. What goes wrong turns the cache off; a broken file is removed, so that the next run has one."""
        from krm_fn.repositories.store import StoreError

        try:
            return work()
        except StoreError as error:
            if self._store and error.is_broken:
                self._store.remove()
            self._turn_off(str(error))
            return None

    def _turn_off(self, why: str) -> None:
        self._note(f"the cache {self._file} is not used: {why}")
        store, self._store = self._store, None
        self._pending.clear()
        if store:
            store.close()


def users_folder() -> str:
    """The folder for caches of the user, "" where there is none."""
    return _users("XDG_CACHE_HOME", ".cache")


def _users(variable: str, below: str) -> str:
    """Our folder in the one that a variable names, else in this one below the user's home; "" where there is none."""
    home = Path(os.path.expanduser("~"))  # noqa: PTH111  Path.home() raises where there is none
    folder = Path(os.environ.get(variable, ""))
    folder = folder if folder.is_absolute() else home / below
    return str(folder / "kubevirt-render") if folder.is_absolute() else ""


def check_apart(folder: str, paths: Iterable[str]) -> None:
    """Raises: UsageError where a cache, or its key, could come with the files of the paths, or is a file of git."""
    roots = [repository(path if os.path.isdir(path) else folder_of(path)) for path in paths]  # noqa: PTH112
    if _is_below(folder, roots):
        raise UsageError(
            f"the cache {folder} is in a folder that is judged: whoever changes files there could write results{FIX}"
        )
    if _is_tracked(folder):
        raise UsageError(f"git tracks files in the cache {folder}: whoever commits them could write results{FIX}")
    if not os.environ.get(VARIABLE) and _is_below(kept := _users(*STATE), roots):
        raise UsageError(f"the key of the cache would be in {kept}, which is judged; set {VARIABLE}, or use --no-cache")


def _is_below(folder: str, roots: Iterable[str]) -> bool:
    """True for a folder in one of the roots, also for a link there that leads out: it is a file of that tree."""
    whole = Path(os.path.abspath(folder))  # noqa: PTH100
    return bool(folder) and any(is_within(str(above), roots) for above in (whole, *whole.parents))


def _is_tracked(folder: str) -> bool:
    """True where files of a folder are in the index of a git repository."""
    with suppress(RenderError, OSError):
        found = git.repository_of(folder)
        return bool(found.output("ls-files", "-z", "--", os.path.realpath(folder)))
    return False


def _secret() -> bytes:
    """The user's secret; made where there is none. Raises: UsageError where the variable is too short; StoreError, OSError."""
    from krm_fn.repositories.store import StoreError, make_own

    if given := os.environ.get(VARIABLE):
        if len(given) < SHORTEST:
            raise UsageError(f"{VARIABLE} has {len(given)} characters; expected at least {SHORTEST}, drawn at random")
        import hashlib  # this loads OpenSSL, which takes as long as to judge a small file

        return hashlib.sha256(os.fsencode(given)).digest()
    folder = _users(*STATE)
    if not folder:
        raise StoreError(f"the user has no folder for its key; set HOME or {VARIABLE}")
    file = Path(folder, SECRET)
    try:
        make_own(file)
        return _kept(file)
    except OSError as error:
        raise StoreError(f"its key {file} can't be kept: {error.strerror}; set {VARIABLE}") from None


def _kept(file: Path) -> bytes:
    """The secret in a file, which is made where there is none, or an older program left a part of it."""
    for _ in range(2):
        with suppress(FileNotFoundError):
            with os.fdopen(os.open(file, CAREFUL), "rb") as opened:
                found = opened.read(SIZE + 1)
            if len(found) == SIZE:
                return found
            file.unlink()
        _make_secret(file)
    raise FileNotFoundError(0, "it is not whole", str(file))


def _make_secret(file: Path) -> None:
    """Make a secret, unless another run has made one in the meantime: no run may see a part of it, or replace it."""
    import tempfile

    number, name = tempfile.mkstemp(dir=file.parent, prefix=SECRET)
    try:
        with os.fdopen(number, "wb") as opened:
            opened.write(os.urandom(SIZE))
        with suppress(FileExistsError):
            os.link(name, file)
    finally:
        os.unlink(name)  # noqa: PTH108
