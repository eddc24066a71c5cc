"""What can go wrong with an expression."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Mapping
from krm_fn.base.work import Unsupported

__all__ = ("AbortedError", "EvaluationError", "RefusedError", "Unknown", "Unsupported", "no_overload")


class RefusedError(Exception):
    """The API server refuses to store a policy with this expression."""


class EvaluationError(Exception):
    """The evaluation fails, as it does on the API server. It is a value, too: `&&` and `||` can do without it."""


class AbortedError(Exception):
    """The evaluation of the whole expression ends with an error, which nothing in the expression can catch."""


class Unknown(Exception):  # noqa: N818  it is a value: one that only the cluster knows
    """A value that is not known here. The text says what it is. `fields` are those of it that are known."""

    def __init__(self, what: str, fields: Mapping[str, Any] | None = None) -> None:
        super().__init__(what)
        self.fields = fields or {}


def no_overload() -> EvaluationError:
    """The error of a function that does not take values of these types."""
    return EvaluationError("no such overload")
