"""The calls that the API server makes before it stores a policy, because their arguments are constants."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.policies.syntax import Node

# Functions that are called before a policy is stored, if their arguments are literals.
CONVERSIONS = ("int", "uint", "double", "bool", "string", "bytes", "timestamp", "duration")
PATTERNS = ("matches", "find", "findAll")


def constant_calls(node: Node) -> list[Node]:
    """The calls that the API server makes before it stores a policy: conversions, patterns and format() of constants."""
    found: list[Node] = []
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if each[0] == "call":
            _, at, name, receiver, args = each
            if name in CONVERSIONS and receiver is None and len(args) == 1 and args[0][0] == "literal":
                found.append(each)
            elif name in PATTERNS and args and args[-1 if name == "matches" else 0][0] == "literal":
                pattern = args[-1 if name == "matches" else 0]
                found.append(("call", at, "matches", ("literal", at, ""), (pattern,)))
            elif name == "format" and receiver and receiver[0] == "literal" and len(args) == 1 and _is_constant(args[0]):
                found.append(each)
        waiting += _parts(each)
    return found


def _is_constant(node: Node) -> bool:
    return node[0] == "literal" or (node[0] == "list" and all(_is_constant(item) for item, _ in node[2]))


def _parts(node: Node) -> list[Node]:  # noqa: PLR0911  one answer for each kind of node
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
