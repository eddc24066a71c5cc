"""Mutants: a list with a few small changes, as an editor, another tool or an attacker would make them.

A mutation takes a source of chance and a text's lines, and changes the lines in place. Each is one row of `MUTATIONS`.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from seeds import DOCUMENTS, HEAD, Seeds

Lines = list[str]
Mutation = Callable[[Random, Lines], None]

CHARACTERS = [
    *" -:#'\"|>&*!%@`{}[],?\\\n\t\r~=<.0aé",
    "\u00a0",
    "\u2028",
    "\u2029",
    "\x85",
    "\ufeff",
    "\x01",
    "\x7f",
    "\U0001f600",
]
VALUES = [
    "{}",
    "[]",
    "",
    "~",
    "''",
    '""',
    "|",
    "|-",
    "|+",
    ">",
    "|2",
    "&a x",
    "*a",
    "!!str 1",
    "<<",
    "- a",
    "a: b",
    "? a",
    "{a: 1}",
    "[a]",
]
VALUES += [text[3:-1] for text in DOCUMENTS if text[:3] == "a: " and text.count("\n") == 1]
COMMENTS = ["# note", "#", "# a: b", "#- x", "# 'x", "# é\u2028", "#\t"]
MARKERS = ["---", "...", "--- # x", "%YAML 1.1", "---\n---", "--- |", "--- {}"]
HEADERS = ["|", "|-", "|+", "|2", "|1-", ">", ">-", "| # c", "|  "]
LINKS = [(" &a", " *a"), (" &a-b", " *a-b"), (" &1", " *1")]


def mutant(seeds: Seeds, seed: str, number: int) -> bytes:
    """The mutant of that number: the same for the same seeds, seed and number."""
    rng = Random(f"{seed}/{number}")  # noqa: S311  nothing is secret
    lines = seeds.text(rng).split("\n")
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
        rng.choice(CHOICES)(rng, lines)
    return _encoded(rng, "\n".join(lines))


def _encoded(rng: Random, text: str) -> bytes:
    """The bytes of a text, of which a few are in another encoding, or cut, or have a byte flipped."""
    data = text.encode("utf-8", "surrogatepass")
    chance = rng.random()
    if chance < 0.02:
        return b"\xef\xbb\xbf" + data
    if chance < 0.05:
        return data.replace(b"\n", rng.choice((b"\r\n", b"\r")))
    if chance < 0.07:
        return data[: rng.randrange(len(data) + 1)]
    if chance < 0.12 and data:
        at = rng.randrange(len(data))
        return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]
    return data


def _at(rng: Random, lines: Lines) -> int:
    return rng.randrange(len(lines))


def character(rng: Random, lines: Lines) -> None:
    """Put a character in, or in the place of another."""
    at = _at(rng, lines)
    where = rng.randint(lines[at].find(": ") + 1, len(lines[at]))
    lines[at] = lines[at][:where] + rng.choice(CHARACTERS) + lines[at][where + rng.randint(0, 1) :]


def first_character(rng: Random, lines: Lines) -> None:
    """Put a character where a line starts, or behind its indentation."""
    at = _at(rng, lines)
    where = rng.choice((0, len(lines[at]) - len(lines[at].lstrip(" "))))
    lines[at] = lines[at][:where] + rng.choice(CHARACTERS) + lines[at][where:]


def swap(rng: Random, lines: Lines) -> None:
    """Swap two lines, mostly neighbours."""
    at = _at(rng, lines)
    other = _at(rng, lines) if rng.random() < 0.3 else min(at + 1, len(lines) - 1)
    lines[at], lines[other] = lines[other], lines[at]


def repeat(rng: Random, lines: Lines) -> None:
    """Let a line, or a few, stand twice."""
    at = _at(rng, lines)
    lines[at:at] = lines[at : at + rng.choice((1, 1, 1, 2, 5))]


def move(rng: Random, lines: Lines) -> None:
    """Move a few lines to another place."""
    at, count = _at(rng, lines), rng.randint(1, 4)
    taken = lines[at : at + count]
    del lines[at : at + count]
    to = rng.randint(0, len(lines))
    lines[to:to] = taken


def drop(rng: Random, lines: Lines) -> None:
    """Take a line, or a few, out."""
    at = _at(rng, lines)
    lines[at : at + rng.choice((1, 1, 1, 2, 5))] = [""] if rng.random() < 0.2 or len(lines) < 6 else []


def indent(rng: Random, lines: Lines) -> None:
    """Indent a line, or it and those below, by a few columns more or less."""
    at = _at(rng, lines)
    deep = _depth(lines[at])
    end = at + 1
    while rng.random() < 0.8 and end < len(lines) and _depth(lines[end]) > deep:
        end += 1
    by = rng.choice((-2, -1, 1, 2, 3))
    for number in range(at, end):
        lines[number] = " " * by + lines[number] if by > 0 else lines[number][min(-by, _depth(lines[number])) :]


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def comment(rng: Random, lines: Lines) -> None:
    """Put a comment behind a line or above it, at its column or another one."""
    at, text = _at(rng, lines), rng.choice(COMMENTS)
    if rng.random() < 0.5:
        lines[at] += rng.choice((" ", "  ", "\t", "")) + text
    else:
        lines.insert(at, " " * rng.choice((0, _depth(lines[at]), _depth(lines[at]) + 2)) + text)


def blank(rng: Random, lines: Lines) -> None:
    """Put an empty line in, or blanks behind a line."""
    at = _at(rng, lines)
    if rng.random() < 0.5:
        lines.insert(at, rng.choice(("", "", "  ", "\t")))
    else:
        lines[at] += rng.choice((" ", "   ", "\t", "\r"))


def _values(lines: Lines) -> list[tuple[int, str, str]]:
    """The lines with a key and a value behind it: number, key with its colon and space, value."""
    found = ((number, *line.partition(": ")) for number, line in enumerate(lines))
    return [(number, key + colon, value) for number, key, colon, value in found if colon and value]


def quote(rng: Random, lines: Lines) -> None:
    """Write a value with other quotes, or without."""
    values = _values(lines)
    if values:
        at, head, value = rng.choice(values)
        bare = value.strip("'\"")
        double = bare.replace("\\", "\\\\").replace('"', '\\"')
        escaped = "".join(f"\\u{ord(letter):04x}" if ord(letter) < 0x10000 else letter for letter in bare)
        forms = (bare, f"'{bare}'", f'"{double}"', f'"{escaped}"', f"'{bare}", f'"{double[:3]}\n{double[3:]}"')
        lines[at] = head + rng.choice(forms)


def quote_key(rng: Random, lines: Lines) -> None:
    """Write a key in quotes, or with a question mark, or with blanks around its colon."""
    at = _at(rng, lines)
    key, colon, rest = lines[at].partition(":")
    lead = key[: _depth(key)] + ("- " if key.lstrip(" ").startswith("- ") else "")
    name = key[len(lead) :]
    if colon and name:
        forms = (f'"{name}":', f"'{name}':", f"? {name}\n{' ' * len(lead)}:", f"{name} :", f"{name}: ", f"!!str {name}:")
        lines[at] = lead + rng.choice(forms) + rest


def value(rng: Random, lines: Lines) -> None:
    """Put another value in the place of one."""
    values = _values(lines)
    if values:
        at, head, _ = rng.choice(values)
        lines[at] = head + rng.choice(VALUES)


def exchange(rng: Random, lines: Lines) -> None:
    """Exchange the values of two lines."""
    values = _values(lines)
    if values:
        (at, head, old), (other, other_head, new) = rng.choice(values), rng.choice(values)
        lines[at], lines[other] = head + new, other_head + old


def anchor(rng: Random, lines: Lines) -> None:
    """Put an anchor at a node, and an alias in the place of one behind it; or a merge in the place of a line."""
    at = _at(rng, lines)
    name, alias = rng.choice(LINKS)
    head, colon, rest = lines[at].partition(":")
    if not colon:
        return
    lines[at] = head + colon + name + rest
    behind = [found for found in range(at + 1, len(lines)) if ":" in lines[found]]
    for number in rng.sample(behind, min(len(behind), rng.randint(0, 2))):
        key = lines[number].partition(":")[0]
        merged = key[: _depth(key)] + "<<:" + alias
        lines[number] = merged if rng.random() < 0.3 else key + ":" + alias


def brackets(rng: Random, lines: Lines) -> None:
    """Write an entry of a map or list in brackets."""
    at = _at(rng, lines)
    body = lines[at].lstrip(" ")
    lead = lines[at][: _depth(lines[at])] + ("- " if body.startswith("- ") else "")
    lines[at] = lead + rng.choice(("{%s}", "[%s]", "{%s,}", "[\n%s]")) % lines[at][len(lead) :]


def block(rng: Random, lines: Lines) -> None:
    """Change the header of a block of text, or make one of a value."""
    headed = [at for at, line in enumerate(lines) if line.rstrip().endswith(("|", "|-", "|+", ">"))]
    values = _values(lines)
    if headed and rng.random() < 0.7:
        at = rng.choice(headed)
        lines[at] = lines[at].rstrip(" |-+>") + " " + rng.choice(HEADERS)
    elif values:
        at, head, text = rng.choice(values)
        lines[at] = f"{head}{rng.choice(HEADERS)}\n{' ' * (_depth(head) + 4)}{text}"


def marker(rng: Random, lines: Lines) -> None:
    """Put a mark of a document's start or end in."""
    at = rng.choice((0, len(lines), _at(rng, lines)))
    lines.insert(at, rng.choice(MARKERS))


def top(rng: Random, lines: Lines) -> None:
    """Put a key of the list itself in, once more or in another place."""
    keys = ["results: []", "results:\n- message: a", "items: []", *HEAD.split("\n")[:2], "kind: List", "other: 1", "items:"]
    lines.insert(rng.choice((0, len(lines) - 1, _at(rng, lines))), rng.choice(keys))


def annotate(rng: Random, lines: Lines) -> None:
    """Put an ignore, or an annotation of a host, below some metadata."""
    places = [at for at, line in enumerate(lines) if line == "    annotations:"]
    if places:
        key, text = rng.choice(
            (
                ("kubevirt-render.dev/ignore", "unmet-requirement"),
                ('"kubevirt-render.dev\\x2fignore"', "'*: all'"),
                ("config.kubernetes.io/path", "'a\\b'"),
                ("internal.config.kubernetes.io/path", '"a\\nb"'),
            )
        )
        lines.insert(rng.choice(places) + 1, f"      {key}: {text}")


# With how often each is taken: those that leave most lists readable more often.
MUTATIONS: dict[Mutation, int] = {
    character: 3,
    first_character: 1,
    swap: 1,
    repeat: 1,
    move: 1,
    drop: 2,
    indent: 2,
    comment: 4,
    blank: 3,
    quote: 4,
    quote_key: 3,
    value: 5,
    exchange: 4,
    anchor: 3,
    brackets: 1,
    block: 4,
    marker: 1,
    top: 1,
    annotate: 2,
}
CHOICES = [mutation for mutation, weight in MUTATIONS.items() for _ in range(weight)]
