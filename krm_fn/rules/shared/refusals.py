"""The hits of a rule for the refusals in its part of an object."""

from __future__ import annotations

from krm_fn.base.annotations import Iterator, Sequence
from krm_fn.base.paths import Path
from krm_fn.base.suggestions import meant
from krm_fn.findings.finding import UNSET, Unset
from krm_fn.findings.limits import COUNTED, MOST, counted
from krm_fn.rules.facts.admission import AdmissionFacts, Origin
from krm_fn.rules.registry import Hit, also, path_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.admission.scope import Cause


def hits(facts: AdmissionFacts, part: str) -> Iterator[Hit]:
    """A hit for each cause whose path is in that part of the object, at most as many as one rule reports."""
    yield from hits_of(facts, facts.parts.get(part, ()))


def hits_of(facts: AdmissionFacts, causes: Sequence[Cause]) -> Iterator[Hit]:
    """The same for some of the causes."""
    more = max(len(causes) - MOST, 0) + sum(cause.more for cause in causes)
    at_least = any(cause.more >= COUNTED - MOST for cause in causes)
    for number, cause in enumerate(causes[:MOST], 1):
        last = number in (MOST, len(causes))
        origin = facts.origins.get(cause.path)
        message = f"{cause.message}; {_source(origin)}" if origin else cause.message
        yield Hit(
            message=counted(message, more if last else 0, at_least=at_least),
            path=cause.path,
            current=cause.current,
            proposed=_proposed(cause, origin),
            upstream="admission",
            upstream_path=cause.upstream_path,
            related=also(origin.source.entry, _place(origin)) if origin else (),
        )


def _proposed(cause: Cause, origin: Origin | None) -> str | Unset:
    """The allowed word that is meant by a misspelt one of the object itself."""
    if origin or not (cause.known and isinstance(cause.current, str)):
        return UNSET
    return meant(cause.current, cause.known) or UNSET


def _source(origin: Origin) -> str:
    """Where a value comes from that the object does not set, and where to change it."""
    found = origin.source
    fact = f"{path_text(('spec', *origin.field))} of {found.ref} sets it"
    if origin.matcher == "preference":
        return (
            f"{fact}: change it there, or set it here"
            if found.entry
            else f"{fact}: set it here, or refer to another preference"
        )
    return f"{fact}: change it there" if found.entry else f"{fact}: refer to another instancetype"


def _place(origin: Origin) -> Path:
    """The path of the field in the source; () in a ControllerRevision, which has a form of its own."""
    return () if origin.source.revision else (*origin.source.root, *origin.field)
