"""The nearest instancetype for each flat VM, and those that are made for VMs of one shape.

A VM that equals an earlier one in all that its instance depends on gets the same answer, so the work grows with the shapes.
"""

from __future__ import annotations

from functools import partial
from itertools import islice

from krm_fn.base.annotations import Any, Callable, Iterable, Iterator, Sequence
from krm_fn.base.bundle import effective_namespace
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_map, get
from krm_fn.base.value import Value
from krm_fn.converting.conversion import (
    CLASSES,
    DIFFERS,
    EXACT,
    HEADROOM,
    NONE,
    POD,
    TOPOLOGY,
    Converted,
    Proof,
    StartContext,
    StartedVm,
    again,
    before,
    has_traits,
    is_flat,
    is_headroom,
    proof,
)
from krm_fn.converting.instancetypes import (
    DEFAULT_SCHEME,
    Choices,
    Instancetype,
    available,
    made_for,
    named,
    preferences,
    traits,
)
from krm_fn.kubevirt.catalogue import Catalogue
from krm_fn.kubevirt.facts import Found
from krm_fn.kubevirt.fields.topology import counts, laid_out
from krm_fn.kubevirt.resolve import Resolver
from krm_fn.rules.facts.vms import VmFacts

Tried = tuple[Instancetype, Converted, Proof]

BEST = (CLASSES.index(EXACT), False, 0)  # the rank of an instancetype with which nothing changes
NEAREST = 2  # larger instancetypes that are compared where none has the VM's size
# Why there is no suggestion for a VM.
NOT_STARTED = "KubeVirt starts no instance of it: {}"
NEVER_STARTED = "KubeVirt starts no instance of it, before or after: {}"
TOO_LARGE = "no instancetype is as large"
FEWER = "with the nearest instancetypes it has less: {}; accept that with --allow-smaller"


class ConversionWish(Value):
    """What users want. `own`: instancetypes may be made, named by `scheme`. `smaller`: less of something is taken.

    `preference` is the name of a preference that VMs without one get, "" for none; `accepted` are the places whose changes,
    there and below, are no reason to leave a VM alone. `larger`: larger instancetypes are looked for where none has the size.
    """

    own: bool = False
    scheme: str = DEFAULT_SCHEME
    smaller: bool = False
    preference: str = ""
    accepted: tuple[str, ...] = ()
    larger: bool = True


class Suggestion(Value):
    """The nearest instancetype for one VM. `sort` is one of CLASSES; with NONE, `reason` says why, and there is none.

    `refused` says why KubeVirt starts no instance of it, converted or not; () where it starts one.
    `own` is the instancetype that would be made for it, `own_proof` what that would change, and `nearest` the best that exists.
    """

    facts: VmFacts
    sort: str
    reason: str = ""
    refused: tuple[str, ...] = ()
    instancetype: Instancetype | None = None
    converted: Converted | None = None
    proof: Proof = Proof(sort=EXACT)
    own: Instancetype | None = None
    own_proof: Proof = Proof(sort=EXACT)
    nearest: Instancetype | None = None

    @property
    def warning(self) -> str:
        """What users should know of a VM that is converted though no instance of it starts, "" for others."""
        return NEVER_STARTED.format(self.refused[0]) if self.refused else ""

    @property
    def preference(self) -> str:
        """The name of the preference of the converted VM, "" for none."""
        return str(as_map(get(self.converted.vm, ("spec", "preference"))).get("name") or "") if self.converted else ""


class Suggesting:
    """Finds suggestions for the VMs of one bundle. `key` gives all that the instance of a VM depends on, None where unknown."""

    def __init__(
        self,
        around: Callable[[VmFacts], StartContext],
        resolver: Resolver,
        catalogue: Catalogue | None,
        key: Callable[[VmFacts], Any],
        wish: ConversionWish,
    ) -> None:
        self._around, self._resolver, self._catalogue, self._key, self._wish = around, resolver, catalogue, key, wish
        self._choices: dict[str, Choices] = {}
        self._known: dict[Any, Suggestion] = {}
        self._names: dict[str, Object] = {}
        self._layouts: dict[str, list[tuple[Found, list[tuple[Path, Any]]]]] = {}

    def all(self, vms: Iterable[VmFacts]) -> Iterator[Suggestion]:
        """The suggestion for each flat VM, in order."""
        return (self.of(vm) for vm in vms if is_flat(vm))

    def of(self, vm: VmFacts) -> Suggestion:
        """The suggestion for one flat VM."""
        key = self._key(vm)
        if key is None:
            return self._new(vm)
        if key not in self._known:
            self._known[key] = self._new(vm)
        known = self._known[key]
        if known.facts is vm or known.instancetype is None or known.converted is None:
            return known.but(facts=vm)
        return known.but(facts=vm, converted=again(vm, known.converted))

    def _new(self, vm: VmFacts) -> Suggestion:
        around = self._around(vm)
        was = before(vm, around)
        if isinstance(was, str):
            return Suggestion(facts=vm, sort=NONE, reason=NOT_STARTED.format(was))
        tried, own = self._tried(was, around), self._own(was, around) if self._wish.own else None
        existing = [each for each in tried if self._is_taken(each[2])]
        taken = [*existing, own] if own and self._is_taken(own[2]) else existing
        found = Suggestion(facts=vm, sort=NONE, nearest=min(existing, key=_rank)[0] if existing else None)
        if own:
            found = found.but(own=own[0], own_proof=own[2])
        if not taken:
            return found.but(reason=self._reason(was, tried))
        instancetype, converted, proven = min(taken, key=_rank)
        return found.but(
            sort=self._sort(proven), refused=was.refused, instancetype=instancetype, converted=converted, proof=proven
        )

    def _is_taken(self, found: Proof) -> bool:
        return self._wish.smaller or not found.fewer

    def _sort(self, found: Proof) -> str:
        """The class, in which changes that are accepted don't count."""
        if found.sort != DIFFERS or not self._wish.accepted:
            return found.sort
        left = (each.path for each in found.changes if not (each.path.startswith(POD) or self._is_accepted(each.path)))
        return HEADROOM if all(found.keeps_size and is_headroom(path) for path in left) else DIFFERS

    def _is_accepted(self, path: str) -> bool:
        return any(path == place or path.startswith((f"{place}/", f"{place}[")) for place in self._wish.accepted)

    def _reason(self, was: StartedVm, tried: Sequence[Tried]) -> str:
        if tried:
            fewest: tuple[str, ...] = min((each[2].fewer for each in tried), key=len)
            return FEWER.format(", ".join(fewest))
        if was.refused:
            return NOT_STARTED.format(was.refused[0])
        return TOO_LARGE

    def _tried(self, was: StartedVm, around: StartContext) -> list[Tried]:
        """The instancetypes of the VM's size, and larger ones where it can have none of these."""
        choices, proven = (
            self.choices(was.facts, around),
            partial(_proven, was=was, around=around, gets=self._wanted(was.facts)),
        )
        found = [*proven(choices.of_size(was.size))]
        found += [each for tried in found for each in self._laid_out(tried, was, around)]
        if not self._wish.larger or any(self._is_taken(each[2]) for each in found):
            return found
        return [*found, *islice(proven(choices.larger(was.size)), NEAREST)]

    def _laid_out(self, tried: Tried, was: StartedVm, around: StartContext) -> Iterator[Tried]:
        """The same with preferences that lay out the vCPUs as the VM has them, and change nothing else."""
        differs = any(each.path in TOPOLOGY for each in tried[2].changes)
        if tried[2].sort != HEADROOM or not differs or was.facts.resolution.preference or self._wish.preference:
            return
        wanted = {key: count or 1 for key, count in counts(as_map(get(was.instance, ("spec", "domain", "cpu")))).items()}
        namespace = effective_namespace(was.facts.entry.obj)
        if namespace not in self._layouts:
            found = preferences(around.bundle, self._resolver, self._catalogue, namespace)
            self._layouts[namespace] = [(each, [*traits(None, each.spec, was.facts.release)]) for each in found]
        for each, sets in self._layouts[namespace]:
            if has_traits(was, sets) and laid_out(was.size.vcpus, each.spec, was.facts.release) == wanted:
                yield from (found for found in _proven([tried[0]], was, around, each) if found[2].sort == EXACT)

    def _own(self, was: StartedVm, around: StartContext) -> Tried | None:
        made = made_for(was.facts.vm, was.instance, was.facts.release)
        if made and (was.facts.resolution.preference or self._wish.preference):
            made = made.but(topology=None)
        if made is None:
            return None
        wanted = self._wanted(was.facts)
        return next(_proven([named(made, self._wish.scheme, self._names)], was, around, wanted), None)

    def choices(self, vm: VmFacts, around: StartContext) -> Choices:
        """The instancetypes that a VM may refer to."""
        namespace = effective_namespace(vm.entry.obj)
        if namespace not in self._choices:
            found = available(around.bundle, self._resolver, self._catalogue, namespace, vm.release)
            self._choices[namespace] = found
        return self._choices[namespace]

    def _wanted(self, vm: VmFacts) -> Found | None:
        """The preference that users want for a VM that has none."""
        if not self._wish.preference or vm.resolution.preference:
            return None
        wanted = {"spec": {"preference": {"name": self._wish.preference}}}
        return self._resolver.resolve(wanted, namespace=effective_namespace(vm.entry.obj)).preference


def _proven(found: Iterable[Instancetype], was: StartedVm, around: StartContext, gets: Found | None) -> Iterator[Tried]:
    """The VM with each of the instancetypes that change nothing but its size, and with a preference that it gets.

    Nothing is tried behind the first one with which nothing changes.
    """
    for each in found:
        if not has_traits(was, each.traits):
            continue
        plain = proof(was, each, around)
        if plain and plain[1].is_of_sizes:
            made = proof(was, each, around, gets=gets) if gets else plain
            if made:
                yield (each, *made)
            if made and _rank((each, *made)) == BEST:
                return


def _rank(tried: Tried) -> tuple[int, bool, int]:
    """The better the smaller: the class, then one that is not deprecated, then the number of changes."""
    return CLASSES.index(tried[2].sort), tried[0].deprecated, len(tried[2].changes)


class ShapeGroup(Value):
    """Flat VMs for which one instancetype would be made, and what that changes; `nearest` is the best that exists."""

    own: Instancetype
    proof: Proof
    nearest: Instancetype | None
    members: tuple[Suggestion, ...]


def groups(found: Iterable[Suggestion]) -> list[ShapeGroup]:
    """The VMs by the instancetype that would be made for them, the largest group first."""
    by_name: dict[tuple[str, str], list[Suggestion]] = {}
    for each in found:
        if each.own:
            by_name.setdefault((each.own.name, each.own_proof.sort), []).append(each)
    made = [
        ShapeGroup(own=each[0].own, proof=each[0].own_proof, nearest=each[0].nearest, members=tuple(each))
        for each in by_name.values()
        if each[0].own
    ]
    return sorted(made, key=lambda group: (-len(group.members), group.own.size.key, group.own.name))
