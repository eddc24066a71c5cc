"""Text for new values: block YAML, flow YAML and JSON.

A string is written plain only if all YAML 1.1 and 1.2 readers read it as this string. Clean text of several lines is a
literal block. Everything else is in double quotes, with escapes. No line is folded, and there are no aliases.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable
from krm_fn.base.value import Value

STARTS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/_")
RESERVED = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))
SUFFIXES = ("Ki", "Mi", "Gi", "Ti", "Pi", "n", "u", "m", "k", "M", "G", "T", "P")  # of quantities; never E: 1E5 is a number
FLOW_SAFE = STARTS | frozenset("0123456789-. ")
ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r", "\0": "\\0"}
JSON_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
FEW = 20  # characters that are searched one by one, which takes a tenth of the time in a long text
LONGEST_KEY = 1000  # characters; YAML readers search the next 1,024 for the colon of a simple key
PLAIN_NOTATION_BELOW = 1e21  # as Go's JSON does

_inline: dict[str, str] = {}
MEMO = 20_000

# How many texts of maps are kept, and the length of the longest printed form of such a map.
KEPT, LONGEST_KEPT = 5_000, 2_000
_written: dict[tuple[str, int, int, int, bool], str] = {}


class Style(Value):
    """The layout of text: columns per level, columns from a key to its list's dashes, line break, and use of literal blocks."""

    step: int = 2
    dash: int = 0
    newline: str = "\n"
    literal: bool = True


def number_text(value: float) -> str:
    """A number as Go's JSON writes it, in a form that is a number in YAML 1.1 too.

    Raises: ValueError for infinities and NaN.
    """
    if isinstance(value, int):
        return str(value)
    if value != value or value in (float("inf"), float("-inf")):  # noqa: PLR0124
        raise ValueError("infinity and NaN can't be written")
    if value.is_integer() and abs(value) < PLAIN_NOTATION_BELOW:
        return f"{value:.0f}"
    mantissa, mark, exponent = repr(value).partition("e")
    return mantissa + ("" if "." in mantissa or not mark else ".0") + mark + exponent


def is_plain(text: str) -> bool:
    """True if every reader reads the bare text as this string."""
    if not text or not text.isprintable():
        return False
    if text[0] not in STARTS:
        return _is_quantity(text)
    return not (": " in text or " #" in text or text[-1] in " :" or text.lower() in RESERVED)


def _is_quantity(text: str) -> bool:
    for suffix in SUFFIXES:
        if text.endswith(suffix):
            integer, dot, fraction = text.removesuffix(suffix).partition(".")
            digits = integer + fraction
            return bool(integer) and digits.isascii() and digits.isdigit() and bool(fraction or not dot)
    return False


def quoted(text: str) -> str:
    """The text in double quotes."""
    return _in_quotes(text, _escape)


def single_quoted(text: str) -> str:
    """The text in single quotes; no text where they can't hold it, because they have no escapes."""
    return "'" + text.replace("'", "''") + "'" if text.isprintable() else ""


def json_quoted(text: str) -> str:
    """The text as a JSON string."""
    return _in_quotes(text, _json_escape)


def _in_quotes(text: str, escape: Callable[[str], str]) -> str:
    odd = [char for char in set(text) if char in ESCAPES or not char.isprintable()]
    if len(odd) > FEW:
        return f'"{text.translate({ord(char): escape(char) for char in odd})}"'
    for char in sorted(odd, key="\\".__ne__):  # the backslash first, because the escapes contain it
        text = text.replace(char, escape(char))
    return f'"{text}"'


def _escape(char: str) -> str:
    code = ord(char)
    return ESCAPES.get(char) or (f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def _json_escape(char: str) -> str:
    if char in JSON_ESCAPES:
        return JSON_ESCAPES[char]
    units = char.encode("utf-16-be", "surrogatepass")
    # A surrogate pair is valid JSON, but none of Go's YAML readers accepts one. So characters beyond U+FFFF stay as they are.
    return char if len(units) > 2 else f"\\u{units.hex()}"


def scalar_text(value: Any, *, flow: bool = False, json: bool = False) -> str:
    """A scalar on one line; `{}` and `[]` too. Flow style quotes more: commas, brackets, question marks.

    Raises: TypeError for a value that JSON does not have; ValueError for infinities and NaN.
    """
    if isinstance(value, str):
        if json:
            return json_quoted(value)
        text = _inline.get(value)
        if text is None:
            text = value if is_plain(value) else quoted(value)
            if len(_inline) < MEMO:
                _inline[value] = text
        return quoted(value) if flow and text == value and not FLOW_SAFE.issuperset(value) else text
    if value is None:
        return "null"
    if value is True or value is False:
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return number_text(value)
    if isinstance(value, (dict, list)) and not value:
        return "{}" if isinstance(value, dict) else "[]"
    raise TypeError(f"{type(value).__name__} is no JSON value")


def is_literal(text: str) -> bool:
    """True for text of several lines that a literal block holds without doubt."""
    if "\n" not in text or text[0] in " \t\n" or text.endswith("\n\n"):
        return False
    return all(line.isprintable() and line[-1:] != " " for line in text.split("\n"))


def entry(head: str, value: Any, column: int, style: Style) -> list[str]:
    """The lines of a map or list entry at `column`. `head` is its key and colon, or its dash, with the indentation.

    The value of a key is indented by `style.step`, a list's dashes by `style.dash`. The value of a dash follows on its line.
    """
    out: list[str] = []
    _entry(out, head, value, column, style)
    return out


def _entry(out: list[str], head: str, value: Any, column: int, style: Style) -> None:
    if isinstance(value, str) and "\n" in value and style.literal and is_literal(value):
        margin = " " * (column + style.step)
        out.append(f"{head} |" if value[-1] == "\n" else f"{head} |-")
        out.extend(margin + line if line else "" for line in value.removesuffix("\n").split("\n"))
        return
    if not isinstance(value, (dict, list)) or not value:
        out.append(f"{head} {scalar_text(value)}")
        return
    follows = head[-1:] == "-"
    if follows:
        below, lead = column + 2, head + " "
    else:
        out.append(head)
        below = column + (style.step if isinstance(value, dict) else style.dash)
        lead = " " * below
    margin = " " * below
    if isinstance(value, list):
        for item in value:
            _entry(out, lead + "-", item, below, style)
            lead = margin
        return
    for key, item in value.items():
        name = scalar_text(key)
        if len(name) > LONGEST_KEY:
            out.append(f"{lead}? {name}")
            _entry(out, f"{margin}:", item, below, style)
        else:
            _entry(out, f"{lead}{name}:", item, below, style)
        lead = margin


def block(value: Any, column: int, style: Style) -> list[str]:
    """The lines of a value in block style, indented by `column`."""
    if not isinstance(value, (dict, list)):
        return [" " * column + scalar_text(value)]
    # A dash two columns to the left can hold any collection. The result is the collection without this dash.
    lines = entry("-", value, column - 2, style)
    margin = " " * column
    return [margin + lines[0].removeprefix("- "), *lines[1:]]


def kept_block(value: dict[str, Any], column: int, style: Style) -> str:
    """The keys of a map as lines at `column`. The result is kept, because many VMs of one instancetype gain the same keys."""
    key = repr(value), column, style.step, style.dash, style.literal
    text = _written.get(key)
    if text is None:
        text = "\n".join(block(value, column, style))
        if len(_written) >= KEPT:
            _written.clear()
        if len(key[0]) < LONGEST_KEPT:
            _written[key] = text
    return text


def flow(value: Any, style: Style, margin: str | None = None, *, json: bool = False) -> str:
    """The value in flow style, or as JSON. With `margin`, it has several lines, and `margin` indents the closing bracket."""
    if not isinstance(value, (dict, list)) or not value:
        return scalar_text(value, flow=True, json=json)
    inner = None if margin is None else margin + ("\t" if "\t" in margin else " " * style.step)
    entries = value.items() if isinstance(value, dict) else ((None, item) for item in value)
    parts = []
    for key, item in entries:  # one frame per level: nesting must not meet Python's limit
        head = "" if key is None else f"{scalar_text(key, flow=True, json=json)}: "
        if len(head) > LONGEST_KEY and not json:  # JSON has no form for it
            head = "? " + head
        parts.append(head + flow(item, style, inner, json=json))
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    if inner is None:
        return opening + ", ".join(parts) + closing
    newline = style.newline
    return opening + newline + inner + f",{newline}{inner}".join(parts) + newline + (margin or "") + closing


def dump(value: Any) -> str:
    """The value as block YAML, with a newline at its end.

    Raises: TypeError for a value that JSON does not have; ValueError for infinities and NaN.
    """
    return "\n".join(block(value, 0, Style())) + "\n"
