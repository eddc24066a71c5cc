"""What the VMs of a bundle use of the builtin catalogue, for the rules that judge it."""

from __future__ import annotations

from krm_fn.findings import UNSET
from krm_fn.paths import as_map, is_set

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from krm_fn.facts import BundleFacts, VmFacts
    from krm_fn.paths import Path

    Uses = dict[tuple[str, str], list[tuple[VmFacts, str]]]

# How messages name the kinds.
WORDS = {"VirtualMachineClusterInstancetype": "instancetype", "VirtualMachineClusterPreference": "preference"}


def uses(facts: BundleFacts) -> Uses:
    """{(kind, name) of a builtin entry: [(VM, "instancetype" or "preference")]}: the matchers that lead to it, in order."""
    found: Uses = {}
    for vm in facts.vms:
        for matcher, entry in (("instancetype", vm.resolution.instancetype), ("preference", vm.resolution.preference)):
            if entry is not None and entry.origin == "catalogue":
                found.setdefault((entry.ref.kind, entry.ref.name), []).append((vm, matcher))
    return found


def place(vm: VmFacts, matcher: str) -> tuple[Path, Any]:
    """The path, from the object's root, of what names the entry in a matcher, and the value there."""
    path: Path = (*vm.prefix, "spec", matcher)
    given = as_map(as_map(vm.vm.get("spec")).get(matcher))
    for key in ("name", "inferFromVolume"):
        if is_set(given.get(key)):
            return (*path, key), given[key]
    return path, UNSET


def dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
