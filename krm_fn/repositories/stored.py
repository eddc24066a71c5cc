"""What a cache keeps of a unit, as JSON text: only the types named here come back, and nothing that is read is ever run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from krm_fn.base.objects import Ref
from krm_fn.base.value import Value
from krm_fn.findings.finding import UNSET, Finding, Related, Suppressed
from krm_fn.kubevirt.releases import Release
from krm_fn.repositories.fixes import Fix, Fixing
from krm_fn.repositories.judging import Subject, UnitResult
from krm_fn.repositories.loading import Loaded
from krm_fn.repositories.sharing import Offer, Reach

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# A JSON list is a tuple. All that is not plain is a map with one key: one of these, or the name of a type.
LIST, MAP, SET, NOTHING = "[", "{", "(", "?"
PLAIN = (type(None), bool, int, float, str)
TYPES: dict[str, Callable[..., Any]] = {
    each.__name__: each
    for each in (Finding, Fix, Fixing, Loaded, Offer, Reach, Ref, Related, Release, Subject, Suppressed, UnitResult)
}


class UnstorableError(ValueError):
    """A value of a type that is not kept."""


def dumps(value: object) -> str:
    """The value as text: the same for values that are equal. Raises: UnstorableError."""
    try:
        return json.dumps(_taken_apart(value), separators=(",", ":"))
    except (ValueError, RecursionError) as error:
        raise UnstorableError(str(error)) from None


def loads(text: str | bytes) -> Any:
    """The value of a text. Raises: UnstorableError for a text that `dumps` did not make."""
    try:
        return _put_together(json.loads(text))
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise UnstorableError(str(error)) from None


def _taken_apart(value: Any) -> Any:
    if type(value) in PLAIN:
        return value
    if type(value) is tuple:
        return [_taken_apart(each) for each in value]
    if value is UNSET:
        return {NOTHING: None}
    if isinstance(value, Value):
        given = {name: each for name, each in vars(value).items() if each is not getattr(type(value), name, ...)}
        return {type(value).__name__: {name: _taken_apart(each) for name, each in sorted(given.items())}}
    return _collection(value)


def _collection(value: Any) -> Any:
    if type(value) is dict:
        return {MAP: [[_taken_apart(key), _taken_apart(below)] for key, below in value.items()]}
    if type(value) is list:
        return {LIST: [_taken_apart(each) for each in value]}
    if type(value) is frozenset:
        return {SET: [_taken_apart(each) for each in sorted(value)]}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):  # for keys: no such type comes back
        return {type(value).__name__: {name: _taken_apart(each) for name, each in value._asdict().items()}}
    if type(value) is bytes:
        return {"bytes": value.hex()}
    raise UnstorableError(f"a {type(value).__name__} is not kept")


def _put_together(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_put_together, value))
    if not isinstance(value, dict):
        return value
    ((name, below),) = value.items()
    if name in TYPES:
        return TYPES[name](**{field: _put_together(each) for field, each in below.items()})
    return COLLECTIONS[name](below)


COLLECTIONS: dict[str, Callable[[Any], Any]] = {
    NOTHING: lambda _: UNSET,
    MAP: lambda pairs: {_put_together(key): _put_together(below) for key, below in pairs},
    LIST: lambda found: [_put_together(each) for each in found],
    SET: lambda found: frozenset(map(_put_together, found)),
}
