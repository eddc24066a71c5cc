"""Runs an expression on values."""

from __future__ import annotations

from krm_fn.policies.errors import EvaluationError, Unsupported, no_overload
from krm_fn.policies.functions import RUN, order
from krm_fn.policies.lists import ordered
from krm_fn.policies.types import TYPE_NAMES, namespaced
from krm_fn.policies.values import NONE, Optional, Type, UInt, at, has_key, keyed, known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from krm_fn.policies.syntax import Node

MOST_STEPS = 20_000  # of one expression; the API server's own limit is far beyond, and never guessed
MOST_LETTERS = 200_000  # of a text that an expression makes
TYPE_VALUES = {name: Type(name=name) for name in TYPE_NAMES}
ABSENT: Any = object()


class Runner:
    """Evaluates expressions with the same names. `variables` are evaluated when they are first used."""

    def __init__(self, names: Mapping[str, Any], variables: Mapping[str, Node]) -> None:
        self._names, self._variables = names, variables
        self._known: dict[str, Any] = {}
        self._steps = 0

    def run(self, node: Node) -> Any:
        """The value of an expression. Raises: EvaluationError, Unsupported."""
        self._steps = 0
        return self._of(node, self._names)

    def _of(self, node: Node, names: Mapping[str, Any]) -> Any:
        self._steps += 1
        if self._steps > MOST_STEPS:
            raise Unsupported("it takes too many steps")
        return getattr(self, f"_{node[0]}")(node, names)

    def _literal(self, node: Node, _: Mapping[str, Any]) -> Any:
        return node[2]

    def _name(self, node: Node, names: Mapping[str, Any]) -> Any:
        return names[node[2]] if node[2] in names else TYPE_VALUES[node[2]]

    def _select(self, node: Node, names: Mapping[str, Any]) -> Any:
        _, _, operand, field, optional, test = node
        if operand[0] == "name" and operand[2] == "variables" and "variables" in names and names["variables"] is None:
            if test:
                return True
            return Optional(held=(self._variable(field),)) if optional else self._variable(field)
        held = self._of(operand, names)
        if isinstance(held, Optional):
            return _optionally(held, field)
        if test:
            return isinstance(held, dict) and has_key(held, field)
        if optional:
            return Optional(held=(at(held, field),)) if isinstance(held, dict) and has_key(held, field) else NONE
        if not isinstance(held, dict) or not has_key(held, field):
            raise EvaluationError("no such key")
        return _number(at(held, field))

    def _variable(self, name: str) -> Any:
        if name not in self._known:
            try:
                self._known[name] = self._of(self._variables[name], self._names)
            except EvaluationError as error:
                self._known[name] = error
        found = self._known[name]
        if isinstance(found, EvaluationError):
            raise found
        return found

    def _index(self, node: Node, names: Mapping[str, Any]) -> Any:
        _, _, operand, key, optional = node
        held = self._of(operand, names)
        by = self._of(key, names)
        if isinstance(held, Optional):
            return _optionally(held, by)
        found = _element(held, by, strict=not optional)
        if optional:
            return NONE if found is ABSENT else Optional(held=(found,))
        if found is ABSENT:
            raise EvaluationError("no such key")
        return found

    def _list(self, node: Node, names: Mapping[str, Any]) -> list[Any]:
        found = []
        for item, optional in node[2]:
            value = self._of(item, names)
            if not optional:
                found.append(value)
            elif not isinstance(value, Optional):
                raise no_overload()
            else:
                found += value.held
        return found

    def _map(self, node: Node, names: Mapping[str, Any]) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for key_node, value_node, optional in node[2]:
            key, value = self._of(key_node, names), self._of(value_node, names)
            if optional:
                if not isinstance(value, Optional):
                    raise no_overload()
                if not value.held:
                    continue
                value = value.held[0]
            if not isinstance(key, str | int) or has_key(found, key):
                raise EvaluationError("a key of this type, or twice")
            found[keyed(key)] = value
        return found

    def _call(self, node: Node, names: Mapping[str, Any]) -> Any:
        _, _, name, receiver, args = node
        if name in ("&&", "||"):
            return self._either(name, args, names)
        if name == "!_":
            return not _truth(self._of(args[0], names))
        if name == "?:":
            return self._of(args[1] if _truth(self._of(args[0], names)) else args[2], names)
        full = namespaced(name, receiver, dict.fromkeys(names))
        if full:
            name, receiver = full, None
        if name in ("orValue", "or") and receiver:
            return self._or(name, receiver, args[0], names)
        values = [self._of(each, names) for each in ((receiver,) if receiver else ()) + args]
        self._steps += sum(len(each) for each in values if isinstance(each, str | list | dict)) // 10
        try:
            found = RUN[name](*values)
        except (TypeError, AttributeError, ValueError, KeyError, IndexError, OverflowError, RecursionError):
            raise Unsupported(f"{name}() with these values") from None
        if isinstance(found, str | list) and len(found) > MOST_LETTERS:
            raise Unsupported("it makes a very long text or list")
        return found

    def _either(self, name: str, args: tuple[Node, ...], names: Mapping[str, Any]) -> bool:
        """&& and ||: the other side decides if one side fails."""
        decisive, failed = name == "||", None
        for arg in args:
            try:
                if _truth(self._of(arg, names)) == decisive:
                    return decisive
            except EvaluationError as error:
                failed = failed or error
        if failed:
            raise failed
        return not decisive

    def _or(self, name: str, receiver: Node, arg: Node, names: Mapping[str, Any]) -> Any:
        held = self._of(receiver, names)
        if not isinstance(held, Optional):
            raise no_overload()
        if held.held:
            return known(held.held[0]) if name == "orValue" else held
        return self._of(arg, names)

    def _fold(self, node: Node, names: Mapping[str, Any]) -> Any:
        _, _, macro, operand, variables, args = node
        held = self._of(operand, names)
        if macro in ("optMap", "optFlatMap"):
            return self._opt_map(macro, held, variables[0], args[0], names)
        if not isinstance(held, list | dict):
            raise no_overload()
        rows = _rows(held, len(variables))
        inner = ({**names, **dict(zip(variables, row, strict=True))} for row in rows)
        if macro in ("all", "exists"):
            return self._any(macro, inner, args[0])
        if macro in ("exists_one", "existsOne"):
            return sum(_truth(self._of(args[0], each)) for each in inner) == 1
        if macro == "sortBy":
            return ordered(held, [self._of(args[0], each) for each in inner], order)
        return self._made(macro, rows, inner, args)

    def _any(self, macro: str, inner: Iterator[Mapping[str, Any]], arg: Node) -> bool:
        decisive, failed, found = macro == "exists", None, False
        for each in inner:
            try:
                if _truth(self._of(arg, each)) == decisive:
                    found = True
                    break
            except EvaluationError as error:
                failed = failed or error
        if found:
            return decisive
        if failed:
            raise failed
        return not decisive

    def _made(self, macro: str, rows: list[Any], inner: Iterator[Mapping[str, Any]], args: tuple[Node, ...]) -> Any:
        """The list or map that a macro makes."""
        found: Any = {} if macro.startswith("transformMap") else []
        for row, each in zip(rows, inner, strict=True):
            if macro == "filter":
                if _truth(self._of(args[0], each)):
                    found.append(row[0])
                continue
            if len(args) == 2 and not _truth(self._of(args[0], each)):
                continue
            value = self._of(args[-1], each)
            if macro == "transformMap":
                found[keyed(row[0])] = value
            elif macro == "transformMapEntry":
                if not isinstance(value, dict) or any(key in found for key in value):
                    raise EvaluationError("no map, or a key twice")
                found.update(value)
            else:
                found.append(value)
        return found

    def _opt_map(self, macro: str, held: Any, variable: str, arg: Node, names: Mapping[str, Any]) -> Optional:
        if not isinstance(held, Optional):
            raise no_overload()
        if not held.held:
            return NONE
        found = self._of(arg, {**names, variable: known(held.held[0])})
        if macro == "optMap":
            return Optional(held=(found,))
        if not isinstance(found, Optional):
            raise no_overload()
        return found


def _number(value: Any) -> Any:
    """A number of an object: an integer of more than 64 bits is a double."""
    large = isinstance(value, int) and not isinstance(value, UInt) and not -(2**63) <= value < 2**63
    return float(value) if large else value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise no_overload()
    return value


def _optionally(held: Optional, by: Any) -> Optional:
    if not held.held:
        return NONE
    found = _element(known(held.held[0]), by, strict=False)
    return NONE if found is ABSENT else Optional(held=(found,))


def _element(held: Any, by: Any, *, strict: bool) -> Any:
    """The element of a list or map; ABSENT without one. Raises: EvaluationError."""
    if isinstance(held, dict):
        if isinstance(by, str | int | float) and has_key(held, by):
            return _number(at(held, by))
        return ABSENT
    if isinstance(held, list):
        if isinstance(by, float) and by.is_integer():
            by = int(by)
        if not isinstance(by, int) or isinstance(by, bool):
            raise no_overload()
        return _number(held[by]) if 0 <= by < len(held) else ABSENT
    if strict:
        raise no_overload()
    return ABSENT


def _rows(held: Any, count: int) -> list[tuple[Any, ...]]:
    if isinstance(held, list):
        return list(enumerate(held)) if count == 2 else [(each,) for each in held]
    keys = [key[1] if isinstance(key, tuple) else key for key in held]
    keys.sort(key=str)  # the server goes through maps in an order of chance
    return [(key, at(held, key)) for key in keys] if count == 2 else [(key,) for key in keys]
