"""Facts about presets: the results of applying them to one instance. Rules have the messages.

`path` is a place in the instance (or the preset) from its root, `("spec", "domain", "cpu")`; `upstream` the place as KubeVirt's
messages name it, `spec.cpu`. Values are plain, or UNSET.

And label selectors: whether they are valid, and which labels they match.

upstream: k8s.io/apimachinery pkg/apis/meta/v1/helpers.go:LabelSelectorAsSelector, pkg/labels/selector.go:NewRequirement
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_list, as_map
from krm_fn.base.value import Value
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.admission.formats import is_label_value, is_qualified_name
from krm_fn.kubevirt.releases import Release

TYPE_CHECKING = False
if TYPE_CHECKING:
    pass


class Clash(Value):
    """A part of the domain that two sides set differently: `value` is that of the preset, `current` that of the other side.

    `same_amount` marks two spellings of one quantity, which KubeVirt treats as different.
    """

    path: Path
    upstream: str
    value: Any = UNSET
    current: Any = UNSET
    same_amount: bool = False


class PresetConflict(Value):
    """A preset that clashes with the instance, which keeps its values. `partial`: another part of the preset was applied."""

    preset: Entry
    clashes: tuple[Clash, ...]
    partial: bool


class Disagreement(Value):
    """Two presets that match the same instance and clash; `preset` is applied after `other`."""

    preset: Entry
    other: Entry
    clashes: tuple[Clash, ...]


class InvalidSelector(Value):
    """A preset in the instance's namespace with an invalid selector, matching or not; the last of several counts `more`."""

    preset: Entry
    problems: tuple[Problem, ...]
    more: int = 0


class OrderMatters(Value):
    """A part of the domain that several presets set differently: the first of `presets` set it here, KubeVirt may use any."""

    path: Path
    presets: tuple[Entry, ...]


class Applied(Value):
    """The result of applying presets to one instance.

    `instance` is a new object, or the given one if nothing changed. `applied` are the names of the presets that count as
    applied, in order. `refused` is "" or the reason why there is no instance: "disagreement" (up to 0.8 it fails at once) or
    "selector"; then the instance does not change, except for the controller's marker. `invalid` is set with an empty `refused`
    if an older release skips the preset. `idle` presets matched, but set nothing and have no conflict. `too_long` presets were
    applied, but have names that are too long for an annotation key.
    """

    instance: Object
    applied: tuple[str, ...] = ()
    conflicts: tuple[PresetConflict, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    invalid: tuple[InvalidSelector, ...] = ()
    order: tuple[OrderMatters, ...] = ()
    idle: tuple[Entry, ...] = ()
    too_long: tuple[Entry, ...] = ()
    refused: str = ""
    excluded: bool = False

    @property
    def troubled(self) -> bool:
        """True if some rule may have a finding."""
        return bool(self.conflicts or self.disagreements or self.invalid or self.order or self.idle or self.too_long)


class PresetFacts(Value):
    """All facts about the presets of one instance.

    `entry` is the object they were applied to: the instance itself, or the owner of its template; `prefix` is the path from its
    root to the template, `()` for an instance.
    """

    entry: Entry
    applied: Applied
    release: Release
    prefix: Path = ()

    @property
    def troubled(self) -> bool:
        """True if some rule may have a finding."""
        return self.applied.troubled


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
