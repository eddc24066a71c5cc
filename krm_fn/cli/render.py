"""`kubevirt-render render`: files, folders and kustomizations in, rendered objects out."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from krm_fn import yamlio
from krm_fn.base.console import file_name, write_out
from krm_fn.base.errors import InputError, UsageError
from krm_fn.cli import completion, inplace_folders, options, outputs, progress
from krm_fn.cli.formats import combined_findings, exit_code
from krm_fn.cli.output_dir import Laid, OutputDir, check_apart, folder_of, laid_out, pieces
from krm_fn.cli.outputs import OUTPUTS, WITH_RESULTS, appended
from krm_fn.cli.progress import Progress
from krm_fn.cli.units import CommandRequest, note_all, refuse_nothing, units_of
from krm_fn.findings.finding import Finding
from krm_fn.findings.results import report
from krm_fn.pipeline.stages import Outcome
from krm_fn.repositories.rendering import RenderedUnit, Write, render_unit
from krm_fn.repositories.workspace import Asked, Workspace, nothing
from krm_fn.sources.reading import STDIN
from krm_fn.sources.source import Sources


class KeptUnit(NamedTuple):
    """What is kept of one unit, and its name for messages."""

    name: str
    written: Any


class UnitPatches(NamedTuple):
    """The patches of one unit, and how many objects they can't add."""

    entries: list[Any]
    left_out: int


def _items(_: Sources, outcome: Outcome) -> list[Any]:
    return outcome.in_order


def _patches(found: Sources, outcome: Outcome) -> UnitPatches:
    return UnitPatches(outputs.entries(found.items, outcome.items), len(appended(found, outcome)))


# What each output keeps of one unit.
KEPT: dict[str, Write] = {"yaml": outputs.to_yaml, "json": _items, "resourcelist": _items, "patch": _patches}


def _combined(output: str, parts: Sequence[KeptUnit], findings: Iterable[Finding]) -> bytes:
    """An output of several units. Raises: InputError where two have patches: a list of them belongs to one kustomization."""
    if output == "yaml":
        return outputs.joined(part.written for part in parts if part.written)
    if output != "patch":
        items = [item for part in parts for item in part.written]
        return outputs.json_list(items) if output == "json" else outputs.resource_list(items, findings)
    changed = [part for part in parts if part.written.entries]
    if len(changed) > 1:
        first, second = (part.name or "files that no kustomization uses" for part in changed[:2])
        raise InputError(f"patches belong to one kustomization, but VMs change in {first} and {second}; name one of them")
    return yamlio.dump([entry for part in changed for entry in part.written.entries]).encode()


def to_stdout(request: CommandRequest, bar: Progress, output: str) -> int:
    """Render all that was named and print it in the format `output`; nothing where a finding fails the run."""
    workspace = request.searched(bar)
    alone = workspace.is_one_bundle
    done = _rendered(request, workspace, bar, write=_as_it_is if alone else KEPT[output])
    code = exit_code([each.result for each in done])
    if code and output not in WITH_RESULTS:
        return code
    parts = [KeptUnit(unit.result.name, unit.written) for unit in done if unit.written is not None]
    data: Callable[[], bytes]
    if alone and parts:
        found, outcome = parts[0].written
        outcome = outcome.but(findings=done[0].result.findings)
        left_out = len(appended(found, outcome))
        data = partial(OUTPUTS[output], found, outcome, bar.watch)
    else:
        left_out = sum(part.written.left_out for part in parts) if output == "patch" else 0
        data = partial(_combined, output, parts, combined_findings(each.result for each in done))
    if output == "patch" and left_out:
        options.note(f"added objects ({left_out}) are left out, because a patch cannot add objects; -o yaml prints them")
    with bar.at("Writing"):
        text = data()
    write_out(text)
    return code


def _as_it_is(found: Sources, outcome: Outcome) -> tuple[Sources, Outcome]:
    return found, outcome


def to_folder(request: CommandRequest, bar: Progress, folder: str) -> int:
    """Render all that was named and write it below a folder; nothing where a finding about what was built fails the run.

    What an earlier run wrote of a target that is not built stays.
    """
    out = OutputDir(folder)
    workspace = request.searched(bar)
    done = _rendered(request, workspace, bar, write=pieces)
    if code := exit_code([each.result for each in done if each.result.built]):
        options.note(f"{file_name(folder)}: nothing is written, because of the findings above")
        return code
    top = _top(workspace.asked)
    files = laid_out((Laid(unit.result.name, unit.written) for unit in done if unit.written is not None), top)
    unbuilt = [folder_of(name, top) for name in _unbuilt(workspace, done)]
    with bar.at("Writing"):
        changes = out.write(files, lambda path: any(path.startswith(f"{each}/" if each else "") for each in unbuilt))
    for file in changes.written:
        options.note(f"{file_name(file)}: written")
    for file in changes.removed:
        options.note(f"{file_name(file)}: removed")
    return exit_code([each.result for each in done])


def _rendered(request: CommandRequest, workspace: Workspace, bar: Progress, *, write: Write) -> Sequence[RenderedUnit]:
    """What comes of each unit, and what there is to say of the rest. Raises: InputError."""
    units = units_of(request, workspace)
    done = request.run(units, partial(render_unit, write=write), "Rendering", bar, workspace.others)
    done += [RenderedUnit(result=each) for each in workspace.about()]
    found = [each.result for each in done]
    if request.flags["verbose"]:
        note_all(workspace, units, found)
    report(combined_findings(found), sys.stderr)
    if not exit_code(found):
        refuse_nothing(request.named, found, workspace.found)
    return done


def _unbuilt(workspace: Workspace, done: Iterable[RenderedUnit]) -> set[str]:
    """The targets of which nothing was built, and all kustomizations in them: each may have been a target in an earlier run."""
    built = {unit.result.name for unit in done if unit.written is not None}
    return {folder for target in workspace.found.targets if target.name not in built for folder in target.kustomizations}


def _top(asked: Asked) -> str:
    """The folder that holds all that the command was called with."""
    named = [path for path in asked.paths if path != STDIN]
    tops = [path if path in asked.folders else os.path.dirname(path) for path in named]  # noqa: PTH120
    return os.path.commonpath([os.path.abspath(top) for top in tops or [os.curdir]])  # noqa: PTH100


@click.command()
@options.input_options
@options.output_option(
    outputs.OUTPUTS,
    text="yaml: all documents; unchanged ones keep their text. json: a v1 List. resourcelist: a ResourceList with "
    "results. patch: a JSON patch for each changed object, for the patches: of a kustomization.",
)
@click.option("--in-place", is_flag=True, help="Write the result to the files instead of stdout.")
@click.option("--force", is_flag=True, help="With --in-place, also write VMs that a kustomization patches.")
@click.option(
    "--output-dir",
    metavar="DIR",
    shell_complete=completion.FOLDER,
    help="Write the result to this folder, one file for each target and source file, and remove the files that an earlier run "
    "wrote there and this one does not.",
)
@options.ignores_option
@options.config_options
def render(
    output: str,
    *,
    in_place: bool,
    force: bool,
    output_dir: str | None,
    **flags: Any,
) -> int:
    """Apply instancetypes and preferences to VMs.

    The input is files, folders, kustomizations (-k DIR) or stdin (-). Everything but the VMs is printed unchanged. The
    kustomizations in a folder are built, offline, and the result of each is rendered. The files that they use are not
    rendered by themselves.

    Findings are printed on stderr. If a finding has the severity of --fail-on or a higher one, the exit code is 1, stdout
    stays empty and --output-dir writes nothing. With --output-dir, a kustomization that can't be built is reported, its
    earlier files stay, and all others are written. There are two exceptions: -o resourcelist prints the list with the
    findings as results, and --in-place writes the objects that could be rendered. If the input can't be read, nothing is
    written.
    """
    _check_usage(in_place=in_place, force=force, output_dir=output_dir)
    request = CommandRequest(
        flags=flags,
        apart=True,
        whole=True,  # what is rendered may be applied, so no object is left out
        applied=not in_place,  # the files themselves are rendered
        leaves_out=partial(_is_below, top=os.path.realpath(output_dir)) if output_dir else nothing,
    )
    if in_place:
        inplace_folders.need_files(flags["paths"], flags["kustomizations"])
    if output_dir is not None:
        check_apart(output_dir, (path for path in request.named if path != STDIN))
    bar = progress.shown(quiet=flags["verbose"])
    if in_place:
        return inplace_folders.render_in_place(request, bar, force=force)
    if output_dir is not None:
        return to_folder(request, bar, output_dir)
    return to_stdout(request, bar, output)


def _is_below(path: str, top: str) -> bool:
    """True for a file below a folder; where it leads if it is a link does not count."""
    folder, name = os.path.split(path)
    return os.path.join(os.path.realpath(folder), name).startswith(os.path.join(top, ""))  # noqa: PTH118


def _check_usage(*, in_place: bool, force: bool, output_dir: str | None) -> None:
    """Raises: UsageError for flags that exclude one another."""
    given = click.get_current_context().get_parameter_source("output") is not ParameterSource.DEFAULT
    if in_place and given:
        raise UsageError("--in-place keeps the format of each file; remove -o or --in-place")
    if force and not in_place:
        raise UsageError("--force needs --in-place")
    if output_dir is not None and (in_place or given):
        raise UsageError(f"--output-dir writes YAML files; remove it or {'--in-place' if in_place else '-o'}")
