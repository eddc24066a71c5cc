"""A memory limit leaves no room for the guest's memory, or beside it.

What it finds: a machine whose `memory.guest` is above `resources.limits.memory`, unless KubeVirt refuses it: with the rollout
strategy `LiveUpdate`, which is the default since 1.6, it lets the machine in. If the config gives the rule a severity, it also
finds limits less than 100Mi above `memory.guest`. KubeVirt adds only an estimate of what the pod needs beside the guest.
Machines with dedicated CPUs or huge pages are skipped, which need equal amounts.

Why it matters: the pod gets no more memory than the limit and KubeVirt's estimate. Once the guest or QEMU uses more, the kernel
kills QEMU, and the guest stops as if its power had failed.

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

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import Path, get
from krm_fn.base.quantity import parse
from krm_fn.base.wording import brief
from krm_fn.kubevirt.updates.machine import LIVE
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.machines import machines

GUEST: Path = ("domain", "memory", "guest")
LIMIT: Path = ("domain", "resources", "limits", "memory")
EQUAL: tuple[Path, ...] = (("domain", "memory", "hugepages"), ("domain", "cpu", "dedicatedCpuPlacement"))
ENOUGH = parse("100Mi")


@rule(severity="info", worst="warning", upstream="pkg/virt-controller/services/renderresources.go:WithMemoryOverhead")
def little_headroom(facts: BundleFacts) -> Iterator[Hit]:
    over = facts.cluster.rollout_strategy(facts.release) == LIVE
    close = "little-headroom" in facts.config.severity
    for machine in machines(facts.bundle):
        written = get(machine.spec, LIMIT)
        given = get(machine.spec, GUEST) or written  # upstream: pkg/defaults/defaults.go:setGuestMemory
        limit, guest = parse(written), parse(given)
        if not limit or not guest or ENOUGH is None or not limit.nanos:
            continue
        room = limit.nanos - guest.nanos
        hit = Hit(message="", path=(*machine.path, *LIMIT), current=written, about=machine.entry)
        if room < 0 and over:
            fact = (
                f"the limit of {brief(written)} is below the guest's {brief(given)}: the kernel kills the guest that uses more"
            )
            yield hit.but(message=f"{fact}; delete the limit, or set it 100Mi above the guest's memory", severity="warning")
        elif 0 <= room < ENOUGH.nanos and close and not any(get(machine.spec, path) for path in EQUAL):
            fact = f"the limit of {brief(written)} leaves QEMU only KubeVirt's estimate beside the guest's {brief(given)}"
            yield hit.but(message=f"{fact}; delete it, or set it 100Mi higher")
