"""A field holds a word that is none of its values.

What it finds: a value that is not among those the API lists for the field, and text that doesn't have the form that a
CustomResourceDefinition asks for.

Why it matters: the API server refuses the object, or KubeVirt's webhooks do.

Fix: use one of the values that the message lists; they are case-sensitive.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template: {spec: {domain: {devices: {}}, dnsPolicy: clusterFirst}}
"""

from __future__ import annotations

from krm_fn.findings import UNSET
from krm_fn.likest import nearest
from krm_fn.limits import counted
from krm_fn.rules import Hit, rule
from krm_fn.rules.schemas import field_of, shown
from krm_fn.schema.flaws import VALUE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.schema import ObjectFacts
    from krm_fn.schema.flaws import Flaw


@rule(severity="error", upstream="pkg/util/openapi/openapi.go:Validate")
def value_not_allowed(facts: ObjectFacts) -> Iterator[Hit]:
    for flaw in facts.flaws:
        if flaw.kind == VALUE:
            likely = nearest(str(flaw.current), flaw.known)
            said = f"{field_of(flaw)} can't be {shown(flaw, flaw.current)}; use {flaw.expected or _listed(flaw)}"
            yield Hit(
                message=counted(said, flaw.more),
                path=flaw.path,
                current=flaw.current,
                proposed=likely[0] if likely else UNSET,
                upstream=flaw.upstream,
            )


def _listed(flaw: Flaw) -> str:
    """`a, b or c`."""
    *others, last = flaw.known or ("another value",)
    return f"{', '.join(others)} or {last}" if others else last
