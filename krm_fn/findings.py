"""Findings: what a rule says about one place of one object."""

from __future__ import annotations

from krm_fn.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from krm_fn.paths import Path
    from krm_fn.resource import Ref

SEVERITIES = ("error", "warning", "info")


class Unset:
    """Stands for "no value" where null is a value."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET = Unset()


class Finding(Value):
    """One result. `path` runs from the object's root; `current` and `proposed` are plain values or UNSET.

    `upstream` is "admission" where the release's webhooks refuse the object, "expand" where only its expander does, "" where
    KubeVirt is silent; `upstream_path` is the path KubeVirt names where that is not the real one. `item` is the position of
    the object's item in the bundle, -1 where the finding is about no item.
    """

    rule: str
    severity: str
    message: str
    ref: Ref | None = None
    path: Path = ()
    current: Any = UNSET
    proposed: Any = UNSET
    upstream: str = ""
    upstream_path: str = ""
    item: int = -1
    file: str = ""
    index: int = 0
