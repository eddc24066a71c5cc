"""What can go wrong with an expression."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class Unsupported(Exception):  # noqa: N818  it is no mistake of the expression
    """The expression can't be evaluated here exactly as the API server does. The text says why, `place` where it is."""

    def __init__(self, why: str, place: str = "spec") -> None:
        super().__init__(why)
        self.place = place


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
