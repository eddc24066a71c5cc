"""Facts outside of the bundle: objects of other targets, objects that are only in the cluster, and unclear names.

The bundle has objects of other targets after its own items. References to them are resolved, but no finding is about them, and
they are not written.
"""

from __future__ import annotations

from itertools import product

from krm_fn.base.annotations import Any, Iterable, Iterator, Sequence
from krm_fn.base.bundle import Bundle, effective_namespace
from krm_fn.base.objects import Object, Ref, name_of
from krm_fn.findings.finding import Finding
from krm_fn.kubevirt.facts import Resolution, ResolutionError
from krm_fn.kubevirt.holders import DOMAIN
from krm_fn.kubevirt.resolve import Resolver
from krm_fn.rules.facts.admission import AdmissionFacts
from krm_fn.rules.facts.bundles import AMBIGUOUS, EXTERNAL, RENAMED, BundleFacts, Surroundings

NOWHERE = ("", 0)


def bundle_of(
    items: Sequence[Any], places: Sequence[tuple[str, int]], units: Sequence[frozenset[str]], beside: Surroundings
) -> Bundle:
    """The bundle of the items, followed by the objects of other targets."""
    if not beside.context:
        return Bundle(items, places, units=units, affixes=beside.affixes, external=beside.external)
    more = len(beside.context)
    of_context = (*beside.places, *[NOWHERE] * more)[:more]
    return Bundle(
        [*items, *beside.context],
        [*places, *of_context] if places else (),
        units=[*units, *[frozenset[str]()] * more] if units else (),
        own=len(items),
        affixes=beside.affixes,
        external=beside.external,
    )


def without_context(items: list[Any], beside: Surroundings, own: int) -> list[Any]:
    """The items to write, without the objects of other targets between the own items and the new ones."""
    return [*items[:own], *items[own + len(beside.context) :]] if beside.context else items


def own(findings: Iterable[Finding], bundle: Bundle) -> list[Finding]:
    """The findings about own objects. Related places in other targets keep their file, and have no item."""
    found = [finding for finding in findings if not bundle.is_context(finding.item)]
    return [_with_own_items(finding, bundle) for finding in found]


def _with_own_items(finding: Finding, bundle: Bundle) -> Finding:
    if not any(bundle.is_context(each.item) for each in finding.related):
        return finding
    related = tuple(each.but(item=-1) if bundle.is_context(each.item) else each for each in finding.related)
    return finding.but(related=related)


class KnowingResolver(Resolver):
    """A resolver that knows objects that are only in the cluster, and names that objects in several other targets have."""

    def __init__(self, beside: Surroundings, **given: Any) -> None:
        super().__init__(**given)
        self._beside = beside
        self._former: dict[str, dict[tuple[str, str], str]] = {}  # by kind, namespace ("" for any) and former name

    def resolve(self, vm: Object, *, namespace: str) -> Resolution:
        found = super().resolve(vm, namespace=namespace)
        if not found.errors:
            return found
        return found.but(errors=tuple(self._known(error) for error in found.errors))

    def _known(self, error: ResolutionError) -> ResolutionError:
        if not error.wanted or error.reason not in MISSING:
            return error
        if reason := reason_of(error.wanted, self._beside):
            return error.but(reason=reason)
        return error.but(reason=RENAMED, candidates=(now,)) if (now := self._now(error.wanted)) else error

    def _now(self, wanted: Ref) -> str:
        """The name that kustomize gave to an object that is wanted by the one in its file, "" where there is none."""
        if not self._beside.affixes:
            return ""
        if wanted.kind not in self._former:
            found = self._former[wanted.kind] = dict[tuple[str, str], str]()
            for each in self._bundle.of_kind(wanted.kind):
                for namespace, name in product(("", effective_namespace(each.obj)), self._bundle.former_names(each)):
                    found.setdefault((namespace, name), name_of(each.obj))
        return self._former[wanted.kind].get((wanted.namespace, wanted.name), "")


# The reasons for which an object is not in the bundle.
MISSING = frozenset(("unknown-name", "wrong-namespace", "wrong-kind", "revision-missing", "missing-source"))
# Those of them that nothing in the bundle explains.
ABSENT = frozenset(("unknown-name", "revision-missing", "missing-source"))


def in_open_bundle(found: Resolution) -> Resolution:
    """The resolution of a VM in a file of a folder, which is not applied as one bundle: the cluster may have more objects."""
    return found.but(errors=tuple(each.but(may_exist=True) if _may_exist(each) else each for each in found.errors))


def _may_exist(error: ResolutionError) -> bool:
    """True where nothing says that a name is wrong: none is near, so it is no misspelling, and no other release has it."""
    return error.reason in ABSENT and not error.candidates and "shipped" not in dict(error.detail)


def reason_of(wanted: Ref, beside: Surroundings) -> str:
    """Why it is no mistake that an object is not in the bundle: EXTERNAL or AMBIGUOUS; "" if it is a mistake."""
    key = wanted.kind, wanted.namespace, wanted.name
    if beside.is_external(*key):
        return EXTERNAL
    return AMBIGUOUS if beside.ambiguous_of(*key) else ""


def certain(refused: Iterable[AdmissionFacts], facts: BundleFacts) -> Iterator[AdmissionFacts]:
    """The refusals, except those of the domain of a VM that may use an object outside of the bundle: it may decide them."""
    unclear = {(vm.entry.item, vm.entry.path) for vm in facts.vms if _refers_outside(vm.resolution)}
    if not unclear:
        yield from refused
        return
    for each in refused:
        if (each.entry.item, each.entry.path) not in unclear:
            yield each
            continue
        causes = tuple(cause for cause in each.causes if cause.path[: len(DOMAIN)] != DOMAIN)
        parts = {part: [cause for cause in found if cause in causes] for part, found in each.parts.items()}
        yield each.but(causes=causes, parts={part: found for part, found in parts.items() if found})


def _refers_outside(resolution: Resolution) -> bool:
    return any(error.may_exist or error.reason in (EXTERNAL, AMBIGUOUS) for error in resolution.errors)


def external_refs(facts: BundleFacts) -> tuple[Ref, ...]:
    """The external objects that the own objects refer to, sorted, each of them once."""
    beside = facts.surroundings
    if not beside.external:
        return ()
    from krm_fn.base.objects import Ref
    from krm_fn.rules.shared.available_objects import API_VERSIONS
    from krm_fn.rules.shared.object_references import missing

    found = {error.wanted for vm in facts.vms for error in vm.resolution.errors if error.reason == EXTERNAL and error.wanted}
    for kind, namespace, name, _ in missing(facts.bundle):
        if beside.is_external(kind, namespace, name):
            found.add(Ref(api_version=API_VERSIONS[kind], kind=kind, name=name, namespace=namespace))
    return tuple(sorted(found, key=str))
