"""The characters of the plain form, and the keys that were read in it."""

from __future__ import annotations

from krm_fn.yamlio.scalars import WORDS

LETTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
DIGITS = frozenset("0123456789")
IN_KEY = LETTERS | DIGITS | frozenset("._/-")
QUOTES = frozenset("'\"")
MOST_KEYS = 20_000

_keys: set[str] = set()  # all keys that were read, up to MOST_KEYS


class NotPlain(Exception):  # noqa: N818
    """This text is not of the plain form, or it may not be."""


def note_key(key: str) -> None:
    """Note that a key was read."""
    if len(_keys) < MOST_KEYS:
        _keys.add(key)


def may_have_read(keys: frozenset[str]) -> bool:
    """False if none of these keys was in any text that was read here."""
    return len(_keys) >= MOST_KEYS or not keys.isdisjoint(_keys)


def is_plain_key(text: str) -> bool:
    """True for a key without quotes that is clearly a string."""
    return text[:1] in LETTERS and IN_KEY.issuperset(text) and text not in WORDS


def is_simple(text: str) -> bool:
    """True if a value is a text in quotes, on one line, without escapes."""
    inner = text[1:-1]
    return len(text) > 1 and text[-1] == text[0] and text[0] not in inner and not (text[0] == '"' and "\\" in inner)
