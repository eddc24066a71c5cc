"""Where values come from, as text, Markdown or JSON.

In the text they are a tree: paths with a common start stand below it, and sources stand in one column.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import click

from krm_fn.base.console import printable
from krm_fn.base.markdown import prose
from krm_fn.base.objects import Object
from krm_fn.base.paths import dotted, steps
from krm_fn.base.value import Value
from krm_fn.explaining.wording import named, notes_of, place_of, source_text, written

Leaf = tuple[str, str, str, str, list[str]]  # path, value, kind of the source, its text, notes


COLORS = {
    "vm": "green",
    "instancetype": "cyan",
    "preference": "magenta",
    "preset": "yellow",
    "configuration": "yellow",
    "patch": "yellow",
}
WIDEST = 44  # letters of a line up to the column of sources


def tree(leaves: Sequence[Leaf], names: Mapping[str, str], *, color: bool, width: int) -> Iterator[str]:
    """The lines of a tree. `names` are those of entries of lists, by their paths; `width` is that of the terminal, or 0.

    In a narrow terminal, sources stand below their values.
    """
    rows = list(_rows(_grown(leaves), names))
    column = min(WIDEST, max(len(left) for left, leaf in rows if leaf)) + 2
    below = bool(width) and any(max(column, len(left) + 2) + _longest(leaf) > width for left, leaf in rows if leaf)
    seen: set[str] = set()
    for left, leaf in rows:
        if leaf is None:
            yield left
            continue
        _, _, kind, source, notes = leaf
        shown = printable(source)
        shown = click.style(shown, fg=COLORS.get(kind), dim=kind == "default") if color else shown
        indent = " " * (len(left) - len(left.lstrip()) + 4 if below else column)
        yield from (left, f"{indent}{shown}") if below else (f"{left.ljust(column - 2)}  {shown}",)
        yield from (printable(f"{indent}{note}") for note in notes if note not in seen)
        seen.update(notes)


def _longest(leaf: Leaf) -> int:
    return max(map(len, (leaf[3], *leaf[4])))


def _grown(leaves: Sequence[Leaf]) -> dict[str, Any]:
    """The leaves below the labels of their paths. An entry of a list is one label: `disks[0]`."""
    root: dict[str, Any] = {}
    for leaf in leaves:
        labels: list[str] = []
        for step in steps(leaf[0]):
            if isinstance(step, int) and labels:
                labels[-1] += f"[{step}]"
            else:
                labels.append(dotted((step,)))
        at = root
        for label in labels[:-1]:
            at = at.setdefault(label, {})
        at[labels[-1]] = leaf
    return root


def _rows(at: Mapping[str, Any], names: Mapping[str, str], path: str = "", depth: int = 1) -> Iterator[tuple[str, Leaf | None]]:
    for label, each in at.items():
        below, text, here = each, label, f"{path}.{label}" if path and not label.startswith("[") else f"{path}{label}"
        while isinstance(below, dict) and len(below) == 1 and here not in names:
            ((inner, below),) = below.items()
            joint = "" if inner.startswith("[") else "."
            text, here = f"{text}{joint}{inner}", f"{here}{joint}{inner}"
        indent = "  " * depth
        if isinstance(below, dict):
            named = f"  # {names[here]}" if here in names else ""
            yield printable(f"{indent}{text}{named}"), None
            yield from _rows(below, names, here, depth + 1)
        else:
            yield printable(f"{indent}{text}: {below[1]}"), below


class Layout(Value):
    """How an answer is shown: in colour, in lines of at most `width` letters (0: of any length), and with every value."""

    color: bool = False
    width: int = 0
    whole: bool = False


def as_json(records: Iterable[Object], _: Layout) -> str:
    """All details."""
    return json.dumps({"vms": list(records)}, indent=2) + "\n"


def as_text(records: Iterable[Object], layout: Layout) -> str:
    """A tree for each object: what it has from others, and what others wanted."""
    return "\n".join("\n".join(_block(record, layout)) + "\n" for record in records)


def _block(record: Object, layout: Layout) -> Iterator[str]:
    yield printable(f"{_title(record)}{place_of(record)}")
    for line in _heads(record):
        yield printable(f"  {line}")
    if "error" in record:
        yield f"  {record['error']}"
    shown = _shown_fields(record, layout)
    if shown:
        yield ""
        yield from tree([_leaf(field) for field in shown], _names(record), color=layout.color, width=layout.width)
    for line in _feet(record, shown):
        yield printable(f"  {line}")


def _feet(record: Object, shown: Sequence[Object]) -> Iterator[str]:
    yield from _unset(record)
    hidden = len(record.get("fields", ())) - len(shown)
    if hidden:
        yield f"{'The other ' if shown else 'All '}{hidden} values are the object's own; --all shows them"


def is_shown(output: str, layout: Layout) -> Callable[[Object], bool]:
    """What says whether an output has a field: the text leaves out those that the object has itself and nobody else gives."""
    whole = layout.whole or output == "json"
    return lambda field: whole or field["source"]["from"] != "vm" or "lost" in field


def _shown_fields(record: Object, layout: Layout) -> list[Object]:
    return list(filter(is_shown("text", layout), record.get("fields", ())))


def _leaf(field: Object) -> tuple[str, str, str, str, list[str]]:
    """Path, value, kind of the source, its text, and the notes below it."""
    source = field["source"]
    return field["path"], written(field["value"]), source["from"], source_text(source), list(notes_of(field))


def _names(record: Object) -> dict[str, str]:
    """The names of entries of lists, by their paths."""
    named = (each for each in record.get("fields", ()) if each["path"].endswith("].name"))
    return {each["path"].removesuffix(".name"): str(each["value"]) for each in named}


def _title(record: Object) -> str:
    template = f" in template {record['template']}" if "template" in record else ""
    target = f" of {record['target']}" if "target" in record else ""
    return f"{record['kind']} {record['namespace']}/{record['name']}{template}{target}, KubeVirt {record['release']}"


def _heads(record: Object) -> Iterator[str]:
    """The steps, the instancetype and the preference, and where each was found."""
    for step in record.get("steps", ()):
        yield f"step of {step['host']}, mode {step['mode']}{place_of(step)}"
    for kind in ("instancetype", "preference"):
        found = record.get(kind)
        if not found:
            continue
        stored = f", stored in {found['revision']}" if found.get("revision") else ""
        listed = f", from the catalogue of KubeVirt {found['catalogue']}" if found.get("catalogue") else ""
        yield f"{kind} {named(found)}{stored}{listed}{place_of(found)}"
        if "inferred" in found:
            of = found["inferred"]
            yield f"  inferred from volume {of['volume']}: {of['field']} of {of['kind']} {named(of)}{place_of(of)}"


def _unset(record: Object) -> Iterator[str]:
    for each in record.get("unset", ()):
        found = each["setBy"]
        of = [f"{_setter(one['from'])}'s {one['field']}" for one in found]
        yield f"{each['path']} is unset; {', '.join([*of, 'the VM'][:-1])}{' or ' if of else ''}the VM sets it"


def _setter(kind: str) -> str:
    """A source that would set a field, as the text names it."""
    return "the KubeVirt object" if kind == "configuration" else f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"


def as_markdown(records: Iterable[Object], layout: Layout) -> str:
    """A table for each object."""
    return "\n".join("\n".join(_table(record, layout)) + "\n" for record in records)


def _table(record: Object, layout: Layout) -> Iterator[str]:
    yield f"### {prose(_title(record))}"
    yield ""
    for line in _heads(record):
        yield f"- {prose(line.strip())}"
    shown = _shown_fields(record, layout)
    if shown:
        yield ""
        yield "| field | value | from | notes |"
        yield "|---|---|---|---|"
    for field in shown:
        cells = (field["path"], written(field["value"]), source_text(field["source"]), "; ".join(notes_of(field)))
        yield f"| {' | '.join(map(prose, cells))} |"
    below = [*([record["error"]] if "error" in record else ()), *_feet(record, shown)]
    if below:
        yield ""
        yield from map(prose, below)


FORMATS: dict[str, Callable[[Iterable[Object], Layout], str]] = {"text": as_text, "json": as_json, "markdown": as_markdown}
