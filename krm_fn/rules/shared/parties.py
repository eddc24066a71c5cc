"""How messages name a VM, its instancetype and its preference: kind and name, or a general word where there is none."""

from __future__ import annotations

from krm_fn.base.objects import name_of
from krm_fn.base.paths import Path
from krm_fn.findings.finding import Related
from krm_fn.kubevirt.facts import Found
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.registry import also


def the_vm(facts: VmFacts) -> str:
    """`VirtualMachine web`; `the VM` for a pool's template, which has no name."""
    name = name_of(facts.vm)
    return f"VirtualMachine {name}" if name else "the VM"


def the_instancetype(facts: VmFacts) -> str:
    """`VirtualMachineClusterInstancetype u1.medium`; `the instancetype` where it is not resolved."""
    found = facts.resolution.instancetype
    return str(found.ref) if found else "the instancetype"


def the_preference(facts: VmFacts) -> str:
    """`VirtualMachineClusterPreference fedora`; `the preference` where it is not resolved."""
    found = facts.resolution.preference
    return str(found.ref) if found else "the preference"


def in_source(found: Found | None, path: Path) -> tuple[Related, ...]:
    """The place in an instancetype or preference, or in the revision that holds it; none for one of the catalogue."""
    if found is None:
        return ()
    return also(found.entry, ("data", *path) if found.revision else path)
