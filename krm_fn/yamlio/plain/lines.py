"""Lines as tokens, and the values of lines."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.paths import copy
from krm_fn.yamlio.plain.characters import DIGITS, LETTERS, QUOTES, NotPlain, is_plain_key, is_simple, note_key
from krm_fn.yamlio.scalars import resolve

# The column of a line's dash or key, whether it has a dash, its key, its value, and the kind of its value.
Token = tuple[int, bool, str | None, Any, int]
Layout = tuple[int, int]


# The kinds of values. SKIPPED is a line without one. QUOTED is a text in quotes that goes on in the next lines.
SCALAR, OPEN, EMPTY_MAP, EMPTY_LIST, CLIPPED, STRIPPED, FOLDED, FOLDED_STRIPPED, QUOTED, FLOW, SKIPPED = range(11)
# The kinds that only libyaml finds the places in.
RICH = frozenset((QUOTED, FLOW))

DEEPEST = 100
LONGEST_KEY = 1000  # as in emit: YAML readers look 1,024 characters ahead for a colon
MEMO = 2_000  # lines; most lines of large inputs are the same, except for the names
LONGEST_KEPT = 300  # characters of a line
STARTS = LETTERS | DIGITS | frozenset("/_.$(")
MARKS = {
    "": (OPEN, None),
    "{}": (EMPTY_MAP, None),
    "[]": (EMPTY_LIST, None),
    "|": (CLIPPED, None),
    "|-": (STRIPPED, None),
    ">": (FOLDED, None),
    ">-": (FOLDED_STRIPPED, None),
}

BOTTOM: tuple[int, Any, bool] = (-1, None, False)  # the outermost level of the open collections

_memo: dict[str, Token] = {}
_heads: dict[str, tuple[int, bool, str | None]] = {}  # lines up to the colon of a plain key
_places: dict[str, tuple[int, int, int, int, int]] = {}


def token(line: str) -> Token:
    """The token of a line that is not inside a block of text.

    Raises: NotPlain.
    """
    known = _memo.get(line)
    if known is None:
        known = once(line)
        if len(_memo) >= MEMO:
            _memo.clear()
        if len(line) < LONGEST_KEPT:
            _memo[line] = known
    return known


def once(line: str) -> Token:
    """The token of a line that is not inside a block of text, and that will probably not occur again.

    If the line up to its value was seen before, which is true for most lines, only the value is read.
    """
    head, colon, text = line.partition(": ")
    seen = _heads.get(head)
    if seen is not None and text[:1] in QUOTES and line.isprintable() and is_simple(text):
        return *seen, text[1:-1], SCALAR
    if seen is None or not text or text[0] not in STARTS or text[-1] in " :" or " #" in text or ": " in text:
        found = _read_token(line)
        if colon and found[2] is not None and head.endswith(found[2]) and len(_heads) < MEMO:
            _heads[head] = found[:3]
        return found
    if not line.isprintable():
        raise NotPlain
    try:
        return *seen, resolve(text), SCALAR
    except ValueError:
        raise NotPlain from None


def _read_token(line: str) -> Token:
    body = line.lstrip(" ")
    indent = len(line) - len(body)
    if not line.isprintable():
        raise NotPlain
    if body[:1] in ("", "#"):
        return indent, False, None, None, SKIPPED
    dash = body.startswith("- ")
    if dash:
        body = body[2:]
    if body[:1] == " ":
        raise NotPlain
    key, rest = split(body)
    if key is None and not dash:
        raise NotPlain
    kind, value = _value(trimmed(rest))
    if kind == OPEN and key is None:
        raise NotPlain
    return indent, dash, None if key is None else _key(key), value, kind


def places(line: str) -> tuple[int, int, int, int, int]:
    """The columns of a line where its key starts and ends and where its value starts, the value's kind, and where it ends."""
    known = _places.get(line)
    if known is None:
        if len(_places) >= MEMO:
            _places.clear()
        indent, dash, key, _, kind = token(line)
        start = end = indent + 2 if dash else indent
        rest = line[start:]
        if key is not None:
            written, rest = split(rest)
            end += len(written or "")
        value = len(line) - len(rest.lstrip(" "))
        if kind == OPEN:
            value = end + 1
        known = _places[line] = start, end, value, kind, value + len(trimmed(rest))
    return known


def split(body: str) -> tuple[str | None, str]:
    """A key as it is written, and the text after its colon; None and the complete text if it has no key."""
    if body[:1] in ("'", '"'):
        end = body.find(body[0], 1) + 1
        if body[end : end + 2] in (":", ": ") and end > 1:
            return body[:end], body[end + 1 :]
        return None, body
    if body[:1] not in STARTS:
        return None, body
    key, colon, rest = body.partition(": ")
    if colon and " #" not in key:
        return key, rest
    bare = body.partition(" #")[0].rstrip(" ")
    return (bare[:-1], body[len(bare) :]) if bare.endswith(":") else (None, body)


def trimmed(rest: str) -> str:
    """A value as it is written, without the blanks around it and without the comment behind it. Raises: NotPlain."""
    rest = rest.strip(" ")
    first = rest[:1]
    if first in QUOTES and not is_simple(rest):
        from krm_fn.yamlio.plain.scalars import closing  # few values need it

        end = closing(rest, first, 1) + 1
        tail = rest[end:].lstrip(" ") if end else ""
        if tail and (tail[0] != "#" or rest[end] != " "):
            raise NotPlain
        return rest[:end] if end else rest
    if first == "#":
        return ""
    return rest if first in QUOTES else rest.partition(" #")[0].rstrip(" ")


def _key(text: str) -> str:
    if text[0] in "'\"":
        if not is_simple(text):
            raise NotPlain
        key = text[1:-1]
    elif is_plain_key(text):
        key = text
    else:
        raise NotPlain
    if len(key) > LONGEST_KEY:
        raise NotPlain
    note_key(key)
    return key


def _value(text: str) -> tuple[int, Any]:
    if text in MARKS:
        return MARKS[text]
    first = text[0]
    if first in QUOTES:
        if is_simple(text):
            return SCALAR, text[1:-1]
        from krm_fn.yamlio.plain.scalars import closing, unquoted

        end = closing(text, first, 1)
        return (SCALAR, unquoted(text[1:end], first)) if end > 0 else (QUOTED, None)
    if first in "{[":
        from krm_fn.yamlio.plain.scalars import flow

        return FLOW, flow(text)
    starts = first in STARTS or (first in "+-" and text[1:2] in DIGITS)
    if not starts or ": " in text or text[-1] == ":":
        raise NotPlain
    try:
        return SCALAR, resolve(text)
    except ValueError:
        raise NotPlain from None


def read(text: str) -> Any:
    """The map or list of the lines of a text.

    Raises: NotPlain.
    """
    return read_laid_out(text)[0]


def is_rich(text: str) -> bool:
    """True if only libyaml finds all places in the text. Raises: NotPlain."""
    return _read_lines(text.split("\n"))[2]


def read_laid_out(text: str) -> tuple[Any, Layout | None]:
    """The map or list of the lines of a text, and the number of columns by which its maps and its lists' dashes are indented.

    The layout is None if these differ.
    Raises: NotPlain.
    """
    lines = text.split("\n")
    if len(lines) == 1 or lines[-1]:
        raise NotPlain
    value, layout, _ = _read_lines(lines)
    if value is None:
        raise NotPlain
    return value, layout


# One loop without calls for the usual lines.
def _read_lines(lines: list[str]) -> tuple[Any, Layout | None, bool]:  # noqa: C901, PLR0912
    known = _memo.get
    stack: list[tuple[int, Any, bool]] = [BOTTOM]  # the open collections around `into`: column, container, whether it is a list
    root: Any = None
    into: Any = None
    waiting: str | None = None  # the key whose value the next lines are
    steps: tuple[set[int], set[int]] = set(), set()  # the columns by which maps, and dashes, are indented below keys
    in_list, rich, column, at, count = False, False, -1, 0, len(lines) - 1
    while at < count:
        line = lines[at]
        at += 1
        indent, dash, key, value, kind = known(line) or token(line)
        if kind == SKIPPED:
            continue
        if waiting is not None:
            if indent > column or (dash and indent == column):
                steps[dash].add(indent - column)
                stack.append((column, into, in_list))
                below: Any = [] if dash else {}
                into[waiting] = below
                into, column, in_list = below, indent, dash
            waiting = None
        elif into is None:
            root = into = [] if dash else {}
            column, in_list = indent, dash
        if indent != column or dash is not in_list:
            while indent < column or (indent == column and in_list and not dash):
                column, into, in_list = stack.pop()
            if indent != column or dash is not in_list:
                raise NotPlain
        if dash and key is not None:
            stack.append((column, into, True))
            into.append({})
            into, column, in_list = into[-1], indent + 2, False
        if kind != SCALAR:
            if kind == OPEN:
                waiting = key  # its value replaces None
                if len(stack) > DEEPEST + 1:
                    raise NotPlain
            else:
                rich = rich or kind in RICH
                value, at = _no_scalar(lines, at, column, kind, value)
        if key is None:
            into.append(value)
        elif key in into:
            raise NotPlain
        else:
            into[key] = value
    return root, _layout(*steps), rich


def _layout(maps: set[int], dashes: set[int]) -> Layout | None:
    """The columns by which maps, and dashes of lists, are indented; None if they differ among maps or among lists."""
    if len(maps) > 1 or len(dashes) > 1:
        return None
    return max(maps, default=2), max(dashes, default=0)


def _no_scalar(lines: list[str], at: int, column: int, kind: int, value: Any) -> tuple[Any, int]:
    """The map or list in brackets, the block of text, or the text in quotes that starts on the line before `at`, and the number
    of the line after it. `value` is that of the token.

    Raises: NotPlain.
    """
    if kind == EMPTY_MAP:
        return {}, at
    if kind == EMPTY_LIST:
        return [], at
    if kind == FLOW:
        return copy(value), at  # tokens are kept, and values may be changed
    if kind == QUOTED:
        from krm_fn.yamlio.plain.scalars import quoted_lines

        return quoted_lines(lines, at, column, places(lines[at - 1])[2])
    return literal(lines, at, column, kind)


def literal(lines: list[str], at: int, column: int, kind: int) -> tuple[str, int]:
    """The block of text that starts at line `at` and belongs to `column`, and the number of the line after it.

    Raises: NotPlain.
    """
    first = lines[at]
    margin = indent_of(first)
    if margin <= column or margin == len(first) or first[margin] == "\t":
        raise NotPlain
    end = block_end(lines, at, margin)
    if indent_of(lines[end]) > column:
        raise NotPlain
    stop = end
    while not lines[stop - 1].strip(" "):
        stop -= 1
        if len(lines[stop]) > margin:
            raise NotPlain
    body = [line[margin:] for line in lines[at:stop]]
    text = "\n".join(body)
    if text[-1] in " \t" or not text.replace("\n", "").replace("\t", "").isprintable():
        raise NotPlain
    if kind in (FOLDED, FOLDED_STRIPPED):
        from krm_fn.yamlio.plain.scalars import folded

        text = folded(body)
    return text if kind in (STRIPPED, FOLDED_STRIPPED) else text + "\n", end


def block_end(lines: list[str], at: int, margin: int) -> int:
    """The number of the first line from `at` on with an indentation below `margin`. Skips empty lines, except the last."""
    lead, end, last = " " * margin, at, len(lines) - 1
    while end < last and (lines[end].startswith(lead) or not lines[end].strip(" ")):
        end += 1
    return end


def indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
