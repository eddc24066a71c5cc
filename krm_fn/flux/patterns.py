"""Patterns for names, as Go's `path.Match` reads them: `*`, `?`, `[a-z]`, `[^a]` and escapes. Texts are bytes, as in Go.

upstream: fluxcd/pkg envsubst/path/match.go
"""

from __future__ import annotations

from collections.abc import Callable

ANY = b"*"


class BadPatternError(Exception):
    """A pattern that can't be read."""


def free(_: int) -> None:
    """Spend nothing."""


def matches(pattern: bytes, name: bytes, spend: Callable[[int], object] = free) -> bool:
    """True if a pattern matches a whole text. Unlike Go's `*`, this one takes slashes, too.

    Raises: BadPatternError; SpentError of `spend`.
    """
    while pattern:
        is_starred, chunk, pattern = _chunk(pattern)
        if is_starred and not chunk:
            return True
        places = range(len(name) + 1) if is_starred else range(1)
        spend(1 + len(places))
        for skipped in places:
            left = _after(chunk, name[skipped:])
            if left is not None and (pattern or not left):
                name = left
                break
        else:
            return False
    return not name


def _chunk(pattern: bytes) -> tuple[bool, bytes, bytes]:
    """True for a star in front, the pattern up to the next star, and the rest."""
    body = pattern.lstrip(ANY)
    at, in_class = 0, False
    while at < len(body):
        char = body[at : at + 1]
        if char == b"\\":
            at += at + 1 < len(body)
        elif char in (b"[", b"]"):
            in_class = char == b"["
        elif char == ANY and not in_class:
            break
        at += 1
    return body != pattern, body[:at], body[at:]


def _after(chunk: bytes, text: bytes) -> bytes | None:
    """What follows the beginning of a text that a pattern without stars matches; None where it matches none."""
    while chunk:
        if not text:
            return None
        char = chunk[:1]
        if char in (b"[", b"?"):
            rune, text = _first(text)
            chunk = chunk[1:]
            if char == b"[":
                is_in, chunk = _class(chunk, rune)
                if not is_in:
                    return None
            continue
        if char == b"\\":
            chunk = chunk[1:]
            if not chunk:
                raise BadPatternError
        if chunk[0] != text[0]:
            return None
        chunk, text = chunk[1:], text[1:]
    return text


def _class(chunk: bytes, rune: str) -> tuple[bool, bytes]:
    """True if a class of characters, behind its bracket, has a character; and what follows the class."""
    is_negated = chunk[:1] == b"^"
    chunk = chunk[is_negated:]
    found, number = False, 0
    while not (number and chunk[:1] == b"]"):
        low, chunk = _member(chunk)
        high = low
        if chunk[:1] == b"-":
            high, chunk = _member(chunk[1:])
        found = found or low <= rune <= high
        number += 1
    return found != is_negated, chunk[1:]


def _member(chunk: bytes) -> tuple[str, bytes]:
    """The next character of a class, and what follows it."""
    if chunk[:1] in (b"", b"-", b"]"):
        raise BadPatternError
    rune, left = _first(chunk.removeprefix(b"\\") if chunk[:1] == b"\\" else chunk)
    if not left:
        raise BadPatternError
    return rune, left


def _first(text: bytes) -> tuple[str, bytes]:
    if not text:
        raise BadPatternError
    decoded = text[:4].decode(errors="replace")
    rune = decoded[0]
    return rune, text[1 if rune == "\ufffd" and not text.startswith("\ufffd".encode()) else len(rune.encode()) :]
