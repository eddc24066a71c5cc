"""The nodes of scalars, by the words of the table of types, with the checks of the API server and of webhooks.

The API server uses the CustomResourceDefinition. KubeVirt's webhooks decode the object with Go, whose integers have other
ranges, and whose durations and times have other forms.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterable
from krm_fn.base.paths import Path, is_integral
from krm_fn.base.quantity import parse
from krm_fn.kubevirt.schema.constraints import every, within
from krm_fn.kubevirt.schema.flaws import NUMBER, TYPE, UNQUOTED, Flaw, Judge
from krm_fn.kubevirt.schema.node import ANY, INTEGER, TEXT, TRUTH, SchemaNode

# The range of each of Go's integers.
INTEGERS = {
    "int": (-(2**63), 2**63 - 1),
    "int32": (-(2**31), 2**31 - 1),
    "int64": (-(2**63), 2**63 - 1),
    "uint": (0, 2**64 - 1),
    "uint8": (0, 2**8 - 1),
    "uint32": (0, 2**32 - 1),
    "uint64": (0, 2**64 - 1),
}
# The format that CustomResourceDefinitions give to fields of these types by default; other integers have none.
FORMATS = {"int32": "int32", "uint32": "int32", "int64": "int64", "uint64": "int64"}
NUMBERS = frozenset((int, float))
QUANTITIES = frozenset((str, int, float))
BINARY_SUFFIXES = frozenset(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"))
DECIMAL_SUFFIXES = frozenset("numkMGTPE")
QUANTITY = "a quantity such as 4Gi or 500m"
# The pattern in CustomResourceDefinitions.
QUANTITY_FORM = (
    r"(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?"
)
# Common spellings of a quantity of bytes, such as 8GB, 8 GiB or 8g.
BYTES_FORM = r"(\d+(?:\.\d+)?) ?([kmgtpe])(i?)b?"
DURATION = "a duration such as 90s or 1h30m"
TIME = "a time such as 2024-05-01T12:00:00Z"
# The texts that Go's time.ParseDuration accepts.
DURATION_FORM = r"[-+]?(0|((\d+(\.\d*)?|\.\d+)(ns|us|\u00b5s|\u03bcs|ms|s|m|h))+)"
# The blanks that Go removes, and that JSON does not escape.
BLANKS = " \u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"


def judge_quantity(value: Any, path: Path) -> Flaw | None:
    """Refuses values that are no quantity in the CustomResourceDefinition, which accepts text of one form, and integers.

    Go would accept fractions, larger numbers, and text with blanks around it.
    """
    if isinstance(value, int | float):
        low, high = INTEGERS["int64"]
        if low <= value <= high if isinstance(value, int) else is_integral(value):
            return None
        return _bare(UNQUOTED, value, path)
    if is_quantity(value):
        return None
    bare = value.strip(BLANKS)
    if is_quantity(bare) and parse(bare) is not None:
        found = "a quantity with white space around it"
        return Flaw(kind=UNQUOTED, path=path, current=value, proposed=bare, found=found, expected="one without it")
    return _misspelt(TYPE if parse(bare) is None else UNQUOTED, value, path)


def _misspelt(kind: str, value: str, path: Path) -> Flaw:
    """The flaw of a text that is no quantity, with the quantity that is meant, or with both candidates."""
    meant = _meant(value.strip(BLANKS))
    if len(meant) == 1:
        return Flaw(kind=kind, path=path, current=value, proposed=meant[0], found="a string", expected=QUANTITY)
    found = repr(value) if meant else "a string"  # an amount is no secret
    return Flaw(kind=kind, path=path, current=value, found=found, expected=" or ".join(meant) or QUANTITY)


def _meant(text: str) -> tuple[str, ...]:
    """The quantities that a text may mean: `8Gi` for `8 Gi` and `8GiB`, `8G` and `8Gi` for `8GB`; none for other text."""
    import re

    squeezed = text.replace(" ", "")
    if is_quantity(squeezed):
        return (squeezed,)
    found = re.fullmatch(BYTES_FORM, text, re.ASCII | re.IGNORECASE)
    if not found:
        return ()
    number, letter, binary = found.groups()
    unit = letter.upper()
    return (f"{number}{unit}i",) if binary else (f"{number}{unit if unit != 'K' else 'k'}", f"{number}{unit}i")


def is_plain_quantity(value: Any) -> bool:
    """True for digits and a suffix, which both the API server and Go accept as a quantity."""
    if type(value) is not str:
        return False
    body = value[:-2] if value[-2:] in BINARY_SUFFIXES else value[:-1] if value[-1:] in DECIMAL_SUFFIXES else value
    return body.isascii() and body.isdigit() and len(body) < 20


def is_quantity(text: str) -> bool:
    """True for text that matches the pattern of quantities in CustomResourceDefinitions."""
    import re  # needed only for unusual text

    return re.fullmatch(QUANTITY_FORM, text) is not None


def judge_for_go(value: Any, path: Path) -> Flaw | None:
    """Refuses text that Go does not accept as a quantity."""
    if not isinstance(value, str) or parse(value.strip(BLANKS)) is not None:
        return None
    return _misspelt(TYPE, value, path)


def judge_quoted(value: Any, path: Path) -> Flaw | None:
    """The same, but refuses numbers, too."""
    return judge_for_go(value, path) if isinstance(value, str) else _bare(NUMBER, value, path)


def _bare(kind: str, value: float, path: Path) -> Flaw:
    return Flaw(kind=kind, path=path, current=value, proposed=str(value), found="a number", expected="a quantity in quotes")


def judge_duration(value: Any, path: Path) -> Flaw | None:
    """Refuses text that Go does not accept as a duration."""
    import re  # needed only for durations

    if re.fullmatch(DURATION_FORM, value, re.ASCII):
        return None
    return Flaw(kind=TYPE, path=path, current=value, found="a string", expected=DURATION)


def judge_time(value: Any, path: Path) -> Flaw | None:
    """Refuses text that a CustomResourceDefinition does not accept as a time. It accepts a list, because it checks only text.

    upstream: k8s.io/kube-openapi/pkg/validation/validate/type.go:Validate
    """
    from krm_fn.kubevirt.schema.formats import is_date_time  # needed only for times

    if isinstance(value, list) or is_date_time(value):
        return None
    return Flaw(kind=TYPE, path=path, current=value, found="a string", expected=TIME)


def judge_go_time(value: Any, path: Path) -> Flaw | None:
    """Refuses values that Go does not accept as a time."""
    from krm_fn.kubevirt.schema.formats import is_go_time

    if isinstance(value, list):
        return Flaw(kind=TYPE, path=path, found="a list", expected=TIME)
    return None if is_go_time(value) else Flaw(kind=TYPE, path=path, current=value, found="a string", expected=TIME)


# Words whose values are always checked: what is expected, Python's types, the judge of the API server, that of Go.
CHECKED: dict[str, tuple[str, frozenset[type], Judge | None, Judge | None]] = {
    "quantity": (QUANTITY, QUANTITIES, judge_quantity, judge_for_go),
    "bare-quantity": (QUANTITY, QUANTITIES, judge_quantity, judge_for_go),
    "quoted-quantity": (QUANTITY, QUANTITIES, judge_quantity, judge_quoted),
    "duration": (DURATION, TEXT, None, judge_duration),
    "time": (TIME, TEXT | {list}, judge_time, judge_go_time),
    "int-or-string": ("an integer or a string", TEXT | INTEGER, within(*INTEGERS["int64"]), within(*INTEGERS["int32"])),
}
# Words for which every value of their types is valid.
PLAIN = {
    "string": ("a string", TEXT),
    "boolean": ("true or false", TRUTH),
    "number": ("a number", NUMBERS),
}


def scalar(word: str, judges: Iterable[Judge | None] = (), webhooks: Iterable[Judge | None] = ()) -> SchemaNode:
    """The node of a word of the table that is no integer; `judges` are more judges of the API server, `webhooks` of webhooks.

    Raises: KeyError for an unknown word.
    """
    if word == "any":
        return ANY
    if word in PLAIN:
        (expected, types), first, second = PLAIN[word], None, None
    else:
        expected, types, first, second = CHECKED[word]
    judge, hook = every((first, *judges)), every((second, *webhooks))
    if judge or hook:
        return SchemaNode(
            expected, accepts=types, judge=judge, hook=hook, sure=is_plain_quantity if judge is judge_quantity else None
        )
    return SchemaNode(expected, plain=types)


def integer(word: str, format: str, low: int | None, high: int | None) -> SchemaNode:  # noqa: A002  a definition's own word
    """The node of one of Go's integers; `format` ("" for none), `low` and `high` are those of the CustomResourceDefinition."""
    least, most = INTEGERS[format or "int64"]
    least, most = least if low is None else low, most if high is None else high
    go_least, go_most = INTEGERS[word]
    lowest, highest = max(least, go_least), min(most, go_most)
    words = f"{lowest} to {highest}"
    return SchemaNode(
        "an integer",
        accepts=INTEGER,
        judge=within(least, most, words=words),
        hook=within(go_least, go_most, words=words),
        sure=lambda value: lowest <= value <= highest,
    )
