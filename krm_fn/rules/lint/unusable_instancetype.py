"""KubeVirt refuses every VM that uses an instancetype.

What it finds: an instancetype in the bundle for which KubeVirt refuses the VMs in the bundle that refer to it, and would
refuse any other: memory that the huge pages don't divide, a maxGuest below guest, CPU settings that exclude each other.

Why it matters: KubeVirt accepts the instancetype without a warning, and refuses each VM that uses it, with the paths of the
VM.

Fix: correct the instancetype. The VMs need no change; `check` reports the cause once, here.

Example:

    apiVersion: instancetype.kubevirt.io/v1beta1
    kind: VirtualMachineInstancetype
    metadata: {name: huge}
    spec:
      cpu: {guest: 1}
      memory: {guest: 1500Mi, hugepages: {pageSize: 1Gi}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      instancetype: {kind: VirtualMachineInstancetype, name: huge}
      template: {spec: {domain: {devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import get
from krm_fn.findings.finding import UNSET
from krm_fn.rules.facts.admission import SourceFault
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule


@rule(severity="error")
def unusable_instancetype(facts: BundleFacts) -> Iterator[Hit]:
    for fault in facts.faults:
        value = get(fault.entry.obj, fault.path)
        yield Hit(
            message=f"KubeVirt refuses {_users(fault)} because of it: {fault.message}",
            path=fault.path,
            current=UNSET if isinstance(value, dict | list) else value,
            about=fault.entry,
        )


def _users(fault: SourceFault) -> str:
    more = len(fault.users) - 1
    return f"{fault.users[0]}{f' and {more} more' if more else ''}"
