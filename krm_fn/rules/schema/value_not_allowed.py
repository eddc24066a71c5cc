"""A field has a value that is not allowed.

What it finds: a value that is not among those that the API lists for the field, a string that does not have the form that a
CustomResourceDefinition requires, a duplicate entry in a list whose entries must differ, and a value for which a CEL rule of
KubeVirt's CustomResourceDefinitions is false. Rules of other definitions are not evaluated.

Why it matters: the API server refuses the object, or KubeVirt's webhooks do.

Fix: use one of the values that the message lists, which are case-sensitive, or the form that it names. Remove one of two
equal entries.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template: {spec: {domain: {devices: {}}, dnsPolicy: clusterFirst}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.suggestions import meant
from krm_fn.base.wording import listed
from krm_fn.findings.finding import UNSET
from krm_fn.findings.limits import counted
from krm_fn.kubevirt.schema import ObjectFacts
from krm_fn.kubevirt.schema.flaws import DUPLICATE, VALUE, Flaw
from krm_fn.rules.registry import CASE, Hit, rule
from krm_fn.rules.shared.schemas import field_of, place_of, shown


@rule(severity="error", upstream="pkg/util/openapi/openapi.go:Validate", certain=CASE)
def value_not_allowed(facts: ObjectFacts) -> Iterator[Hit]:
    for flaw in facts.flaws:
        if flaw.kind in (VALUE, DUPLICATE):
            yield Hit(
                message=counted(_message(flaw), flaw.more),
                path=flaw.path,
                current=flaw.current,
                proposed=meant(str(flaw.current), flaw.known) or UNSET,
                upstream=flaw.upstream,
                severity="warning" if flaw.taken else "",
            )


def _message(flaw: Flaw) -> str:
    if flaw.kind == DUPLICATE:
        return f"{field_of(flaw)} has {shown(flaw, flaw.current)} twice; remove one, or make them differ"
    if flaw.current is UNSET:
        return f"{place_of(flaw)} has a value that is not allowed; use {flaw.expected}"
    return f"{place_of(flaw)} is {shown(flaw, flaw.current)}, which is not allowed; use {flaw.expected or _known(flaw)}"


def _known(flaw: Flaw) -> str:
    return listed(flaw.known or ("another value",), most=len(flaw.known) or 1)
