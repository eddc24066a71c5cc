"""Texts with `${variables}`, as Flux parses them: its fork of drone/envsubst, whose oddities are kept.

All is bytes: offsets and lengths count these, as in Go.
upstream: fluxcd/pkg envsubst/parse/parse.go, envsubst/parse/scan.go
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

Accept = Callable[[str, int], bool]


END = "\0"
DEEPEST = 100  # levels of expressions in one another; Go has no limit
DEFAULTS = "=-?+"  # what may follow the colon in `${name:-word}`


class BadSubstitutionError(Exception):
    """A `${` that can't be parsed."""


class Expression(NamedTuple):
    """A `${}`: its variable, the operator behind it ("" for none), and the arguments of that."""

    variable: bytes
    operator: str = ""
    arguments: tuple[bytes | Expression, ...] = ()


def parsed(text: bytes) -> list[bytes | Expression]:
    """The plain texts and the expressions of a text, in order. Raises: BadSubstitutionError."""
    return _Parser(text).whole()


class _Scanner:
    """A text and the place in it. `width` is the length of the character that was read or peeked last: `back` goes so far."""

    def __init__(self, text: bytes) -> None:
        self.text, self.at, self.start, self.width = text, 0, 0, 0
        self.escapes_backslash, self._has_end = False, END.encode() in text
        self._kept: list[bytes] = []  # what is read of a token up to the last character that only escapes

    def plain(self) -> bytes:
        """What comes before the next `$`, which is read at once; nothing in a text with the character that is the end."""
        if self._has_end:
            return b""
        start, found = self.at, self.text.find(b"$", self.at)
        self.at = len(self.text) if found < 0 else found
        return self.text[start : self.at]

    def begin(self) -> None:
        """Start a token here."""
        self.start, self._kept = self.at, []

    def read(self) -> str:
        if self.at >= len(self.text):
            self.width = 0
            return END
        char, self.width = _rune(self.text, self.at)
        self.at += self.width
        return char

    def back(self) -> None:
        self.at -= self.width

    def peek(self) -> str:
        char = self.read()
        self.back()
        return char

    def token(self) -> bytes:
        return b"".join((*self._kept, self.text[self.start : self.at]))

    def opens(self, char: str) -> bool:
        """True at `${`, which is read."""
        if char != "$":
            return False
        if self.read() == "{":
            return True
        self.back()
        return False

    def escaped(self, char: str) -> bool:
        """True for a character that escapes the next one, which is read; the token is without the first one."""
        after = self.peek() if char in "$\\" else END
        found = after == "$" if char == "$" else self.escapes_backslash and after in ("/", "\\")
        if found:
            self._kept.append(self.text[self.start : self.at - 1])
            self.start, self.at = self.at, self.at + 1
        return found

    def closes(self) -> None:
        """Read the closing bracket."""
        if self.read() != "}":
            raise BadSubstitutionError

    def word(self, accept: Accept, *, opening: bool = False, escaping: bool = False) -> bool:
        """Read the characters that are accepted, of which there must be one; up to `${` with `opening`."""
        char = self.read()
        taken = escaping and self.escaped(char)
        if not taken and (char == END or not accept(char, self.at - self.start)):
            return False
        while True:
            char = self.read()
            if char == END:
                self.back()
                return True
            if opening and self.opens(char):
                self.back()
                self.back()
                return True
            if escaping and self.escaped(char):
                continue
            if not accept(char, self.at - self.start):
                self.back()
                return True

    def name(self, accept: Accept) -> bytes:
        """The next characters that are accepted, at least one."""
        self.begin()
        if not self.word(accept):
            raise BadSubstitutionError
        return self.token()


class _Parser:
    def __init__(self, text: bytes) -> None:
        self._scan = _Scanner(text)
        self._depth = 0

    def whole(self) -> list[bytes | Expression]:
        scan = self._scan
        found: list[bytes | Expression] = []
        while True:
            if plain := scan.plain():
                found.append(plain)
            scan.begin()
            scan.escapes_backslash = False
            char = scan.read()
            if char == END:
                return found
            if scan.opens(char):
                found.append(self._expression())
                continue
            scan.at = scan.start
            scan.word(lambda _, __: True, opening=True, escaping=True)
            found.append(scan.token())

    def _expression(self) -> Expression:
        """What follows `${`."""
        scan = self._scan
        scan.escapes_backslash = True
        if scan.peek() == "#":
            operator = scan.name(lambda char, at: char == "#" and at == 1)
            return self._closed(scan.name(_identifier), operator)
        variable = scan.name(_identifier)
        char = scan.peek()
        if char == ":":
            scan.read()
            follows = scan.peek() in DEFAULTS
            scan.back()
            return self._default(variable) if follows else self._part(variable)
        if char == "=":
            return self._default(variable)
        if char == "/":
            return self._replacement(variable)
        if char in ("#", "%"):
            return self._removal(variable)
        return self._casing(variable) if char in (",", "^") else self._closed(variable)

    def _closed(self, variable: bytes, operator: bytes = b"", *arguments: bytes | Expression) -> Expression:
        self._scan.closes()
        return Expression(variable, operator.decode(), arguments)

    def _argument(self, accept: Accept, *, escaping: bool = False) -> bytes | Expression:
        scan = self._scan
        scan.begin()
        if scan.opens(scan.read()):
            return self._nested()
        scan.at = scan.start
        if not scan.word(accept, opening=True, escaping=escaping):
            raise BadSubstitutionError
        return scan.token()

    def _nested(self) -> Expression:
        """An expression inside another one."""
        self._depth += 1
        if self._depth > DEEPEST:
            raise BadSubstitutionError
        found = self._expression()
        self._depth -= 1
        return found

    def _part(self, variable: bytes) -> Expression:
        """`${name:offset}` and `${name:offset:length}`."""
        scan = self._scan
        operator = scan.name(lambda char, at: char == ":" and at == 1)
        offset = self._argument(lambda char, _: char not in ":}")
        if scan.peek() == "}":
            return self._closed(variable, operator, offset)
        scan.name(lambda char, _: char == ":")
        return self._closed(variable, operator, offset, self._argument(_inside))

    def _removal(self, variable: bytes) -> Expression:
        """`${name#pattern}`, `##`, `%` and `%%`."""
        sign = self._scan.peek()
        operator = self._scan.name(lambda char, at: char == sign and at <= 2)
        return self._closed(variable, operator, self._argument(_inside))

    def _casing(self, variable: bytes) -> Expression:
        """`${name,}`, `,,`, `^` and `^^`."""
        return self._closed(variable, self._scan.name(lambda char, at: char in ",^" and at <= 2))

    def _replacement(self, variable: bytes) -> Expression:
        """`${name/pattern/text}`, and with `//`, `/#` or `/%` in front."""
        scan = self._scan
        operator = scan.name(lambda char, at: (at == 1 and char == "/") or (at == 2 and char in "/#%"))
        pattern = self._argument(lambda char, _: char != "/", escaping=True)
        scan.name(lambda char, _: char == "/")
        if scan.peek() == "}":
            return self._closed(variable, operator, pattern)
        return self._closed(variable, operator, pattern, self._argument(_inside, escaping=True))

    def _default(self, variable: bytes) -> Expression:
        """`${name=word}`, `${name:-word}`, and the like."""
        scan = self._scan
        if scan.peek() == "=":
            operator = scan.name(lambda char, at: at == 1 and char == "=")
        else:
            operator = scan.name(lambda char, at: (at == 1 and char == ":") or (at == 2 and char in DEFAULTS))
        arguments = []
        while scan.peek() != "}":
            arguments.append(self._argument(_inside))
        return self._closed(variable, operator, *arguments)


def _inside(char: str, _: int) -> bool:
    return char != "}"


def _identifier(char: str, _: int) -> bool:
    return char.isalpha() or char.isdecimal() or char == "_"


def _rune(text: bytes, at: int) -> tuple[str, int]:
    """The character at a place, and its length in bytes; one that is none is one byte long."""
    first = text[at]
    length = 1 if first < 0xC0 else 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    try:
        return text[at : at + length].decode(), length
    except UnicodeDecodeError:
        return "\ufffd", 1
