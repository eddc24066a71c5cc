"""A field holds a value of another type than the API has there.

What it finds: text where an integer belongs, a number where text belongs, a map where a list belongs, null in a list, and
text that is no quantity. A quantity may be written as text or as a whole number. A fraction such as `0.5` needs quotes, except
in VirtualMachines and instances: KubeVirt's mutating webhook rewrites these before the API server checks them. For the same
reason blanks around a quantity are a warning there and an error elsewhere. Before 1.5 most whole numbers needed quotes, too.
Ports and the like take both text and integers. A key without a value, which is null, is a warning where an empty map would say
something, as in `rng: {}`; elsewhere it is as if the key weren't there.

Why it matters: the API server refuses the object. YAML makes the mistake easy: `8` is a number, and `"8"` is text. Null it
drops without a word, and the device that was meant is missing.

Fix: write the value as the message proposes it, else one of the type it names.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template: {spec: {domain: {cpu: {cores: "2"}, devices: {}}}}
"""

from __future__ import annotations

from krm_fn.findings.finding import UNSET
from krm_fn.findings.limits import counted
from krm_fn.kubevirt.schema.flaws import NULL, NUMBER, TYPE, UNQUOTED
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.schemas import field_of, shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.kubevirt.schema import ObjectFacts
    from krm_fn.kubevirt.schema.flaws import Flaw

# What holds a name has no use for an empty map.
MATCHERS = (("spec", "instancetype"), ("spec", "preference"))


@rule(severity="error", upstream="pkg/util/openapi/openapi.go:Validate")
def wrong_type(facts: ObjectFacts) -> Iterator[Hit]:
    for flaw in facts.flaws:
        if flaw.kind == NULL:
            matcher = flaw.path[-2:] in MATCHERS
            meant = "{name: NAME}" if matcher else "{}"
            message = f"{field_of(flaw)} holds null, which counts as absent; write {meant} where it is meant, else remove it"
            yield Hit(
                message=counted(message, flaw.more),
                path=flaw.path,
                current=None,
                proposed=UNSET if matcher else flaw.proposed,
                severity="warning",
            )
        elif flaw.kind in (TYPE, UNQUOTED, NUMBER):
            yield Hit(
                message=counted(f"{field_of(flaw)} holds {_found(flaw)}{_fix(flaw)}", flaw.more),
                path=flaw.path,
                current=flaw.current,
                proposed=flaw.proposed,
                upstream=flaw.upstream,
                severity="warning" if flaw.taken else "",
            )


def _fix(flaw: Flaw) -> str:
    """What belongs there, and what to do."""
    if flaw.proposed is not UNSET:
        return f" where {flaw.expected} belongs; write {shown(flaw, flaw.proposed)}"
    if isinstance(flaw.current, bool | int | float) and flaw.expected.endswith("text"):
        return f" where {flaw.expected} belongs; put it in quotes"
    return f"; write {flaw.expected}"


def _found(flaw: Flaw) -> str:
    """What stands there, in few words."""
    match flaw.current:
        case bool():
            return shown(flaw, flaw.current)
        case int() | float():
            return f"the number {shown(flaw, flaw.current)}"
    return flaw.found
