"""One expression about one object, outside of a policy."""

from __future__ import annotations

from itertools import takewhile

from krm_fn.base.annotations import Any
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path
from krm_fn.policies.costs import traversal
from krm_fn.policies.errors import EvaluationError, RefusedError, Unknown, Unsupported
from krm_fn.policies.evaluation import planned
from krm_fn.policies.literals import check_literals
from krm_fn.policies.reads import EACH, PRESENT, reads_of
from krm_fn.policies.running import evaluated
from krm_fn.policies.syntax import parse
from krm_fn.policies.types import checked
from krm_fn.policies.unification import NAMES
from krm_fn.policies.values import normalized

PLAIN = (type(None), bool, int, float, str, list, dict)


def value_of(text: str, obj: Object) -> Any:
    """The value of an expression in which `object` is the object: plain data.

    Raises: ValueError with the reason why there is none.
    """
    names = {"object": NAMES["object"]}
    try:
        found = checked(parse(text), names, {})
        check_literals(found)
        value, _ = evaluated(planned(found, names).step, {"object": normalized(obj)})
        traversal(value)  # lists of lists may be far larger than what they are made of
    except (RefusedError, Unsupported, RecursionError) as error:
        raise ValueError(str(error) or "it is nested too deeply") from None
    if isinstance(value, EvaluationError | Unknown) or type(value) not in PLAIN:
        why = (
            str(value) if isinstance(value, EvaluationError | Unknown) else "it is no plain data; compare it in the expression"
        )
        raise ValueError(why)
    return value


def paths_in(text: str) -> list[Path] | None:
    """The places of the object of which an expression reads something; None if that may be all of it."""
    found = reads_of({"validations": [{"expression": text}]})
    return (
        None if found is None else [tuple(takewhile(lambda step: step not in (EACH, PRESENT), path)) for path in found.verdict]
    )
