"""What can go wrong with an expression."""

from __future__ import annotations


class Unsupported(Exception):  # noqa: N818  it is no mistake of the expression
    """The expression can't be evaluated here exactly as the API server does. The text says why."""


class RefusedError(Exception):
    """The API server refuses to store a policy with this expression."""


class EvaluationError(Exception):
    """The evaluation fails, as it does on the API server."""


def no_overload() -> EvaluationError:
    """The error of a function that does not take values of these types."""
    return EvaluationError("no such overload")
