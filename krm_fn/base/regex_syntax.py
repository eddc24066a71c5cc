"""Regular expressions as Go reads them: the syntax of RE2, and the first of the leftmost matches.

`parsed` gives a tree, which `regex` runs: `("set", Letters)`, `("all", nodes)`, `("any", nodes)`, `("at", place)`,
`("repeat", node, least, most, greedy)`, `("look", node, wanted)`.

JSON Schema has the expressions of ECMAScript. Of these, look-ahead and `\\uXXXX` are read, too, where they are asked for.

upstream: Go's regexp/syntax/parse.go
"""

from __future__ import annotations

import re
import unicodedata

from krm_fn.base.annotations import Any
from krm_fn.base.expressions import expression
from krm_fn.base.value import Value
from krm_fn.base.work import Unsupported

Node = tuple[Any, ...]
Range = tuple[int, int]


LARGEST = 0x10FFFF
MOST_REPEATED = 1000
DEEPEST = 50  # groups in groups
DIGIT, SPACE, WORD = ((48, 57),), ((9, 10), (12, 13), (32, 32)), ((48, 57), (65, 90), (95, 95), (97, 122))
PERL = {"d": DIGIT, "s": SPACE, "w": WORD}
POSIX = {
    "alnum": ((48, 57), (65, 90), (97, 122)),
    "alpha": ((65, 90), (97, 122)),
    "ascii": ((0, 127),),
    "blank": ((9, 9), (32, 32)),
    "cntrl": ((0, 31), (127, 127)),
    "digit": DIGIT,
    "graph": ((33, 126),),
    "lower": ((97, 122),),
    "print": ((32, 126),),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 13), (32, 32)),
    "upper": ((65, 90),),
    "word": WORD,
    "xdigit": ((48, 57), (65, 70), (97, 102)),
}
ESCAPES = {"a": 7, "f": 12, "t": 9, "n": 10, "r": 13, "v": 11}
CATEGORIES = frozenset("L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp".split())  # noqa: SIM905
COUNT = expression(r"\{(0|[1-9][0-9]*)(?:(,)(0|[1-9][0-9]*)?)?\}")
FLAGS = expression(r"\(\?(?:P?<([A-Za-z0-9_]+)>|([imsU]*)(-[imsU]+)?([:)]))")
# Letters beyond ASCII that are the same as one of ASCII if case does not matter.
FOLDED = {"\u017f": "s", "\u212a": "k"}


class WrongPatternError(ValueError):
    """A regular expression is wrong."""


class Letters(Value):
    """A set of characters: ranges of code points, and categories of Unicode, each of which may be negated."""

    ranges: tuple[Range, ...] = ()
    categories: tuple[tuple[str, bool], ...] = ()
    negated: bool = False
    any_case: bool = False

    def has(self, letter: str) -> bool:
        """True for a character of the set. Raises: Unsupported for one that this machine does not know."""
        forms = {letter}
        if self.any_case:
            plain = FOLDED.get(letter, letter)
            forms |= {plain.lower(), plain.upper()} if plain.isascii() else set()
            forms |= {each for each, of in FOLDED.items() if of == plain.lower()}
        found = any(low <= ord(each) <= high for each in forms for low, high in self.ranges)
        return (found or self._has_category(letter)) is not self.negated

    def _has_category(self, letter: str) -> bool:
        if not self.categories:
            return False
        category = unicodedata.category(letter)
        if category == "Cn":
            raise Unsupported("a regular expression with categories on a character that is not known here")
        return any(category.startswith(name) is not negated for name, negated in self.categories)


def parsed(text: str, *, ecma: bool = False) -> Node:
    """The tree of a regular expression. Raises: WrongPatternError; Unsupported."""
    parser = _Parser(text, ecma=ecma)
    node = parser.choice()
    if parser.at < len(text):
        raise _wrong()
    return node


def _wrong() -> WrongPatternError:
    return WrongPatternError("error parsing regexp")


class _Parser:
    def __init__(self, text: str, *, ecma: bool) -> None:
        self.text, self.at, self.depth, self.ecma = text, 0, 0, ecma
        self.flags = frozenset[str]()
        self.names: set[str] = set()

    def take(self, sign: str) -> bool:
        if self.text.startswith(sign, self.at):
            self.at += len(sign)
            return True
        return False

    def choice(self) -> Node:
        nodes = [self.sequence()]
        while self.take("|"):
            nodes.append(self.sequence())
        return nodes[0] if len(nodes) == 1 else ("any", nodes)

    def sequence(self) -> Node:
        nodes: list[Node] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            if self.take("\\Q"):
                literal, _, _ = self.text[self.at :].partition("\\E")
                self.at = min(self.at + len(literal) + 2, len(self.text))
                nodes += [self.letter(ord(each)) for each in literal]
                nodes[-1:] = [self.repeated(each) for each in nodes[-1:] if literal]
                continue
            part = self.part()
            if part is not None:
                nodes.append(self.repeated(part))
            elif self.count() is not None:
                raise Unsupported("a regular expression that repeats flags")
        return ("all", nodes)

    def repeated(self, node: Node) -> Node:
        found = self.count()
        if found is None:
            return node
        least, most = found
        greedy = self.take("?") is ("U" in self.flags)
        if self.count() is not None:
            raise _wrong()
        node = "repeat", node, least, most, greedy
        if _most_repeated(node) > MOST_REPEATED:
            raise _wrong()
        return node

    def count(self) -> tuple[int, int | None] | None:
        """The least and greatest count behind a part; None if there is none."""
        for sign, counts in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.take(sign):
                return counts
        found = COUNT.match(self.text, self.at)
        if not found:
            return None
        self.at = found.end()
        if max(len(found[1]), len(found[3] or "")) > len(str(MOST_REPEATED)):
            raise _wrong()
        least = int(found[1])
        most = int(found[3]) if found[3] else None if found[2] else least
        if max(least, most or 0) > MOST_REPEATED or (most is not None and most < least):
            raise _wrong()
        return least, most

    def part(self) -> Node | None:  # noqa: PLR0911  one answer for each sign
        if self.text.startswith("(", self.at):
            return self.group()
        if self.text.startswith("[", self.at):
            return "set", self.bracket()
        if self.count() is not None:
            raise _wrong()
        if self.take("\\"):
            return self.escape()
        sign = self.text[self.at]
        self.at += 1
        if sign == "^":
            return "at", "line start" if "m" in self.flags else "start"
        if sign == "$":
            return "at", "line end" if "m" in self.flags else "end"
        if sign == ".":
            return "set", Letters().but(ranges=((0, LARGEST),) if "s" in self.flags else ((0, 9), (11, LARGEST)))
        return self.letter(ord(sign))

    def letter(self, number: int) -> Node:
        return "set", self.letters([(number, number)])

    def letters(self, ranges: list[Range], categories: tuple[tuple[str, bool], ...] = (), *, negated: bool = False) -> Letters:
        any_case = "i" in self.flags
        if any_case and (categories or any(high > 127 and (low, high) != (0, LARGEST) for low, high in ranges)):
            raise Unsupported("a regular expression without case and with characters beyond ASCII")
        return Letters(ranges=tuple(ranges), categories=categories, negated=negated, any_case=any_case)

    def group(self) -> Node | None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise Unsupported("a regular expression with many groups in groups")
        before = self.flags
        look = self.text[self.at : self.at + 3] if self.ecma else ""
        if look in ("(?=", "(?!"):
            self.at += 3
        elif self.text.startswith("(?", self.at):
            if self.flag() == ")":
                self.depth -= 1
                return None
        else:
            self.at += 1
        node = self.choice()
        if not self.take(")"):
            raise _wrong()
        self.flags, self.depth = before, self.depth - 1
        return ("look", node, look == "(?=") if look in ("(?=", "(?!") else node

    def flag(self) -> str:
        """Reads the flags or the name of a group; gives the sign at their end."""
        found = FLAGS.match(self.text, self.at)
        if not found or found[2] == found[3] == "" or (found[1] or "") in self.names:
            raise _wrong()
        if found[2] == "" and not found[3] and found[4] == ")":
            raise _wrong()
        self.at = found.end()
        if found[1]:
            self.names.add(found[1])
            return ""
        self.flags = (self.flags | set(found[2])) - set((found[3] or "")[1:])
        return found[4]

    def escape(self) -> Node:
        sign = self.text[self.at : self.at + 1]
        places = {"A": "start", "z": "end", "b": "word", "B": "no word"}
        if sign in places and sign:
            self.at += 1
            return "at", places[sign]
        found = self.class_escape()
        return ("set", found) if found else self.letter(self.number())

    def class_escape(self) -> Letters | None:
        """The set of an escape such as \\\\d; None for one of a single character."""
        sign = self.text[self.at : self.at + 1]
        if sign and sign in "dswDSW":
            self.at += 1
            return self.letters(list(PERL[sign.lower()]), negated=sign.isupper())
        if not sign or sign not in "pP":
            return None
        found = re.compile(r"([A-Z])|\{(\^?)([A-Za-z_]+)\}").match(self.text, self.at + 1)
        name = (found[1] or found[3]) if found else ""
        if name not in CATEGORIES or not found:
            raise Unsupported("a regular expression with a script, or a category that is not known here")
        self.at = found.end()
        return self.letters([], ((name, False),), negated=(sign == "P") is not (found[2] == "^"))

    def number(self) -> int:
        """The code point of an escape."""
        rest = self.text[self.at :]
        octal = re.match(r"0[0-7]{0,2}|[1-7][0-7]{1,2}", rest)
        if octal:
            self.at += octal.end()
            return int(octal[0], 8)
        base16 = re.match(r"x(?:([0-9A-Fa-f]{2})|\{([0-9A-Fa-f]{1,8})\})", rest)
        base16 = base16 or (re.match(r"u([0-9A-Fa-f]{4})()", rest) if self.ecma else None)
        if base16:
            self.at += base16.end()
            number = int(base16[1] or base16[2], 16)
            if number > LARGEST:
                raise _wrong()
            return number
        self.at += 1
        if rest[:1] in ESCAPES and rest:
            return ESCAPES[rest[0]]
        if not rest or not rest[0].isascii() or rest[0].isalnum():
            raise _wrong()
        return ord(rest[0])

    def bracket(self) -> Letters:
        self.at += 1
        negated = self.take("^")
        ranges: list[Range] = []
        categories: list[tuple[str, bool]] = []
        first = True
        while first or not self.text.startswith("]", self.at):
            if self.at >= len(self.text):
                raise _wrong()
            self.element(ranges, categories, first=first)
            first = False
        self.at += 1
        return self.letters(ranges, tuple(categories), negated=negated)

    def element(self, ranges: list[Range], categories: list[tuple[str, bool]], *, first: bool) -> None:
        """One element of a class in brackets."""
        between = not first and not self.text.startswith("-]", self.at)
        if self.text.startswith("-", self.at) and between and not self.ecma:
            raise _wrong()
        posix = re.compile(r"\[:(\^?)([a-z]+):\]").match(self.text, self.at)
        if posix:
            if posix[2] not in POSIX:
                raise _wrong()
            self.at = posix.end()
            ranges += self.outside(POSIX[posix[2]]) if posix[1] else POSIX[posix[2]]
            return
        if self.text.startswith("\\", self.at):
            self.at += 1
            found = self.class_escape()
            if found:
                categories += [(name, found.negated) for name, _ in found.categories]
                ranges += self.outside(found.ranges) if found.negated and found.ranges else found.ranges
                return
            self.at -= 1
        low = self.bound()
        high = low
        if self.text.startswith("-", self.at) and not self.text.startswith("-]", self.at) and self.at + 1 < len(self.text):
            self.at += 1
            high = self.bound()
        if high < low:
            raise _wrong()
        ranges.append((low, high))

    def outside(self, ranges: tuple[Range, ...]) -> list[Range]:
        """The ranges of all other code points, in both cases if case does not matter."""
        if "i" not in self.flags:
            return _outside(ranges)
        letters = Letters(ranges=ranges, any_case=True)
        alike = [number for number in (*range(128), *map(ord, FOLDED)) if letters.has(chr(number))]
        return _outside(tuple((number, number) for number in alike))

    def bound(self) -> int:
        """One end of a range."""
        if self.take("\\"):
            return self.number()
        if self.at >= len(self.text):
            raise _wrong()
        self.at += 1
        return ord(self.text[self.at - 1])


def _outside(ranges: tuple[Range, ...]) -> list[Range]:
    """The ranges of all other code points."""
    found, low = [], 0
    for start, end in sorted(ranges):
        if low < start:
            found.append((low, start - 1))
        low = end + 1
    return [*found, (low, LARGEST)]


def _most_repeated(node: Node) -> int:
    """How often the innermost part of a node is repeated at most, as far as numbers say it."""
    if node[0] == "repeat":
        times = max(node[2], node[3] or 0, 1)
        return int(times * _most_repeated(node[1]))
    if node[0] in ("all", "any"):
        return max(map(_most_repeated, node[1]), default=1)
    return 1
