"""Which parts of an object the expressions of a policy read.

So an object with the same parts need not be evaluated again, and a finding can point to the field that it is about.
A path stands for all that is below it. More than is read does no harm; less would. So what is not understood is the whole
object.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterable, Sequence
from krm_fn.base.objects import Object
from krm_fn.base.paths import as_list, as_map
from krm_fn.base.value import Value
from krm_fn.base.work import WORK
from krm_fn.policies.errors import RefusedError, Unsupported
from krm_fn.policies.syntax import Node, parse

Path = tuple[str | int, ...]


WHOLE: Path = ()
# Steps of a path: into each element of a list, and the mere presence of what the path leads to.
EACH, PRESENT = "\0each", "\0present"
# The macros that go through a list, whose value has no element of it.
THROUGH = frozenset(("all", "exists", "exists_one", "map"))
LONGEST, MOST_VALUES = 10_000, 1_000  # characters and values of a part
# What stops the reading: an expression that is wrong, too deep or no text, and a key that is not there.
UNREADABLE = (RefusedError, Unsupported, RecursionError, TypeError, LookupError)


class Reads(Value):
    """The paths that decide whether an object passes.

    `named`: so does its name. `labels` are keys of labels that decide, too: those of the object of the request.
    """

    verdict: tuple[Path, ...]
    named: bool
    labels: tuple[str, ...] = ()


def reads_of(spec: Object) -> Reads | None:
    """What decides whether an object that replaces none passes a policy; None if that may be all of it."""
    try:
        return _reads_of(spec)
    except UNREADABLE:
        return None


def field_of(spec: Object, index: int) -> Path | None:
    """The one field of the object that a validation reads, beside the fields that it is in; None if there are several."""
    try:
        reader = _Reader(spec)
        reader.read(parse(as_list(spec.get("validations"))[index]["expression"]))
    except UNREADABLE:
        return None
    fields = {path[:-1] if path[-1:] == (PRESENT,) else path for path in reader.found}
    deepest = max(fields, key=len, default=())
    is_one = all(deepest[: len(each)] == each for each in fields) and EACH not in deepest
    return deepest if deepest and is_one else None


def _reads_of(spec: Object) -> Reads | None:
    reader = _Reader(spec)
    for each in map(as_map, as_list(spec.get("matchConditions"))):
        reader.read(parse(each["expression"]))
    for each in map(as_map, as_list(spec.get("validations"))):
        reader.read(parse(each["expression"]))
    for each in map(as_map, as_list(spec.get("auditAnnotations"))):
        reader.read(parse(each["valueExpression"]))
    if any(path[:1] in (WHOLE, (EACH,)) for path in reader.found):
        return None
    return Reads(verdict=_outer(reader.found), named=reader.named)


def chosen_by(*constraints: Any) -> tuple[str, ...]:
    """The keys of labels that the object selectors of policies and bindings name."""
    found: set[str] = set()
    for each in constraints:
        selector = as_map(as_map(each).get("objectSelector"))
        found |= {str(key) for key in as_map(selector.get("matchLabels"))}
        found |= {str(as_map(one).get("key")) for one in as_list(selector.get("matchExpressions"))}
    return tuple(sorted(found))


def together(each: Sequence[Reads | None]) -> Reads | None:
    """What decides whether an object passes several policies; None if that may be all of it."""
    known = [found for found in each if found is not None]
    if len(known) < len(each):
        return None
    return Reads(
        verdict=_outer(path for found in known for path in found.verdict),
        named=any(found.named for found in known),
        labels=tuple(sorted({label for found in known for label in found.labels})),
    )


def _outer(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The paths without those below another one."""
    found = set(paths)
    return tuple(sorted((each for each in found if not any(each[:n] in found for n in range(len(each)))), key=repr))


def part(value: Any, path: Path) -> object:
    """What stands at a path, as a text, or what stands where the path ends before. Raises: RecursionError, SpentError."""
    WORK.spend(4)
    for depth, step in enumerate(path):
        if step == PRESENT:
            return step
        if step == EACH and type(value) is list:
            return tuple([part(each, path[depth + 1 :]) for each in value])
        if type(value) is not dict or step == EACH:
            return _text(value, f"{depth} ")
        if step not in value:
            return depth
        value = value[step]
    return _text(value)


def _text(value: Any, before: str = "") -> str:
    """The text of a value. Raises: SpentError; RecursionError, too, for one with very many values: it repeats no other one."""
    waiting, left = [value], MOST_VALUES
    for each in waiting:
        left -= len(each) if isinstance(each, dict | list) else 0
        if left < 0:
            raise RecursionError
        waiting += each.values() if isinstance(each, dict) else each if isinstance(each, list) else ()
    found = f"{before}{value!r}"
    WORK.spend(len(found) // 4)
    return found


class _Reader:
    """Gathers the paths that nodes read."""

    def __init__(self, spec: Object) -> None:
        rows = map(as_map, as_list(spec.get("variables")))
        self.variables: dict[str, Node] = {each["name"]: parse(each["expression"]) for each in rows}
        self.found: set[Path] = set()
        self.named = False
        self._seen: set[str] = set()
        self._bound: dict[str, frozenset[Path] | None] = {}

    def read(self, node: Node) -> None:
        """Note what a node reads."""
        paths = self._paths(node)
        if paths is not None:
            self.found |= paths
            return
        getattr(self, f"_{node[0]}")(node)

    def _paths(self, node: Node) -> frozenset[Path] | None:
        """The places in the object that a node may be; None if it is something else."""
        if node[0] == "name":
            return self._bound.get(node[2], frozenset((WHOLE,)) if node[2] == "object" else None)
        if node[0] == "select":
            return self._selected(node)
        if node[0] == "index" and node[3][0] == "literal" and isinstance(node[3][2], str):
            return _below(self._paths(node[2]), node[3][2])
        if node[0] == "call":
            return self._chosen(node)
        return self._filtered(node) if node[0] == "fold" and node[2] == "filter" else None

    def _selected(self, node: Node) -> frozenset[Path] | None:
        _, _, operand, field, *_ = node
        if self._is_free(operand, "variables"):
            return self._of_variable(field)
        below = _below(self._paths(operand), field)
        return _below(below, PRESENT) if node[5] else below

    def _filtered(self, node: Node) -> frozenset[Path] | None:
        """The places of the list that is filtered: its elements are in the value."""
        _, _, _, operand, names, args = node
        found = self._paths(operand)
        if found is None or len(names) != 1:
            return None
        self._read_bound(args, {names[0]: _below(found, EACH)})
        return found

    def _read_bound(self, nodes: Iterable[Node], names: dict[str, frozenset[Path] | None]) -> None:
        """Note what nodes read that see these names."""
        before = self._bound
        self._bound = {**before, **names}
        for each in nodes:
            self.read(each)
        self._bound = before

    def _chosen(self, node: Node) -> frozenset[Path] | None:
        """The places of a value that may be one of two, or a constant where it is absent."""
        _, _, name, receiver, args = node
        if name == "orValue" and receiver and _is_constant(args[0]):
            return self._paths(receiver)
        if name != "?:":
            return None
        found = [self._paths(each) for each in args[1:]]
        if None in found:
            return None
        self.read(args[0])
        return frozenset(path for each in found for path in each or ())

    def _literal(self, node: Node) -> None:
        """A literal reads nothing."""

    def _name(self, node: Node) -> None:
        """Other names than the object's depend on the namespace alone, but for the whole request."""
        self.named = self.named or (node[2] == "request" and node[2] not in self._bound)

    def _select(self, node: Node) -> None:
        _, _, operand, field, *_ = node
        if self._is_free(operand, "request"):
            self.named = self.named or field == "name"
        elif self._is_free(operand, "variables"):
            self._variable(field)
        else:
            self.read(operand)

    def _variable(self, name: str) -> None:
        if name not in self._seen:
            self._seen.add(name)
            bound, self._bound = self._bound, {}
            self.read(self.variables[name]) if name in self.variables else self.found.add(WHOLE)
            self._bound = bound

    def _of_variable(self, name: str) -> frozenset[Path] | None:
        if name not in self.variables:
            return None
        bound, self._bound = self._bound, {}
        found = self._paths(self.variables[name])
        self._bound = bound
        return found

    def _is_free(self, node: Node, name: str) -> bool:
        return name not in self._bound and _is_name(node, name)

    def _index(self, node: Node) -> None:
        self.read(node[2])
        self.read(node[3])

    def _call(self, node: Node) -> None:
        _, _, name, receiver, args = node
        if name == "||" and _asks_for_no_old_object(args[0]):
            return  # it is true, whatever the rest is
        if name == "in" and args[0][0] == "literal" and isinstance(args[0][2], str):
            below = _below(self._paths(args[1]), args[0][2])
            if below is not None:
                self.found |= below
                return
        for each in (receiver, *args) if receiver else args:
            self.read(each)

    def _list(self, node: Node) -> None:
        for item, _ in node[2]:
            self.read(item)

    def _map(self, node: Node) -> None:
        for key, value, _ in node[2]:
            self.read(key)
            self.read(value)

    def _fold(self, node: Node) -> None:
        _, _, macro, operand, names, args = node
        found = self._paths(operand) if macro in THROUGH and len(names) == 1 else None
        if found is None:
            self.read(operand)
            self._read_bound(args, dict.fromkeys(names))
            return
        elements = _below(found, EACH)
        self.found |= _below(elements, PRESENT) or frozenset()  # as many as there are
        self._read_bound(args, {names[0]: elements})


def _below(paths: frozenset[Path] | None, step: str) -> frozenset[Path] | None:
    return None if paths is None else frozenset((*path, step) for path in paths)


def _is_name(node: Node, name: str) -> bool:
    return bool(node[0] == "name" and node[2] == name)


def _is_constant(node: Node) -> bool:
    return node[0] == "literal" or (node[0] in ("list", "map") and not node[2])


def _asks_for_no_old_object(node: Node) -> bool:
    """True for `oldObject == null`."""
    if node[0] != "call" or node[2] != "==":
        return False
    one, other = node[4]
    return _is_name(one, "oldObject") and other[0] == "literal" and other[2] is None
