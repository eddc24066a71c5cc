"""Texts by keys in one SQLite file, which several runs may use at once.

Each text has a code that only who knows the secret can make. A text that was changed, that somebody else put there, or that was
not written to its end is not given back.
"""

from __future__ import annotations

import hmac
import os
import sqlite3
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


PATIENCE = 5.0  # seconds that another run may keep the file to itself
DAY = 86_400
KEPT = 0.8  # of the most bytes, where there are more
TABLE = "CREATE TABLE IF NOT EXISTS entries (key BLOB PRIMARY KEY, used INTEGER NOT NULL, digest BLOB, value BLOB)"
# The schema of a file that somebody made may not call functions; and a power failure may cost the file, but no time.
PRAGMAS = ("trusted_schema = OFF", "auto_vacuum = INCREMENTAL", "synchronous = OFF")
SIZE = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"
WRITABLE = stat.S_IWGRP | stat.S_IWOTH


class StoreError(Exception):
    """Why a store can't be used. `is_broken`: its file is not whole."""

    def __init__(self, why: str, *, is_broken: bool = False) -> None:
        super().__init__(why)
        self.is_broken = is_broken


class Store:
    """The texts of a file, and the secret of who wrote them. Raises: StoreError, whatever goes wrong."""

    def __init__(self, file: Path, secret: bytes) -> None:
        self._file, self._secret = file, secret
        with _told():
            self._open = self._opened()

    def _opened(self) -> sqlite3.Connection:
        file = self._file
        make_own(file)
        try:
            return _opened(file)
        except sqlite3.DatabaseError as error:
            if not _is_broken(error):
                raise
            self.remove()
            return _opened(file)

    def remove(self) -> None:
        """Remove the file."""
        for end in ("", "-journal"):
            with suppress(OSError):
                self._file.with_name(self._file.name + end).unlink()

    def close(self) -> None:
        """Close the file."""
        self._open.close()

    def get(self, key: bytes) -> tuple[bytes | None, bool]:
        """The text under a key, None where there is none with its code; and whether it was used today."""
        with _told():
            found = self._rows("SELECT used, digest, value FROM entries WHERE key = ?", (key,))
        for used, digest, text in found:
            if isinstance(text, bytes) and isinstance(digest, bytes) and hmac.compare_digest(digest, self._code(key, text)):
                return text, used + DAY > time.time()
        return None, True

    def write(self, texts: Mapping[bytes, bytes], used: Iterable[bytes]) -> None:
        """Keep texts, and note that those under other keys were used."""
        now = int(time.time())
        with _told(), self._open:
            self._rows("BEGIN IMMEDIATE")
            entries = [(key, now, self._code(key, text), text) for key, text in texts.items()]
            self._open.executemany("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?)", entries)
            self._open.executemany("UPDATE entries SET used = ? WHERE key = ?", [(now, key) for key in used])

    def shrink(self, most: int) -> None:
        """Remove what was not used for the longest time where the file has more than so many bytes."""
        with _told():
            ((size,),) = self._rows(SIZE)
            if size > most:
                self._remove_oldest(1 - KEPT * most / size)
                self._open.executescript("PRAGMA incremental_vacuum")  # `execute` would free one page alone

    def _remove_oldest(self, part: float) -> None:
        with self._open:
            self._rows("BEGIN IMMEDIATE")
            lengths = self._rows("SELECT rowid, length(value) FROM entries ORDER BY used, rowid")
            excess = sum(length for _, length in lengths) * part
            for rowid, length in lengths:
                if excess <= 0:
                    break
                excess -= length
                self._rows("DELETE FROM entries WHERE rowid = ?", (rowid,))

    def _code(self, key: bytes, text: bytes) -> bytes:
        return hmac.digest(self._secret, len(key).to_bytes(8, "big") + key + text, "sha256")

    def _rows(self, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        return _rows(self._open, query, values)


@contextmanager
def _told() -> Iterator[None]:
    """What goes wrong, as a StoreError."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(str(error), is_broken=_is_broken(error)) from None
    except OSError as error:
        raise StoreError(error.strerror or str(error)) from None


def _is_broken(error: sqlite3.Error) -> bool:
    """True where a file is no database, or not a whole one; False where it can't be used for another reason."""
    return type(error) is sqlite3.DatabaseError


def make_own(file: Path) -> None:
    """Make the folder of a file, for the user alone. Raises: OSError; StoreError where others may have written there."""
    file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_own(file.parent)
    with suppress(FileNotFoundError):
        _check_own(file)


def _check_own(path: Path) -> None:
    """Raises: StoreError where others may have written, and where a link leads to some other place."""
    found = path.lstat()
    if not (stat.S_ISDIR(found.st_mode) or stat.S_ISREG(found.st_mode)):
        raise StoreError(f"{path} is neither a folder nor a file")
    if hasattr(os, "geteuid") and (found.st_uid != os.geteuid() or found.st_mode & WRITABLE):
        raise StoreError(f"others may write to {path}; expected a folder that only you can write to (chmod go-w)")


def _opened(file: Path) -> sqlite3.Connection:
    found = sqlite3.connect(file, timeout=PATIENCE, isolation_level=None)
    try:
        for pragma in PRAGMAS:
            _rows(found, f"PRAGMA {pragma}")
        if not _rows(found, "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'entries'"):
            _rows(found, TABLE)
        _check_plain(found)
        _rows(found, "SELECT key, used, digest, value FROM entries LIMIT 0")
    except BaseException:
        found.close()
        raise
    return found


def _check_plain(found: sqlite3.Connection) -> None:
    """Raises: sqlite3.OperationalError for a file with statements of its own, which no signal would end."""
    if _rows(found, "SELECT 1 FROM sqlite_master WHERE type IN ('trigger', 'view')"):
        raise sqlite3.OperationalError("it has a trigger or a view, which may run without end")


def _rows(found: sqlite3.Connection, query: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
    return found.execute(query, values).fetchall()  # all of them: a query that is not at its end holds the file
