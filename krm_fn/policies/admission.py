"""What the policies of a bundle say of its objects, as an API server would when the objects are created.

Some remember which objects pass: an object with the same values where policies read passes, too. Most VMs of many are made
from few templates. A policy reads few of their values, and seldom their names. What policies say of other objects is worked
out anew: it is a finding, which costs more than that.

upstream: k8s.io/apiserver/pkg/admission/plugin/policy/validating/dispatcher.go, validator.go
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator, Sequence
from krm_fn.base.objects import Object, group_of, kind_of, labels_of, name_of, namespace_of
from krm_fn.base.paths import as_map, number_of_values
from krm_fn.base.value import Value
from krm_fn.base.work import WORK, SpentError
from krm_fn.policies.compiled import Policy, compiled
from krm_fn.policies.errors import Unsupported
from krm_fn.policies.judging import Failure, Judgement, Normalized, Note, as_read, namespace_object, severity_of
from krm_fn.policies.matching import CREATE, KnownNamespaces, PolicyParameters, Request, Resource, matched, resource_of
from krm_fn.policies.reads import LONGEST, Reads, chosen_by, part, reads_of, together

__all__ = ("BINDING", "GROUP", "POLICY", "Failure", "Policies", "Skipped")
GROUP, POLICY, BINDING = "admissionregistration.k8s.io", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"

OF_PAIR, OF_VALUE = 40, 4  # units of work: for two things that may concern one another, for a part of what decides that


class Skipped(Value):
    """A policy that is not evaluated, with the place and the reason. `refused`: the API server would not store it.

    `is_note`: it was evaluated, but the reason may make its verdicts void. `is_spent`: it takes too much work;
    `fails_closed`: where it fails, the API server refuses the object.
    """

    policy: Object
    place: str
    why: str
    refused: bool = False
    is_note: bool = False
    is_spent: bool = False
    fails_closed: bool = False


class Policies:
    """The policies and bindings of a bundle."""

    def __init__(self, objects: Sequence[Object]) -> None:
        self._objects = objects
        own = [obj for obj in objects if group_of(obj) == GROUP]
        self._bound: dict[str, list[Object]] = {}
        for obj in own:
            if kind_of(obj) == BINDING:
                self._bound.setdefault(str(as_map(obj.get("spec")).get("policyName")), []).append(obj)
        self._policies = [obj for obj in own if kind_of(obj) == POLICY]
        self._found = list(map(compiled, self._policies))
        self._of_states: dict[str, list[Policy]] = {}
        for found in self._found:
            if isinstance(found, Policy):
                self._of_states.setdefault(_state(found.obj), []).append(found)
        namespaces = {name_of(obj): obj for obj in objects if kind_of(obj) == "Namespace" and group_of(obj) == ""}
        self._cluster = KnownNamespaces(namespaces=namespaces)
        self._sizes: dict[int, int] = {}
        self._read: dict[int, Any] = {}
        self._chosen: dict[tuple[int, str, bool], list[Object | str | None]] = {}
        self._of_kinds: dict[str, PolicyParameters] = {}

    def skipped(self) -> Iterator[Skipped]:
        """The policies that the API server refuses, and bound ones that can't be compiled here."""
        for obj, found in zip(self._policies, self._found, strict=True):
            for each in () if isinstance(found, Policy) else found:
                if each.refused or self._of(obj):
                    skipped = Skipped(policy=obj, place=each.place, why=each.why, refused=each.refused, is_spent=each.is_spent)
                    yield skipped.but(fails_closed=self._fails_closed(obj))

    def states(self) -> list[str]:
        """The states of objects that policies are evaluated on."""
        return sorted({_state(obj) for obj in self._policies if self._of(obj)})

    def compiled(self, state: str) -> list[Policy]:
        """The policies that are evaluated on a state of objects."""
        return self._of_states.get(state, [])

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
        values = Normalized(value, old_object if old_value is None else old_value)
        for policy in tuple(self.compiled(state)):
            yield from self._of_policy(policy, asked, values)

    def _of_policy(self, policy: Policy, asked: Request, values: Normalized) -> Iterator[Failure | Skipped]:
        """What one policy says, and what of it is not evaluated or not certain."""
        WORK.use(id(policy.obj))
        try:
            WORK.spend(OF_PAIR)
            failures = list(self._judged(policy, asked, values))
        except SpentError as error:
            self.compiled(_state(policy.obj)).remove(policy)  # it is not asked about the other objects, either
            closed = self._fails_closed(policy.obj)
            yield Skipped(policy=policy.obj, place="", why=str(error), is_spent=True, fails_closed=closed)
            return
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

    def _fails_closed(self, policy: Object) -> bool:
        """True if a policy that fails refuses the object: it does not ignore failures, and a binding denies."""
        closed = as_map(policy.get("spec")).get("failurePolicy") != "Ignore"
        return closed and any(severity_of(each) == "error" for each in self._of(policy))

    def _judged(self, policy: Policy, asked: Request, values: Normalized) -> Iterator[Failure | Note]:
        obj, resource = asked.obj, asked.resource
        under = self._matched(as_map(policy.spec.get("matchConstraints")), asked)
        if under is None:
            return
        namespace = namespace_of(obj) or "default"
        is_missing = resource.namespaced and self._cluster.whole and namespace not in self._cluster.namespaces
        held = self._cluster.namespaces.get(namespace) if resource.namespaced else None
        for binding in self._of(policy.obj):
            WORK.spend(OF_PAIR)
            spec = as_map(binding.get("spec"))
            within = as_map(spec.get("matchResources"))
            if within and self._matched(within, asked, without_rules=True) is None:
                continue
            if is_missing:
                raise Unsupported(f"the namespace {namespace} is not in the bundle")
            judgement = Judgement(policy, binding, asked, values.known(), under, namespace_object(held, namespace, resource))
            for param in self._params(policy, spec, obj, resource):
                if isinstance(param, str):
                    yield from judgement.configuration(param)
                else:
                    yield from judgement.failures(param, param and self._as_read(param))

    def _matched(self, given: Object, asked: Request, *, without_rules: bool = False) -> Resource | None:
        """As `matched`; the work grows with what the constraints are made of."""
        key = id(given)
        if key not in self._sizes:
            self._sizes[key] = number_of_values(given)
        WORK.spend(self._sizes[key] * OF_VALUE)
        return matched(given, asked, self._cluster, without_rules=without_rules)

    def _params(self, policy: Policy, spec: Object, obj: Object, resource: Resource) -> list[Object | str | None]:
        """The parameters of a binding: objects, None for none, and a text for what is wrong with them."""
        kind, ref = as_map(policy.spec.get("paramKind")), as_map(spec.get("paramRef"))
        if not kind:
            return [None]
        known = self._known_params(kind)
        if known.namespaced is None:
            if policy.ignores_failures and ref:
                return []  # neither a kind that does not exist nor a parameter that is missing is a failure then
            raise Unsupported(f"the bundle has no {kind.get('kind')}, so its kind is not known")
        WORK.spend(known.count * OF_VALUE)
        if not ref:
            return [None]
        key = id(spec), namespace_of(obj), resource.namespaced
        if key not in self._chosen:
            self._chosen[key] = known.chosen(ref, obj, resource)
        return self._chosen[key]

    def _as_read(self, param: Object) -> Any:
        """A parameter as expressions see it. Raises: Unsupported."""
        if id(param) not in self._read:
            WORK.spend(number_of_values(param) * OF_VALUE)
            self._read[id(param)] = as_read(param)
        return self._read[id(param)]

    def _known_params(self, kind: Object) -> PolicyParameters:
        key = repr(kind)
        if key not in self._of_kinds:
            WORK.spend(len(self._objects) * OF_VALUE)
            self._of_kinds[key] = PolicyParameters(kind, self._objects)
        return self._of_kinds[key]


def _state(policy: Object) -> str:
    annotations = as_map(as_map(policy.get("metadata")).get("annotations"))
    state = annotations.get("kubevirt-render.dev/evaluate")
    return state if state in ("rendered", "instance", "pod") else "written"


Key = tuple[Any, ...]


MOST = 100_000  # objects that are remembered


class RememberedPolicies(Policies):
    """The policies and bindings of a bundle, which remember the objects of which they said nothing, and that replace none."""

    def __init__(self, objects: Sequence[Object]) -> None:
        super().__init__(objects)
        self._reads: dict[int, Reads | None] = {}
        self._decisive: dict[str, Reads | None] = {}
        self._silent: set[Key | None] = set()

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
        """As of all policies; at once for an object of which no policy of the state says anything."""
        old = {"old_object": old_object, "old_value": old_value}
        reads = self.reads(state) if old_object is None else None
        kind = state, repr(obj.get("apiVersion")), repr(obj.get("kind")), operation  # of any shape
        WORK.use(None)
        key = _key(kind, reads, obj, value) if reads else None
        if key not in self._silent:
            yield from self._noted(key, super().failures(obj, value, state, operation=operation, **old))

    def reads(self, state: str) -> Reads | None:
        """What decides whether an object passes all policies of a state; None if that may be all of it."""
        if state not in self._decisive:
            found = [self._reads_of(each) for each in self.compiled(state)]
            self._decisive[state] = together(found)
        return self._decisive[state]

    def _judged(self, policy: Policy, asked: Request, values: Normalized) -> Iterator[Failure | Note]:
        reads = self._reads_of(policy) if asked.old is None else None
        key = _key((id(policy), asked.operation, asked.resource), reads, asked.obj, values.given[0]) if reads else None
        if key not in self._silent:
            yield from self._noted(key, super()._judged(policy, asked, values))

    def _noted(self, key: Key | None, said: Iterator[Any]) -> list[Any]:
        """What is said; if it is nothing, this is remembered under the key."""
        found = list(said)
        if key is not None and not found and len(self._silent) < MOST:
            self._silent.add(key)
        return found

    def _reads_of(self, policy: Policy) -> Reads | None:
        if id(policy) not in self._reads:
            found = reads_of(policy.spec)
            matching = [
                policy.spec.get("matchConstraints"),
                *(as_map(each.get("spec")).get("matchResources") for each in self._of(policy.obj)),
            ]
            named = "resourceNames" in repr(matching)
            self._reads[id(policy)] = found and found.but(named=found.named or named, labels=chosen_by(*matching))
        return self._reads[id(policy)]


def _key(kind: tuple[Any, ...], reads: Reads, obj: Object, value: Object) -> Key | None:
    """What decides whether an object passes; None if that is too much to be remembered."""
    try:
        parts = tuple([part(value, path) for path in reads.verdict])
    except (RecursionError, SpentError):
        return None
    own = labels_of(obj) if reads.labels else {}
    labels = tuple([repr(own.get(each, ...)) for each in reads.labels])
    if any(type(each) is str and len(each) > LONGEST for each in parts):
        return None
    return *kind, namespace_of(obj), name_of(obj) if reads.named else "", labels, parts
