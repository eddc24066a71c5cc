"""A policy, compiled: its expressions parsed and checked, in the order in which the API server checks them."""

from __future__ import annotations

from krm_fn.base.paths import as_list, as_map
from krm_fn.base.value import Value
from krm_fn.policies.constants import constant_calls
from krm_fn.policies.errors import EvaluationError, RefusedError, Unsupported
from krm_fn.policies.evaluation import Runner
from krm_fn.policies.relations import DYN
from krm_fn.policies.syntax import parse
from krm_fn.policies.types import checked, declared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from krm_fn.base.objects import Object
    from krm_fn.policies.syntax import Node

NAMES = {
    "object": DYN,
    "oldObject": DYN,
    "request": "request",
    "authorizer": "unknown",
    "namespaceObject": "namespace",
    "params": DYN,
}


class Condition(Value):
    """A match condition."""

    name: str
    node: Node


class Validation(Value):
    """A validation: `text` is its expression, `words` the expression of its message, None without one."""

    text: str
    node: Node
    message: str
    words: Node | None = None


class Policy(Value):
    """A policy that the API server would store."""

    obj: Object
    conditions: tuple[Condition, ...]
    variables: dict[str, Node]
    validations: tuple[Validation, ...]
    annotations: tuple[Node, ...]
    ignores_failures: bool

    @property
    def spec(self) -> Object:
        """Its spec."""
        return as_map(self.obj.get("spec"))


class Reason(Value):
    """Where a policy can't be compiled, and why. `refused`: the API server would not store it."""

    place: str
    why: str
    refused: bool


def compiled(obj: Object) -> Policy | Reason:
    """A policy, or why there is none."""
    spec = as_map(obj.get("spec"))
    place = ""
    names: dict[str, Any] = dict(NAMES)
    if "paramKind" not in spec:
        del names["params"]
    conditions: list[Condition] = []
    variables: dict[str, Node] = {}
    kinds: dict[str, Any] = {}
    validations: list[Validation] = []
    annotations: list[Node] = []
    try:
        for number, each in enumerate(map(as_map, as_list(spec.get("matchConditions")))):
            place = f"spec.matchConditions[{number}].expression"
            node, _ = _checked(str(each.get("expression", "")).strip(), names, ("bool",))
            conditions.append(Condition(name=str(each.get("name")), node=node))
        names["variables"] = kinds
        for number, each in enumerate(map(as_map, as_list(spec.get("variables")))):
            place = f"spec.variables[{number}].expression"
            node, kind = _checked(str(each.get("expression", "")), names, ())
            variables[str(each.get("name"))], kinds[str(each.get("name"))] = node, declared(kind)
        for number, each in enumerate(map(as_map, as_list(spec.get("validations")))):
            place = f"spec.validations[{number}].expression"
            text = str(each.get("expression", ""))
            node, _ = _checked(text, names, ("bool",))
            words = None
            if each.get("messageExpression"):
                place = f"spec.validations[{number}].messageExpression"
                words, _ = _checked(str(each["messageExpression"]), names, ("string",))
            message = str(each.get("message") or "").strip()
            validations.append(Validation(text=text.strip(), node=node, message=message, words=words))
        for number, each in enumerate(map(as_map, as_list(spec.get("auditAnnotations")))):
            place = f"spec.auditAnnotations[{number}].valueExpression"
            node, _ = _checked(str(each.get("valueExpression", "")).strip(), names, ("string", "null"))
            annotations.append(node)
    except RefusedError as error:
        return Reason(place=place, why=str(error), refused=True)
    except (Unsupported, RecursionError) as error:
        return Reason(place=place, why=str(error) or "it is nested too deeply", refused=False)
    return Policy(
        obj=obj,
        conditions=tuple(conditions),
        variables=variables,
        validations=tuple(validations),
        annotations=tuple(annotations),
        ignores_failures=spec.get("failurePolicy") == "Ignore",
    )


def _checked(text: str, names: dict[str, Any], wanted: tuple[str, ...]) -> tuple[Node, Any]:
    """The tree of an expression and its type. Raises: RefusedError, Unsupported."""
    node = parse(text)
    kind = checked(node, names)
    if wanted and kind not in wanted:
        raise RefusedError(f"its type is not {' or '.join(wanted)}")
    _check_constants(node)
    return node, kind


def _check_constants(node: Node) -> None:
    """Calls on constants are evaluated before a policy is stored. Raises: RefusedError if one fails."""
    for call in constant_calls(node):
        try:
            Runner({}, {}).run(call)
        except EvaluationError:
            raise RefusedError("a call on constants fails") from None
