"""`kubevirt-render explain`: where each value of a rendered VM comes from."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, tee
from typing import Any

import click

from krm_fn.base.bundle import Bundle, Entry, effective_namespace
from krm_fn.base.console import write_out
from krm_fn.base.errors import InputError, UsageError
from krm_fn.base.objects import Object, kind_of, name_of
from krm_fn.base.suggestions import meant
from krm_fn.cli import explanations, options, progress
from krm_fn.cli.bundles import read_bundles
from krm_fn.cli.pens import is_colored, is_terminal
from krm_fn.cli.units import CommandRequest
from krm_fn.explaining.unset import Schema, is_pattern, normal, selected, unset
from krm_fn.kubevirt.configuration import release_of
from krm_fn.repositories.explained import ExplainedObject, explained, machines, with_places
from krm_fn.repositories.homes import Material
from krm_fn.sources.reading import STDIN

NO_VM = "there is no VM in the input"


@click.command()
@options.input_options
@options.output_option(explanations.FORMATS, text="The output format. json: all details.")
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
    layout = explanations.Layout(
        color=is_colored(),
        width=shutil.get_terminal_size().columns if is_terminal() else 0,
        whole=whole or bool(field),
    )
    with bar.at("Explaining"):
        found = (each for one in read for each in explained(one, partial(_is_wanted, vm=vm)))
        first = next(found, None)
        if first is None and not vm and code:
            return code  # what can't be built may have all the VMs
        if first is None and (vm or field):
            raise UsageError(_unknown(vm, names))
        if first is None:
            options.note(NO_VM)
        everything = chain([first] if first else (), found)
        chosen = _with_fields(everything, field, likely) if field else everything
        records = _records(chosen, read, explanations.is_shown(output, layout))
        text = explanations.FORMATS[output](records, layout)
    write_out(text.encode(errors="replace"))
    return code


def _records(
    found: Iterable[ExplainedObject], read: Sequence[Material], is_shown: Callable[[Object], bool]
) -> Iterator[Object]:
    """The records with places, and with the names of the targets and templates. They are made one after the other."""
    ahead, here = tee(found)
    for record, each in zip(with_places(ahead, read, is_shown), here, strict=True):
        yield _with_holders(record, each)


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
    namespace, slash, _ = word.partition("/")
    return bool(slash) and "." not in namespace


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


def _with_fields(found: Iterable[ExplainedObject], field: str, likely: tuple[str, ...]) -> Iterator[ExplainedObject]:
    """The records with the fields that a path, its last part or a pattern names, or else with what would set them.

    Raises: UsageError for a field that none of them has.
    """
    first, is_found = None, False
    for each in found:
        first = first or each
        asked = _with_field(each, field)
        is_found = is_found or any(asked.record.get(key) for key in ("fields", "unset", "error"))
        yield asked
    if first and not is_found:
        raise UsageError(_no_field(field, first, likely))


def _with_field(each: ExplainedObject, field: str) -> ExplainedObject:
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
