"""How messages name the parties of an expansion: kind and name, or a plain word where there is none."""

from __future__ import annotations

from krm_fn.resource import name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.facts import VmFacts


def the_vm(facts: VmFacts) -> str:
    """`VirtualMachine web`; a pool's template has no name."""
    name = name_of(facts.vm)
    return f"VirtualMachine {name}" if name else "the VM"


def the_instancetype(facts: VmFacts) -> str:
    """`VirtualMachineClusterInstancetype u1.medium`."""
    found = facts.resolution.instancetype
    return str(found.ref) if found else "the instancetype"


def the_preference(facts: VmFacts) -> str:
    """`VirtualMachineClusterPreference fedora`."""
    found = facts.resolution.preference
    return str(found.ref) if found else "the preference"
