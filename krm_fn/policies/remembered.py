"""Policies that remember which objects pass: an object with the same values where policies read passes, too.

Most VMs of many are made from few templates. A policy reads few of their values, and seldom their names.
What policies say of other objects is worked out anew: it is a finding, which costs more than that.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator, Sequence
from krm_fn.base.objects import Object, labels_of, name_of, namespace_of
from krm_fn.base.paths import as_map
from krm_fn.base.work import WORK, SpentError
from krm_fn.policies.admission import Policies, Skipped
from krm_fn.policies.compiled import Policy
from krm_fn.policies.judging import Failure, Normalized, Note
from krm_fn.policies.matching import CREATE, Request
from krm_fn.policies.reads import LONGEST, Reads, chosen_by, part, reads_of, together

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
