"""Label and node selectors, in all places of objects.

upstream: pkg/virt-api/webhooks/validating-webhook/admitters/validate-k8s-utils.go:validateAffinity;
k8s.io/apimachinery/pkg/apis/meta/v1/validation
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import Path, as_list, as_map, is_set
from krm_fn.base.wording import show
from krm_fn.kubevirt.admission.formats import is_label_value, is_qualified_name, is_subdomain
from krm_fn.kubevirt.admission.scope import Cause, Scope, maps

UPSTREAM = "pkg/virt-api/webhooks/validating-webhook/admitters/validate-k8s-utils.go:"

# The number of values of an operator: minimum, maximum.
LABEL_OPERATORS = {"In": (1, 10**6), "NotIn": (1, 10**6), "Exists": (0, 0), "DoesNotExist": (0, 0)}
NODE_OPERATORS = {**LABEL_OPERATORS, "Gt": (1, 1), "Lt": (1, 1)}
FIELD_OPERATORS = {"In": (1, 1), "NotIn": (1, 1)}

KEY_FORM = "use a name of at most 63 letters, digits and '-_.', optionally with a DNS subdomain and a slash before it"
VALUE_FORM = "use at most 63 letters, digits and '-_.', with a letter or digit at both ends"


class Position:
    """The place of a selector: `at` below the spec, and `named` in upstream's spelling."""

    __slots__ = ("at", "named", "scope")

    def __init__(self, scope: Scope, at: Path, named: str) -> None:
        self.scope, self.at, self.named = scope, at, named

    def below(self, *steps: str | int) -> Position:
        """The place some steps below."""
        named = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps)
        return Position(self.scope, (*self.at, *steps), self.named + named)

    def cause(self, message: str, *, deeper: Path = ()) -> Cause:
        """A cause here; `deeper` continues the path to the value, which upstream does not name."""
        return self.scope.cause((*self.at, *deeper), message, named=self.named)


def label_selector(selector: object, place: Position) -> Iterator[Cause]:
    """The causes in a label selector. upstream: k8s.io/apimachinery pkg/apis/meta/v1/validation:ValidateLabelSelector"""
    for key, value in as_map(as_map(selector).get("matchLabels")).items():
        here = place.below("matchLabels")
        if not is_qualified_name(key):
            yield here.cause(f"label key {show(key)} is malformed; {KEY_FORM}", deeper=(str(key),))
        if not is_label_value(value):
            yield here.cause(f"label value {show(value)} is malformed; {VALUE_FORM}", deeper=(str(key),))
    for index, requirement in enumerate(maps(as_map(selector).get("matchExpressions"))):
        here = place.below("matchExpressions", index)
        yield from _operator(requirement, here, LABEL_OPERATORS)
        yield from _key(requirement, here)
        for position, value in enumerate(as_list(requirement.get("values"))):
            if not is_label_value(value):
                yield here.below("values", position).cause(f"label value {show(value)} is malformed; {VALUE_FORM}")


def node_term(term: object, place: Position) -> Iterator[Cause]:
    """The causes in a node selector term. upstream: ValidateNodeSelectorTerm"""
    for index, requirement in enumerate(maps(as_map(term).get("matchExpressions"))):
        here = place.below("matchExpressions", index)
        yield from _operator(requirement, here, NODE_OPERATORS)
        yield from _key(requirement, here)
    for index, requirement in enumerate(maps(as_map(term).get("matchFields"))):
        yield from _field(requirement, place.below("matchFields", index))


def _operator(requirement: Object, place: Position, operators: dict[str, tuple[int, int]]) -> Iterator[Cause]:
    operator, values = requirement.get("operator"), as_list(requirement.get("values"))
    if not isinstance(operator, str) or operator not in operators:
        known = ", ".join(operators)
        yield place.below("operator").cause(f"operator {show(operator)} is not supported; use one of {known}")
        return
    least, most = operators[operator]
    if not least <= len(values) <= most:
        wanted = "no values" if not most else "exactly one value" if most == 1 else "at least one value"
        yield place.below("values").cause(f"operator {operator} needs {wanted}, but there are {len(values)}; correct values")


def _key(requirement: Object, place: Position) -> Iterator[Cause]:
    if not is_qualified_name(requirement.get("key")):
        yield place.below("key").cause(f"label key {show(requirement.get('key'))} is malformed; {KEY_FORM}")


def _field(requirement: Object, place: Position) -> Iterator[Cause]:
    """upstream: ValidateNodeFieldSelectorRequirement"""
    yield from _operator(requirement, place, FIELD_OPERATORS)
    if requirement.get("key") != "metadata.name":
        yield place.below("key").cause("the only supported field of nodes is metadata.name; set key to it")
        return
    for position, value in enumerate(as_list(requirement.get("values"))):
        if not is_subdomain(value):
            yield place.below("values", position).cause(
                f"node name {show(value)} is not a DNS subdomain; use the name of a node"
            )


def topology_key(value: object, place: Position) -> Iterator[Cause]:
    """The causes in a topology key, which names a label of nodes."""
    if not is_qualified_name(value):
        word = f"topologyKey {show(value)} is malformed" if is_set(value) else "topologyKey is missing"
        yield place.below("topologyKey").cause(f"{word}; {KEY_FORM}")


def missed(selector: Object, labels: Object) -> tuple[Path, str] | None:
    """The place in a selector that does not match these labels, and the label's key; None if the selector matches."""
    for key, value in as_map(selector.get("matchLabels")).items():
        if labels.get(key) != value:
            return ("matchLabels", key), key
    for index, each in enumerate(as_list(selector.get("matchExpressions"))):
        if not _takes(as_map(each), labels):
            last = "values" if as_list(as_map(each).get("values")) else "operator"
            return ("matchExpressions", index, last), text(as_map(each).get("key"))
    return None


def _takes(requirement: Object, labels: Object) -> bool:
    key, operator, values = text(requirement.get("key")), requirement.get("operator"), as_list(requirement.get("values"))
    there = key in labels
    match operator:
        case "In":
            return there and labels[key] in values
        case "NotIn":
            return not there or labels[key] not in values
        case "Exists":
            return there
        case _:
            return not there
