"""A validator of JSON Schema that counts its work, so that a schema by a stranger ends.

Each keyword spends units of the run's work. Those of which the library's own check takes more time than the schema and the
object are large are written anew here: with sets in place of comparisons one by one, and with the regular expressions of
`base.regex`, which take linear time. Imported only where the package jsonschema is installed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Hashable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any

from attrs import evolve
from jsonschema import Draft202012Validator, FormatChecker
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from krm_fn.base.paths import number_of_values
from krm_fn.base.regex import searching
from krm_fn.base.regex_syntax import WrongPatternError, parsed
from krm_fn.base.work import WORK, Unsupported

Check = Callable[[Any, Any, Any, Any], Any]  # of the validator, the value of the keyword, the instance, the schema


OF_KEYWORD, OF_PART, OF_ERROR = 28, 20, 200  # units of work: for a keyword, for a part that it goes through, for an error
ROOM = 200  # calls that stay possible below a keyword: where none is, the library's Rust code panics, which is no exception
LARGE = 2**60  # from which on numbers are compared as texts: of such numbers, very many may have one hash
REFERENCES = ("$ref", "$dynamicRef")
# The keywords that go through no part of the schema or the instance, or count it themselves.
PLAIN = frozenset(("type", "enum", "const", "format", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"))
PLAIN |= {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "multipleOf"}
COMBINING = ("allOf", "anyOf", "oneOf")


class Members(list):  # type: ignore[type-arg]
    """The values of an `enum`, which are found without going through them."""

    def __init__(self, values: list[Any]) -> None:
        super().__init__(values)
        self.known = frozenset(map(key_of, values))


def key_of(value: Any) -> Hashable:
    """The same for values that are equal in JSON Schema, where 1 is 1.0 and not true."""
    WORK.spend(OF_PART // 2)
    if isinstance(value, bool):
        return bool, value
    if isinstance(value, list):
        return list, tuple(map(key_of, value))
    if isinstance(value, dict):
        return dict, frozenset((name, key_of(below)) for name, below in value.items())
    whole = int(value) if isinstance(value, float) and value.is_integer() else value
    return (int, hex(whole)) if isinstance(whole, int) and abs(whole) >= LARGE else whole


@cache
def validator_class() -> Any:
    """The class of validators. They read the whole schema as draft 2020-12, whatever a part of it says."""
    checks = {**Draft202012Validator.VALIDATORS, **OWN}
    found = extend(Draft202012Validator, {keyword: _counted(keyword, check) for keyword, check in checks.items()})
    found.evolve = evolve
    return found


def formats() -> FormatChecker:
    """The formats of which a schema must be: regular expressions alone. Raises, when asked: Unsupported."""
    found = FormatChecker(formats=())
    found.checkers = {"regex": (_is_pattern, WrongPatternError)}
    return found


def _is_pattern(text: Any) -> bool:
    """True for a regular expression. Raises: WrongPatternError; Unsupported for one that only Python reads."""
    try:
        return not isinstance(text, str) or bool(parsed(text, ecma=True))
    except WrongPatternError:
        with suppress(re.error, OverflowError, RecursionError):
            re.compile(text)
            why = "it has look-behind, a back-reference, or something else that is not read here; write a simpler one"
            raise Unsupported(f"the regular expression {text}: {why}") from None
        raise


def _counted(keyword: str, check: Check) -> Check:
    """The check of a keyword, which spends work. Raises, when it runs: SpentError; RecursionError in time."""

    def counted(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
        _check_room()
        parts = 0 if keyword in PLAIN else _parts(wanted) + _parts(value)
        WORK.spend(OF_KEYWORD + OF_PART * (parts + (_looked_up(validator, wanted) if keyword in REFERENCES else 0)))
        for error in check(validator, wanted, value, schema) or ():
            WORK.spend(OF_ERROR + len(error.message) // 4)
            yield error

    return counted


def _check_room() -> None:
    """Raises: RecursionError where the stack has too many calls."""
    with suppress(ValueError):
        sys._getframe(sys.getrecursionlimit() - ROOM)  # noqa: SLF001
        raise RecursionError


def _parts(value: Any) -> int:
    return len(value) if isinstance(value, dict | list) else 0


def _looked_up(validator: Any, reference: Any) -> int:
    """The parts of a schema that are looked through for a reference: all, unless it is a path, or in the schema of schemas."""
    text = str(reference)
    if text.startswith("#/") or text == "#" or validator.format_checker:
        return len(text) // 4
    return number_of_values([validator._resolver.lookup("#").contents])  # noqa: SLF001  the library names no other way


def _finds(pattern: str, text: str) -> bool:
    return searching(pattern, text, WORK.spend, ecma=True)(text, 0) is not None


def _pattern(_: Any, wanted: str, value: Any, __: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and not _finds(wanted, value):
        yield ValidationError("pattern")


def _pattern_properties(validator: Any, wanted: dict[str, Any], value: Any, _: Any) -> Iterator[ValidationError]:
    for pattern, below in wanted.items():
        for key in value if isinstance(value, dict) else ():
            if _finds(pattern, str(key)):
                yield from validator.descend(value[key], below, path=key, schema_path=pattern)


def _additional_properties(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    extra = [key for key in value if key not in known] if isinstance(value, dict) else []
    extra = [key for key in extra if not any(_finds(pattern, str(key)) for pattern in patterns)]
    if wanted is False and extra:
        yield ValidationError("additionalProperties")
    for key in extra if isinstance(wanted, dict) else ():
        yield from validator.descend(value[key], wanted, path=key)


def _enum(_: Any, wanted: list[Any], value: Any, __: Any) -> Iterator[ValidationError]:
    if key_of(value) not in (wanted if isinstance(wanted, Members) else Members(wanted)).known:
        yield ValidationError("enum")


def _const(_: Any, wanted: Any, value: Any, __: Any) -> Iterator[ValidationError]:
    if key_of(value) != key_of(wanted):
        yield ValidationError("const")


def _unique(_: Any, wanted: Any, value: Any, __: Any) -> Iterator[ValidationError]:
    if wanted and isinstance(value, list) and len(set(map(key_of, value))) < len(value):
        yield ValidationError("uniqueItems")


def _unevaluated(kind: type[dict[str, Any] | list[Any]]) -> Check:
    def check(validator: Any, wanted: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
        if isinstance(value, kind):
            known = _evaluated(validator, value, schema)
            rest = [step for step in _steps(value) if step not in known]
            if any(next(validator.descend(value[step], wanted), None) for step in rest):
                yield ValidationError("unevaluated")

    return check


def _steps(value: Any) -> Any:
    return value if isinstance(value, dict) else range(len(value))


def _evaluated(validator: Any, value: Any, schema: Any) -> set[Any]:
    """The keys or indexes of a value that a schema looks at, with all that holds in it."""
    if not isinstance(schema, dict):
        return set()
    WORK.spend(OF_KEYWORD + OF_PART * (_parts(value) + _parts(schema)))
    found = set(_own_keys(validator, value, schema) if isinstance(value, dict) else _own_indexes(validator, value, schema))
    for keyword in REFERENCES:
        if keyword in schema:
            WORK.spend(OF_PART * _looked_up(validator, schema[keyword]))
            to = validator._resolver.lookup(schema[keyword])  # noqa: SLF001  the library names no other way
            found |= _evaluated(validator.evolve(schema=to.contents, _resolver=to.resolver), value, to.contents)
    for below in _applied(validator, value, schema):
        found |= _evaluated(validator, value, below)
    return found


def _applied(validator: Any, value: Any, schema: Any) -> Iterator[Any]:
    """The schemas within a schema that hold for the same value."""
    for keyword in COMBINING:
        yield from (below for below in schema.get(keyword, ()) if _holds(validator, value, below))
    if "if" in schema:
        holds = _holds(validator, value, schema["if"])
        yield from ([schema["if"]] if holds else [])
        yield schema.get("then" if holds else "else", True)
    if isinstance(value, dict):
        yield from (below for key, below in schema.get("dependentSchemas", {}).items() if key in value)


def _own_keys(validator: Any, value: Any, schema: Any) -> Iterator[Any]:
    yield from (key for key in schema.get("properties", ()) if key in value)
    for pattern in schema.get("patternProperties", ()):
        yield from (key for key in value if _finds(pattern, str(key)))
    for keyword in ("additionalProperties", "unevaluatedProperties"):
        if keyword in schema:
            yield from (key for key in value if _holds(validator, value[key], schema[keyword]))


def _own_indexes(validator: Any, value: Any, schema: Any) -> Iterator[int]:
    yield from range(len(value) if "items" in schema else len(schema.get("prefixItems", ())))
    for keyword in ("contains", "unevaluatedItems"):
        if keyword in schema:
            yield from (index for index, each in enumerate(value) if _holds(validator, each, schema[keyword]))


def _holds(validator: Any, value: Any, schema: Any) -> bool:
    WORK.spend(OF_PART)
    return next(validator.descend(value, schema), None) is None


OWN: dict[str, Check] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
    "enum": _enum,
    "const": _const,
    "uniqueItems": _unique,
    "unevaluatedProperties": _unevaluated(dict),
    "unevaluatedItems": _unevaluated(list),
}
