"""Findings: what a rule reports about one path of one object."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.objects import Ref
from krm_fn.base.paths import Path
from krm_fn.base.value import Value

SEVERITIES = ("error", "warning", "info")


class Unset:
    """Means "no value", because null is a value."""

    def __repr__(self) -> str:
        return "UNSET"

    def __reduce__(self) -> str:
        return "UNSET"  # the same object in every process


UNSET = Unset()


class Related(Value):
    """Another place that a finding names: `path` starts at the root of the object `ref`.

    `deeper` continues `path` to the exact place if that is below a secret key. The object is at `inside` of item `item`, which
    has the number `index` in `file`. `line` and `column` count from 1; 0 means that they are not known.
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
    """One result. `path` starts at the object's root; `current` and `proposed` are plain values or UNSET.

    `deeper` continues `path` to the exact place if that is below a secret key; it is never shown. No other field contains a
    secret (see `redaction`).
    `upstream` is "admission" if the release's webhooks refuse the object, "expand" if only its expander does, "start" if they
    let it in and its instances never start, "" if KubeVirt accepts it; `upstream_path` is the path that KubeVirt names, if that
    is another one. `item` is the position of the object's item in the bundle, -1 if the finding is about no item; `inside` is
    the path from the item to the object (`()`, or `("items", 3)` in a List). `line` and `column` count from 1; 0 means that
    they are not known, because only the command has the files' texts. The command sets `fingerprint`, which does not depend on
    the object's file. `related` are other places.
    `targets` are the targets of a repository that have the finding, sorted; () if a run has only one.
    `more`: the number of further findings of its rule, on any objects, that are not reported. `tags` are more tags of a
    policy's result: `binding`, `param` and `validation`.
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
    tags: tuple[tuple[str, str], ...] = ()


class Suppressed(Value):
    """A finding that does not count. `reason` is the user's.

    `by` is "ignore" (an annotation of the object), "baseline", or "base" (an earlier commit has it, too).
    """

    finding: Finding
    by: str
    reason: str = ""
