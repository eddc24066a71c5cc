"""A policy, compiled: its expressions parsed and checked, in the order in which the API server checks them.

The API server refuses some literals, too: lists and maps of several types, and clauses of `format()`. And one expression about
one object, outside of a policy.

upstream: github.com/google/cel-go/cel/validator.go, ext/formatting.go
"""

from __future__ import annotations

from itertools import takewhile

from krm_fn.base.annotations import Any, Iterable, Iterator, Mapping, Sequence
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_list, as_map
from krm_fn.base.value import Value
from krm_fn.base.work import WORK, SpentError
from krm_fn.policies.costs import traversal
from krm_fn.policies.errors import EvaluationError, RefusedError, Unknown, Unsupported
from krm_fn.policies.evaluation import planned
from krm_fn.policies.formatting import clauses
from krm_fn.policies.reads import EACH, PRESENT, reads_of
from krm_fn.policies.running import Frame, Step, evaluated
from krm_fn.policies.syntax import parse
from krm_fn.policies.types import checked, declared
from krm_fn.policies.unification import DYN, NAMES, VARIABLES, is_same, of_shape
from krm_fn.policies.values import normalized

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.policies.syntax import Node
    from krm_fn.policies.types import Checked


Kind = Any


class Validation(Value):
    """A validation: `text` is its expression, `words` the step of its message, None without one."""

    text: str
    step: Step
    message: str
    words: Step | None = None


class Policy(Value):
    """A policy that the API server would store, its expressions ready to run."""

    obj: Object
    conditions: tuple[Step, ...]
    variables: Mapping[str, Step]
    validations: tuple[Validation, ...]
    annotations: tuple[Step, ...]
    ignores_failures: bool

    @property
    def spec(self) -> Object:
        """Its spec."""
        return as_map(self.obj.get("spec"))


def _never(_: Frame) -> None:
    """The step of an expression that is refused: its policy is not evaluated."""


class CompileFault(Value):
    """Where a policy can't be compiled, and why. `refused`: the API server would not store it."""

    place: str
    why: str
    refused: bool
    is_spent: bool = False


def compiled(obj: Object) -> Policy | Sequence[CompileFault]:
    """A policy, or why there is none: all that the API server refuses, or the first part that can't be compiled here."""
    WORK.use(id(obj))
    compiler = _Compiler(as_map(obj.get("spec")))
    found: Policy | Sequence[CompileFault]
    try:
        found = compiler.policy(obj)
    except SpentError as error:
        found = [CompileFault(place="", why=str(error), refused=False, is_spent=True)]
    except (Unsupported, RecursionError) as error:
        found = [CompileFault(place=compiler.place, why=str(error) or "it is nested too deeply", refused=False)]
    return compiler.refused or found


class _Compiler:
    """Compiles the expressions of a policy in the order in which the API server checks them; `place` is the last one's.

    `refused` are the parts that the API server refuses. To what reads a refused variable, its type is dynamic.
    """

    def __init__(self, spec: Object) -> None:
        self._spec, self.place = spec, ""
        self.refused: list[CompileFault] = []
        self._names = {name: kind for name, kind in NAMES.items() if name != "params" or "paramKind" in spec}
        self._variables: dict[str, Kind] = {}

    def policy(self, obj: Object) -> Policy:
        """The policy, of use only if nothing was refused. Raises: Unsupported."""
        self._check_parts()
        conditions = tuple(self._of(each, "expression", ("bool",), trim=True)[0] for each in self._rows("matchConditions"))
        self._names["variables"] = VARIABLES
        variables = {}
        for each in self._rows("variables"):
            step, kind = self._of(each, "expression", ())
            name = str(each.get("name"))
            variables[name], self._variables[name] = step, declared(kind)
        return Policy(
            obj=obj,
            conditions=conditions,
            variables=variables,
            validations=tuple(map(self._validation, self._rows("validations"))),
            annotations=tuple(
                self._of(each, "valueExpression", ("string", "null"), trim=True)[0] for each in self._rows("auditAnnotations")
            ),
            ignores_failures=self._spec.get("failurePolicy") == "Ignore",
        )

    def _check_parts(self) -> None:
        """Checks that the parts are there without which no policy is stored."""
        constraints = self._spec.get("matchConstraints")
        if constraints is None:
            self._refuse("spec.matchConstraints", "it is missing, so the policy names no resources")
        elif not as_map(constraints).get("resourceRules"):
            self._refuse("spec.matchConstraints.resourceRules", "it is empty, so the policy names no resources")
        if not self._spec.get("validations") and not self._spec.get("auditAnnotations"):
            self._refuse("spec.validations", "there are neither validations nor auditAnnotations")

    def _refuse(self, place: str, why: str) -> None:
        self.refused.append(CompileFault(place=place, why=why, refused=True))

    def _rows(self, key: str) -> Iterator[Object]:
        for number, each in enumerate(map(as_map, as_list(self._spec.get(key)))):
            self.place = f"spec.{key}[{number}]"
            yield each

    def _validation(self, row: Object) -> Validation:
        place = self.place
        step, _ = self._of(row, "expression", ("bool",))
        words, self.place = None, place
        if row.get("messageExpression"):
            words, _ = self._of(row, "messageExpression", ("string",), without="authorizer")
        message = str(row.get("message") or "").strip()
        return Validation(text=str(row.get("expression", "")).strip(), step=step, message=message, words=words)

    def _of(
        self, row: Object, key: str, wanted: tuple[Kind, ...], *, trim: bool = False, without: str = ""
    ) -> tuple[Step, Kind]:
        """The step of an expression, and its type."""
        self.place += f".{key}"
        try:
            return self._compiled(row.get(key), wanted, trim=trim, without=without)
        except RefusedError as error:
            self._refuse(self.place, str(error))
            return _never, DYN

    def _compiled(self, given: Any, wanted: tuple[Kind, ...], *, trim: bool, without: str) -> tuple[Step, Kind]:
        """The step of the text of an expression, and its type. Raises: RefusedError, Unsupported."""
        text = "" if given is None else given
        if not isinstance(text, str):
            raise RefusedError("the value is not a string, as `true` and `1` are without quotes")
        names = {name: kind for name, kind in self._names.items() if name != without}
        found = checked(parse(text.strip() if trim else text), names, self._variables)
        if wanted and found.kind not in wanted:
            shown = f"{found.kind}, not" if isinstance(found.kind, str) else "not"
            raise RefusedError(f"its type is {shown} {' or '.join(wanted)}")
        check_literals(found)
        return planned(found, names).step, found.kind


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


PLAIN = (type(None), bool, int, float, str, list, dict)


def value_of(text: str, obj: Object) -> Any:
    """The value of an expression in which `object` is the object: plain data.

    Raises: ValueError with the reason why there is none.
    """
    names = {"object": NAMES["object"]}
    try:
        found = checked(parse(text), names, {})
        check_literals(found)
        value, _ = evaluated(planned(found, names).step, {"object": normalized(obj)})
        traversal(value)  # lists of lists may be far larger than what they are made of
    except (RefusedError, Unsupported, RecursionError) as error:
        raise ValueError(str(error) or "it is nested too deeply") from None
    if isinstance(value, EvaluationError | Unknown) or type(value) not in PLAIN:
        why = (
            str(value) if isinstance(value, EvaluationError | Unknown) else "it is no plain data; compare it in the expression"
        )
        raise ValueError(why)
    return value


def paths_in(text: str) -> list[Path] | None:
    """The places of the object of which an expression reads something; None if that may be all of it."""
    found = reads_of({"validations": [{"expression": text}]})
    return (
        None if found is None else [tuple(takewhile(lambda step: step not in (EACH, PRESENT), path)) for path in found.verdict]
    )
