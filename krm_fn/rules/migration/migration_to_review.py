"""A migrated part is correct only under a condition.

What it finds: when migrating, a change that is correct only if something outside the input is as expected: an instancetype
replaces a flavor that the input does not contain; a preset became an instancetype or a preference, while other VMs may match
it; a preference for secure boot no longer applies to VMs that choose EFI themselves; a flavor was removed from a VM that also
has an instancetype.

Why it matters: only you know the objects outside the input.

Fix: check them, and do what the message says.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      flavor: {name: small}  # the flavor is elsewhere
      template: {spec: {domain: {devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterator
from krm_fn.rules.facts.migrations import Leftover, MigrationFacts
from krm_fn.rules.registry import Hit, rule


@rule(severity="info")
def migration_to_review(facts: MigrationFacts) -> Iterator[Hit]:
    for left in facts.leftovers:
        if left.reason in WORDINGS:
            yield Hit(message=WORDINGS[left.reason](left, dict(left.detail)), path=left.path, about=left.entry)


def _elsewhere(_: Leftover, more: dict[str, Any]) -> str:
    return f"{more['flavor']} is not in the input; make sure that the cluster has an instancetype of that name"


def _preset(left: Leftover, more: dict[str, Any]) -> str:
    vms = "no VM" if not left.current else "1 VM" if left.current == 1 else f"{left.current} VMs"
    what = " and ".join(("an " if name[0] == "i" else "a ") + name for name in more["names"])
    it = "it" if len(more["names"]) == 1 else "them"
    users = f"{vms} in the input now refer{'s' * (left.current < 2)} to {it}"
    return f"the preset became {what}, and {users}; other VMs must refer to {it} too"


WORDINGS: dict[str, Callable[[Leftover, dict[str, Any]], str]] = {
    "flavor-elsewhere": _elsewhere,
    "secure-boot-chosen": lambda _left, _: (
        "preferredEfi does not apply to VMs that choose EFI themselves; check that no VM outside the input relied on it"
    ),
    "flavor-outdone": lambda _left, _: "the flavor is removed: a VM with an instancetype never had one",
    "preset-taken": _preset,
}
