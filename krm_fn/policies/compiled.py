"""A policy, compiled: its expressions parsed and checked, in the order in which the API server checks them."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator, Mapping, Sequence
from krm_fn.base.objects import Object
from krm_fn.base.paths import as_list, as_map
from krm_fn.base.value import Value
from krm_fn.base.work import WORK, SpentError
from krm_fn.policies.errors import RefusedError, Unsupported
from krm_fn.policies.evaluation import planned
from krm_fn.policies.literals import check_literals
from krm_fn.policies.running import Frame, Step
from krm_fn.policies.syntax import parse
from krm_fn.policies.types import checked, declared
from krm_fn.policies.unification import DYN, NAMES, VARIABLES

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
