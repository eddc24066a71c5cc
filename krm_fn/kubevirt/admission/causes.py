"""Causes: why and where an admission check refuses an object."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.paths import Path
from krm_fn.base.value import Value
from krm_fn.findings.finding import UNSET

# Kubernetes' reasons for refusing a value.
INVALID = "FieldValueInvalid"
REQUIRED = "FieldValueRequired"
DUPLICATE = "FieldValueDuplicate"
NOT_FOUND = "FieldValueNotFound"
NOT_SUPPORTED = "FieldValueNotSupported"
FORBIDDEN = "FieldValueForbidden"


class Cause(Value):
    """One refusal. `path` is the real place from the object's root; `upstream_path` the dotted path that KubeVirt names,
    if it is another; `upstream` the place in KubeVirt's source. `current` is the scalar at `path`, or UNSET.
    `more` is the number of causes of the same check that are left out after it. If the feature gate `gate` is open, the object
    passes. `known` are the words that are allowed there, if only some are. Not `sure`: some clusters may take it.
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
    sure: bool = True
