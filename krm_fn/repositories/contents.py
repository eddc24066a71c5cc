"""Digests of the texts of files: two that are equal stand for files that read the same."""

from __future__ import annotations

import hashlib
import os

from krm_fn.sources.files import read_found

ABSENT = "absent"
# What a file may be that is no file: nothing is there, a part of its path is a file, it is a folder.
NO_FILE = (FileNotFoundError, NotADirectoryError, IsADirectoryError)
SIZE = 32  # bytes


def digest(*parts: str | bytes) -> bytes:
    """One digest of several texts."""
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
