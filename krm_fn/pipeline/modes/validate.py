"""Mode `validate`: findings only; no item changes."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from krm_fn.rules.facts.bundles import BundleFacts


def apply(items: Sequence[Any], facts: BundleFacts) -> list[Any]:  # noqa: ARG001  all modes have these parameters
    return list(items)
