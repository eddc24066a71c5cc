"""What a drain of its node does to a machine that can't be live-migrated."""

from __future__ import annotations

from krm_fn.base.bundle import Entry
from krm_fn.base.paths import Path
from krm_fn.base.value import Value


class EvictionFacts(Value):
    """A machine that can't be live-migrated, with its effective eviction `strategy`; `own`: the object itself states it.

    `message` is KubeVirt's; `claim` is the claim that is not shared, "" where that is not the reason. The cause stands at
    `path`, `at` leads to the spec of the instance; both start at the root of the object.
    """

    entry: Entry
    strategy: str
    own: bool
    message: str
    claim: str
    path: Path
    at: Path
