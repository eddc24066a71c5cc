"""`kubevirt-render explain`: where each value of a rendered VM comes from.

In the text, values are a tree: paths with a common start stand below it, and sources stand in one column.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import click

from krm_fn.base.bundle import Bundle, Entry, effective_namespace
from krm_fn.base.console import printable, write_out
from krm_fn.base.errors import InputError, UsageError
from krm_fn.base.markdown import prose
from krm_fn.base.objects import Object, kind_of, name_of
from krm_fn.base.paths import dotted, steps
from krm_fn.base.suggestions import meant
from krm_fn.base.value import Value
from krm_fn.cli import options, progress
from krm_fn.cli.bundles import read_bundles
from krm_fn.cli.output_files import is_colored, is_terminal
from krm_fn.cli.units import CommandRequest
from krm_fn.explaining.unset import Schema, is_pattern, normal, selected, unset
from krm_fn.explaining.wording import named, notes_of, place_of, source_text, written
from krm_fn.kubevirt.configuration import release_of
from krm_fn.repositories.explained import ExplainedObject, explained, machines, with_places
from krm_fn.sources.reading import STDIN

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
    below = bool(width) and any(
        max(column, len(left) + 2) + max(map(len, (leaf[3], *leaf[4]))) > width for left, leaf in rows if leaf
    )
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
    fields = record.get("fields", ())
    return {each["path"].removesuffix(".name"): str(each["value"]) for each in fields if each["path"].endswith("].name")}


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


NO_VM = "there is no VM in the input"


@click.command()
@options.input_options
@options.output_option(FORMATS, text="The output format. json: all details.")
@click.option("--all", "whole", is_flag=True, help="Show the values that the VM has itself, too. JSON always has all values.")
@options.config_options
def explain(*, output: str, whole: bool, **flags: Any) -> int:
    """Show where each value of a rendered VM comes from.

    The arguments are PATH... [[NAMESPACE/]VM] [FIELD]. The input is files, folders, kustomizations (-k DIR) or stdin (-).

    For each value, the output names the object and the field that give it, with file and line. It also names the other
    fields that decide the value, and the values that are not used. An argument that is not a file or folder names a VM or
    a field. FIELD is a path, its last part, or a pattern such as '*.cpu.*'. If FIELD is unset, the output says what would
    set it. Values that only the VM itself sets are shown with FIELD or --all.

    The exit code is 1 if a kustomization can't be built or a document can't be read: stderr says why, and the VMs of the
    others are explained.
    """
    files, vm, field = _parted(flags["paths"], flags["kustomizations"])
    bar = progress.shown(quiet=flags["verbose"])
    bundles, code = read_bundles(CommandRequest(flags={**flags, "paths": files}), bar)
    read = [each.material for each in bundles]
    names = [_key(entry) for each in read for entry in machines(each.found, each.surroundings)]
    likely: tuple[str, ...] = ()  # the names that a word may mean that is taken for a field
    if vm and not field and not _has_namespace(vm) and vm not in _all_words(names):
        vm, field, likely = "", normal(vm), _all_words(names)
    with bar.at("Explaining"):
        found = [each for one in read for each in explained(one, partial(_is_wanted, vm=vm))]
    if not (found or vm) and code:
        return code  # what can't be built may have all the VMs
    if not found and (vm or field):
        raise UsageError(_unknown(vm, names))
    if not found:
        options.note(NO_VM)
    if field:
        found = [_with_fields(each, field) for each in found]
        if not any(each.record.get(key) for each in found for key in ("fields", "unset", "error")):
            raise UsageError(_no_field(field, found[0], likely))
    layout = Layout(
        color=is_colored(),
        width=shutil.get_terminal_size().columns if is_terminal() else 0,
        whole=whole or bool(field),
    )
    vms = [_with_holders(record, each) for record, each in zip(with_places(found, read), found, strict=True)]
    write_out(FORMATS[output]({"vms": vms}, layout).encode(errors="replace"))
    return code


def _parted(paths: tuple[str, ...], kustomizations: tuple[str, ...]) -> tuple[tuple[str, ...], str, str]:
    """The paths, the VM and the field among the arguments. Raises: UsageError."""
    count = next((number for number, path in enumerate(paths) if path != STDIN and not os.path.exists(path)), len(paths))  # noqa: PTH110
    files, words = paths[:count], paths[count:]
    if not files and not kustomizations and words:
        raise InputError("there is no such file or folder; name one before a VM and a field", file=words[0])
    if len(words) > 2:
        raise UsageError(f"found {len(words)} words after the paths; expected at most a VM and a field")
    vm, field = (*words, "", "")[:2]
    return files, vm, normal(field)


def _has_namespace(word: str) -> bool:
    """True for NAMESPACE/VM; a namespace has no dot, as `app.kubernetes.io/name` has."""
    return "/" in word and "." not in word.partition("/")[0]


def _key(entry: Entry) -> tuple[str, str]:
    return effective_namespace(entry.obj), name_of(entry.obj)


def _words(key: tuple[str, str]) -> tuple[str, str]:
    return key[1], "/".join(key)


def _is_wanted(entry: Entry, vm: str) -> bool:
    return not vm or vm in _words(_key(entry))


def _with_holders(record: Object, of: ExplainedObject) -> Object:
    """The record with the names of the target and of the template that have the object."""
    target = {"target": of.material.target.name} if of.material.target and of.material.target.name else {}
    template = {"template": name_of(of.template.entry.obj)} if of.template else {}
    return {**record, **target, **template}


def _with_fields(each: ExplainedObject, field: str) -> ExplainedObject:
    """The record with the fields that a path, its last part or a pattern names, or else with what would set them."""
    chosen = selected(each.record, field)
    if chosen.get("fields") or "error" in chosen or is_pattern(field):
        return each.but(record=chosen)
    config = each.material.settings.config
    release = release_of(Bundle(each.material.found.items), config)
    found = unset(chosen, each.entry.obj, each.rendered, field, config=config, release=release)
    return each.but(record={**chosen, **({"unset": found} if found else {})})


def _unknown(vm: str, names: Sequence[tuple[str, str]]) -> str:
    if not names:
        return f"{NO_VM}; give files with VirtualMachines"
    words = _all_words(names)
    likely = meant(vm, words)
    return f"there is no VM {vm}; {f'did you mean {likely}' if likely else _expected(vm, words) or _expected('', words)}"


def _expected(vm: str, words: Sequence[str]) -> str:
    """The names that contain the one of a VM, as a prefix of a kustomization makes them; "" if there are none."""
    found = [each for each in words if vm.rpartition("/")[2] in each]
    return f"expected one of {', '.join(found[:5])}" if found else ""


def _all_words(names: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """What names a VM: its name, alone and with its namespace."""
    return tuple(sorted({word for key in names for word in _words(key)}))


def _no_field(field: str, of: ExplainedObject, vms: tuple[str, ...]) -> str:
    """What to say of a field that no object has, and that the API does not have. `vms` are names that may be meant instead."""
    if is_pattern(field):
        return f"no value has a path like {field}; use a shorter pattern, such as '*.cpu.*'"
    release = release_of(Bundle(of.material.found.items), of.material.settings.config)
    likely = meant(field.rpartition(".")[2], tuple(sorted(Schema(of.entry.obj, release).names())))
    likely = meant(field, vms) or likely
    hint = f"did you mean {likely}" if likely else _expected(field, vms) or "--all shows the values that it has"
    nor = f", and no VM has this name; {hint}" if vms else f"; {hint}"
    return f"{kind_of(of.entry.obj)} has no field {field} in KubeVirt {release}{nor}"
