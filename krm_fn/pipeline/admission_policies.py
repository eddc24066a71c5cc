"""The ValidatingAdmissionPolicies of a bundle and a config, evaluated on the bundle's objects; loaded only if there are some.

What a policy says counts as the answer of a cluster only if the policy is bound, and says the same of the written object.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator, Mapping, Sequence
from krm_fn.base.bundle import Entry, effective_namespace
from krm_fn.base.objects import Object, annotations_of, group_of, kind_of, name_of, ref_of
from krm_fn.base.paths import Path, as_map, get, number_of_values
from krm_fn.base.wording import show
from krm_fn.config.schema_policies import INSTANCE, POD, RENDERED, STATES, WRITTEN
from krm_fn.findings.finding import Finding
from krm_fn.pipeline.policy_subjects import PolicySubject, Subjects, repeats
from krm_fn.policies.admission import BINDING, GROUP, POLICY, RememberedPolicies, Skipped
from krm_fn.policies.judging import Failure
from krm_fn.policies.matching import UPDATE
from krm_fn.policies.reads import field_of
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.facts.policies import Unevaluated
from krm_fn.rules.registry import Hit, finding_of, policy_rule

Key = tuple[str, str, str, str]


EVALUATE = "kubevirt-render.dev/evaluate"
MOST_VALUES = 100_000  # in a policy; the store of an API server takes 1.5 MB
DENY = "error"  # the severity of a binding that denies
CLUSTER_WIDE = (POLICY, BINDING)
IN_ORDER = (POLICY, BINDING, "Namespace", "ConfigMap")


def verdicts(
    facts: BundleFacts, levels: Mapping[str, str], raw: Sequence[Any] = (), before: BundleFacts | None = None
) -> tuple[list[Finding], list[Unevaluated]]:
    """What the policies find in the objects of the bundle, and those that can't be evaluated.

    `raw` are the items with their numbers as they came. `before` are the facts of what the bundle replaces: its objects are
    updated then, and only the others created.
    """
    held = _held(facts)
    run = _Run(facts, held, levels, raw, before)
    found = list(run.findings())
    off = {f"policy {rule.partition('/')[2]}" for rule, level in facts.config.severity.items() if level == "off"}
    unevaluated = [each for each in (*_unfit(held), *run.unevaluated()) if each.policy not in off]
    return found, unevaluated


def without_base(facts: BundleFacts) -> list[Unevaluated]:
    """The policies, none of which is evaluated, because the objects that are replaced are not known."""
    why = "the older objects can't be read or built"
    return [
        Unevaluated(policy=f"policy {name_of(each.obj)}", place="spec", why=why, entry=each)
        for each in _of_kind(_held(facts), POLICY)
    ]


def _held(facts: BundleFacts) -> dict[Key, Entry]:
    """The objects that policies are and see, by identity: those of the config in place of the bundle's of the same name.

    Of several objects of one name, the first in `Bundle.ordered` counts.
    """
    given = [Entry(obj=each.obj, item=-2 - number, path=each.path) for number, each in enumerate(facts.config.policies)]
    held: dict[Key, Entry] = {}
    ordered = facts.bundle.ordered(entry for kind in IN_ORDER for entry in facts.bundle.of_kind(kind))
    for number, entry in enumerate((*given, *ordered, *facts.bundle.entries)):
        key = _identity(entry.obj) if name_of(entry.obj) else ("", "", "", str(number))
        held.setdefault(key, entry)
    return held


def _identity(obj: Object) -> Key:
    namespace = "" if kind_of(obj) in CLUSTER_WIDE else effective_namespace(obj)
    return group_of(obj), kind_of(obj), namespace, name_of(obj)


def _of_kind(held: Mapping[Key, Entry], kind: str) -> list[Entry]:
    return [entry for (group, of_kind, _, name), entry in held.items() if (group, of_kind) == (GROUP, kind) and name]


def _bound(held: Mapping[Key, Entry]) -> set[str]:
    """The names of the policies that bindings name."""
    return {str(get(each.obj, ("spec", "policyName"))) for each in _of_kind(held, BINDING)}


def _is_unbound(entry: Entry, bound: set[str]) -> bool:
    return name_of(entry.obj) not in bound


def _evaluated(held: Mapping[Key, Entry]) -> Iterator[Object]:
    """The objects for the engine: without policies that say something else than a state, with bindings for the config's own.

    A user who names a policy in the config wants it to be evaluated, so it denies if nothing binds it.
    """
    bound = _bound(held)
    for entry in held.values():
        is_policy = kind_of(entry.obj) == POLICY and group_of(entry.obj) == GROUP
        if is_policy and _why_unfit(entry.obj):
            continue
        yield entry.obj
        if is_policy and entry.item < -1 and _is_unbound(entry, bound) and not _param_kind(entry.obj):
            spec = {"policyName": name_of(entry.obj), "validationActions": ["Deny"]}
            yield {"apiVersion": f"{GROUP}/v1", "kind": BINDING, "metadata": {"name": ""}, "spec": spec}


def _state(policy: Object) -> object:
    return annotations_of(policy).get(EVALUATE, WRITTEN)


def _why_unfit(policy: Object) -> tuple[str, str] | None:
    """Place and reason for which a policy is not evaluated at all; None for others."""
    state = _state(policy)
    if state not in STATES:
        return f'metadata.annotations["{EVALUATE}"]', f"found {show(state)}; expected one of {', '.join(STATES)}"
    if number_of_values(policy) > MOST_VALUES:
        return "spec", f"it has more than {MOST_VALUES:,} values, which no API server stores; split it"
    return None


def _param_kind(policy: Object) -> Object:
    return as_map(get(policy, ("spec", "paramKind")))


def _unfit(held: Mapping[Key, Entry]) -> Iterator[Unevaluated]:
    """The policies and bindings that lack the other one, or name an unknown state."""
    bound, names = _bound(held), {name_of(each.obj) for each in _of_kind(held, POLICY)}
    for entry in _of_kind(held, POLICY):
        name = f"policy {name_of(entry.obj)}"
        if unfit := _why_unfit(entry.obj):
            yield Unevaluated(policy=name, place=unfit[0], why=unfit[1], entry=entry)
        elif _is_unbound(entry, bound) and entry.item >= -1:
            why = "no binding in the input names the policy; add one, or evaluate it with --policy"
            yield Unevaluated(policy=name, place="", why=why, entry=entry, is_unbound=True)
        elif _is_unbound(entry, bound) and _param_kind(entry.obj):
            why = "no binding names the policy; add one, because it chooses the parameters"
            yield Unevaluated(policy=name, place="spec.paramKind", why=why, entry=entry)
    for entry in _of_kind(held, BINDING):
        policy = str(get(entry.obj, ("spec", "policyName")))
        if policy not in names:
            why = f"the policy {policy} is not in the input; add it, or evaluate it with --policy"
            yield Unevaluated(policy=f"policy {policy}", place="spec.policyName", why=why, entry=entry, is_unbound=True)


class _Run:
    """The policies of one run on the objects of a bundle."""

    def __init__(
        self,
        facts: BundleFacts,
        held: Mapping[Key, Entry],
        levels: Mapping[str, str],
        raw: Sequence[Any],
        before: BundleFacts | None,
    ) -> None:
        self.policies = RememberedPolicies(list(_evaluated(held)))
        self._at = {id(entry.obj): entry for entry in held.values()}
        self._levels, self._raw, self._bound = levels, raw, _bound(held)
        self._facts = facts
        self._old = _Replaced(before) if before else None
        self._fields: dict[tuple[int, int], Path | None] = {}
        self._spoken: set[int] = set()  # ids of the entries of which policies said something
        self._skipped = {_key(each): each for each in self.policies.skipped()}

    def findings(self) -> Iterator[Finding]:
        """The findings about all objects. VMs that repeat one of which nothing is said are not rendered and started."""
        states = self.policies.states()
        made = [state for state in states if state != WRITTEN]
        first_of = self._repeats(made)
        yield from self._of(Subjects(self._facts, lambda entry: id(entry) not in first_of), made)
        again = {entry for entry, first in first_of.items() if first in self._spoken}
        if again:
            yield from self._of(Subjects(self._facts, lambda entry: id(entry) in again), made)
        yield from self._of(Subjects(self._facts), [state for state in states if state == WRITTEN])

    def _repeats(self, states: Sequence[str]) -> dict[int, int]:
        """The ids of the entries of VMs that repeat another one for policies of these states, with those of the first ones."""
        facts = self._facts
        reads = [self.policies.reads(state) for state in states]
        chosen_by_texts = facts.config.patches or facts.bundle.of_kind("VirtualMachineInstancePreset")
        if self._old or chosen_by_texts or facts.config.defaults == "pinned" or POD in states or None in reads:
            return {}
        return repeats(facts, [each for each in reads if each is not None])

    def _of(self, subjects: Subjects, states: Sequence[str]) -> Iterator[Finding]:
        """The findings about subjects; what rendering does not change is rendered as it is written."""
        for state in states:
            unrendered = subjects.unrendered() if state == RENDERED else ()
            for subject in (*subjects.on(state), *unrendered):
                yield from self._on(subject)

    def _on(self, subject: PolicySubject) -> Iterator[Finding]:
        """The findings about a subject."""
        failures = self._failures(subject, subject.state)
        if not failures:
            return
        refused = failures
        if subject.state != WRITTEN:
            written = subject.but(value=subject.entry.obj, state=WRITTEN)
            refused = self._failures(written, subject.state)
        denying = {(id(each.policy), each.binding) for each in refused if each.severity == DENY and each.binding}
        for each in failures:
            is_certain = each.severity == DENY and (id(each.policy), each.binding) in denying
            yield self._finding(each, subject, upstream="admission" if is_certain else "")

    def _finding(self, failure: Failure, subject: PolicySubject, *, upstream: str) -> Finding:
        rule = policy_rule(failure.policy["metadata"]["name"], failure.severity)
        index = str(failure.index) if failure.index >= 0 else ""
        tags = {"binding": failure.binding, "param": failure.param, "validation": index}
        hit = Hit(message=failure.message, path=self._place(failure, subject), upstream=upstream)
        found = finding_of(rule, hit, subject.entry, self._levels)
        found = found.but(tags=tuple((key, value) for key, value in tags.items() if value))
        return found.but(message=failure.message) if failure.message.isprintable() else found

    def _place(self, failure: Failure, subject: PolicySubject) -> Path:
        """The field that a validation reads, if it reads one alone and that is written; else the object."""
        key = id(failure.policy), failure.index
        if key not in self._fields:
            self._fields[key] = field_of(failure.policy["spec"], failure.index) if failure.index >= 0 else None
        field = self._fields[key]
        if field is None or subject.state == POD:
            return ()
        place = subject.place(field)
        return place if get(subject.entry.obj, place, None) is not None else ()

    def _failures(self, subject: PolicySubject, state: str) -> list[Failure]:
        """What the policies of a state say; what is not evaluated is kept apart."""
        failures: dict[tuple[Any, ...], Failure] = {}
        old = self._old.of(subject) if self._old else None
        if old and old[1] is None:
            self._pass_over(subject, state)
            return []
        update: dict[str, Any] = {"operation": UPDATE, "old_object": old[0], "old_value": old[1]} if old else {}
        for obj in _requested(subject):
            asked = {} if _is_started(obj, subject) else update
            for each in self.policies.failures(obj, self._value(subject), state, **asked):
                self._spoken.add(id(subject.entry))
                if isinstance(each, Skipped):
                    if not each.is_note or (state == WRITTEN and name_of(each.policy) in self._bound):
                        self._skipped.setdefault(_key(each), each)
                else:
                    failures.setdefault((id(each.policy), each.binding, each.param, each.index, each.message), each)
        return list(failures.values())

    def _pass_over(self, subject: PolicySubject, state: str) -> None:
        """The policies of a state are not evaluated on an object whose older form is not known in that state."""
        why = f"the older form of {ref_of(subject.entry.obj)} has no {state} form, because it can't be rendered or started"
        for entry in self._at.values():
            if kind_of(entry.obj) == POLICY and _state(entry.obj) == state:
                skipped = Skipped(policy=entry.obj, place="spec", why=why)
                self._skipped.setdefault(_key(skipped), skipped)

    def _value(self, subject: PolicySubject) -> Any:
        """What a policy sees as `object`, with the numbers as they came, if these are known."""
        item = subject.entry.item
        if subject.state != WRITTEN or not 0 <= item < len(self._raw):
            return subject.value
        return get(self._raw[item], subject.entry.path)

    def unevaluated(self) -> Iterator[Unevaluated]:
        """The policies that were not evaluated."""
        for each in self._skipped.values():
            yield Unevaluated(
                is_spent=each.is_spent,
                fails_closed=each.fails_closed and self._levels.get(policy_rule(name_of(each.policy)).id, DENY) == DENY,
                policy=f"policy {name_of(each.policy)}",
                place=each.place,
                why=each.why,
                entry=self._at[id(each.policy)],
                refused=each.refused,
                is_note=each.is_note,
            )


def _key(each: Skipped) -> tuple[int, str, str]:
    return id(each.policy), each.place, each.why


def _requested(subject: PolicySubject) -> tuple[Object, ...]:
    """The objects of which rules may name the kind: the one in the bundle, and what it makes, such as the VM of a pool."""
    made, holder = subject.value, subject.entry.obj
    if kind_of(made) in ("", kind_of(holder)) or group_of(made) == "":
        return (holder,)
    return holder, made


def _is_started(obj: Object, subject: PolicySubject) -> bool:
    """True for an instance that a VM starts: a changed VM starts a new one."""
    return subject.state in (INSTANCE, POD) and obj is not subject.entry.obj


class _Replaced:
    """The objects that those of a bundle replace."""

    def __init__(self, facts: BundleFacts) -> None:
        self._entries = {_identity(entry.obj): entry.obj for entry in facts.bundle.entries if name_of(entry.obj)}
        self._subjects = Subjects(facts)
        self._values: dict[str, dict[Key, Any]] = {}

    def of(self, subject: PolicySubject) -> tuple[Object, Any] | None:
        """The object that a subject replaces, and its value in that state; None for a new one."""
        key = _identity(subject.entry.obj)
        if key not in self._entries:
            return None
        if subject.state == WRITTEN:
            return self._entries[key], self._entries[key]
        if subject.state not in self._values:
            on = self._subjects.on(subject.state)
            unrendered = self._subjects.unrendered() if subject.state == RENDERED else ()
            self._values[subject.state] = {_identity(each.entry.obj): each.value for each in (*on, *unrendered)}
        return self._entries[key], self._values[subject.state].get(key)
