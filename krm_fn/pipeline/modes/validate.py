"""Mode `validate`: findings only; no item changes."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Sequence
from krm_fn.rules.facts.bundles import BundleFacts


def apply(items: Sequence[Any], facts: BundleFacts) -> list[Any]:  # noqa: ARG001  all modes have these parameters
    return list(items)
