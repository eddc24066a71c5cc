"""Plain scalars as sigs.k8s.io/yaml reads them. kubectl and the API server use it, so its types are those of the cluster.

It has YAML 1.1's booleans, but keeps dates and `12:30:45` as text. Numbers follow Go's `strconv`, and then pass through JSON:
a whole number that is written as a float (`1.0`, `1e3`) becomes an integer.
"""

from __future__ import annotations

Scalar = None | bool | int | float | str


INFINITIES = (".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF", "-.inf", "-.Inf", "-.INF", ".nan", ".NaN", ".NAN")
WORDS: dict[str, Scalar] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **{text: float(text.replace(".", "").lower()) for text in INFINITIES},
}
BASES = {"0x": 16, "0o": 8, "0b": 2}
DIGITS = {2: "01", 8: "01234567", 10: "0123456789", 16: "0123456789abcdefABCDEF"}
LONGEST_INTEGER = 80  # characters; a longer one does not fit 64 bits, except with leading zeros
INT64, UINT64 = 1 << 63, 1 << 64
PLAIN_NOTATION_BELOW = 1e21  # Go's JSON writes larger floats with an exponent

PREFIX = "tag:yaml.org,2002:"


def resolve(text: str) -> Scalar:
    """The value of a plain scalar.

    Raises: ValueError for infinities and NaN, which JSON can't hold.
    """
    return as_json(resolve_typed(text))


def resolve_typed(text: str) -> Scalar:
    """The value of a plain scalar before it passes through JSON: `1.0` is still a float."""
    if text in WORDS:
        return WORDS[text]
    first = text[0]
    if first == ".":
        return _dotted(text)
    if first in "+-0123456789":
        return _number(text)
    return text


def resolve_tagged(tag: str, text: str) -> Scalar:
    """The value of a scalar with an explicit tag; tags of applications are ignored.

    Raises: ValueError if the text does not fit the tag, also for infinities.
    """
    name = tag.removeprefix(PREFIX) if tag.startswith(PREFIX) else ""
    if name == "binary":
        return _decoded(text)
    if name not in KINDS:
        return text
    value = text if name == "str" else resolve_typed(text)
    if name == "timestamp":
        value = text
    elif name == "float" and type(value) is int:
        value = float(value)
    if type(value) is not KINDS[name]:
        raise ValueError(f"this value is not a valid {tag.replace(PREFIX, '!!')}")
    return as_json(value)


KINDS = {"str": str, "bool": bool, "int": int, "float": float, "null": type(None), "timestamp": str}


def as_json(value: Scalar) -> Scalar:
    """The value after it was written as JSON by Go and read again."""
    if type(value) is not float:
        return value
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124
        raise ValueError("infinity and NaN can't be expressed in JSON")
    if not value.is_integer() or abs(value) >= PLAIN_NOTATION_BELOW:
        return value
    digits, _, exponent = repr(abs(value)).partition("e")
    integer, _, fraction = digits.partition(".")
    padded = (integer + fraction.rstrip("0")).ljust(len(integer) + int(exponent), "0") if exponent else integer
    return -int(padded) if value < 0 else int(padded)


def key_text(value: Scalar) -> str:
    """The JSON key of a map key that was read as `value` (typed, see `resolve_typed`).

    Raises: ValueError for null and for integers beyond 64 bits.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int) and -INT64 <= value < INT64:
        return str(value)
    if isinstance(value, float):
        return _float_key(value)
    raise ValueError(
        "null cannot be a key; expected a string"
        if value is None
        else "a number with more than 64 bits cannot be a key; put it in quotes"
    )


def _all(digits: str, text: str) -> bool:
    return bool(text) and not text.strip(digits)


def _number(text: str) -> Scalar:
    plain = text.replace("_", "")
    integer = _integer(plain)
    if integer is not None:
        return integer
    if _is_decimal(plain):
        number = float(plain)
        if number not in (float("inf"), float("-inf")):
            return number
    return text


def _integer(plain: str) -> int | None:
    """Go's `ParseInt(plain, 0, 64)`, then `ParseUint`, which takes no sign."""
    body = plain[1:] if plain[:1] in ("+", "-") else plain
    signed = body is not plain
    base = BASES.get(body[:2].lower(), 10)
    digits = body[2:] if base != 10 else body
    if base == 10 and len(body) > 1 and body[0] == "0":
        base, digits = 8, body[1:]
    digits = digits.lstrip("0") or digits[:1]
    if len(digits) > LONGEST_INTEGER or not _all(DIGITS[base], digits):
        return None
    number = int(digits, base)
    if plain[0] == "-":
        return -number if number <= INT64 else None
    return number if number < (INT64 if signed else UINT64) else None


def _is_decimal(plain: str) -> bool:
    body = plain[1:] if plain[:1] in ("+", "-") else plain
    mantissa, mark, exponent = body.lower().partition("e")
    integer, _, fraction = mantissa.partition(".")
    power = exponent[1:] if exponent[:1] in ("+", "-") else exponent
    ends = _all(DIGITS[10], power) if mark else True
    return ends and _all(DIGITS[10], integer + fraction)


def _dotted(text: str) -> Scalar:
    """Go's `ParseFloat` of text that starts with a dot; underscores are allowed between digits only."""
    pieces = text.split("_")
    apart = any(not (pieces[i][-1:].isdigit() and pieces[i + 1][:1].isdigit()) for i in range(len(pieces) - 1))
    if apart or not _is_decimal("".join(pieces)):
        return text
    number = float("".join(pieces))
    return text if number == float("inf") else number


def _float_key(value: float) -> str:
    """Go's `FormatFloat(value, 'g', -1, 32)`."""
    import struct

    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124
        return ".nan" if value != value else ".inf" if value > 0 else "-.inf"  # noqa: PLR0124
    try:
        single = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return ".inf" if value > 0 else "-.inf"
    wanted = struct.pack("<f", single)
    shortest = next(text for text in (f"{single:.{p}e}" for p in range(9)) if struct.pack("<f", float(text)) == wanted)
    mantissa, _, power = shortest.partition("e")
    exponent = int(power)
    if exponent < -4 or exponent >= 6:
        return f"{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    decimals = max(0, len(mantissa.lstrip("-").replace(".", "")) - 1 - exponent)
    return f"{single:.{decimals}f}"


def _decoded(text: str) -> str:
    from krm_fn.base.encoding import from_base64  # needed only for binary text

    data = from_base64("".join(text.split()))
    if data is None:
        raise ValueError("the value of !!binary is not base64")
    return data.decode("utf-8", "replace")
