"""The wording that `unresolved-instancetype` and `unresolved-preference` share: a name or a kind that is not found."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterator
from krm_fn.base.wording import listed, show
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.facts import OPEN, ResolutionError
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.registry import Hit
from krm_fn.rules.shared.catalogue import dotted
from krm_fn.rules.shared.resolution_errors import detail, errors, hit, the_one, to_add


def hits(facts: VmFacts, matcher: str) -> Iterator[Hit]:
    """A hit for each name or kind of that matcher that is not found."""
    for error in errors(facts, tuple(WORDINGS), matcher):
        message, proposed = WORDINGS[error.reason](error)
        yield hit(error, message, proposed)


def _unknown_name(error: ResolutionError) -> tuple[str, Any]:
    shipped = detail(error, "shipped")
    if shipped:
        spans = ", ".join(dotted(first) if first == last else f"{dotted(first)} to {dotted(last)}" for first, last in shipped)
        fix = f"use {listed(error.candidates)}, or add it" if error.candidates else "add it"
        message = f"{error.wanted} is not in this release's catalogue, only in that of KubeVirt {spans}; {fix} to the bundle"
        return message, the_one(error.candidates)
    if not error.candidates:
        return f"{error.wanted} is not found; {to_add(error)}, or refer to one that exists", UNSET
    return f"{error.wanted} is not found; use {listed(error.candidates)}, or add it to the bundle", the_one(error.candidates)


def _wrong_namespace(error: ResolutionError) -> tuple[str, Any]:
    wanted = error.wanted
    assert wanted is not None  # noqa: S101  a name was looked for
    where = (
        f"namespace {error.candidates[0]}" if len(error.candidates) == 1 else f"namespaces {listed(error.candidates, 'and')}"
    )
    cluster = wanted.kind.replace("VirtualMachine", "VirtualMachineCluster")
    fix = f"move it to namespace {wanted.namespace}, or change it to a {cluster}"
    return f"{wanted} is not found: it is in {where}, but a VM can use only its own namespace; {fix}", UNSET


def _wrong_kind(error: ResolutionError) -> tuple[str, Any]:
    other = error.candidates[0]
    without = " (the default kind)" if error.current is UNSET else ""
    return f"{error.wanted}{without} is not found, but a {other} of that name exists; set kind: {other}", other


def _unexpected_kind(error: ResolutionError) -> tuple[str, Any]:
    word = error.matcher.capitalize()
    kinds = error.candidates or (f"VirtualMachine{word}", f"VirtualMachineCluster{word}")
    return f"{detail(error, 'kind')} is not a kind of {error.matcher}; use {listed(kinds)}", the_one(error.candidates)


def _placeholder(error: ResolutionError) -> tuple[str, Any]:
    place = detail(error, "place") or f"the {error.path[-1]}"
    return f"{place} is the placeholder {show(error.current)}; render the VM after the step that replaces this", UNSET


WORDINGS: dict[str, Callable[[ResolutionError], tuple[str, Any]]] = {
    "unknown-name": _unknown_name,
    "wrong-namespace": _wrong_namespace,
    "wrong-kind": _wrong_kind,
    "unexpected-kind": _unexpected_kind,
    OPEN: _placeholder,
}
