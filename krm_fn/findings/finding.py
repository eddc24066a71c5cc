"""Findings: what a rule reports about one path of one object."""

from __future__ import annotations

from krm_fn.base.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from krm_fn.base.objects import Ref
    from krm_fn.base.paths import Path

SEVERITIES = ("error", "warning", "info")


class Unset:
    """Stands for "no value" where null is a value."""

    def __repr__(self) -> str:
        return "UNSET"

    def __reduce__(self) -> str:
        return "UNSET"  # the same one in whatever process reads it


UNSET = Unset()


class Related(Value):
    """Another place that a finding names: `path` runs from the root of the object `ref`.

    `deeper` leads on from `path` where the place is below a secret key. The object stands at `inside` of item `item`, which is
    the one of number `index` in `file`; `line` and `column` count from 1, 0 where not known.
    """

    ref: Ref
    path: Path = ()
    deeper: Path = ()
    item: int = -1
    inside: Path = ()
    file: str = ""
    index: int = 0
    line: int = 0
    column: int = 0


class Finding(Value):
    """One result. `path` runs from the object's root; `current` and `proposed` are plain values or UNSET.

    `deeper` leads on from `path` to the place itself where that is below a secret key; it is never shown. What else is secret
    is in no field (see `redaction`).
    `upstream` is "admission" where the release's webhooks refuse the object, "expand" where only its expander does, "" where
    KubeVirt is silent; `upstream_path` is the path KubeVirt names where that is not the real one. `item` is the position of
    the object's item in the bundle, -1 where the finding is about no item; `inside` leads from the item to the object (`()`, or
    `("items", 3)` in a List). `line` and `column` count from 1, 0 where not known: only the command knows the files' texts.
    `fingerprint` is the same wherever the object stands; the command makes it. `related` are other places that it names.
    `targets` are the targets of a repository that have the finding, sorted; () where a run has only one.
    `more`: it stands for so many findings of its rule, on any objects, that are not reported.
    """

    rule: str
    severity: str
    message: str
    ref: Ref | None = None
    path: Path = ()
    deeper: Path = ()
    current: Any = UNSET
    proposed: Any = UNSET
    upstream: str = ""
    upstream_path: str = ""
    item: int = -1
    inside: Path = ()
    file: str = ""
    index: int = 0
    line: int = 0
    column: int = 0
    related: tuple[Related, ...] = ()
    fingerprint: str = ""
    more: int = 0
    targets: tuple[str, ...] = ()


class Suppressed(Value):
    """A finding that is not counted. `by` is "ignore" (an annotation of the object) or "baseline"; `reason` is the user's."""

    finding: Finding
    by: str
    reason: str = ""
