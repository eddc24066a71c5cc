"""libyaml's event stream, the only part of PyYAML that this package uses, and libyaml's errors in our words.

PyYAML's own composer, resolver and loaders are not used: they read MAC addresses as integers and crash on deep nesting.
To import this module takes longer than to read a small input, so it is imported only where an event stream is opened.
"""

from __future__ import annotations

from yaml._yaml import CParser
from yaml.error import MarkedYAMLError, YAMLError
from yaml.events import (
    AliasEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
    StreamEndEvent,
    StreamStartEvent,
)
from yaml.reader import ReaderError

from krm_fn.base.annotations import Any
from krm_fn.base.errors import InputError

__all__ = [
    "DEEPEST",
    "TOO_DEEP",
    "AliasEvent",
    "CParser",
    "DocumentEndEvent",
    "DocumentStartEvent",
    "MappingEndEvent",
    "MappingStartEvent",
    "ScalarEvent",
    "SequenceEndEvent",
    "SequenceStartEvent",
    "StreamEndEvent",
    "StreamStartEvent",
    "YAMLError",
    "end_of",
    "place_of",
    "start_of",
    "translate",
]


DEEPEST = 500  # levels of nested maps and lists; a real VirtualMachine has under 20
TOO_DEEP = f"maps and lists are nested deeper than {DEEPEST} levels"
# A part of libyaml's message, and the message for the author of the file.
WORDING = (
    ("maximum nesting depth", TOO_DEEP),  # libyaml reads ahead: its own limit can come before the reader's
    ("cannot start any token", "this character can't start a value; put the value in quotes"),
    ("mapping values are not allowed", "a ':' is not allowed here; check the indentation, or put the value in quotes"),
    ("block sequence entries are not allowed", "a '- ' is not allowed here; check the indentation"),
    ("mapping keys are not allowed", "a '? ' is not allowed here; check the indentation"),
    ("found a tab character", "a tab is used for indentation; indent with spaces"),
    ("violates indentation", "a tab is used for indentation; indent with spaces"),
    (
        "could not find expected ':'",
        "a line is not `key: value`; check the indentation and the quotes",
    ),
    ("did not find expected key", "this line belongs to neither the map nor the list around it; check the indentation"),
    ("did not find expected '-' indicator", "this line does not belong to a list entry; check the indentation"),
    ("did not find expected node content", "a value is missing here"),
    ("did not find expected ',' or", "a ',' or a closing bracket is missing here"),
    ("unexpected end of stream", "the text ends inside a quoted string"),
    ("unexpected document indicator", "a '---' or '...' is inside a quoted string"),
    ("unknown escape character", "a double-quoted string has an unknown escape; write a backslash as \\\\"),
    ("did not find expected hexdecimal number", "a double-quoted string has an incomplete escape"),
    ("invalid Unicode character escape", "a double-quoted string has an escape that is not a Unicode character"),
    ("did not find expected <document start>", "text follows the end of the document"),
    ("did not find URI escaped octet", "a tag is malformed"),
    ("tag", "a tag is malformed"),
    ("directive", "a % directive is malformed"),
    ("incompatible YAML document", "the document requires another YAML version than 1.1"),
    ("alphabetic or numeric character", "an anchor or alias has no name"),
    ("block scalar", "a block of text ('|' or '>') has a wrong header"),
    ("indentation indicator", "a block of text ('|' or '>') has a wrong header"),
    ("chomping indicator", "a block of text ('|' or '>') has a wrong header"),
    ("comment or line break", "there is text after the header of a block ('|' or '>')"),
    ("control characters", "the text contains a control character"),
)
ELLIPSIS = "'...' is no YAML where it stands for what was left out; write that, or delete the line"
DOTS = (b"...", "\u2026".encode())
NEAR = 3  # lines above the one where libyaml notices it
TAB = "a tab is used for indentation; indent with spaces"


def place_of(event: Any) -> dict[str, int]:
    """The line and column of an event, from 1, as keywords of InputError."""
    mark = event.start_mark
    return {"line": mark.line + 1, "column": mark.column + 1}


def start_of(event: Any) -> int:
    """The index of the character at which an event starts."""
    return int(event.start_mark.index)


def end_of(event: Any) -> int:
    """The index after the last character of an event."""
    return int(event.end_mark.index)


def translate(error: YAMLError, data: bytes, file: str) -> InputError:
    """libyaml's error as an InputError with the same place."""
    if isinstance(error, ReaderError):
        before = data[: error.position].decode("utf-8", "replace")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        return InputError(
            f"the character U+{error.character:04X} is not allowed in YAML; remove it", file=file, line=line, column=column
        )
    problem = str(getattr(error, "problem", "") or "")
    mark = isinstance(error, MarkedYAMLError) and (error.problem_mark or error.context_mark)
    message = next((ours for theirs, ours in WORDING if theirs in problem), "this is not valid YAML")
    if not mark:
        return InputError(message, file=file)
    lines = data.splitlines()
    if (above := _ellipsis(lines, mark.line)) is not None:
        return InputError(ELLIPSIS, file=file, line=above + 1, column=lines[above].index(lines[above].strip()) + 1)
    if "cannot start" in problem and mark.line < len(lines) and lines[mark.line][: mark.column + 1].strip(b" ") == b"\t":
        message = TAB
    return InputError(message, file=file, line=mark.line + 1, column=mark.column + 1)


def _ellipsis(lines: list[bytes], at: int) -> int | None:
    """The number of a line, at or just above another one, that somebody wrote for "and so on"."""
    near = range(min(at, len(lines) - 1), max(at - NEAR, 0) - 1, -1)
    return next((number for number in near if lines[number].startswith(b" ") and lines[number].strip() in DOTS), None)
