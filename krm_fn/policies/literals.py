"""What the API server refuses in the literals of an expression: lists and maps of several types, and clauses of `format()`.

upstream: github.com/google/cel-go/cel/validator.go, ext/formatting.go
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterable, Iterator, Sequence
from krm_fn.policies.errors import EvaluationError, RefusedError
from krm_fn.policies.formatting import clauses
from krm_fn.policies.unification import DYN, is_same, of_shape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.policies.syntax import Node
    from krm_fn.policies.types import Checked
Kind = Any


# The types of values that a clause takes; those of %s are checked within lists and maps, too.
CLAUSES: dict[str, tuple[str, ...]] = {
    "d": ("int", "uint"),
    "f": ("double", "string"),
    "e": ("double", "string"),
    "b": ("int", "uint", "bool"),
    "x": ("int", "uint", "string", "bytes"),
    "X": ("int", "uint", "string", "bytes"),
    "o": ("int", "uint"),
    "s": (*("list", "map", "int", "uint", "double", "bool", "string", "timestamp", "bytes", "duration", "type", "null"),),
}


def check_literals(checked: Checked) -> None:
    """Raises: RefusedError."""
    waiting = [(checked.node, False)]
    while waiting:
        node, in_format = waiting.pop()
        if node[0] == "call" and node[2] == "format":
            _check_format(node, checked)
            in_format = True
        if node[0] == "list" and not in_format:
            _check_same(_kinds(checked, node[2]))
        if node[0] == "map" and not in_format:
            _check_same(checked.kinds[id(key)] for key, _, _ in node[2])
            _check_same(_kinds(checked, [(value, optional) for _, value, optional in node[2]]))
        waiting += [(part, in_format) for part in parts(node)]


def _kinds(checked: Checked, items: Iterable[tuple[Node, bool]]) -> Iterator[Kind]:
    for item, optional in items:
        kind = checked.kinds[id(item)]
        yield kind[1] if optional and of_shape(kind, "optional") else kind


def _check_same(kinds: Iterable[Kind]) -> None:
    first = None
    for kind in kinds:
        first = kind if first is None else first
        if not is_same(first, kind):
            raise RefusedError("the elements of a list or a map have different types")


def _check_format(node: Node, checked: Checked) -> None:
    """Checks a call of format() with a literal text and a literal list."""
    _, _, _, receiver, args = node
    if receiver is None or receiver[0] != "literal" or not isinstance(receiver[2], str) or args[0][0] != "list":
        return
    items = [item for item, _ in args[0][2]]
    try:
        found = list(clauses(receiver[2], len(items)))
    except EvaluationError as error:
        raise RefusedError(str(error)) from None
    if len(found) < len(items):
        raise RefusedError("too many values for format()")
    for (verb, _), item in zip(found, items, strict=True):
        if not _takes(verb, item, checked):
            raise RefusedError(f"%{verb} in format() with a value of another type")


def _takes(verb: str, node: Node, checked: Checked) -> bool:
    kind = checked.kinds[id(node)]
    word = kind[0] if isinstance(kind, tuple) else kind
    if word != DYN and word not in CLAUSES[verb]:
        return False
    within: Sequence[Node] = ()
    if verb == "s" and node[0] == "list":
        within = [item for item, _ in node[2]]
    if verb == "s" and node[0] == "map":
        within = [part for key, value, _ in node[2] for part in (key, value)]
    return all(_takes(verb, each, checked) for each in within)


def parts(node: Node) -> list[Node]:  # noqa: PLR0911  one answer for each kind of node
    """The nodes that a node is made of."""
    match node[0]:
        case "select":
            return [node[2]]
        case "index":
            return [node[2], node[3]]
        case "list":
            return [item for item, _ in node[2]]
        case "map":
            return [part for key, value, _ in node[2] for part in (key, value)]
        case "call":
            return [*([node[3]] if node[3] else []), *node[4]]
        case "fold":
            return [node[3], *node[5]]
    return []
