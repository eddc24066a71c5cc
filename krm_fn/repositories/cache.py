"""What came of units in earlier runs, by keys that stand for all that it depends on.

The cache is one SQLite file: several runs may use it at once, and what a killed run had not finished to write does not count.
Whoever writes into it decides what a run reports, so it counts only where nobody else may write. What goes wrong with it never
fails a run: the cache is off from then on.
"""

from __future__ import annotations

import hashlib
import os
import stat
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from krm_fn.repositories import stored

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Sequence
    from typing import Any

NAME = "kubevirt-render-1.sqlite"  # another number where the table differs
LIMIT = 512 * 1024 * 1024  # bytes
KEPT = 0.8  # of the limit, where that is reached
PATIENCE = 5.0  # seconds that another run may keep the file to itself
PENDING, PAUSE = 64, 5.0  # entries, and seconds, after which they are written
DAY = 86_400
DIGEST = 16  # bytes
TABLE = "CREATE TABLE IF NOT EXISTS entries (key BLOB PRIMARY KEY, used INTEGER NOT NULL, digest BLOB, value BLOB)"
PRAGMAS = ("trusted_schema = OFF", "auto_vacuum = INCREMENTAL", "synchronous = OFF")  # a power failure may cost the cache


class Cache:
    """The cache in a folder. `note` gets one line where it can't be used.

    Only one process of a run may use it.
    """

    def __init__(self, folder: str, *, note: Callable[[str], None] = lambda _: None, limit: int = LIMIT) -> None:
        self._file, self._note, self._limit = Path(folder) / NAME, note, limit
        self._pending: dict[bytes, bytes] = {}
        self._used: set[bytes] = set()
        self._written = time.monotonic()
        self._open: sqlite3.Connection | None = None
        self._attempt(self._prepare)

    @property
    def is_on(self) -> bool:
        """False where nothing is kept."""
        return self._open is not None

    def get(self, key: bytes) -> Any:
        """What is kept under a key, None where nothing is."""
        query = "SELECT used, digest, value FROM entries WHERE key = ?"
        for used, digest, text in self._attempt(lambda: self._rows(query, (key,))) or ():
            if used + DAY < time.time():
                self._used.add(key)
            if isinstance(text, bytes) and digest == _digest(key, text):
                with suppress(stored.UnstorableError):
                    return stored.loads(text)
        return None

    def put(self, key: bytes, value: object) -> None:
        """Keep a value; what can't be kept is left out."""
        if self.is_on:
            with suppress(stored.UnstorableError):
                self._pending[key] = stored.dumps(value).encode()
            if len(self._pending) >= PENDING or time.monotonic() - self._written > PAUSE:
                self._attempt(self._write)

    def close(self) -> None:
        """Write what is not written yet, and remove what was not used for the longest time where there is too much."""
        self._attempt(self._write)
        self._attempt(self._shrink)
        if self._open:
            self._open.close()
        self._open = None

    def _attempt(self, work: Callable[[], Any]) -> Any:
        """What the work gives, None where the cache is off; what goes wrong turns it off."""
        if self._open is None and work != self._prepare:
            return None
        try:
            return work()
        except ImportError as error:
            self._turn_off(f"this Python has no SQLite: {error}")
        except OSError as error:
            self._turn_off(error.strerror or str(error))
        except ValueError as error:
            self._turn_off(str(error))
        except Exception as error:
            import sqlite3

            if not isinstance(error, sqlite3.Error):
                raise
            self._turn_off(str(error))
            if not isinstance(error, sqlite3.OperationalError):  # broken: the next run begins a new one
                self._remove()
        return None

    def _turn_off(self, why: str) -> None:
        self._note(f"the cache {self._file} is not used: {why}")
        self._pending.clear()
        if self._open:
            self._open.close()
        self._open = None

    def _remove(self) -> None:
        for end in ("", "-journal"):
            with suppress(OSError):
                Path(f"{self._file}{end}").unlink()

    def _prepare(self) -> None:
        import sqlite3

        folder = self._file.parent
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_own(folder)
        with suppress(FileNotFoundError):
            _check_own(self._file)
        self._open = sqlite3.connect(self._file, timeout=PATIENCE, isolation_level=None)
        try:
            self._begin()
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError:
            self._open.close()
            self._remove()
            self._open = sqlite3.connect(self._file, timeout=PATIENCE, isolation_level=None)
            self._begin()

    def _begin(self) -> None:
        for pragma in PRAGMAS:
            self._rows(f"PRAGMA {pragma}")
        if not self._rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'entries'"):
            self._rows(TABLE)

    def _rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        assert self._open
        return self._open.execute(query, values).fetchall()  # all of them: a started query holds the file

    def _write(self) -> None:
        assert self._open
        now = int(time.time())
        entries = [(key, now, _digest(key, text), text) for key, text in self._pending.items()]
        if entries or self._used:
            with self._open:
                self._rows("BEGIN IMMEDIATE")
                self._open.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?)", entries)
                self._open.executemany("UPDATE entries SET used = ? WHERE key = ?", [(now, key) for key in self._used])
        self._pending.clear()
        self._used.clear()
        self._written = time.monotonic()

    def _shrink(self) -> None:
        assert self._open
        ((size,),) = self._rows("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        if size <= self._limit:
            return
        with self._open:
            self._rows("BEGIN IMMEDIATE")
            excess = self._rows("SELECT sum(length(value)) FROM entries")[0][0] * (1 - KEPT * self._limit / size)
            last = 0
            for rowid, length in self._rows("SELECT rowid, length(value) FROM entries ORDER BY used, rowid"):
                if excess <= 0:
                    break
                excess -= length
                self._rows("DELETE FROM entries WHERE rowid = ?", (rowid,))
                last = rowid
        if last:
            self._rows("PRAGMA incremental_vacuum")


def _digest(key: bytes, text: bytes) -> bytes:
    return hashlib.blake2b(text, key=key, digest_size=DIGEST).digest()


def _check_own(path: Path) -> None:
    """Raises: ValueError where others may have written, and where a link leads to some other place."""
    found = path.lstat()
    if not (stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode)):
        raise ValueError(f"{path} is neither a folder nor a file")
    if hasattr(os, "geteuid") and (found.st_uid != os.geteuid() or found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        raise ValueError(f"others may write to {path}; expected a folder that only you can write to (chmod go-w)")


def users_folder() -> str:
    """The folder for caches of the user, "" where there is none."""
    folder = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(folder):
        home = os.path.expanduser("~")  # noqa: PTH111  Path.home() raises where there is none
        folder = os.path.join(home, ".cache") if os.path.isabs(home) else ""  # noqa: PTH118
    return os.path.join(folder, "kubevirt-render") if folder else ""  # noqa: PTH118
