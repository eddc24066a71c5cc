"""A VM sets a field that its instancetype sets.

What it finds: a field of the VM's template that its instancetype controls. Sizes always belong to the instancetype: a VM
with an instancetype must not set sockets, cores, threads, guest memory, or CPU or memory requests or limits. Other fields
conflict where both set them. Annotations conflict where the two values differ. Before KubeVirt 1.7 any `memory` block
conflicts as a whole.

Why it matters: KubeVirt refuses such a VM, and its expander fails. An instancetype defines a VM's size completely, and no
rule decides which of two values wins.

Fix: remove the field from the VM, or use an instancetype that fits.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      instancetype: {name: u1.medium}
      template:
        spec:
          domain:
            cpu: {cores: 4}  # u1.medium sets the vCPUs
            devices: {}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.redaction import redact
from krm_fn.base.wording import brief
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.facts import Conflict
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.registry import Hit, path_text, rule
from krm_fn.rules.shared.parties import in_source, the_instancetype, the_vm

# Fields whose values must not appear in a log.
CONFIDENTIAL = ("launchSecurity",)


@rule(severity="error", upstream="pkg/instancetype/conflict/conflicts.go:Conflict")
def instancetype_conflict(facts: VmFacts) -> Iterator[Hit]:
    found = facts.resolution.instancetype
    of_flavor = found is not None and found.table != "instancetype"  # no release that is rendered for looks at flavors
    for conflict in facts.expansion.conflicts if facts.expansion else ():
        yield Hit(
            message=_message(conflict, facts),
            path=conflict.path,
            current=UNSET if conflict.path[-1] in CONFIDENTIAL else conflict.current,
            upstream="" if of_flavor else "admission",
            upstream_path=conflict.upstream_path,
            related=in_source(facts.resolution.instancetype, conflict.source_path),
        )


def _message(conflict: Conflict, facts: VmFacts) -> str:
    where = path_text(conflict.path)
    theirs = "" if conflict.value is UNSET else f" to {brief(redact(conflict.value, conflict.path))}"
    return (
        f"{the_vm(facts)} sets {where} to {brief(redact(conflict.current, conflict.path))}, but {the_instancetype(facts)} sets "
        f"{path_text(conflict.source_path)}{theirs}; remove {where} from the VM"
    )
