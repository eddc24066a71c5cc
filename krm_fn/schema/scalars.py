"""The nodes of scalars, by the words that the table of types uses; what judges their values."""

from __future__ import annotations

from krm_fn.quantity import parse
from krm_fn.schema.flaws import NUMBER, RANGE, TYPE, UNQUOTED, VALUE, Flaw
from krm_fn.schema.node import ANY, TEXT, TRUTH, WHOLE, Node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from krm_fn.paths import Path
    from krm_fn.schema.node import Judge

# What Go's integers hold.
BOUNDS = {
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
    "integer": (-(2**63), 2**63 - 1),
}
NUMBERS = frozenset((int, float))
QUANTITIES = frozenset((str, int, float))
BINARY_SUFFIXES = frozenset(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))
DECIMAL_SUFFIXES = frozenset("numkMGTPE")
QUANTITY = "a quantity such as 4Gi or 500m"
DURATION = "a duration such as 90s or 1h30m"
TIME = "a time such as 2024-05-01T12:00:00Z"
# What Go's time.ParseDuration reads, and its time.Parse as RFC 3339.
DURATION_FORM = r"[-+]?(0|((\d+\.?\d*|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h))+)"
TIME_FORM = (
    r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[-+]([01]\d|2[0-3]):[0-5]\d)"
)


def within(low: float | None, high: float | None) -> Judge:
    """Refuses numbers below `low` and above `high`; None is no bound."""

    def judge(value: Any, path: Path) -> Flaw | None:
        if (low is None or value >= low) and (high is None or value <= high):
            return None
        return Flaw(kind=RANGE, path=path, current=value, expected=_bounds(low, high))

    return judge


def _bounds(low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return f"at least {low}" if high is None else f"at most {high}"
    return f"{low} to {high}"


def one_of(values: Iterable[Any]) -> Judge:
    """Refuses what is none of the values."""
    known = tuple(values)

    def judge(value: Any, path: Path) -> Flaw | None:
        if value in known:
            return None
        return Flaw(kind=VALUE, path=path, current=value, known=tuple(map(str, known)))

    return judge


def matches(pattern: str) -> Judge | None:
    """Refuses texts that the regular expression doesn't find itself in; None for one that is none to Python."""
    import re  # only where a schema has a pattern

    # In Go `$` is the very end of the text, in Python a line break may follow.
    whole = pattern[:-1] + r"\Z" if pattern.endswith("$") and not pattern.endswith(r"\$") else pattern
    try:
        found = re.compile(whole)
    except (re.error, OverflowError, RecursionError):
        return None

    def judge(value: Any, path: Path) -> Flaw | None:
        if not isinstance(value, str) or found.search(value):
            return None
        return Flaw(kind=VALUE, path=path, current=value, expected=f"text of the form {pattern}")

    return judge


def every(judges: Iterable[Judge | None]) -> Judge | None:
    """The first complaint of several; None where there is no judge."""
    kept = tuple(judge for judge in judges if judge is not None)
    if len(kept) < 2:
        return kept[0] if kept else None
    return lambda value, path: next((flaw for flaw in (judge(value, path) for judge in kept) if flaw), None)


def judge_quantity(value: Any, path: Path) -> Flaw | None:
    """Refuses texts that are no quantity, and fractions that are not written as text.

    Go would read the fraction, but the CustomResourceDefinition takes integers and text only.
    """
    if type(value) is int:
        return None
    if type(value) is float:
        return _bare(UNQUOTED, value, path)
    body = value[:-2] if value[-2:] in BINARY_SUFFIXES else value[:-1] if value[-1:] in DECIMAL_SUFFIXES else value
    if (body.isascii() and body.isdigit() and len(body) < 20) or parse(value) is not None:
        return None
    kind = TYPE if parse(value.strip()) is None else UNQUOTED  # Go cuts the blanks around it off
    squeezed = value.replace(" ", "")
    proposed = {"proposed": squeezed} if squeezed != value and parse(squeezed) is not None else {}
    return Flaw(kind=kind, path=path, current=value, found="text", expected=QUANTITY, **proposed)


def judge_quoted(value: Any, path: Path) -> Flaw | None:
    """Refuses numbers, too."""
    return judge_quantity(value, path) if isinstance(value, str) else _bare(NUMBER, value, path)


def _bare(kind: str, value: float, path: Path) -> Flaw:
    return Flaw(kind=kind, path=path, current=value, proposed=str(value), found="a number", expected="a quantity in quotes")


def reads(form: str, expected: str) -> Judge:
    """Refuses texts that Go doesn't read, as they are not of the form."""

    def judge(value: Any, path: Path) -> Flaw | None:
        import re  # only where an object has one

        if re.fullmatch(form, value, re.ASCII):
            return None
        return Flaw(kind=TYPE, path=path, current=value, found="text", expected=expected)

    return judge


def text(*, judge: Judge | None = None, nullable: bool = False) -> Node:
    """A text."""
    if judge is None:
        return Node("text", plain=TEXT, nullable=nullable)
    return Node("text", accepts=TEXT, judge=judge, nullable=nullable)


def number(word: str, *, judge: Judge | None = None, nullable: bool = False) -> Node:
    """A number: `number`, or an integer of a word of BOUNDS. `judge` looks at it besides."""
    if word == "number":
        plain = NUMBERS if judge is None else frozenset[type]()
        return Node("a number", plain=plain, accepts=NUMBERS, judge=judge, nullable=nullable)
    return Node("an integer", accepts=WHOLE, judge=every((within(*BOUNDS[word]), judge)), nullable=nullable)


# Words whose values are always judged: what is expected, as which types of Python, by which judge.
JUDGED = {
    "quantity": (QUANTITY, QUANTITIES, judge_quantity),
    "bare-quantity": (QUANTITY, QUANTITIES, judge_quantity),
    "quoted-quantity": (QUANTITY, QUANTITIES, judge_quoted),
    "duration": (DURATION, TEXT, reads(DURATION_FORM, DURATION)),
    "time": (TIME, TEXT, reads(TIME_FORM, TIME)),
}


def scalar(word: str, judge: Judge | None = None) -> Node:
    """The node of a word of the table; `judge` looks at the values besides. A `?` at the end lets null pass.

    Raises: KeyError for a word that is none.
    """
    name, nullable = word.removesuffix("?"), word.endswith("?")
    if name in JUDGED:
        expected, types, own = JUDGED[name]
        return Node(expected, accepts=types, judge=own, nullable=nullable)
    match name:
        case "string":
            return text(judge=judge, nullable=nullable)
        case "boolean":
            return Node("true or false", plain=TRUTH, nullable=nullable)
        case "int-or-string":
            return Node("an integer or text", plain=TEXT, accepts=WHOLE, judge=within(*BOUNDS["int32"]), nullable=nullable)
        case "any":
            return ANY
        case _:
            return number(name, judge=judge, nullable=nullable)
