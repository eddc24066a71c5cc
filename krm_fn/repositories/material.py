"""What a unit is judged by, described by and explained by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn.base.value import Value

if TYPE_CHECKING:
    from krm_fn.pipeline.stopped import Instances
    from krm_fn.repositories.clusters import TargetSettings
    from krm_fn.repositories.homes import Homes
    from krm_fn.repositories.types import Target
    from krm_fn.rules.facts.bundles import Surroundings
    from krm_fn.sources.places import Places
    from krm_fn.sources.source import Sources
    from krm_fn.sources.steps import Leaving


class Material(Value):
    """A unit: what was read, its settings, what is known beside it, and where values are written.

    `unlisted` are files whose machines nothing applies. `left` is what leaves, None where no step is on the way. `instances`
    are those that the objects start, None where nothing is known of them yet.
    """

    found: Sources
    settings: TargetSettings
    surroundings: Surroundings
    places: Places
    target: Target | None = None
    homes: Homes | None = None
    unlisted: frozenset[str] = frozenset()
    left: Leaving | None = None
    instances: Instances | None = None
