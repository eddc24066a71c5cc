"""Mode `validate`: findings only, every item leaves as it came."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from krm_fn.config import Config
    from krm_fn.facts import VmFacts


def leave(items: Sequence[Any], facts: Sequence[VmFacts], settings: Config) -> list[Any]:  # noqa: ARG001  every mode takes these
    return list(items)
