"""`kubevirt-render convert`: flat VMs refer to instancetypes, or the reverse, written into the files that say their sizes.

Nothing is written that was not proven: the files are read, and kustomizations built, with their new texts; then each instance
is compared with the one before. Where one differs in something that was not told, its VM is left alone.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import click

from krm_fn import yamlio
from krm_fn.base.bundle import effective_namespace
from krm_fn.base.console import file_name
from krm_fn.base.errors import UsageError
from krm_fn.base.keeping import Keeper
from krm_fn.base.objects import Object, kind_of, name_of, ref_of
from krm_fn.base.paths import put_in
from krm_fn.cli import conversions, inplace_folders, options, progress
from krm_fn.cli.bundles import ReadBundle, read_bundles
from krm_fn.cli.conversions import Suggested, suggested, wish_of
from krm_fn.cli.formats import counted
from krm_fn.cli.inplace_folders import look, looking_options
from krm_fn.cli.outputs import joined
from krm_fn.cli.proving import ConversionWork, Job, Left, proven
from krm_fn.cli.suggest import changes
from krm_fn.cli.units import CommandRequest, key_of
from krm_fn.converting.conversion import EXACT, HEADROOM, matchers_of
from krm_fn.converting.rewriting import ToFlat
from krm_fn.converting.suggesting import ConversionWish
from krm_fn.pipeline.conversions import Conversions
from krm_fn.repositories.bases import Bases
from krm_fn.repositories.conversions import facts_of_material, located, to_instancetype
from krm_fn.repositories.fixes import NewText
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.sources import reading
from krm_fn.sources.files import read_named, refuse_links_out
from krm_fn.sources.source import text_with

# The classes that each word of `--only` takes.
ONLY = {"exact": (EXACT,), "headroom": (EXACT, HEADROOM), "all": (EXACT, HEADROOM, "differs")}
TEMPLATED = "it stands in a template: convert writes VMs only"
NOT_SELECTED = "it is not selected"
ELSEWHERE = "{} changes it, and is outside of the paths; name a folder that has both"
UNBUILT = "what applies it can't be built"
UNRESOLVED = "what it refers to is not known; check says why"


@click.command()
@options.input_options
@click.option(
    "--to", type=click.Choice(("instancetype", "flat")), default="instancetype", show_default=True, help="What VMs become."
)
@click.option(
    "--only",
    type=click.Choice(tuple(ONLY)),
    default="exact",
    show_default=True,
    help="Convert VMs whose instance stays the same; also those of which only headroom differs; or all.",
)
@click.option(
    "--select", "selected", multiple=True, metavar="[NAMESPACE/]NAME", help="Convert only these VMs. A glob. Repeatable."
)
@click.option(
    "--own", "own_file", metavar="FILE", help="Also make instancetypes where they fit better, and write them to FILE."
)
@conversions.wish_options
@looking_options
@options.config_options
def convert(
    *, to: str, only: str, selected: tuple[str, ...], own_file: str | None, check: bool, diff: bool, **flags: Any
) -> int:
    """Convert VMs to instancetypes, or back, in their files.

    The input is files and folders. suggest shows what would be done. Comments, order and all other text stay. A base that
    overlays use is converted where all of them can be; patches with sizes lose these, and name another instancetype where
    theirs differs. --to flat is the way back: VMs get the values of what they refer to.

    Before anything is written, the new files are read and built, and each instance is compared with the one before. A VM
    whose instance would differ otherwise than told is left alone.

    The exit code is 1 if something can't be read or built, and with --check if a file would change.
    """
    inplace_folders.need_files(flags["paths"], flags["kustomizations"], flag="convert")
    if to == "flat" and own_file:
        raise UsageError("--own makes instancetypes; leave it out with --to flat")
    if own_file and own_file.endswith(".json"):
        raise UsageError(f"--own {file_name(own_file)} is to get YAML; name a file that ends in .yaml")
    refuse_links_out([own_file] if own_file else ())
    click.get_current_context().with_resource(Keeper())  # most of what is read for the proof is as it was
    bar, request = progress.shown(quiet=flags["verbose"]), CommandRequest(flags=flags)
    read, code = read_bundles(request, bar)
    more = _known(own_file)[1]
    with bar.at("Comparing"):
        if to == "flat":
            work = _to_flat(read, selected)
        else:
            work = _to_instancetypes(read, wish_of(flags, own=own_file is not None), ONLY[only], selected, more)
    _leave_used_elsewhere(work, read, request)
    new = [each for each in proven(request, read, work, more, bar) if each.after != each.before]
    if own_file:
        new = _with_own(new, own_file, work)
    _report(work)
    if own_file:
        _note_unlisted(read, own_file, work)
    if check or diff:
        return look([(each.file, each.before, each.after) for each in new], check=check, diff=diff) or code
    with bar.at("Writing"):
        inplace_folders.replace_all([(each.file, each.after, each.stamp) for each in new])
    inplace_folders.note_written(each.file for each in new)
    return code


def _to_instancetypes(
    read: Sequence[ReadBundle], wish: ConversionWish, classes: Sequence[str], selected: Sequence[str], more: Sequence[Object]
) -> ConversionWork:
    work = ConversionWork()
    for bundle in read:
        for each in suggested(bundle, wish, effects=False, more=more):
            found, obj = each.suggestion, each.suggestion.facts.entry.obj
            if each.template:
                work.left.append(Left(each.template, obj, TEMPLATED))
                continue
            size, made = found.instancetype, found.converted
            place = located(bundle.material, found.facts, to_instancetype(found), each.target)
            reason = UNBUILT if bundle.parsed.problem else _unwanted(each, classes, selected)
            if isinstance(place, str):
                work.left.append(Left(each.target, obj, reason or place))
            elif reason or size is None or made is None:
                work.leave(place, reason)
                work.left.append(Left(each.target, obj, reason))
            else:
                own = tuple(conversions.manifests([found]))
                expected = put_in(obj, found.facts.prefix, made.vm)
                words = "; ".join(filter(None, (f"{size.name} ({found.sort})", found.warning)))
                work.jobs.append(Job(key_of(bundle.unit), place, expected, made.specs, found.proof.changes, own, words))
    return work


def _leave_used_elsewhere(work: ConversionWork, read: Sequence[ReadBundle], request: CommandRequest) -> None:
    """Leave the VMs alone that kustomizations change which are not read: these would need changes, too."""
    if not work.jobs:
        return
    here = {os.path.realpath(each.unit.target.folder) for each in read if each.unit.target}
    around = inplace_folders.targets_around(request.flags["paths"], follow=request.flags["follow_links"])
    bases = Bases([each for each in around if os.path.realpath(each.folder) not in here])
    for job in work.jobs:
        if change := bases.change(job.candidate.base.place.file, job.candidate.base.written):
            work.leave(job.candidate, ELSEWHERE.format(file_name(change.file)))


def _unwanted(each: Suggested, classes: Sequence[str], selected: Sequence[str]) -> str:
    """Why a VM is not converted; "" where it is."""
    found = each.suggestion
    if not _is_selected(found.facts, selected):
        return NOT_SELECTED
    if found.instancetype is None:
        return found.reason
    if found.sort in classes:
        return ""
    word = next(word for word, sorts in ONLY.items() if found.sort in sorts)
    return f"{found.instancetype.name} changes {changes(found.proof)}; convert it with --only {word}"


def _is_selected(vm: VmFacts, selected: Sequence[str]) -> bool:
    name = name_of(vm.entry.obj)
    words = (name, f"{effective_namespace(vm.entry.obj)}/{name}")
    return not selected or any(fnmatchcase(word, glob) for word in words for glob in selected)


def _to_flat(read: Sequence[ReadBundle], selected: Sequence[str]) -> ConversionWork:
    work = ConversionWork()
    for bundle in read:
        for vm in Conversions(facts_of_material(bundle.material), ConversionWish()).vms:
            if not matchers_of(vm.vm):
                continue
            found = vm.resolution
            size, preference = found.instancetype, found.preference
            change = ToFlat(at=vm.prefix, release=vm.release, instancetype=size, preference=preference, cluster=vm.cluster)
            place = located(bundle.material, vm, change, bundle.unit.name)
            reason = NOT_SELECTED if not _is_selected(vm, selected) else UNRESOLVED if found.errors else ""
            reason = UNBUILT if bundle.parsed.problem else reason
            if isinstance(place, str):
                work.left.append(Left(bundle.unit.name, vm.entry.obj, reason or place))
            elif reason:
                work.leave(place, reason)
                work.left.append(Left(bundle.unit.name, vm.entry.obj, reason))
            else:
                expected = change.manifest(vm.entry.obj)
                now = expected if isinstance(expected, dict) else {}
                work.jobs.append(Job(key_of(bundle.unit), place, now, words="flat"))
    return work


def _known(file: str | None) -> tuple[bytes, list[Object]]:
    """The text and the objects of the file for instancetypes that are made. Raises: InputError."""
    if file is None or not os.path.exists(file):  # noqa: PTH110
        return b"", []
    data, _ = read_named(file)
    items = yamlio.read_stream(data, file=file).items
    return data, [item for item in items if isinstance(item, dict)]


def _with_own(texts: list[NewText], file: str, work: ConversionWork) -> list[NewText]:
    """The texts with that of the file with the instancetypes that are made, behind what it has or gets."""
    data, known = _known(file)
    there = {(kind_of(obj), name_of(obj)) for obj in known}
    new = [obj for obj in work.manifests if (kind_of(obj), name_of(obj)) not in there]
    if not new:
        return texts
    real = os.path.realpath(file)
    own = next((each for each in texts if each.real == real), None)
    if own is None:
        own = NewText(file, data, data, read_named(file)[1] if data else None)
    if own.after.strip():
        source = reading.of_bytes(own.after).sources[0]
        after = text_with(source, [*source.text.items, *new])
    else:
        after = joined(yamlio.dump(obj).encode() for obj in new)
    return [*(each for each in texts if each.real != real), own._replace(after=after)]


def _note_unlisted(read: Sequence[ReadBundle], file: str, work: ConversionWork) -> None:
    """Say which kustomizations lack the file with the instancetypes that are made for their VMs."""
    folders = {os.path.realpath(each) for one in read if one.unit.target for each in one.unit.target.kustomizations}
    real = os.path.realpath(file)
    if real in {os.path.realpath(each) for one in read if one.unit.target for each in one.unit.inputs}:
        return
    bases = [Path(os.path.realpath(job.candidate.base.place.file)) for job in work.jobs if job.manifests]
    listing = {next((str(each) for each in base.parents if str(each) in folders), "") for base in bases} - {""}
    for folder in sorted(listing):
        shown, line = file_name(os.path.relpath(folder)), os.path.relpath(real, folder)
        fix = f"its kustomization can list no file outside of it: apply {file_name(file)} before, or name a file in {shown}"
        if not line.startswith(os.pardir):
            fix = f"add this line to the resources of its kustomization: - {file_name(line)}"
        options.note(f"{shown}: {fix}")


def _report(work: ConversionWork) -> None:
    """Say what is converted, what is left alone and why, and how many."""
    for job in work.jobs:
        options.note(f"{_name(job.candidate.unit, job.candidate.facts.entry.obj)}: {job.words}")
    for each in dict.fromkeys((_name(each.unit, each.obj), each.reason) for each in work.left if each.reason != NOT_SELECTED):
        options.note(f"{each[0]}: left alone: {each[1]}")
    left = sum(each.reason != NOT_SELECTED for each in work.left)
    options.note(f"{counted(len(work.jobs), 'VM')} converted, {left} left alone")


def _name(unit: str, obj: Object) -> str:
    return f"{unit}: {ref_of(obj)}" if unit else str(ref_of(obj))
