"""A memory limit leaves no room beside the guest's memory.

What it finds: a machine whose `resources.limits.memory` is less than 100Mi above `memory.guest`. Machines with dedicated CPUs
or huge pages are skipped, which need equal amounts. The rule is off until the config gives it a severity: KubeVirt adds its own
estimate of what the pod needs beside the guest.

Why it matters: the estimate is only that. Where QEMU needs more, for devices, migrations or many disks, the kernel kills it,
and the guest stops as if its power had failed.

Fix: delete the limit, or set it 100Mi or more above the guest's memory.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template: {spec: {domain: {memory: {guest: 1Gi}, resources: {limits: {memory: 1Gi}}, devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.paths import get
from krm_fn.base.wording import brief
from krm_fn.kubevirt.quantity import parse
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.machines import machines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.base.paths import Path
    from krm_fn.rules.facts.bundles import BundleFacts

GUEST: Path = ("domain", "memory", "guest")
LIMIT: Path = ("domain", "resources", "limits", "memory")
EQUAL: tuple[Path, ...] = (("domain", "memory", "hugepages"), ("domain", "cpu", "dedicatedCpuPlacement"))
ENOUGH = parse("100Mi")


@rule(severity="info", on_demand=True)
def little_headroom(facts: BundleFacts) -> Iterator[Hit]:
    for machine in machines(facts.bundle):
        written, given = get(machine.spec, LIMIT), get(machine.spec, GUEST)
        limit, guest = parse(written), parse(given)
        if limit is None or guest is None or ENOUGH is None or any(get(machine.spec, path) for path in EQUAL):
            continue
        if 0 <= limit.nanos - guest.nanos < ENOUGH.nanos:
            fact = f"the limit of {brief(written)} leaves QEMU only KubeVirt's estimate beside the guest's {brief(given)}"
            yield Hit(
                message=f"{fact}; delete it, or set it 100Mi higher",
                path=(*machine.path, *LIMIT),
                current=written,
                about=machine.entry,
            )
