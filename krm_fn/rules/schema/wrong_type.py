"""A field has a value of the wrong type.

What it finds: a string where an integer is expected, a number where a string is expected, a map where a list is expected,
null in a list, and a string that is not a quantity. A quantity may be a string or a whole number. A fraction such as `0.5`
needs quotes, except in VirtualMachines and instances: KubeVirt's mutating webhook rewrites these before the API server
checks them. For the same reason, spaces around a quantity are a warning there and an error elsewhere. Before 1.5 most whole
numbers also needed quotes. Ports and similar fields accept both strings and integers. A key without a value is null. It is a
warning where an empty map has a meaning, as in `rng: {}`; elsewhere it counts as absent.

Why it matters: the API server refuses the object. YAML makes the mistake easy: `8` is a number, and `"8"` is a string. The
API server drops null silently where an object is created, and the intended device is missing. Server-side apply (`kubectl apply
--server-side`, Helm 4, Flux, Argo CD's `ServerSideApply`) keeps it and refuses the object: `must be of type object: "null"`.
KubeVirt itself removes null from VirtualMachines and instances before that.

Fix: write the value that the message proposes, or a value of the type that it names.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template: {spec: {domain: {cpu: {cores: "2"}, devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.findings.finding import UNSET
from krm_fn.findings.limits import counted
from krm_fn.kubevirt.schema import ObjectFacts
from krm_fn.kubevirt.schema.flaws import NULL, NUMBER, TYPE, UNQUOTED, Flaw
from krm_fn.kubevirt.schema.kinds import kind_known
from krm_fn.kubevirt.schema.scalars import QUANTITY
from krm_fn.rules.registry import ALWAYS, Hit, rule
from krm_fn.rules.shared.schemas import place_of, shown

DROPPED = "create and client-side apply drop it, and server-side apply refuses the object"
# An empty map is not a matcher: it needs a name.
MATCHERS = (("spec", "instancetype"), ("spec", "preference"))


@rule(severity="error", upstream="pkg/util/openapi/openapi.go:Validate", certain=ALWAYS)
def wrong_type(facts: ObjectFacts) -> Iterator[Hit]:
    for flaw in facts.flaws:
        if flaw.kind == NULL:
            matcher = flaw.path[-2:] in MATCHERS
            meant = "{name: NAME}" if matcher else "{}"
            fact = ", which counts as absent" if _is_rewritten(facts) else f": {DROPPED}"
            message = f"{place_of(flaw)} is null{fact}; write {meant} to set it, or remove it"
            yield Hit(
                message=counted(message, flaw.more),
                path=flaw.path,
                current=None,
                proposed=UNSET if matcher else flaw.proposed,
                severity="warning",
            )
        elif flaw.kind in (TYPE, UNQUOTED, NUMBER):
            yield Hit(
                message=counted(_misspelt(flaw) or f"{place_of(flaw)} is {_found(flaw)}{_fix(flaw)}", flaw.more),
                path=flaw.path,
                current=flaw.current,
                proposed=flaw.proposed,
                upstream=flaw.upstream,
                severity="warning" if flaw.taken else "",
            )


def _is_rewritten(facts: ObjectFacts) -> bool:
    """True for an object that a mutating webhook writes anew, without null, before the API server looks at it."""
    row = kind_known(facts.entry.obj, facts.release)
    return row is not None and row.mutated


def _misspelt(flaw: Flaw) -> str:
    """The message about an amount with a unit that quantities do not have; "" for all else."""
    if flaw.expected != QUANTITY or not isinstance(flaw.current, str) or flaw.proposed is UNSET:
        return ""
    return f"{place_of(flaw)} {shown(flaw, flaw.current)} is not a quantity; write {shown(flaw, flaw.proposed)}"


def _fix(flaw: Flaw) -> str:
    """What is expected, and what to do."""
    if flaw.proposed is not UNSET:
        return f", expected {flaw.expected}; write {shown(flaw, flaw.proposed)}"
    if isinstance(flaw.current, bool | int | float) and flaw.expected.endswith("a string"):
        return f", expected {flaw.expected}; put it in quotes"
    return f"; write {flaw.expected}"


def _found(flaw: Flaw) -> str:
    """The value or its type, in few words."""
    match flaw.current:
        case bool():
            return shown(flaw, flaw.current)
        case int() | float():
            return f"the number {shown(flaw, flaw.current)}"
    return flaw.found
