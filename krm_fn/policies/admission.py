"""What the policies of a bundle say of its objects, as an API server would when the objects are created.

upstream: k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go, validator.go
"""

from __future__ import annotations

from krm_fn.base.objects import group_of, kind_of, name_of, namespace_of, text
from krm_fn.base.paths import as_list, as_map
from krm_fn.base.value import Value
from krm_fn.policies.compiled import Reason, compiled
from krm_fn.policies.errors import EvaluationError, Unsupported
from krm_fn.policies.evaluation import Runner
from krm_fn.policies.matching import CREATE, Cluster, Request, matched, resource_of, selects

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from krm_fn.base.objects import Object
    from krm_fn.policies.compiled import Policy, Validation
    from krm_fn.policies.matching import Resource

GROUP, POLICY, BINDING = "admissionregistration.k8s.io", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"
SEVERITIES = (("Deny", "error"), ("Warn", "warning"), ("Audit", "info"))
LONGEST_MESSAGE = 5_120  # bytes


class Failure(Value):
    """One failure: of a validation by its index, -1 for one of the whole binding. `param` is `namespace/name`, "" for none."""

    policy: Object
    binding: str
    param: str
    index: int
    message: str
    severity: str


class Skipped(Value):
    """A policy that is not evaluated, with the place and the reason. `refused`: the API server would not store it.

    `is_note`: it was evaluated, but the reason may make its verdicts void.
    """

    policy: Object
    place: str
    why: str
    refused: bool = False
    is_note: bool = False


class Policies:
    """The policies and bindings of a bundle."""

    def __init__(self, objects: Sequence[Object]) -> None:
        self._objects = objects
        own = [obj for obj in objects if group_of(obj) == GROUP]
        self._bindings = [obj for obj in own if kind_of(obj) == BINDING]
        self._found = [compiled(obj) for obj in own if kind_of(obj) == POLICY]
        self._policies = [obj for obj in own if kind_of(obj) == POLICY]
        namespaces = {name_of(obj): obj for obj in objects if kind_of(obj) == "Namespace" and group_of(obj) == ""}
        self._cluster = Cluster(namespaces=namespaces)

    def skipped(self) -> Iterator[Skipped]:
        """The policies that the API server refuses, and bound ones that can't be compiled here."""
        for obj, found in zip(self._policies, self._found, strict=True):
            if isinstance(found, Reason) and (found.refused or self._of(obj)):
                yield Skipped(policy=obj, place=found.place, why=found.why, refused=found.refused)

    def states(self) -> list[str]:
        """The states of objects that policies are evaluated on."""
        return sorted({_state(obj) for obj in self._policies if self._of(obj)})

    def failures(
        self,
        obj: Object,
        value: Object,
        state: str,
        *,
        operation: str = CREATE,
        old_object: Object | None = None,
        old_value: Object | None = None,
    ) -> Iterator[Failure | Skipped]:
        """What the policies that are evaluated on a state of objects say of one, whose value in that state is given.

        For the operation UPDATE, `old_object` is what the object replaces, and `old_value` its value in that state, which is
        the old object itself unless given.
        """
        resource = resource_of(obj)
        if resource is None:
            return
        asked = Request(obj=obj, resource=resource, operation=operation, old=old_object)
        values = value, old_object if old_value is None else old_value
        for found in self._found:
            if isinstance(found, Reason) or _state(found.obj) != state:
                continue
            try:
                failures = list(self._judged(found, asked, values))
            except Unsupported as error:
                yield Skipped(policy=found.obj, place="spec", why=str(error))
                continue
            except RecursionError:
                yield Skipped(policy=found.obj, place="spec", why="the object is nested too deeply")
                continue
            yield from failures
            namespace = namespace_of(obj) or "default"
            if failures and resource.namespaced and namespace not in self._cluster.namespaces:
                yield Skipped(policy=found.obj, place="", why=f"the namespace {namespace} is not in the bundle", is_note=True)

    def _of(self, policy: Object) -> list[Object]:
        """The bindings of a policy."""
        return [each for each in self._bindings if as_map(each.get("spec")).get("policyName") == name_of(policy)]

    def _judged(self, policy: Policy, asked: Request, values: tuple[Object, Object | None]) -> Iterator[Failure]:
        obj, resource = asked.obj, asked.resource
        under = matched(as_map(policy.spec.get("matchConstraints")), asked, self._cluster)
        if under is None:
            return
        namespace = namespace_of(obj) or "default"
        if resource.namespaced and self._cluster.whole and namespace not in self._cluster.namespaces:
            raise Unsupported(f"the namespace {namespace} is not in the bundle")
        for binding in self._of(policy.obj):
            spec = as_map(binding.get("spec"))
            within = as_map(spec.get("matchResources"))
            if within and matched(within, asked, self._cluster, without_rules=True) is None:
                continue
            run = _Run(policy, binding, asked, values, under, self._cluster)
            for param in self._params(policy, spec, obj, resource):
                yield from run.failures(param)

    def _params(self, policy: Policy, spec: Object, obj: Object, resource: Resource) -> list[Object | str | None]:
        """The parameters of a binding: objects, None for none, and a text for what is wrong with them."""
        kind, ref = as_map(policy.spec.get("paramKind")), as_map(spec.get("paramRef"))
        if not kind:
            return [None]
        of_kind = [
            each
            for each in self._objects
            if (each.get("apiVersion"), each.get("kind")) == (kind.get("apiVersion"), kind.get("kind"))
        ]
        is_config_map = (kind.get("apiVersion"), kind.get("kind")) == ("v1", "ConfigMap")
        if not of_kind and not is_config_map:
            raise Unsupported(f"the bundle has no {kind.get('kind')}, so its kind is not known")
        if not ref:
            return [None]
        namespaced = is_config_map or any(namespace_of(each) for each in of_kind)
        if not namespaced and ref.get("namespace"):
            return ["paramRef.namespace must not be provided for a cluster-scoped paramKind"]
        if namespaced and not ref.get("namespace") and not resource.namespaced:
            return ["a namespaced paramKind needs paramRef.namespace for a cluster-scoped object"]
        namespace = text(ref.get("namespace")) or namespace_of(obj) or "default"
        near = [each for each in of_kind if not namespaced or (namespace_of(each) or "default") == namespace]
        if ref.get("name"):
            found = [each for each in near if name_of(each) == ref["name"]]
        else:
            chosen = as_map(ref.get("selector"))
            found = [each for each in near if selects(chosen, as_map(as_map(each.get("metadata")).get("labels")))]
        if not found and ref.get("parameterNotFoundAction") != "Allow":
            return ["no params found for the binding, and Deny is its action then"]
        return [*sorted(found, key=_by_name)]


def _by_name(obj: Object) -> tuple[str, str]:
    return namespace_of(obj), name_of(obj)


def _state(policy: Object) -> str:
    annotations = as_map(as_map(policy.get("metadata")).get("annotations"))
    state = annotations.get("kubevirt-render.dev/evaluate")
    return state if state in ("rendered", "instance", "pod") else "written"


class _Run:
    """A policy and one of its bindings on one object."""

    def __init__(  # noqa: PLR0917  each of the six is a thing of its own
        self,
        policy: Policy,
        binding: Object,
        asked: Request,
        values: tuple[Object, Object | None],
        under: Resource,
        cluster: Cluster,
    ) -> None:
        self._policy, self._binding = policy, binding
        actions = as_list(as_map(binding.get("spec")).get("validationActions")) or ["Deny"]
        self._severity = next((level for action, level in SEVERITIES if action in actions), "error")
        if under.version != asked.resource.version:
            version = f"{under.group}/{under.version}"
            values = {**values[0], "apiVersion": version}, values[1] and {**values[1], "apiVersion": version}
        self._object, self._old = values
        self._operation, self._resource, self._under, self._cluster = asked.operation, asked.resource, under, cluster

    def failures(self, param: Object | str | None) -> Iterator[Failure]:
        """The failures with one parameter."""
        if isinstance(param, str):
            if not self._policy.ignores_failures:
                yield self._failure("", -1, f"failed to configure binding: {param}", "error")
            return
        named = "/".join(filter(None, (namespace_of(param), name_of(param)))) if isinstance(param, dict) else ""
        names = self._names(param)
        met = self._conditions({**names, "namespaceObject": None})
        if met is not True:
            if met is None and not self._policy.ignores_failures:
                yield self._failure(named, -1, "a match condition fails")
            return
        runner = Runner(names, self._policy.variables)
        for index, validation in enumerate(self._policy.validations):
            message = self._verdict(runner, validation)
            if message:
                yield self._failure(named, index, message)
        yield from self._annotations(runner, named)

    def _failure(self, param: str, index: int, message: str, severity: str = "") -> Failure:
        return Failure(
            policy=self._policy.obj,
            binding=name_of(self._binding),
            param=param,
            index=index,
            message=message,
            severity=severity or self._severity,
        )

    def _conditions(self, names: dict[str, Any]) -> bool | None:
        """True if all match conditions hold, False if one does not, None if one fails."""
        failed = False
        for each in self._policy.conditions:
            try:
                found = Runner(names, {}).run(each.node)
            except EvaluationError:
                failed = True
                continue
            if found is False:
                return False
            failed = failed or found is not True
        return None if failed else True

    def _verdict(self, runner: Runner, validation: Validation) -> str:
        """The message of a validation that fails; "" for one that holds."""
        try:
            found = runner.run(validation.node)
        except EvaluationError as error:
            found = error
        if found is True:
            return ""
        if found is not False:
            return "" if self._policy.ignores_failures else f"expression '{validation.text}' resulted in error: {found}"
        return self._words(runner, validation) or validation.message or f"failed expression: {validation.text}"

    def _words(self, runner: Runner, validation: Validation) -> str:
        if validation.words is None:
            return ""
        try:
            found = runner.run(validation.words)
        except EvaluationError:
            return ""
        found = found.strip() if isinstance(found, str) else ""
        return "" if "\n" in found or len(found.encode()) > LONGEST_MESSAGE else found

    def _annotations(self, runner: Runner, param: str) -> Iterator[Failure]:
        """The audit annotations that fail: these deny, whatever the actions of the binding are."""
        for node in self._policy.annotations:
            try:
                found = runner.run(node)
            except EvaluationError as error:
                found = error
            if found is not None and not isinstance(found, str) and not self._policy.ignores_failures:
                yield self._failure(param, -1, f"an audit annotation fails: {found}", "error")

    def _names(self, param: Object | None) -> dict[str, Any]:
        namespace = namespace_of(self._object) or "default"
        held = self._cluster.namespaces.get(namespace) if self._resource.namespaced else None
        request = {
            "kind": _kind(self._under),
            "resource": _plural(self._under),
            "requestKind": _kind(self._resource),
            "requestResource": _plural(self._resource),
            "name": name_of(self._object),
            "operation": self._operation,
        }
        if self._resource.namespaced:
            request["namespace"] = namespace
        return {
            "object": self._object,
            "oldObject": self._old,
            "request": request,
            "namespaceObject": {"metadata": {}, "spec": {}, "status": {}, **held} if held else held,
            "params": _typed(param),
            "variables": None,
        }


def _typed(param: Object | None) -> Object | None:
    """A parameter as the API server reads it: a ConfigMap loses its empty maps."""
    if param is None or (param.get("apiVersion"), param.get("kind")) != ("v1", "ConfigMap"):
        return param
    metadata = {key: each for key, each in as_map(param.get("metadata")).items() if each not in ({}, None)}
    return {**{key: each for key, each in param.items() if each not in ({}, None)}, "metadata": metadata}


def _kind(resource: Resource) -> Object:
    return {"group": resource.group, "version": resource.version, "kind": resource.kind}


def _plural(resource: Resource) -> Object:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}
