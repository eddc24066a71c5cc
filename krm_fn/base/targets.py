"""Targets: which objects a user means, as kustomize selects the targets of its patches.

upstream: https://github.com/kubernetes-sigs/kustomize, api/types/selector.go:SelectorRegex
"""

from __future__ import annotations

import re
from functools import lru_cache

from krm_fn.base.annotations import Any, Callable, Iterable, Iterator
from krm_fn.base.bundle import effective_namespace
from krm_fn.base.expressions import expression
from krm_fn.base.objects import Object, annotations_of, group_of, kind_of, labels_of, name_of, text
from krm_fn.base.regex import Patterns
from krm_fn.base.regex_syntax import WrongPatternError, parsed
from krm_fn.base.value import Value
from krm_fn.base.work import Unsupported

Requirement = tuple[str, str, frozenset[str]]  # key, one of OPERATORS, values


# Key of a target to the text of an object that its regular expression must match as a whole.
TEXTS: dict[str, Callable[[Object], str]] = {
    "group": group_of,
    "version": lambda obj: text(obj.get("apiVersion")).rpartition("/")[2],
    "kind": kind_of,
    "name": name_of,
    "namespace": effective_namespace,
}
SELECTORS: dict[str, Callable[[Object], Object]] = {"labelSelector": labels_of, "annotationSelector": annotations_of}
KEYS = (*TEXTS, *SELECTORS)
LONGEST = 1_000  # characters of a regular expression or a selector
OF_PATTERN = 8  # comparisons that cost as much as one with an expression
LITERAL = expression(r"[A-Za-z0-9-]+")  # an expression that only its own text matches
NARROWEST = ("name", "namespace", "kind", "group", "version")  # of the texts, that of the fewest objects first
# One requirement of a selector such as `tier=db,env in (a, b),!test`.
_PART = expression(
    r"\s*(?:(?P<absent>!)\s*(?P<no>[^\s,!=()]+)|(?P<key>[^\s,!=()]+)\s*"
    r"(?:(?P<set>in|notin)\s*\((?P<values>[^()]*)\)|(?P<op>==|=|!=)\s*(?P<value>[^\s,!=()]*))?)\s*(?:,|$)"
)


class PatchTarget(Value):
    """What a target selects: objects that have all `texts`, whose texts match all `patterns`, and whose labels and annotations
    meet `requirements`."""

    texts: tuple[tuple[str, str], ...] = ()
    patterns: tuple[tuple[str, str], ...] = ()
    requirements: tuple[tuple[str, tuple[Requirement, ...]], ...] = ()

    @property
    def size(self) -> int:
        """How many comparisons `selects` may make."""
        meeting = sum(len(some) for _, some in self.requirements)
        return 1 + len(self.texts) + meeting + OF_PATTERN * len(self.patterns)

    def selects(self, obj: Object, matcher: Patterns) -> bool | None:
        """True for an object that is meant; None if an expression takes too long to find out."""
        if not all(TEXTS[key](obj) == given for key, given in self.texts):
            return False
        if not all(_meets(SELECTORS[key](obj), each) for key, some in self.requirements for each in some):
            return False
        found = [matcher.finds(pattern, TEXTS[key](obj)) for key, pattern in self.patterns]
        return False if False in found else None if None in found else True


class Index:
    """Which of several targets may select an object, by the texts that targets name without an expression."""

    def __init__(self, targets: Iterable[dict[str, str]]) -> None:
        self._numbers: dict[tuple[str, str], list[int]] = {}
        for number, given in enumerate(targets):
            literal = next((key for key in NARROWEST if LITERAL.fullmatch(given.get(key, ""))), "")
            self._numbers.setdefault((literal, given.get(literal, "")), []).append(number)
        self._keys = tuple({key for key, _ in self._numbers} - {""})

    def near(self, obj: Object) -> list[int]:
        """The numbers of the targets that may select the object, in order."""
        named = (self._numbers.get((key, TEXTS[key](obj)), ()) for key in self._keys)
        return sorted((*self._numbers.get(("", ""), ()), *(number for numbers in named for number in numbers)))


def target_of(given: dict[str, Any]) -> PatchTarget:
    """The target that a map describes; keys that are null or "" have no effect. Raises: ValueError with key and reason."""
    patterns = [(key, _pattern(key, given[key])) for key in TEXTS if given.get(key)]
    return PatchTarget(
        texts=tuple((key, given[key]) for key, _ in patterns if LITERAL.fullmatch(given[key])),
        patterns=tuple((key, pattern) for key, pattern in patterns if not LITERAL.fullmatch(given[key])),
        requirements=tuple((key, tuple(_requirements(key, given[key]))) for key in SELECTORS if given.get(key)),
    )


@lru_cache(maxsize=1_000)  # explain makes the patches ready again for each field that it leaves out
def _pattern(key: str, expression: str) -> str:
    """The expression that a text must match; one that only its own text matches stays as it is. Raises: ValueError."""
    if len(expression) > LONGEST:
        raise ValueError(key, f"the expression is longer than {LONGEST} characters")
    if LITERAL.fullmatch(expression):
        return expression
    try:
        re.compile(expression)  # its errors say what is wrong
        parsed(expression)
    except (re.error, OverflowError, RecursionError, Unsupported) as error:
        raise ValueError(key, f"the regular expression is wrong: {error}") from None
    except WrongPatternError:
        raise ValueError(key, "the regular expression is wrong: kustomize does not know its syntax, which is RE2's") from None
    return f"^(?:{expression})$"


def _requirements(key: str, selector: str) -> Iterator[Requirement]:
    """upstream: k8s.io/apimachinery pkg/labels/selector.go:Parse"""
    if len(selector) > LONGEST:
        raise ValueError(key, f"the selector is longer than {LONGEST} characters")
    at = 0
    while at < len(selector):
        part = _PART.match(selector, at)
        if part is None:
            raise ValueError(key, "the selector is wrong; expected one such as tier=db,env in (a, b),!test")
        yield _requirement(part)
        at = part.end()


def _requirement(part: re.Match[str]) -> Requirement:
    if part["absent"]:
        return part["no"], "absent", frozenset()
    if part["set"]:
        return part["key"], part["set"], frozenset(value.strip() for value in part["values"].split(","))
    if part["op"]:
        return part["key"], "notin" if part["op"] == "!=" else "in", frozenset((part["value"],))
    return part["key"], "present", frozenset()


def _meets(labels: Object, requirement: Requirement) -> bool:
    """An absent label meets `notin`, as in Kubernetes."""
    key, operator, values = requirement
    if operator in ("present", "absent"):
        return (key in labels) == (operator == "present")
    return (key in labels and labels[key] in values) == (operator == "in")
