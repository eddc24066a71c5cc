"""The entries of the builtin catalogue that the VMs of a bundle use, for the rules that check them."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterator
from krm_fn.base.paths import Path, as_map, is_set
from krm_fn.findings.finding import UNSET
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.registry import Hit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.catalogue import Catalogue
Uses = dict[tuple[str, str], list[tuple[VmFacts, str]]]


# How messages name the kinds.
WORDS = {"VirtualMachineClusterInstancetype": "instancetype", "VirtualMachineClusterPreference": "preference"}


def uses(facts: BundleFacts) -> Uses:
    """{(kind, name) of a builtin entry: [(VM, "instancetype" or "preference")]}: the matchers that refer to it, in order."""
    found: Uses = {}
    for vm in facts.vms:
        for matcher, entry in (("instancetype", vm.resolution.instancetype), ("preference", vm.resolution.preference)):
            if entry is not None and entry.origin == "catalogue":
                found.setdefault((entry.ref.kind, entry.ref.name), []).append((vm, matcher))
    return found


def hits(facts: BundleFacts, word: Callable[[Catalogue, str, str], str]) -> Iterator[Hit]:
    """A hit for each matcher that refers to a builtin entry for which `word(catalogue, kind, name)` returns a message."""
    found = uses(facts)
    if not found:
        return
    from krm_fn.kubevirt import catalogue  # only where a VM refers to it

    builtin = catalogue.of(facts.release)
    for (kind, name), users in found.items():
        message = word(builtin, kind, name)
        for vm, matcher in users if message else ():
            path, current = place(vm, matcher)
            yield Hit(message=message, path=path, current=current, about=vm.entry)


def place(vm: VmFacts, matcher: str) -> tuple[Path, Any]:
    """The path, from the object's root, of the field of a matcher that names the entry, and its value."""
    path: Path = (*vm.prefix, "spec", matcher)
    given = as_map(as_map(vm.vm.get("spec")).get(matcher))
    for key in ("name", "inferFromVolume"):
        if is_set(given.get(key)):
            return (*path, key), given[key]
    return path, UNSET


def dotted(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))
