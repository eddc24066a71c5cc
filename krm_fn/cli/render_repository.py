"""`render` of folders with kustomizations, and of all that goes into a folder: units are rendered and written together."""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

from krm_fn.base.console import file_name, write_out
from krm_fn.cli import build_flags, options
from krm_fn.cli.combined import combined_findings, exit_code
from krm_fn.cli.combining import COMBINED, Part
from krm_fn.cli.layout import Laid, folder_of, laid_out, pieces
from krm_fn.cli.output_dir import OutputDir
from krm_fn.cli.outputs import OUTPUTS, WITH_RESULTS, appended
from krm_fn.cli.units import note_all, refuse_nothing, units_of
from krm_fn.findings.results import report
from krm_fn.repositories.rendering import RenderedUnit, render_unit
from krm_fn.repositories.running import run
from krm_fn.sources.reading import STDIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from krm_fn.cli.progress import Progress
    from krm_fn.cli.units import Request
    from krm_fn.pipeline.stages import Outcome
    from krm_fn.repositories.loading import Options
    from krm_fn.repositories.rendering import Write
    from krm_fn.repositories.workspace import Asked, Workspace
    from krm_fn.sources.source import Sources


def to_stdout(request: Request, how: Options, bar: Progress, output: str) -> int:
    """Render all that was named and print it in the format `output`; nothing where a finding fails the run."""
    workspace, combined = request.searched(bar), COMBINED[output]
    alone = workspace.is_one_bundle
    done = _rendered(request, workspace, how, bar, write=_as_it_is if alone else combined.write)
    code = exit_code([each.result for each in done])
    if code and output not in WITH_RESULTS:
        return code
    parts = [Part(unit.result.name, unit.written) for unit in done if unit.written is not None]
    data: Callable[[], bytes]
    if alone and parts:
        found, outcome = parts[0].written
        outcome = outcome.but(findings=done[0].result.findings)
        left_out = len(appended(found, outcome))
        data = partial(OUTPUTS[output], found, outcome, bar.watch)
    else:
        left_out = sum(part.written.left_out for part in parts) if output == "patch" else 0
        data = partial(combined.combine, parts, combined_findings(each.result for each in done))
    if output == "patch" and left_out:
        options.note(f"added objects ({left_out}) are left out, because a patch cannot add objects; -o yaml prints them")
    with bar.at("Writing"):
        text = data()
    write_out(text)
    return code


def _as_it_is(found: Sources, outcome: Outcome) -> tuple[Sources, Outcome]:
    return found, outcome


def to_folder(request: Request, how: Options, bar: Progress, folder: str) -> int:
    """Render all that was named and write it below a folder; nothing where a finding about what was built fails the run.

    What an earlier run wrote of a target that is not built stays.
    """
    out = OutputDir(folder)
    workspace = request.searched(bar)
    done = _rendered(request, workspace, how, bar, write=pieces)
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


def _rendered(request: Request, workspace: Workspace, how: Options, bar: Progress, *, write: Write) -> Sequence[RenderedUnit]:
    """What comes of each unit, and what there is to say of the rest. Raises: InputError."""
    units = units_of(request, workspace)
    using, work = how.but(using=build_flags.builder()), partial(render_unit, write=write)
    jobs, others = request.flags["jobs"], workspace.others
    done = run(units, using, work, title="Rendering", jobs=jobs, watch=bar.watch, others=others)
    done += [RenderedUnit(result=each) for each in workspace.about()]
    found = [each.result for each in done]
    if request.flags["verbose"]:
        note_all(workspace, units, found)
    report(combined_findings(found), sys.stderr)
    if not exit_code(found):
        refuse_nothing((*request.paths, *request.kustomizations), found, workspace.found)
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
