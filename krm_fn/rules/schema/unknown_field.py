"""An object has a field that its kind does not have.

What it finds: a key that no release of the API has in that place, usually a misspelt or misplaced one. Where the bundle
contains the kind's CustomResourceDefinition, that definition decides. Of DataVolumes, CDI's own kind, the fields count that any
release of KubeVirt has in `dataVolumeTemplates`. The rule `field-of-another-release` reports fields
that another release has.

Why it matters: a strict client such as kubectl refuses the object. Other clients send it, and the API server drops the field
silently, so a setting that is in the file has no effect. KubeVirt's webhooks also refuse VirtualMachines, instances, replica
sets and presets with such a field.

Fix: spell the field as the API does; the message names the nearest one. Or move it to the right place.

Example:

    apiVersion: instancetype.kubevirt.io/v1beta1
    kind: VirtualMachinePreference
    metadata: {name: fast}
    spec:
      devices: {preferedDiskBus: virtio}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.wording import brief
from krm_fn.findings.limits import counted
from krm_fn.kubevirt.removed_fields import removed_fields
from krm_fn.kubevirt.schema import ObjectFacts
from krm_fn.kubevirt.schema.flaws import UNKNOWN
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.schemas import advice, the_schema


@rule(severity="error", upstream="pkg/util/openapi/openapi.go:Validate")
def unknown_field(facts: ObjectFacts) -> Iterator[Hit]:
    gone = {path: row for path, _, row in removed_fields(facts.entry.obj, facts.release)}
    for flaw in facts.flaws:
        if flaw.kind == UNKNOWN:
            name, row = str(flaw.path[-1]), gone.get(flaw.path)
            fix = advice(name, flaw.known) or "remove it, or move it to the right place"
            if row:
                fix = f"KubeVirt {row.gone} removed it: {row.fix}"
            # The value of a misspelt key may be a password, so it is not shown.
            yield Hit(
                message=counted(f"{the_schema(facts, flaw)} has no field {brief(name)} here; {fix}", flaw.more),
                path=flaw.path,
                upstream=flaw.upstream,
                severity="warning" if flaw.taken else "",
            )
