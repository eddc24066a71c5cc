"""An object has a field that its kind doesn't have.

What it finds: a key that no release of the API knows in its place, mostly a misspelt or a misplaced one. Where the bundle holds
the kind's CustomResourceDefinition, that one tells. Fields that another release knows have a rule of their own.

Why it matters: a strict client such as kubectl refuses the object; others send it, and the API server drops the field without
a word, so that a setting is missing that stands in the file. KubeVirt's webhooks refuse VirtualMachines, instances, replica
sets and presets with such a field, too.

Fix: spell the field as the API does; the message names the nearest one. Or move it to where it belongs.

Example:

    apiVersion: instancetype.kubevirt.io/v1beta1
    kind: VirtualMachinePreference
    metadata: {name: fast}
    spec:
      devices: {preferedDiskBus: virtio}
"""

from __future__ import annotations

from krm_fn.base.wording import brief
from krm_fn.findings.limits import counted
from krm_fn.kubevirt.removed_fields import removed_fields
from krm_fn.kubevirt.schema.flaws import UNKNOWN
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.schemas import advice, the_schema

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.kubevirt.schema import ObjectFacts


@rule(severity="error", upstream="pkg/util/openapi/openapi.go:Validate")
def unknown_field(facts: ObjectFacts) -> Iterator[Hit]:
    gone = {path: row for path, _, row in removed_fields(facts.entry.obj)}
    for flaw in facts.flaws:
        if flaw.kind == UNKNOWN:
            name, row = str(flaw.path[-1]), gone.get(flaw.path)
            fix = advice(name, flaw.known) or "remove it, or move it to where it belongs"
            if row:
                fix = f"it is gone since KubeVirt {row.gone}: {row.fix}"
            # What stands under a misspelt key may be a password: the value isn't shown.
            yield Hit(
                message=counted(f"{the_schema(facts, flaw)} has no field {brief(name)} in this place; {fix}", flaw.more),
                path=flaw.path,
                upstream=flaw.upstream,
                severity="warning" if flaw.taken else "",
            )
