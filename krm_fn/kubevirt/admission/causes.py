"""Causes: what an admission check refuses, and where."""

from __future__ import annotations

from krm_fn.base.value import Value
from krm_fn.findings.finding import UNSET

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from krm_fn.base.paths import Path

# Kubernetes' words for why a value is refused.
INVALID = "FieldValueInvalid"
REQUIRED = "FieldValueRequired"
DUPLICATE = "FieldValueDuplicate"
NOT_FOUND = "FieldValueNotFound"
NOT_SUPPORTED = "FieldValueNotSupported"
FORBIDDEN = "FieldValueForbidden"


class Cause(Value):
    """One refusal. `path` is the real place from the object's root; `upstream_path` the dotted path KubeVirt names
    where it names another; `upstream` the place in its source. `current` is the scalar at `path`, UNSET where there is none.
    `more` is how many of its check were left out after it. `gate` is the feature gate with which the same would pass. `known`
    are the words that are allowed there, where only some are.
    """

    path: Path
    message: str
    reason: str = INVALID
    upstream_path: str = ""
    upstream: str = ""
    current: Any = UNSET
    more: int = 0
    gate: str = ""
    known: tuple[str, ...] = ()
