"""What came of units in earlier runs, by keys that stand for all that it depends on.

Whoever writes into a cache decides what a run reports, so it counts only where nobody else may write. What goes wrong with it
never fails a run: the cache is off from then on.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from krm_fn.repositories import stored

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from krm_fn.repositories.store import Store

NAME = "kubevirt-render-1.sqlite"  # another number where the table differs
LIMIT = 512 * 1024 * 1024  # bytes
PENDING, PAUSE = 64, 2.0  # texts, and seconds, after which they are written


class Cache:
    """The cache in a folder. `note` gets one line where it can't be used.

    Only one process of a run may use it.
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
        with suppress(stored.UnstorableError):
            return stored.loads(text) if text is not None else None
        return None

    def put(self, key: bytes, value: object) -> None:
        """Keep a value; what can't be kept is left out."""
        if self._store:
            with suppress(stored.UnstorableError):
                self._pending[key] = stored.dumps(value).encode()
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
        found: Store | None = self._attempted(lambda: Store(self._file))
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
    home = Path(os.path.expanduser("~"))  # noqa: PTH111  Path.home() raises where there is none
    folder = Path(os.environ.get("XDG_CACHE_HOME", ""))
    folder = folder if folder.is_absolute() else home / ".cache"
    return str(folder / "kubevirt-render") if folder.is_absolute() else ""
