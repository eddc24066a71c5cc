"""The functions of Go templates in ApplicationSets: Go's own, those of sprig that are in use, and Argo CD's.

upstream: Go text/template/funcs.go, Masterminds/sprig, argo-cd applicationset/utils
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from functools import reduce
from typing import Any

from krm_fn import yamlio
from krm_fn.base.errors import InputError
from krm_fn.base.expressions import expression
from krm_fn.yamlio.go_text import go_text

LONGEST = 253  # characters of a name
REPEATED = 100_000  # characters that `repeat` and the like may make
NAMED = expression(r"[^-a-z0-9.]")
VERB = expression(r"%([-+ 0#]*)(\d*)(?:\.(\d+))?([sdvqxXtfeg%])")


def shown(value: Any) -> str:
    """A value as Go prints it."""
    if isinstance(value, str):
        return value
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return _float(value)
    if isinstance(value, dict):
        return f"map[{' '.join(f'{key}:{shown(each)}' for key, each in sorted(value.items()))}]"
    return f"[{' '.join(map(shown, value))}]" if isinstance(value, list) else str(value)


def _float(value: float) -> str:
    """A float in Go's shortest form: with an exponent from a million on."""
    digits, exponent = f"{value:.17e}".split("e")
    digits, exponent = min(
        (f"{value:.{places}e}" for places in range(17) if float(f"{value:.{places}e}") == value), key=len
    ).split("e")
    if -5 < int(exponent) < 21 and (int(exponent) < 6 or len(digits.replace(".", "").lstrip("-")) > 21):
        plain = f"{value:.17f}".rstrip("0").rstrip(".") if value != int(value) else str(int(value))
        return repr(value) if "." in plain and "e" not in repr(value) else plain
    return f"{digits}e{exponent[0]}{exponent[1:].zfill(2)}"


def normalize(name: str) -> str:
    """A text as a name: small letters, digits, dashes and dots."""
    return NAMED.sub("-", name.lower())[:LONGEST].strip("-.")


def _slugify(*given: Any) -> str:
    """A text as part of a URL: the length that it may have, and whether it ends with a whole word, stand before it."""
    if not given:
        return ""
    most, smart = (given[0] if len(given) > 1 else 50), (given[1] if len(given) > 2 else True)
    slug = re.sub(r"-{2,}", "-", re.sub(r"[^a-z0-9_-]+", "-", given[-1].strip().lower().replace("&", " and "))).strip("-_")
    if len(slug) <= most:
        return slug
    if not smart or "-" not in slug:
        return slug[:most].strip("-_") if not smart else slug[:most]
    kept = ""
    for word in slug.split("-"):
        longer = f"{kept}-{word}" if kept else word
        if len(longer) > most:
            break
        kept = longer
    return kept or slug[:most]


def _index(value: Any, *keys: Any) -> Any:
    for key in keys:
        if isinstance(value, dict):
            value = value.get(key)
        elif 0 <= int(key) < len(value):
            value = value[int(key)]
        else:
            raise IndexError
    return value


def _slice(value: Any, start: int = 0, end: int | None = None) -> Any:
    stop = len(value) if end is None else end
    if not 0 <= start <= stop <= len(value):
        raise IndexError
    return value[start:stop]


def _printf(form: str, *given: Any) -> str:
    left = list(given)

    def one(found: re.Match[str]) -> str:
        flags, width, places, verb = found.groups()
        if verb == "%":
            return "%"
        if not left:
            return f"%!{verb}(MISSING)"
        return _formatted(left.pop(0), flags, min(int(width or 0), 1000), places, verb)

    made = VERB.sub(one, form)
    extra = ", ".join(f"{_type(each)}={shown(each)}" for each in left)
    return f"{made}%!(EXTRA {extra})" if left else made


def _formatted(value: Any, flags: str, width: int, places: str | None, verb: str) -> str:
    if verb == "q":
        text = _quoted(value)
    elif verb == "d":
        if isinstance(value, float | str | bool):
            return f"%!d({_type(value)}={shown(value)})"
        text = str(value)
    elif verb in "feg":
        text = f"{float(value):.{min(int(places or 6), 100)}{verb}}"
    elif verb in "xX":
        text = format(value, verb) if isinstance(value, int) else shown(value).encode().hex()
    else:
        text = shown(value)[: int(places)] if places else shown(value)
    if "-" in flags:
        return text.ljust(width)
    return text.zfill(width) if "0" in flags else text.rjust(width)


def _type(value: Any) -> str:
    return {bool: "bool", str: "string", float: "float64", int: "int", list: "[]interface {}"}.get(type(value), "map")


def _quoted(value: Any) -> str:
    return json.dumps(shown(value), ensure_ascii=False)


def _int(value: Any) -> int:
    try:
        return int(float(value)) if not isinstance(value, str) else int(value, 0)
    except ValueError:
        return 0


def _equal(one: Any, *others: Any) -> bool:
    if any(isinstance(each, str) != isinstance(one, str) and None not in (each, one) for each in others):
        raise TypeError
    return any(one == each and isinstance(one, bool) == isinstance(each, bool) for each in others)


def _join(by: str, values: Any) -> str:
    if isinstance(values, list) and len(by) * len(values) > REPEATED:
        raise ValueError
    return by.join(shown(each) for each in (values if isinstance(values, list) else [values]) if each is not None)


def _repeat(times: Any, text: str) -> str:
    if int(times) * len(text) > REPEATED:
        raise ValueError
    return text * int(times)


def _replace(old: str, new: str, text: str) -> str:
    if (text.count(old) * len(new)) > REPEATED:
        raise ValueError
    return text.replace(old, new)


def _indent(width: Any, text: str) -> str:
    space = _repeat(width, " ")
    return space + _replace("\n", f"\n{space}", text)


def _until(end: Any) -> list[int]:
    if int(end) > REPEATED:
        raise ValueError
    return list(range(int(end)))


def _read(text: str) -> Any:
    try:
        return (yamlio.read_stream(text.encode()).items or [{}])[0]
    except InputError:
        raise ValueError from None


def _dig(*given: Any) -> Any:
    *keys, other, value = given
    for key in keys:
        if not isinstance(value, dict) or key not in value:
            return other
        value = value[key]
    return value


def _substring(start: int, end: int, text: str) -> str:
    return text[: end if end >= 0 else None] if start < 0 else text[start : None if end < 0 or end > len(text) else end]


def _whole(of: Callable[[int, int], int], start: int | None = None) -> Callable[..., int]:
    return lambda *given: reduce(of, map(_int, given)) if start is None else reduce(of, map(_int, given), start)


TEXTS: dict[str, Callable[..., Any]] = {
    "lower": str.lower,
    "upper": str.upper,
    "title": lambda text: re.sub(r"(?<![\w'])\w", lambda found: found[0].upper(), text),
    "untitle": lambda text: text[:1].lower() + text[1:],
    "trim": str.strip,
    "trimPrefix": lambda prefix, text: text.removeprefix(prefix),
    "trimSuffix": lambda suffix, text: text.removesuffix(suffix),
    "trimAll": lambda chars, text: text.strip(chars),
    "nospace": lambda text: re.sub(r"\s", "", text),
    "replace": _replace,
    "contains": lambda part, text: part in text,
    "hasPrefix": lambda prefix, text: text.startswith(prefix),
    "hasSuffix": lambda suffix, text: text.endswith(suffix),
    "splitList": lambda by, text: text.split(by),
    "split": lambda by, text: {f"_{number}": each for number, each in enumerate(text.split(by))},
    "join": _join,
    "quote": lambda *given: " ".join(_quoted(each) for each in given if each is not None),
    "squote": lambda *given: " ".join(f"'{shown(each)}'" for each in given if each is not None),
    "trunc": lambda length, text: text[length:] if length < 0 else text[:length],
    "substr": _substring,
    "repeat": _repeat,
    "indent": _indent,
    "nindent": lambda width, text: "\n" + _indent(width, text),
    "cat": lambda *given: " ".join(shown(each) for each in given if each is not None),
    "printf": _printf,
    "print": lambda *given: "".join(map(shown, given)),
    "println": lambda *given: " ".join(map(shown, given)) + "\n",
    "normalize": normalize,
    "slugify": _slugify,
    "b64enc": lambda text: base64.b64encode(text.encode()).decode(),
    "b64dec": lambda text: base64.b64decode(text).decode(),
    "toString": shown,
    "toStrings": lambda values: list(map(shown, values)),
    "toYaml": lambda value: go_text(value).removesuffix("\n") if isinstance(value, dict) else json.dumps(value),
    "fromYaml": _read,
    "fromYamlArray": _read,
    "toJson": lambda value: json.dumps(value, separators=(",", ":"), sort_keys=True),
    "fromJson": json.loads,
}
OTHERS: dict[str, Callable[..., Any]] = {
    "default": lambda other, value=None: value or other,
    "empty": lambda value: not value,
    "coalesce": lambda *given: next(filter(None, given), None),
    "ternary": lambda yes, no, holds: yes if holds is True else no,
    "not": lambda value: not value,
    "eq": _equal,
    "ne": lambda one, other: not _equal(one, other),
    "lt": lambda one, other: one < other,
    "le": lambda one, other: one <= other,
    "gt": lambda one, other: one > other,
    "ge": lambda one, other: one >= other,
    "len": len,
    "index": _index,
    "slice": _slice,
    "list": lambda *given: list(given),
    "dict": lambda *given: {shown(key): value for key, value in zip(given[::2], (*given[1::2], ""), strict=False)},
    "get": lambda value, key: value.get(key, ""),
    "hasKey": lambda value, key: key in value,
    "keys": lambda *given: [key for each in given for key in each],
    "values": lambda value: list(value.values()),
    "pick": lambda value, *keys: {key: value[key] for key in keys if key in value},
    "omit": lambda value, *keys: {key: each for key, each in value.items() if key not in keys},
    "merge": lambda *given: {key: value for each in reversed(given) for key, value in each.items()},
    "dig": _dig,
    "has": lambda one, values: one in (values or []),
    "first": lambda values: values[0] if values else None,
    "last": lambda values: values[-1] if values else None,
    "rest": lambda values: values[1:],
    "initial": lambda values: values[:-1],
    "append": lambda values, one: [*values, one],
    "prepend": lambda values, one: [one, *values],
    "concat": lambda *given: [one for each in given for one in each],
    "compact": lambda values: list(filter(None, values)),
    "uniq": lambda values: [one for at, one in enumerate(values) if one not in values[:at]],
    "without": lambda values, *others: [one for one in values if one not in others],
    "reverse": lambda values: values[::-1],
    "sortAlpha": lambda values: sorted(map(shown, values)),
    "until": _until,
    "int": _int,
    "int64": _int,
    "float64": float,
    "atoi": _int,
    "add": _whole(lambda one, other: one + other, 0),
    "add1": lambda value: _int(value) + 1,
    "sub": _whole(lambda one, other: one - other),
    "mul": _whole(lambda one, other: one * other),
    "div": lambda one, other: int(_int(one) / (_int(other) or float("nan"))),
    "mod": lambda one, other: _int(one) - _int(other) * int(_int(one) / (_int(other) or float("nan"))),
    "max": _whole(max),
    "min": _whole(min),
    "kindIs": lambda kind, value: _type(value) == kind or (kind, type(value)) in (("slice", list), ("map", dict)),
}
FUNCTIONS = {**TEXTS, **OTHERS}
