"""Regular expressions in users' objects. Work for them is counted: for some, Python's own take exponential time.

All ways through an expression are followed at once, character after character, as Go does.

The time grows with the length of the text times the length of the expression. Simple expressions on short texts are left to
this machine's own regular expressions, which read them in the same way.

upstream: Go's regexp/syntax/compile.go, regexp/exec.go, regexp/regexp.go
"""

from __future__ import annotations

import re
from functools import lru_cache

from krm_fn.base.annotations import Any, Callable, Iterator
from krm_fn.base.expressions import expression
from krm_fn.base.regex_syntax import Letters, Node, parsed
from krm_fn.base.work import Budget, SpentError, Unsupported

Spend = Callable[[int], None]  # so many units of work; raises an error if they are not left
Search = Callable[[str, int], tuple[int, int] | None]  # from a place on: start and end of the first match


LONGEST = 4_000  # instructions of a program
# What RE2 and this machine's regular expressions read alike: no class of Perl that differs, no look-around, no reference.
ALIKE = expression(
    r"""(?:[^\\\[\]()?*+{}^$.|\s]|[ ]
    |\\[.\\+*?()|\[\]{}^$/\-]|\\[dwDW]|[.^$|]|\((?!\?)|\(\?:|\)|[*+?]\??|\{\d{1,3}(?:,\d{0,3})?\}\??
    |\[\^?(?:[^\\\[\]&~|\-]|\\[.\\+*?()|\[\]{}^$/\-dw]|(?<=[\w\]])-(?=[\w])|-(?=\])|(?<=\[)-)+\])*""",
    re.VERBOSE | re.ASCII,
)
# There, repeated groups may take for ever, and `a*+` is an operator.
NOT_ALIKE, REPEATED, CHOSEN = expression(r"\)[*+{]|[*+?}]\+"), expression(r"[*+{]"), expression(r"[?|]")
LONGEST_PATTERN = 300
MOST_WAYS, OF_UNIT = (
    10_000,
    16,
)  # ways through a text that this machine's expressions may try, and those that it tries in a unit
STEP = 4  # units for an instruction at a character


def searching(pattern: str, text: str, spend: Spend, *, ecma: bool = False) -> Search:
    """How to search a text for an expression, which spends work. Raises: WrongPatternError; Unsupported."""
    plain = _plain(pattern) if len(pattern) <= LONGEST_PATTERN and not ecma else None
    ways = _ways(pattern, len(text)) if plain else 0
    if plain and ways <= MOST_WAYS:

        def search(text: str, at: int) -> tuple[int, int] | None:
            spend(1 + ways // OF_UNIT)
            found = plain.search(text, at)
            return found.span() if found else None

        return search
    program = _program(pattern, ecma=ecma)
    spend(STEP * len(program.instructions))  # it may have been made for this text
    return lambda text, at: program.search(text, at, spend)


def matches(pattern: str, text: str, spend: Spend) -> Iterator[tuple[int, int]]:
    """The matches that do not overlap; an empty one right behind another one does not count."""
    search = searching(pattern, text, spend)
    at, before = 0, -1
    while at <= len(text):
        found = search(text, at)
        if found is None:
            return
        start, end = found
        is_empty = end == at
        if not (is_empty and start == before):
            yield found
        at, before = at + 1 if is_empty else end, end


def _ways(pattern: str, length: int) -> int:
    """How many ways through a text of a length there may be, each with the characters that it compares."""
    repeated = len(REPEATED.findall(pattern)) + (not pattern.startswith("^"))
    chosen = len(CHOSEN.findall(pattern))
    if repeated + chosen > OF_UNIT:
        return MOST_WAYS + 1
    return int((length + 1) ** repeated * 2**chosen) * (1 + len(pattern) // 4)


@lru_cache(maxsize=4_096)
def _plain(pattern: str) -> re.Pattern[str] | None:
    """The expression as this machine's regular expressions read it; None if they may read it in another way."""
    if NOT_ALIKE.search(pattern) or not ALIKE.fullmatch(pattern):
        return None
    try:
        return re.compile(_with_end(pattern), re.ASCII)
    except re.error:
        return None


def _with_end(text: str) -> str:
    """The expression with `$` at the end of the text alone, as RE2 reads it, outside of classes."""
    parts, at, inside = [], 0, False
    while at < len(text):
        letter = text[at]
        if letter == "\\":
            parts.append(text[at : at + 2])
            at += 2
            continue
        inside = (letter == "[" or inside) and not (letter == "]" and inside)
        parts.append(r"\Z" if letter == "$" and not inside else letter)
        at += 1
    return "".join(parts)


@lru_cache(maxsize=256)
def _program(pattern: str, *, ecma: bool) -> Program:
    program = Program()
    program.end = program.add(parsed(pattern, ecma=ecma), program.instruction("match"))
    return program


class Program:
    """Instructions, made from the end to the start: `set LETTERS NEXT`, `split FIRST SECOND`, `at PLACE NEXT`,
    `look PLACE WANTED NEXT`, `match`."""

    def __init__(self) -> None:
        self.instructions: list[list[Any]] = []
        self.end = 0  # where the run begins
        self._known: dict[tuple[int, str], bool] = {}

    def instruction(self, *parts: Any) -> int:
        """Adds an instruction; gives its place."""
        if len(self.instructions) > LONGEST:
            raise Unsupported("a very long regular expression")
        self.instructions.append(list(parts))
        return len(self.instructions) - 1

    def add(self, node: Node, after: int) -> int:
        """Adds the instructions of a node, which go on at another place; gives the place where they begin."""
        match node[0]:
            case "set" | "at":
                return self.instruction(node[0], node[1], after)
            case "all":
                for each in reversed(node[1]):
                    after = self.add(each, after)
                return after
            case "any":
                *others, place = [self.add(each, after) for each in node[1]]
                for each in reversed(others):
                    place = self.instruction("split", each, place)
                return place
            case "look":
                return self.instruction("look", self.add(node[1], self.instruction("match")), node[2], after)
        return self._repeat(node, after)

    def _repeat(self, node: Node, after: int) -> int:
        _, within, least, most, greedy = node
        if most is None:
            after = self._star(within, after, greedy=greedy) if least == 0 else self._plus(within, after, greedy=greedy)
            most, least = 0, least - 1
        optional = max(most - max(least, 0), 0)
        exit_place = after
        for _ in range(optional):
            after = self._either(self.add(within, after), exit_place, greedy=greedy)
        for _ in range(max(least, 0)):
            after = self.add(within, after)
        return after

    def _either(self, first: int, second: int, *, greedy: bool) -> int:
        return self.instruction("split", *((first, second) if greedy else (second, first)))

    def _plus(self, node: Node, after: int, *, greedy: bool) -> int:
        loop = self._either(-1, after, greedy=greedy)
        start = self.add(node, loop)
        self.instructions[loop][1 if greedy else 2] = start
        return start

    def _star(self, node: Node, after: int, *, greedy: bool) -> int:
        if _may_be_empty(node):
            return self._either(self._plus(node, after, greedy=greedy), after, greedy=greedy)
        loop = self._either(-1, after, greedy=greedy)
        self.instructions[loop][1 if greedy else 2] = self.add(node, loop)
        return loop

    def search(self, text: str, at: int, spend: Spend) -> tuple[int, int] | None:
        """Start and end of the first match from a place on."""
        found: tuple[int, int] | None = None
        ways: list[tuple[int, int]] = []  # places in the program with the start of the match, the best first
        for place in range(at, len(text) + 1):
            if found is None:
                ways.append((self.end, place))
            elif not ways:
                break
            ways, ended = self._step(ways, text, place, spend)
            found = ended or found
        return found

    def _is_ahead(self, at: int, text: str, place: int, spend: Spend) -> bool:
        """True if what begins at an instruction matches from a place on."""
        ways = [(at, place)]
        while ways:
            ways, ended = self._step(ways, text, place, spend)
            if ended:
                return True
            place += 1
        return False

    def _step(
        self, ways: list[tuple[int, int]], text: str, place: int, spend: Spend
    ) -> tuple[list[tuple[int, int]], tuple[int, int] | None]:
        """The ways behind one more character, and the match that ends here, which ends all ways that are worse."""
        seen: set[int] = set()
        ahead: list[tuple[int, int]] = []
        letter = text[place] if place < len(text) else None
        waiting = ways[::-1]
        while waiting:
            at, start = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            parts = self.instructions[at]
            match parts[0]:
                case "set":
                    if letter is not None and self._has(at, parts[1], letter):
                        ahead.append((parts[2], start))
                case "split":
                    waiting += [(parts[2], start), (parts[1], start)]
                case "at":
                    if _is_at(parts[1], text, place):
                        waiting.append((parts[2], start))
                case "look":
                    if self._is_ahead(parts[1], text, place, spend) is parts[2]:
                        waiting.append((parts[3], start))
                case _:
                    spend(STEP * len(seen))
                    return ahead, (start, place)
        spend(STEP * len(seen))
        return ahead, None

    def _has(self, at: int, letters: Letters, letter: str) -> bool:
        key = at, letter
        if key not in self._known:
            self._known[key] = letters.has(letter)
        return self._known[key]


def _may_be_empty(node: Node) -> bool:
    match node[0]:
        case "set":
            return False
        case "all":
            return all(map(_may_be_empty, node[1]))
        case "any":
            return any(map(_may_be_empty, node[1]))
        case "repeat":
            return node[2] == 0 or _may_be_empty(node[1])
    return True


def _is_at(what: str, text: str, place: int) -> bool:
    match what:
        case "start":
            return place == 0
        case "end":
            return place == len(text)
        case "line start":
            return place == 0 or text[place - 1] == "\n"
        case "line end":
            return place == len(text) or text[place] == "\n"
    borders = _is_word(text, place - 1) is not _is_word(text, place)
    return borders is (what == "word")


def _is_word(text: str, place: int) -> bool:
    return 0 <= place < len(text) and text[place].isascii() and (text[place].isalnum() or text[place] == "_")


UNITS = 2_000_000  # of work for the expressions of a run
MOST_KNOWN = 10_000  # answers that are kept; most objects repeat the texts of others


class Patterns:
    """Matches the regular expressions of one run, as Go reads them, until the work for them is done."""

    def __init__(self) -> None:
        self.renew()

    def renew(self) -> None:
        """Start a run, with all the work."""
        self._budget = Budget(UNITS)
        self._known: dict[tuple[str, str], bool | None] = {}

    def finds(self, expression: str, text: str) -> bool | None:
        """True if the expression is found in the text; None if that takes too much work to find out, or it can't be read."""
        key = expression, text
        if key in self._known:
            return self._known[key]
        found = self._found(expression, text)
        if len(self._known) < MOST_KNOWN:
            self._known[key] = found
        return found

    def _found(self, expression: str, text: str) -> bool | None:
        if not self.allows(0):  # before the expression is compiled
            return None
        from krm_fn.base.regex_syntax import WrongPatternError

        try:
            return searching(expression, text, self._budget.spend)(text, 0) is not None
        except (Unsupported, WrongPatternError):
            return None

    def allows(self, units: int) -> bool:
        """True if so many units of work are left, which are spent now."""
        try:
            self._budget.spend(units)
        except SpentError:
            return False
        return True


# For the definitions that the process has read last.
OF_DEFINITIONS = Patterns()
