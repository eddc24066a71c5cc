"""The constraints of a schema: for each keyword of a CustomResourceDefinition, the judge that checks it.

The table of the releases' own types and the CustomResourceDefinitions of a bundle use the same keywords.

A complete list is checked for its number of entries, and for entries that may occur only once.

upstream: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype/validation.go:ValidateListSetsAndMaps
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterable, Iterator, Sequence
from krm_fn.base.paths import Path
from krm_fn.kubevirt.schema.flaws import COUNT, DUPLICATE, LENGTH, MOST_KNOWN, RANGE, VALUE, Flaw, Judge

NUMBERS = (int, float)
MOST = 2**64  # larger numbers are not computed with
# The CEL rules of KubeVirt's definitions, by their texts without blanks: a check that is equivalent, and the words
# for the values that it accepts. A test fails if the definitions of a release have a rule that is not here. Unknown rules of
# other definitions are not evaluated. Kubernetes evaluates a rule only if the value has the right type, and so do we.
RULES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "self.startsWith('/')": (lambda value: value.startswith("/"), "an absolute path, which starts with '/'"),
    "!self.contains('..')": (lambda value: ".." not in value, "a path without '..'"),
    "self==true": (lambda value: value is True, "true"),
}


def within(low: float | None, high: float | None, *, exclusive: bool = False, words: str = "") -> Judge:
    """Refuses numbers below `low` and above `high`, and these two if they are `exclusive`; None is no limit.

    `words` replace the expected range in the message, if something else also limits the number.
    """
    expected = words or _bounds(low, high, exclusive=exclusive)

    def judge(value: Any, path: Path) -> Flaw | None:
        if not isinstance(value, NUMBERS) or isinstance(value, bool):
            return None  # a text may be allowed in the same place
        if (low is None or value >= low) and (high is None or value <= high) and not (exclusive and value in (low, high)):
            return None
        return Flaw(kind=RANGE, path=path, current=value, expected=expected)

    return judge


def _bounds(low: float | None, high: float | None, *, exclusive: bool = False) -> str:
    if low is not None and high is not None:
        return f"{low} to {high}"
    if exclusive:
        return f"less than {high}" if low is None else f"more than {low}"
    return f"at most {high}" if low is None else f"at least {low}"


def multiple_of(factor: float) -> Judge:
    """Refuses numbers that are not multiples of the factor.

    upstream: k8s.io/kube-openapi/pkg/validation/validate/values.go:MultipleOf
    """

    def judge(value: Any, path: Path) -> Flaw | None:
        if not isinstance(value, NUMBERS) or isinstance(value, bool):
            return None
        if abs(value) > MOST or (value / factor if factor >= 1 else 1 / factor * value).is_integer():
            return None
        return Flaw(kind=RANGE, path=path, current=value, expected=f"a multiple of {factor}")

    return judge


def length(low: int, high: int | None) -> Judge:
    """Refuses texts with fewer or more characters; None is no limit."""

    def judge(value: Any, path: Path) -> Flaw | None:
        if not isinstance(value, str) or (low <= len(value) and (high is None or len(value) <= high)):
            return None
        found, expected = counted(len(value), "character"), between(len(value), low, high, "character")
        return Flaw(kind=LENGTH, path=path, current=len(value), found=found, expected=expected)

    return judge


def between(number: int, low: int, high: int | None, one: str, many: str = "") -> str:
    """`at most 4 characters`: the limit that the number exceeds or does not reach."""
    word, bound = ("at most", high) if high is not None and number > high else ("at least", low)
    return f"{word} {counted(bound, one, many)}"


def counted(number: int, one: str, many: str = "") -> str:
    """`1 entry`, `2 entries`."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def one_of(values: Iterable[Any]) -> Judge:
    """Refuses values that are not in `values`."""
    listed = tuple(values)
    words = frozenset(value for value in listed if isinstance(value, str))
    others = [value for value in listed if not isinstance(value, str)]
    few = len(listed) <= MOST_KNOWN
    named = tuple(map(str, listed)) if few else ()
    expected = "" if few else f"one of the {len(listed):,} values that the schema lists"

    def judge(value: Any, path: Path) -> Flaw | None:
        if type(value) is str:
            known = value in words
        else:
            known = any(value == each and isinstance(value, bool) == isinstance(each, bool) for each in others)
        if known:
            return None
        return Flaw(kind=VALUE, path=path, current=value, known=named, expected=expected)

    return judge


def matches(pattern: str) -> Judge | None:
    """Refuses texts in which the regular expression is not found; None for an expression that can't be read."""
    from krm_fn.base.regex import OF_DEFINITIONS  # needed only for patterns
    from krm_fn.base.regex_syntax import WrongPatternError, parsed
    from krm_fn.base.work import Unsupported

    try:
        parsed(pattern)
    except (Unsupported, WrongPatternError):
        return None

    def judge(value: Any, path: Path) -> Flaw | None:
        if not isinstance(value, str) or OF_DEFINITIONS.finds(pattern, value) is not False:
            return None
        return Flaw(kind=VALUE, path=path, current=value, expected=f"a string of the form {pattern}")

    return judge


def of_form(name: str) -> Judge | None:
    """Refuses texts that do not have a format; None for a format that is not checked."""
    from krm_fn.kubevirt.schema.formats import FORMATS  # needed only for formats

    form = FORMATS.get(name.replace("-", ""))
    if form is None:
        return None

    def judge(value: Any, path: Path) -> Flaw | None:
        if not isinstance(value, str) or form(value):
            return None
        return Flaw(kind=VALUE, path=path, current=value, expected=f"a string of the format {name}")

    return judge


def obeys(rule: object) -> Judge | None:
    """Refuses values for which the CEL rule is false; None for an unknown rule."""
    found = RULES.get("".join(rule.split())) if isinstance(rule, str) else None
    if found is None:
        return None
    check, words = found

    def judge(value: Any, path: Path) -> Flaw | None:
        return None if check(value) else Flaw(kind=VALUE, path=path, current=value, expected=words)

    return judge


def every(judges: Iterable[Judge | None]) -> Judge | None:
    """The first flaw of several judges; None if there is no judge."""
    kept = tuple(judge for judge in judges if judge is not None)
    if len(kept) < 2:
        return kept[0] if kept else None
    return lambda value, path: next((flaw for flaw in (judge(value, path) for judge in kept) if flaw), None)


# The judges of keywords that need only their value.
JUDGES: dict[str, Callable[[Any], Judge | None]] = {
    "enum": one_of,
    "minimum": lambda low: within(low, None),
    "maximum": lambda high: within(None, high),
    "multipleOf": multiple_of,
    "minLength": lambda low: length(low, None),
    "maxLength": lambda high: length(0, high),
    "pattern": matches,
    "rule": obeys,
}


Check = Callable[[Any, Path], Iterator[Flaw]]


def numbered(low: int, high: int | None, one: str = "entry", many: str = "entries") -> Check:
    """Refuses lists and maps with fewer or more entries; None is no limit."""

    def check(value: Any, path: Path) -> Iterator[Flaw]:
        if low <= len(value) and (high is None or len(value) <= high):
            return
        expected = between(len(value), low, high, one, many)
        yield Flaw(kind=COUNT, path=path, current=len(value), found=counted(len(value), one, many), expected=expected)

    return check


def unique(value: Any, path: Path) -> Iterator[Flaw]:
    """Refuses each entry that equals an earlier one, once."""
    yield from _repeated(value, path, [_frozen(each) for each in value])


def keyed(keys: Sequence[str], defaults: dict[str, Any] | None = None) -> Check:
    """Refuses each entry whose keys have the same values as those of an earlier one; an absent key has its default."""

    def check(value: Any, path: Path) -> Iterator[Flaw]:
        entries = [{**(defaults or {}), **each} if isinstance(each, dict) else {} for each in value]
        shown = [{key: each[key] for key in keys if key in each} for each in entries]
        yield from _repeated(shown, path, [_frozen(each) for each in shown])

    return check


def _repeated(shown: Sequence[Any], path: Path, frozen: Sequence[Any]) -> Iterator[Flaw]:
    seen: dict[Any, int] = {}
    for index, each in enumerate(frozen):
        seen[each] = seen.get(each, 0) + 1
        if seen[each] == 2:
            yield Flaw(kind=DUPLICATE, path=(*path, index), current=shown[index])


def _frozen(value: Any) -> Any:
    """A hashable form of a value; two forms are equal if Kubernetes considers the values equal."""
    if isinstance(value, dict):
        return "map", frozenset((key, _frozen(below)) for key, below in value.items())
    if isinstance(value, list):
        return "list", tuple(map(_frozen, value))
    return type(value) is bool, isinstance(value, str), value
