"""Amounts of resources as people read them."""

from __future__ import annotations

from krm_fn.kubevirt.quantity import parse
from krm_fn.sizing.rows import in_bytes, in_cpus
from krm_fn.sizing.usage import HUGE_PAGES

BYTES = ("memory", "storage", "ephemeral-storage", HUGE_PAGES)


def compared(resource: str, need: str, has: str) -> tuple[str, str]:
    """Two amounts of a resource that differ, as people read them; as they are written where these would be equal."""
    found = amount(resource, need), amount(resource, has)
    return found if found[0] != found[1] else (need, has)


def amount(resource: str, text: str) -> str:
    """An amount of a resource of a pod or a quota as people read it."""
    found = parse(text)
    base = resource.removeprefix("requests.").removeprefix("limits.").removesuffix("/vmi").rpartition("/")[2]
    if found is None or not (base.startswith(BYTES) or base == "requests.storage"):
        return in_cpus(found) if found and base == "cpu" else text
    return in_bytes(found)
