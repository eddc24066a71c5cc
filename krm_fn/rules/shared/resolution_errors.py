"""What the rules about references share: the errors that they report, and the hit for each."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator, Sequence
from krm_fn.base.paths import dotted
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.facts import ResolutionError
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.registry import Hit

# Reasons for which the mutating webhook gives a path of its own; for all others admission names only the matcher.
AS_WRITTEN = frozenset(("bad-shape", "no-name", "name-and-inference", "kind-and-inference", "bad-policy"))
INFERENCE = frozenset(("unknown-volume", "unsupported-volume", "unsupported-source", "missing-label", "missing-source"))


def errors(facts: VmFacts, reasons: Sequence[str], matcher: str = "") -> Iterator[ResolutionError]:
    """The resolution errors with one of the reasons, and of that matcher where one is given."""
    for error in facts.resolution.errors:
        if error.reason in reasons and matcher in ("", error.matcher):
            yield error


def hit(error: ResolutionError, message: str, proposed: Any = UNSET) -> Hit:
    """A hit at the path of the error. It proposes no value where the name was inferred, since no value there is a fix."""
    inferred = detail(error, "inferred")
    if inferred:
        message = f"volume {error.current} names {inferred}: {message}"
    return Hit(
        message=" ".join(message.split()),
        path=error.path,
        current=error.current,
        proposed=UNSET if inferred else proposed,
        upstream=error.upstream,
        severity="warning" if error.may_exist else "",
        upstream_path=_upstream_path(error),
    )


def to_add(error: ResolutionError) -> str:
    """What to do about an object that is not in the bundle."""
    return "add it, name it under external if the cluster has it" if error.may_exist else "add it to the bundle"


def the_one(candidates: Sequence[str]) -> Any:
    """The candidate to propose: the only one, else UNSET, since it is unknown which of several is meant."""
    return candidates[0] if len(candidates) == 1 else UNSET


def detail(error: ResolutionError, name: str) -> Any:
    """The error's detail of that name, None where it has none."""
    return dict(error.detail).get(name)


def _upstream_path(error: ResolutionError) -> str:
    """The path that the release's webhook names, "" where it is the real one or none is named."""
    if error.upstream != "admission" or error.reason in AS_WRITTEN or error.reason in INFERENCE:
        return ""
    matcher = dotted(("spec", error.matcher))
    return matcher if matcher != dotted(error.path) else ""
