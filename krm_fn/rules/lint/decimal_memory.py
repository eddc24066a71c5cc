"""An amount of memory has a decimal unit where a binary one is usual.

What it finds: memory of a machine or an instancetype such as `1024M` or `512M`: a multiple of 64 in units of a million bytes.
Other amounts in `M` or `G` are skipped, because they may be meant so.

Why it matters: `1024M` is 976.6Mi. The guest gets 5 % less memory than its author thought, quotas don't add up, and KubeVirt
refuses the VM where another field has the same number in `Mi`.

Fix: write `Mi`, unless millions of bytes are meant.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template: {spec: {domain: {memory: {guest: 1024M}, devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.bundle import Entry
from krm_fn.base.paths import Path, get
from krm_fn.kubevirt.resolve import MATCHERS
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.machines import machines

OF_MACHINES: tuple[Path, ...] = (
    ("domain", "memory", "guest"),
    ("domain", "memory", "maxGuest"),
    ("domain", "resources", "requests", "memory"),
    ("domain", "resources", "limits", "memory"),
)
OF_TYPES: tuple[Path, ...] = (("spec", "memory", "guest"), ("spec", "memory", "maxGuest"))
POWER = 64  # of what people count memory in
MILLION, MEBI = 1_000_000, 1 << 20


@rule(severity="info")
def decimal_memory(facts: BundleFacts) -> Iterator[Hit]:
    for entry, path in _places(facts):
        written = get(entry.obj, path)
        number = written[:-1] if isinstance(written, str) and written.endswith("M") else ""
        if number.isascii() and number.isdigit() and len(number) < POWER and int(number) and int(number) % POWER == 0:
            binary = f"{int(number) * MILLION / MEBI:.1f}Mi"
            yield Hit(
                message=f"{written} is {binary}; write {number}Mi, unless millions of bytes are meant",
                path=path,
                current=written,
                proposed=f"{number}Mi",
                about=entry,
            )


def _places(facts: BundleFacts) -> Iterator[tuple[Entry, Path]]:
    for machine in machines(facts.bundle):
        yield from ((machine.entry, (*machine.path, *place)) for place in OF_MACHINES)
    for kind in (kind for matcher in MATCHERS[:1] for kind in matcher.kinds):
        yield from ((entry, place) for entry in facts.bundle.of_kind(kind) for place in OF_TYPES)
