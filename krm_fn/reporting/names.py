"""The names of machines and objects in the addresses of the page: what comes after the `#`."""

from __future__ import annotations

from urllib.parse import quote

VM = "VirtualMachine"


def fragment(*words: str) -> str:
    """Words as a part of an address, with slashes between them."""
    return "/".join(quote(word, safe="") for word in words if word)


def unique(wanted: str, taken: set[str]) -> str:
    """The name, or the name with a number where it is taken."""
    found, number = wanted, 1
    while found in taken:
        number += 1
        found = f"{wanted}~{number}"
    taken.add(found)
    return found


def of_machine(kind: str, target: str, namespace: str, name: str) -> str:
    """The address of a machine; VMs, which most machines are, without their kind."""
    return fragment("" if kind == VM else kind, target, namespace, name)
