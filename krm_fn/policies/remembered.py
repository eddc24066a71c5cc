"""Policies that remember their answers: an object with the same values where a policy reads gets the same answer.

Most VMs of many are made from few templates. A policy reads few of their values, and seldom their names.
"""

from __future__ import annotations

from krm_fn.base.objects import labels_of, name_of, namespace_of
from krm_fn.base.paths import as_map
from krm_fn.policies.admission import Policies
from krm_fn.policies.errors import Unsupported
from krm_fn.policies.matching import CREATE
from krm_fn.policies.reads import LONGEST, chosen_by, part, reads_of, together

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from krm_fn.base.objects import Object
    from krm_fn.policies.admission import Skipped
    from krm_fn.policies.compiled import Policy
    from krm_fn.policies.judging import Failure, Note
    from krm_fn.policies.matching import Request
    from krm_fn.policies.reads import Path, Reads

    Answer = list[Failure | Note] | Unsupported

MOST = 100_000  # answers that are remembered


class RememberedPolicies(Policies):
    """The policies and bindings of a bundle, which remember what they said of objects that replace none."""

    def __init__(self, objects: Sequence[Object]) -> None:
        super().__init__(objects)
        self._reads: dict[int, Reads | None] = {}
        self._answers: dict[tuple[Any, ...], Answer] = {}
        self._of_states: dict[str, Reads | None] = {}
        self._silent: set[tuple[Any, ...]] = set()

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
        try:
            key = _key(kind, reads, obj, value) if reads else None
        except RecursionError:
            key = None  # the evaluation reports it
        if key is not None and key in self._silent:
            return
        found = list(super().failures(obj, value, state, operation=operation, **old))
        if key is not None and not found and len(self._silent) < MOST:
            self._silent.add(key)
        yield from found

    def reads(self, state: str) -> Reads | None:
        """What decides whether an object passes all policies of a state; None if that may be all of it."""
        if state not in self._of_states:
            found = [self._reads_of(each) for each in self.compiled(state)]
            self._of_states[state] = together(found)
        return self._of_states[state]

    def _judged(self, policy: Policy, asked: Request, values: tuple[Object, Object | None]) -> Iterator[Failure | Note]:
        reads = self._reads_of(policy) if asked.old is None else None
        key = _key((id(policy), asked.operation, asked.resource), reads, asked.obj, values[0]) if reads else None
        if reads is None or key is None:
            return super()._judged(policy, asked, values)
        if self._answers.get(key) == []:
            return iter(())
        more = (*key, _parts(values[0], reads.words))
        if more not in self._answers:
            self._answers[more] = answer = self._asked(policy, asked, values)
            if answer == [] and len(self._answers) < MOST:
                self._answers[key] = answer
        return _given(self._answers[more] if len(self._answers) < MOST else self._answers.pop(more))

    def _asked(self, policy: Policy, asked: Request, values: tuple[Object, Object | None]) -> Answer:
        try:
            return list(super()._judged(policy, asked, values))
        except Unsupported as error:
            return error

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


def _given(answer: Answer) -> Iterator[Failure | Note]:
    if isinstance(answer, Unsupported):
        raise answer
    return iter(answer)


def _key(kind: tuple[Any, ...], reads: Reads, obj: Object, value: Object) -> tuple[Any, ...] | None:
    """What decides whether an object passes; None if that is too much to be remembered."""
    parts = _parts(value, reads.verdict)
    own = labels_of(obj) if reads.labels else {}
    labels = tuple([repr(own.get(each, ...)) for each in reads.labels])
    if any(type(each) is str and len(each) > LONGEST for each in parts):
        return None
    return *kind, namespace_of(obj), name_of(obj) if reads.named else "", labels, parts


def _parts(value: Object, paths: tuple[Path, ...]) -> tuple[object, ...]:
    return tuple([part(value, path) for path in paths])
