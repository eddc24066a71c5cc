"""Affinity, topology spread, and an empty eviction strategy."""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_list, as_map
from krm_fn.base.wording import show
from krm_fn.kubevirt.admission.checks import examine, number
from krm_fn.kubevirt.admission.formats import is_label
from krm_fn.kubevirt.admission.scope import Cause, Scope, maps
from krm_fn.kubevirt.admission.selectors import UPSTREAM, Position, label_selector, node_term, topology_key

EVICTION = "pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:validateLiveMigration"

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@examine("affinity", upstream=UPSTREAM + "validateAffinity")
def affinity(scope: Scope) -> Iterator[Cause]:
    """Upstream leaves `affinity` out of its paths."""
    wanted = as_map(scope.spec.get("affinity"))
    if wanted.get("nodeAffinity") is not None:
        yield from _node_affinity(as_map(wanted["nodeAffinity"]), Position(scope, ("affinity", "nodeAffinity"), "nodeAffinity"))
    for key in ("podAffinity", "podAntiAffinity"):
        if wanted.get(key) is not None:
            yield from _pod_affinity(as_map(wanted[key]), Position(scope, ("affinity", key), key))


def _node_affinity(wanted: Object, place: Position) -> Iterator[Cause]:
    if wanted.get(REQUIRED) is not None:
        here = place.below(REQUIRED, "nodeSelectorTerms")
        terms = maps(as_map(wanted[REQUIRED]).get("nodeSelectorTerms"))
        if not terms:
            yield here.cause("nodeSelectorTerms is empty; add a term")
        for index, term in enumerate(terms):
            yield from node_term(term, here.below(index))
    for index, term in enumerate(maps(wanted.get(PREFERRED))):
        here = place.below(PREFERRED, index)
        yield from _weight(term, here)
        yield from node_term(term.get("preference"), here.below("preference"))


def _weight(term: Object, place: Position) -> Iterator[Cause]:
    weight = number(term.get("weight"))
    if not 1 <= weight <= 100:
        yield place.below("weight").cause(f"weight {weight} is out of range; use 1 to 100")


def _pod_affinity(wanted: Object, place: Position) -> Iterator[Cause]:
    for index, term in enumerate(maps(wanted.get(REQUIRED))):
        yield from _pod_term(term, place.below(REQUIRED, index))
    for index, term in enumerate(maps(wanted.get(PREFERRED))):
        here = place.below(PREFERRED, index)
        yield from _weight(term, here)
        yield from _pod_term(as_map(term.get("podAffinityTerm")), here.below("podAffinityTerm"))


def _pod_term(term: Object, place: Position) -> Iterator[Cause]:
    """upstream: validatePodAffinityTerm"""
    for key in ("labelSelector", "namespaceSelector"):
        yield from label_selector(term.get(key), place.below(key))
    for index, namespace in enumerate(as_list(term.get("namespaces"))):
        if not is_label(namespace):
            here = Position(place.scope, (*place.at, "namespaces", index), place.named + ".namespace")
            yield here.cause(f"namespace {show(namespace)} is not a DNS label; use the name of a namespace")
    yield from topology_key(term.get("topologyKey"), place)


@examine("topologySpreadConstraints", upstream=UPSTREAM + "validateTopologySpreadConstraints")
def topology_spread(scope: Scope) -> Iterator[Cause]:
    constraints = maps(scope.spec.get("topologySpreadConstraints"))
    pairs = [(constraint.get("topologyKey"), constraint.get("whenUnsatisfiable")) for constraint in constraints]
    last = {repr(pair): index for index, pair in enumerate(pairs)}  # of any shape
    root = Position(scope, ("topologySpreadConstraints",), "topologySpreadConstraints")
    for index, constraint in enumerate(constraints):
        here = root.below(index)
        if number(constraint.get("maxSkew")) <= 0:
            yield here.below("maxSkew").cause(f"maxSkew {show(constraint.get('maxSkew'))} is out of range; use 1 or more")
        yield from topology_key(constraint.get("topologyKey"), here)
        if pairs[index][1] not in ("DoNotSchedule", "ScheduleAnyway"):
            word = f"whenUnsatisfiable {show(pairs[index][1])} is not supported; use DoNotSchedule or ScheduleAnyway"
            yield here.below("whenUnsatisfiable").cause(word)
        # upstream leaves out the constraint's index here
        selector = Position(scope, (*here.at, "labelSelector"), "topologySpreadConstraints.labelSelector")
        yield from label_selector(constraint.get("labelSelector"), selector)
        if last[repr(pairs[index])] > index:
            twice = Position(scope, here.at, here.named + ".{topologyKey, whenUnsatisfiable}")
            yield twice.cause("a later constraint has the same topologyKey and whenUnsatisfiable; remove one")


def empty_eviction_strategy(spec: Object, at: Path) -> Iterator[Cause]:
    """Go has a pointer there: an empty text is a value, though not a supported one, and no default replaces it.

    A spec with defaults no longer shows that it was empty.
    """
    if spec.get("evictionStrategy") == "":
        message = "evictionStrategy is empty; set a supported value or remove it"
        yield Cause(path=(*at, "evictionStrategy"), message=message, upstream=EVICTION, current="")


EXAMINATIONS = (affinity, topology_spread)
