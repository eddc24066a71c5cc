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

# Values in messages are cut to this length: the message must stay a line.
LONGEST_SHOWN = 60


class Cause(Value):
    """One refusal. `path` is the real place from the object's root; `upstream_path` the dotted path KubeVirt names
    where it names another; `upstream` the place in its source. `current` is the scalar at `path`, UNSET where there is none.
    `more` is how many of its check were left out after it. `gate` is the feature gate with which the same would pass.
    """

    path: Path
    message: str
    reason: str = INVALID
    upstream_path: str = ""
    upstream: str = ""
    current: Any = UNSET
    more: int = 0
    gate: str = ""


def shown(value: object) -> str:
    """A scalar as messages show it, on one line and cut; maps and lists, which may hold secrets, are not shown."""
    if isinstance(value, str):
        text = repr(" ".join(value.split()))
    elif isinstance(value, dict | list):
        return "a map" if isinstance(value, dict) else "a list"
    elif value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    else:
        text = str(value)
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."
