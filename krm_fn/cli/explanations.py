"""Where values come from, as text, Markdown or JSON."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from krm_fn.base.console import printable
from krm_fn.base.markdown import prose
from krm_fn.base.value import Value
from krm_fn.cli.explained_tree import tree
from krm_fn.explaining.wording import named, notes_of, place_of, source_text, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from krm_fn.base.objects import Object


class Layout(Value):
    """How an answer is shown: in colour, in lines of at most `width` letters (0: of any length), and with every value."""

    color: bool = False
    width: int = 0
    whole: bool = False


def as_json(answer: Object, _: Layout) -> str:
    """All details."""
    return json.dumps(answer, indent=2) + "\n"


def as_text(answer: Object, layout: Layout) -> str:
    """A tree for each object: what it has from others, and what others wanted."""
    return "\n".join("\n".join(_block(record, layout)) + "\n" for record in answer["vms"])


def _block(record: Object, layout: Layout) -> Iterator[str]:
    yield printable(f"{_title(record)}{place_of(record)}")
    for line in _heads(record):
        yield printable(f"  {line}")
    if "error" in record:
        yield f"  {record['error']}"
    shown = shown_fields(record, layout)
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


def shown_fields(record: Object, layout: Layout) -> list[Object]:
    """The fields of a record that are shown: without those that the object has itself and nobody else wants to give."""
    fields = record.get("fields", ())
    return [each for each in fields if layout.whole or each["source"]["from"] != "vm" or "lost" in each]


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


def as_markdown(answer: Object, layout: Layout) -> str:
    """A table for each object."""
    return "\n".join("\n".join(_table(record, layout)) + "\n" for record in answer["vms"])


def _table(record: Object, layout: Layout) -> Iterator[str]:
    yield f"### {prose(_title(record))}"
    yield ""
    for line in _heads(record):
        yield f"- {prose(line.strip())}"
    shown = shown_fields(record, layout)
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


FORMATS: dict[str, Callable[[Object, Layout], str]] = {"text": as_text, "json": as_json, "markdown": as_markdown}
