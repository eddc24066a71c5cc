"""An object has a field that only other KubeVirt releases have.

What it finds: a field that a later release than the target release adds, or that an earlier release still had. In
VirtualMachines, pools, instancetypes and preferences the rule looks for it in every mode, in other kinds where objects are
checked.

Why it matters: the cluster does not know the field. Its API server drops the field or refuses the object. KubeVirt's
webhooks refuse VirtualMachines, instances, replica sets and presets with such a field; the finding is then an error.

Fix: remove the field, or set `kubevirtVersion` to the release of the cluster, if that is another.

Example:

    # kubevirtVersion: "1.7"
    apiVersion: instancetype.kubevirt.io/v1beta1
    kind: VirtualMachinePreference
    metadata: {name: shielded}
    spec:
      preferredLaunchSecurity: {sev: {}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.findings.limits import counted
from krm_fn.kubevirt.schema import ObjectFacts
from krm_fn.kubevirt.schema.flaws import ELSEWHERE, Flaw
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.schemas import short, the_schema


@rule(severity="warning", worst="error", upstream="pkg/util/openapi/openapi.go:Validate")
def field_of_another_release(facts: ObjectFacts) -> Iterator[Hit]:
    for flaw in facts.flaws:
        if flaw.kind == ELSEWHERE:
            message = f"{the_schema(facts, flaw)} has no field {flaw.path[-1]} here; {_fix(facts, flaw)}"
            yield Hit(
                message=counted(message, flaw.more),
                path=flaw.path,
                upstream=flaw.upstream,
                severity="error" if flaw.upstream else "",
            )


def _fix(facts: ObjectFacts, flaw: Flaw) -> str:
    later = [first for first, _ in flaw.spans if first > facts.release.version]
    if later:
        first = short(min(later))
        return f"{first} adds it: remove it, or render for {first} if the cluster runs that release"
    return f"{short(max(last for _, last in flaw.spans))} is the last release with it: remove it"
