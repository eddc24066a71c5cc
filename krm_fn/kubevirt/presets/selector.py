"""Label selectors: whether they are valid, and which labels they match.

upstream: k8s.io/apimachinery pkg/apis/meta/v1/helpers.go:LabelSelectorAsSelector, pkg/labels/selector.go:NewRequirement
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_list, as_map
from krm_fn.base.value import Value
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.admission.formats import is_label_value, is_qualified_name

Labels = dict[str, str | None]
Values = dict[str, set[str] | None]  # None stands for any value


# The number of values of each operator: True at least one, False none.
OPERATORS = {"In": True, "NotIn": True, "Exists": False, "DoesNotExist": False}

MAX_NAME = 63


class Problem(Value):
    """Why a selector is invalid. `path` starts at the selector; `reason` is one of

        form            it, or a part of it, does not have the shape of the API
        key             a label key that is no qualified name
        value           an invalid label value
    operator        none of the four operators
    values-missing  In and NotIn without a value
    values-given    Exists and DoesNotExist with values
    """

    reason: str
    path: Path
    current: Any = UNSET


class Selector:
    """A valid selector, by label keys: `wanted` must exist, `unwanted` must not, each with one of some values or with any.

    An empty or absent selector matches all labels.
    """

    __slots__ = ("unwanted", "wanted")

    def __init__(self, selector: object) -> None:
        read = as_map(selector)
        self.wanted: Values = {key: {value} for key, value in as_map(read.get("matchLabels")).items()}
        self.unwanted: Values = {}
        for expression in as_list(read.get("matchExpressions")):
            self._add(expression["key"], expression["operator"], set(as_list(expression.get("values"))))

    def _add(self, key: str, operator: str, values: set[str]) -> None:
        match operator:
            case "In":
                before = self.wanted.get(key)
                self.wanted[key] = values if before is None else before & values
            case "Exists":
                self.wanted.setdefault(key, None)
            case "NotIn":
                known = self.unwanted.setdefault(key, set())
                if known is not None:
                    known |= values
            case _:
                self.unwanted[key] = None

    def takes(self, labels: Labels) -> bool:
        """True if it matches these labels."""
        for key, values in self.wanted.items():
            if key not in labels or not (values is None or labels[key] in values):
                return False
        if not self.unwanted:
            return True
        return not any(self._refuses(key, value) for key, value in labels.items())

    def _refuses(self, key: str, value: str | None) -> bool:
        if key not in self.unwanted:
            return False
        values = self.unwanted[key]
        return values is None or value in values


def selects(selector: object, labels: Object) -> bool:
    """True if a selector takes some labels. An absent one takes none, and so does one that no API server accepts."""
    return selector is not None and not any(problems(selector)) and Selector(selector).takes(readable(labels))


def readable(labels: Object) -> Labels:
    """The labels, with null for each value that is not text; no selector names such a value."""
    return {key: value if isinstance(value, str) else None for key, value in labels.items()}


def problems(selector: object) -> Iterator[Problem]:
    """The problems of a selector, in the order of its text; nothing for a valid one."""
    if selector is not None and not isinstance(selector, dict):
        yield Problem(reason="form", path=(), current=selector)
    yield from _plain_problems(as_map(selector).get("matchLabels"))
    expressions = as_map(selector).get("matchExpressions")
    if expressions is not None and not isinstance(expressions, list):
        yield Problem(reason="form", path=("matchExpressions",), current=expressions)
    for index, one in enumerate(as_list(expressions)):
        yield from _expression_problems(one, ("matchExpressions", index))


def _plain_problems(plain: object) -> Iterator[Problem]:
    if plain is not None and not isinstance(plain, dict):
        yield Problem(reason="form", path=("matchLabels",), current=plain)
    for key, value in as_map(plain).items():
        if not is_qualified_name(key):
            yield Problem(reason="key", path=("matchLabels", key), current=key)
        if not is_label_value(value):
            yield Problem(reason="value", path=("matchLabels", key), current=value)


def _expression_problems(expression: object, path: Path) -> Iterator[Problem]:
    if not isinstance(expression, dict):
        yield Problem(reason="form", path=path, current=expression)
        return
    key, operator, values = (expression.get(name) for name in ("key", "operator", "values"))
    if not is_qualified_name(key):
        yield Problem(reason="key", path=(*path, "key"), current=key)
    if not isinstance(operator, str) or operator not in OPERATORS:
        yield Problem(reason="operator", path=(*path, "operator"), current=operator)
    elif values is not None and not isinstance(values, list):
        yield Problem(reason="form", path=(*path, "values"), current=values)
    elif OPERATORS[operator] != bool(values):
        reason = "values-missing" if OPERATORS[operator] else "values-given"
        yield Problem(reason=reason, path=(*path, "values"), current=values)
    for index, value in enumerate(as_list(values)):
        if not is_label_value(value):
            yield Problem(reason="value", path=(*path, "values", index), current=value)
