"""`kubevirt-render explain`: where each value of a rendered VM comes from."""

from __future__ import annotations

import os
import sys
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING

import click

from krm_fn.base.bundle import effective_namespace
from krm_fn.base.console import write_out
from krm_fn.base.errors import UsageError
from krm_fn.base.objects import name_of
from krm_fn.base.suggestions import meant
from krm_fn.cli import bundles, explanations, options, progress
from krm_fn.explaining.answers import records
from krm_fn.pipeline.analysis import holds_vm
from krm_fn.pipeline.surroundings import bundle_of
from krm_fn.repositories.explained_places import with_places
from krm_fn.repositories.homes import Homes
from krm_fn.sources.places import Places
from krm_fn.sources.reading import STDIN

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from krm_fn.base.bundle import Entry
    from krm_fn.base.objects import Object
    from krm_fn.cli.bundles import Read

GLOB = frozenset("*?[")


@click.command()
@options.source_options
@click.option(
    "-o",
    "--output",
    type=click.Choice(tuple(explanations.FORMATS)),
    default="text",
    show_default=True,
    help="json: all details, as krm_fn.explain returns them.",
)
@click.option("--exclude", multiple=True, metavar="GLOB", help="Skip these files and folders. Repeatable.")
@options.config_options
def explain(
    paths: tuple[str, ...],
    kustomizations: tuple[str, ...],
    config_file: str | None,
    *,
    output: str,
    **flags: Any,
) -> None:
    """Show where each value of a rendered VM comes from: PATH... [[NAMESPACE/]VM] [FIELD].

    For each value: the object and the field that give it, with file and line; what else decides it; and what wanted another
    value and had no say. FIELD is a path, its last part, or a pattern such as '*.cpu.*'. Words after the paths that are no
    files name a VM and a field.
    """
    files, vm, field = _parted(paths, kustomizations)
    bar = progress.shown(quiet=flags["verbose"])
    read = bundles.read_bundles(files, kustomizations, config_file, flags, bar)
    names = [_key(entry) for each in read for entry in _machines(each)]
    if vm and not field and "/" not in vm and vm not in {word for key in names for word in _words(key)}:
        vm, field = "", vm
    with bar.at("Explaining"):
        found = [record for each in read for record in _explained(each, vm)]
    if not found:
        raise UsageError(_unknown(vm, names))
    chosen = [_with_fields(record, field) for record in found] if field else found
    if field and not any(record.get("fields") for record in chosen):
        raise UsageError(_unset(field, found))
    color = sys.stdout is not None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    write_out(explanations.FORMATS[output]({"vms": chosen}, color=color).encode(errors="replace"))


def _parted(paths: tuple[str, ...], kustomizations: tuple[str, ...]) -> tuple[tuple[str, ...], str, str]:
    """The paths, the VM and the field among the arguments. Raises: UsageError."""
    count = next((number for number, path in enumerate(paths) if path != STDIN and not os.path.exists(path)), len(paths))  # noqa: PTH110
    files, words = paths[:count], paths[count:]
    if not files and not kustomizations and words:
        raise UsageError(f"{words[0]} does not exist; give a file or a folder first")
    if len(words) > 2:
        raise UsageError(f"found {len(words)} words after the paths; expected at most a VM and a field")
    vm, field = (*words, "", "")[:2]
    return files, vm, field


def _machines(read: Read) -> list[Entry]:
    bundle = bundle_of(read.found.items, read.found.places, read.found.units, read.beside)
    return [entry for entry in bundle.entries if not bundle.is_context(entry.item) and holds_vm(entry) is not None]


def _key(entry: Entry) -> tuple[str, str]:
    return effective_namespace(entry.obj), name_of(entry.obj)


def _words(key: tuple[str, str]) -> tuple[str, str]:
    return key[1], "/".join(key)


def _explained(read: Read, vm: str) -> list[Object]:
    bundle = bundle_of(read.found.items, read.found.places, read.found.units, read.beside)
    wanted = partial(_is_wanted, vm=vm)
    found = list(records(bundle, read.config, read.beside, wanted))
    places = Places(read.found)
    homes = Homes(read.built, read.found, places) if read.built else None
    located = with_places(found, read.found, places, homes)
    return [{**record, "target": read.target} for record in located] if read.target else located


def _is_wanted(entry: Entry, vm: str) -> bool:
    return not vm or vm in _words(_key(entry))


def _with_fields(record: Object, field: str) -> Object:
    """The record with the fields that a path, its last part or a pattern names."""
    fields = [each for each in record.get("fields", ()) if _names(field, each["path"])]
    return {**record, "fields": fields} if "fields" in record else record


def _names(field: str, path: str) -> bool:
    if not GLOB.isdisjoint(field) and fnmatchcase(path, field):
        return True
    return path == field or path.endswith(f".{field}") or path.startswith((f"{field}.", f"{field}["))


def _unknown(vm: str, names: Sequence[tuple[str, str]]) -> str:
    words = sorted({word for key in names for word in _words(key)})
    if not vm:
        return "there is no VM in the input; give files with VirtualMachines"
    likely = meant(vm, tuple(words))
    return f"there is no VM {vm}; {f'did you mean {likely}' if likely else 'expected one of ' + ', '.join(words[:5])}"


def _unset(field: str, found: Sequence[Object]) -> str:
    """What to say of a field that no VM has."""
    paths = sorted({each["path"] for record in found for each in record.get("fields", ())})
    likely = meant(field, tuple(sorted({word for path in paths for word in path.split(".")})))
    fix = f"did you mean {likely}" if likely else "set it in the VM, or by a field of its instancetype or preference"
    return f"no rendered VM has the field {field}; {fix}"
