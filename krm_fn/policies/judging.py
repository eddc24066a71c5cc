"""What a policy says of one object by one of its bindings: conditions, validations, messages, audit annotations.

upstream: k8s.io/apiserver/pkg/admission/plugin/policy/validating/validator.go; plugin/cel/condition.go, activation.go;
plugin/webhook/matchconditions/matcher.go
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator, Mapping, Sequence
from krm_fn.base.objects import Object, name_of, namespace_of
from krm_fn.base.paths import as_list, as_map
from krm_fn.base.value import Value
from krm_fn.base.work import WORK, SpentError
from krm_fn.policies.errors import EvaluationError, Unknown, Unsupported
from krm_fn.policies.matching import CREATE, Request, Resource
from krm_fn.policies.running import CERTAIN, Step, Variables, evaluated
from krm_fn.policies.values import normalized

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.policies.compiled import Policy, Validation


SEVERITIES = (("Deny", "error"), ("Warn", "warning"), ("Audit", "info"))
LONGEST_MESSAGE = 5_120  # bytes
OF_JUDGEMENT, OF_FAILURE = 80, 400  # units of work
BUDGET, BUDGET_OF_CONDITIONS = 10_000_000, 2_500_000  # units of cost
OUT_OF_BUDGET = "validation failed due to running out of cost budget, no further validation rules will be run"
# The places of expressions, by the index of their row.
CONDITION, VALIDATION, MESSAGE, ANNOTATION = (
    f"spec.{row}s[{{}}].{field}"
    for row, field in (
        ("matchCondition", "expression"),
        ("validation", "expression"),
        ("validation", "messageExpression"),
        ("auditAnnotation", "valueExpression"),
    )
)
USER = Unknown("request.userInfo is known to the cluster only")
DRY_RUN = Unknown("request.dryRun is known to the cluster only")
AUTHORIZER = Unknown("the authorizer is known to the cluster only")


class Failure(Value):
    """One failure: of a validation by its index, -1 for one of the whole binding. `param` is `namespace/name`, "" for none."""

    policy: Object
    binding: str
    param: str
    index: int
    message: str
    severity: str


class Normalized:
    """The value of an object, and that of the object that it replaces, as expressions see them; made when first needed."""

    __slots__ = ("_found", "given")

    def __init__(self, value: Object, old: Object | None) -> None:
        self.given = value, old
        self._found: tuple[Any, Any] | Unsupported | None = None

    def known(self) -> tuple[Any, Any]:
        """Both values. Raises: Unsupported."""
        if self._found is None:
            try:
                self._found = normalized(self.given[0]), normalized(self.given[1])
            except Unsupported as error:
                self._found = error
        if isinstance(self._found, Unsupported):
            raise self._found
        return self._found


class Note(Value):
    """A remark on a failure: what of it is not certain."""

    why: str


class Spent(Value):
    """The results of a list of expressions at a place, and what is left of the budget; `is_over`: it did not suffice."""

    place: str
    results: Sequence[Any]
    left: int
    is_over: bool = False

    def known(self) -> Sequence[Any]:
        """The results. Raises: Unsupported if only the cluster knows one of them."""
        for index, each in enumerate(self.results):
            if isinstance(each, Unknown):
                raise Unsupported(str(each), self.place.format(index))
        return self.results


def spend(
    steps: Sequence[Step | None], place: str, names: Mapping[str, Any], variables: Mapping[str, Step] | None, budget: int
) -> Spent:
    """Runs the expressions at a place one after the other, with the same variables; None stands for one that is not there.

    Raises: Unsupported.
    """
    scope = Variables(variables or {}, names)
    values = {**names, "variables": scope} if variables is not None else dict(names)
    results: list[Any] = []
    left, before, is_certain = budget, 0, True
    for index, step in enumerate(steps):
        if step is None:
            results.append(None)
            continue
        try:
            found, run = evaluated(step, values)
        except SpentError:
            raise  # it is no fault of this expression alone
        except Unsupported as error:
            raise Unsupported(str(error), place.format(index)) from error
        left -= run.cost + scope.cost - before
        before = scope.cost
        is_certain = is_certain and run.is_certain and scope.is_certain
        if not is_certain and left < budget * (1 - CERTAIN):
            raise Unsupported("its cost depends on what only the cluster knows", place.format(index))
        if left < 0:
            return Spent(place=place, results=results, left=left, is_over=True)
        results.append(found)
    return Spent(place=place, results=results, left=left)


def severity_of(binding: Object) -> str:
    """The severity of what a binding says: that of the strictest of its actions."""
    actions = as_list(as_map(binding.get("spec")).get("validationActions")) or ["Deny"]
    return next((level for action, level in SEVERITIES if action in actions), "error")


class Judgement:
    """A policy and one of its bindings on one object."""

    def __init__(  # noqa: PLR0917  each of the six is a thing of its own
        self,
        policy: Policy,
        binding: Object,
        asked: Request,
        values: tuple[Any, Any],
        under: Resource,
        namespace: Object | None,
    ) -> None:
        self._policy, self._binding = policy, binding
        self._severity = severity_of(binding)
        if under.version != asked.resource.version:
            version = f"{under.group}/{under.version}"
            values = {**values[0], "apiVersion": version}, values[1] and {**values[1], "apiVersion": version}
        self._asked = asked
        self._names = {
            "object": values[0],
            "oldObject": values[1],
            "request": self._request(under, values[0], under),
            "namespaceObject": namespace,
            "authorizer": AUTHORIZER,
        }
        # the resource that match conditions see is that of the request
        asked_for = self._request(asked.resource, values[0], under)
        self._names_of_conditions = {**self._names, "namespaceObject": None, "request": asked_for}

    def configuration(self, why: str) -> Iterator[Failure]:
        """The failure of a binding whose parameters are wrong."""
        if not self._policy.ignores_failures:
            yield self._failure(None, -1, f"failed to configure binding: {why}", "error")

    def failures(self, param: Object | None, read: Any) -> Iterator[Failure | Note]:
        """The failures with one parameter, which expressions see as it is read. Raises: Unsupported."""
        WORK.spend(OF_JUDGEMENT)
        met = self._conditions({**self._names_of_conditions, "params": read}) if self._policy.conditions else True
        if met is not True:
            if met is None and not self._policy.ignores_failures:
                yield self._failure(param, -1, "a match condition fails")
            return
        names = {**self._names, "params": read}
        found = spend([each.step for each in self._policy.validations], VALIDATION, names, self._policy.variables, BUDGET)
        if found.is_over:
            if not self._policy.ignores_failures:
                yield self._failure(param, -1, OUT_OF_BUDGET)
            return
        yield from self._denials(param, names, found)
        if self._policy.annotations:
            yield from self._annotations(names, param)

    def _conditions(self, names: dict[str, Any]) -> bool | None:
        """True if all match conditions hold, False if one does not, None if one fails."""
        found = spend(self._policy.conditions, CONDITION, names, None, BUDGET_OF_CONDITIONS)
        if found.is_over:
            return None
        if any(each is False for each in found.results):
            return False
        return None if any(isinstance(each, EvaluationError) for each in found.known()) else True

    def _denials(self, param: Object | None, names: dict[str, Any], found: Spent) -> Iterator[Failure | Note]:
        validations = self._policy.validations
        needed = any(each is not True for each in found.known()) or found.left < BUDGET * (1 - CERTAIN)
        if not needed:
            return
        words = [each.words for each in validations]
        messages = spend(words, MESSAGE, {**names, "authorizer": AUTHORIZER}, self._policy.variables, found.left)
        for index, (validation, value) in enumerate(zip(validations, found.results, strict=True)):
            if isinstance(value, EvaluationError) or messages.is_over:
                if not self._policy.ignores_failures:
                    text = f"expression '{validation.text}' resulted in error: {value}"
                    yield self._failure(param, index, f"failed messageExpression: {OUT_OF_BUDGET}" if value is True else text)
            elif value is not True:
                message = messages.results[index]
                if isinstance(message, Unknown):
                    yield Note(why=f"the message of validation {index} depends on what only the cluster knows: {message}")
                yield self._failure(param, index, _message(validation, message))

    def _annotations(self, names: dict[str, Any], param: Object | None) -> Iterator[Failure]:
        """The audit annotations that fail: these deny, whatever the actions of the binding are."""
        found = spend(self._policy.annotations, ANNOTATION, names, self._policy.variables, BUDGET)
        if found.is_over and not self._policy.ignores_failures:
            yield self._failure(param, -1, OUT_OF_BUDGET)
            return
        for value in found.known():
            failed = isinstance(value, EvaluationError) and not self._policy.ignores_failures
            if failed or not (isinstance(value, EvaluationError | str) or value is None):
                yield self._failure(param, -1, f"an audit annotation fails: {value}", "error")

    def _failure(self, param: Object | None, index: int, message: str, severity: str = "") -> Failure:
        WORK.spend(OF_FAILURE + len(message) // 8)
        return Failure(
            policy=self._policy.obj,
            binding=name_of(self._binding),
            param="/".join(filter(None, (namespace_of(param), name_of(param)))) if param is not None else "",
            index=index,
            message=message,
            severity=severity or self._severity,
        )

    def _request(self, resource: Resource, value: Any, under: Resource) -> dict[str, Any]:
        """The request about a value, with the resource that expressions see, and the one that the rule names."""
        asked = self._asked
        kind = "CreateOptions" if asked.operation == CREATE else "UpdateOptions"
        options = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
        request: dict[str, Any] = {
            "kind": _kind(under),
            "resource": _plural(resource),
            "requestKind": _kind(asked.resource),
            "requestResource": _plural(asked.resource),
            "name": name_of(value),
            "operation": asked.operation,
            "userInfo": USER,
            "dryRun": DRY_RUN,
            "options": Unknown("request.options are known to the cluster only", options),
        }
        if not name_of(value):
            del request["name"]  # what is empty is absent
        if asked.resource.namespaced:
            request["namespace"] = namespace_of(asked.obj) or "default"
        return request


def _message(validation: Validation, found: Any) -> str:
    found = found.strip() if isinstance(found, str) else ""
    is_usable = found and "\n" not in found and len(found.encode()) <= LONGEST_MESSAGE
    return found if is_usable else validation.message or f"failed expression: {validation.text}"


def as_read(param: Object) -> Any:
    """A parameter as the API server reads it: a ConfigMap loses its empty maps."""
    return normalized(_without_empty(param))


def _without_empty(param: Object) -> Object:
    if (param.get("apiVersion"), param.get("kind")) != ("v1", "ConfigMap"):
        return param
    metadata = {key: each for key, each in as_map(param.get("metadata")).items() if each not in ({}, None)}
    return {**{key: each for key, each in param.items() if each not in ({}, None)}, "metadata": metadata}


def _kind(resource: Resource) -> Object:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _plural(resource: Resource) -> Object:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}


def namespace_object(found: Object | None, name: str, resource: Resource) -> Any:
    """The namespace as policies see it, with what only the cluster knows as unknown."""
    if not resource.namespaced:
        return None
    if found is None:
        return Unknown(f"the namespace {name} is not in the bundle")
    return {"metadata": {}, "spec": {}, "status": {}, **found}
