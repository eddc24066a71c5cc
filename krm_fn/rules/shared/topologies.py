"""Names of CPU topologies: the one that a release knows for one that it does not know."""

from __future__ import annotations

from krm_fn.kubevirt.fields.topology import DEPRECATED, names_of
from krm_fn.kubevirt.releases import Release


def known_name(topology: str, release: Release) -> str:
    """The older name of a topology, if the release knows it; otherwise ""."""
    older = next((old for old, new in DEPRECATED.items() if new == topology), "")
    return older if older in names_of(release) else ""


def use_another(topology: str, release: Release) -> str:
    """What to do about a topology that the release does not know."""
    older = known_name(topology, release)
    return f"use {older}, which later releases know, too" if older else f"use one of {', '.join(sorted(names_of(release)))}"
