"""What the policies of a bundle say of its objects, as an API server would when the objects are created.

upstream: k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go, validator.go
"""

from __future__ import annotations

from krm_fn.base.objects import group_of, kind_of, name_of, namespace_of
from krm_fn.base.paths import as_map
from krm_fn.base.value import Value
from krm_fn.policies.compiled import Policy, compiled
from krm_fn.policies.errors import Unsupported
from krm_fn.policies.judging import Failure, Judgement, Note, namespace_object
from krm_fn.policies.matching import CREATE, Cluster, Request, matched, resource_of
from krm_fn.policies.parameters import chosen, has_kind, scope_of
from krm_fn.policies.work import WORK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from krm_fn.base.objects import Object
    from krm_fn.policies.matching import Resource

__all__ = ("BINDING", "GROUP", "POLICY", "Failure", "Policies", "Skipped")
GROUP, POLICY, BINDING = "admissionregistration.k8s.io", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"


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
        WORK.begin()
        self._objects = objects
        own = [obj for obj in objects if group_of(obj) == GROUP]
        self._bound: dict[str, list[Object]] = {}
        for obj in own:
            if kind_of(obj) == BINDING:
                self._bound.setdefault(str(as_map(obj.get("spec")).get("policyName")), []).append(obj)
        self._found = [compiled(obj) for obj in own if kind_of(obj) == POLICY]
        self._policies = [obj for obj in own if kind_of(obj) == POLICY]
        namespaces = {name_of(obj): obj for obj in objects if kind_of(obj) == "Namespace" and group_of(obj) == ""}
        self._cluster = Cluster(namespaces=namespaces)

    def skipped(self) -> Iterator[Skipped]:
        """The policies that the API server refuses, and bound ones that can't be compiled here."""
        for obj, found in zip(self._policies, self._found, strict=True):
            for each in () if isinstance(found, Policy) else found:
                if each.refused or self._of(obj):
                    yield Skipped(policy=obj, place=each.place, why=each.why, refused=each.refused)

    def states(self) -> list[str]:
        """The states of objects that policies are evaluated on."""
        return sorted({_state(obj) for obj in self._policies if self._of(obj)})

    def compiled(self, state: str) -> list[Policy]:
        """The policies that are evaluated on a state of objects."""
        return [found for found in self._found if isinstance(found, Policy) and _state(found.obj) == state]

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
        WORK.next_object()
        asked = Request(obj=obj, resource=resource, operation=operation, old=old_object)
        values = value, old_object if old_value is None else old_value
        for policy in self.compiled(state):
            yield from self._of_policy(policy, asked, values)

    def _of_policy(self, policy: Policy, asked: Request, values: tuple[Object, Object | None]) -> Iterator[Failure | Skipped]:
        """What one policy says, and what of it is not evaluated or not certain."""
        try:
            failures = list(self._judged(policy, asked, values))
        except Unsupported as error:
            yield Skipped(policy=policy.obj, place=error.place, why=str(error))
            return
        except RecursionError:
            yield Skipped(policy=policy.obj, place="spec", why="the object is nested too deeply")
            return
        for each in failures:
            yield Skipped(policy=policy.obj, place="", why=each.why, is_note=True) if isinstance(each, Note) else each
        namespace = namespace_of(asked.obj) or "default"
        if failures and asked.resource.namespaced and namespace not in self._cluster.namespaces:
            yield Skipped(policy=policy.obj, place="", why=f"the namespace {namespace} is not in the bundle", is_note=True)

    def _of(self, policy: Object) -> list[Object]:
        """The bindings of a policy."""
        return self._bound.get(name_of(policy), [])

    def _judged(self, policy: Policy, asked: Request, values: tuple[Object, Object | None]) -> Iterator[Failure | Note]:
        obj, resource = asked.obj, asked.resource
        under = matched(as_map(policy.spec.get("matchConstraints")), asked, self._cluster)
        if under is None:
            return
        namespace = namespace_of(obj) or "default"
        is_missing = resource.namespaced and self._cluster.whole and namespace not in self._cluster.namespaces
        held = self._cluster.namespaces.get(namespace) if resource.namespaced else None
        for binding in self._of(policy.obj):
            spec = as_map(binding.get("spec"))
            within = as_map(spec.get("matchResources"))
            if within and matched(within, asked, self._cluster, without_rules=True) is None:
                continue
            if is_missing:
                raise Unsupported(f"the namespace {namespace} is not in the bundle")
            judgement = Judgement(policy, binding, asked, values, under, namespace_object(held, namespace, resource))
            for param in self._params(policy, spec, obj, resource):
                yield from judgement.configuration(param) if isinstance(param, str) else judgement.failures(param)

    def _params(self, policy: Policy, spec: Object, obj: Object, resource: Resource) -> list[Object | str | None]:
        """The parameters of a binding: objects, None for none, and a text for what is wrong with them."""
        kind, ref = as_map(policy.spec.get("paramKind")), as_map(spec.get("paramRef"))
        if not kind:
            return [None]
        of_kind = [each for each in self._objects if has_kind(each, kind)]
        namespaced = scope_of(kind, of_kind, self._objects)
        if namespaced is None:
            if policy.ignores_failures and ref:
                return []  # neither a kind that does not exist nor a parameter that is missing is a failure then
            raise Unsupported(f"the bundle has no {kind.get('kind')}, so its kind is not known")
        return chosen(ref, of_kind, obj, resource, namespaced=namespaced) if ref else [None]


def _state(policy: Object) -> str:
    annotations = as_map(as_map(policy.get("metadata")).get("annotations"))
    state = annotations.get("kubevirt-render.dev/evaluate")
    return state if state in ("rendered", "instance", "pod") else "written"
