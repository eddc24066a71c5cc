"""`render` of folders with kustomizations, and of all that goes into a folder: units are rendered and written together."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from krm_fn.base.console import file_name, write_out
from krm_fn.cli import folders, options
from krm_fn.cli.combining import COMBINED, Part
from krm_fn.cli.layout import Laid, folder_of, laid_out, pieces
from krm_fn.cli.output_dir import OutputDir
from krm_fn.cli.outputs import WITH_RESULTS
from krm_fn.cli.units import refuse_nothing
from krm_fn.findings.results import report
from krm_fn.sources.reading import STDIN

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from krm_fn.cli.folders import Search
    from krm_fn.cli.progress import Progress
    from krm_fn.cli.units import Request
    from krm_fn.repositories.loading import Options
    from krm_fn.repositories.rendering import RenderedUnit, Write


def to_stdout(search: Search, how: Options, bar: Progress, output: str) -> int:
    """Render all that was named and print it in the format `output`; nothing where a finding fails the run."""
    combined = COMBINED[output]
    done = _rendered(search, how, combined.write, bar)
    code = folders.exit_code([each.result for each in done])
    if not code or output in WITH_RESULTS:
        parts = [Part(unit.result.name, unit.written) for unit in done if unit.written is not None]
        if output == "patch" and (left_out := sum(part.written.left_out for part in parts)):
            options.note(f"added objects ({left_out}) are left out, because a patch cannot add objects; -o yaml prints them")
        with bar.at("Writing"):
            data = combined.combine(parts, folders.combined_findings(each.result for each in done))
        write_out(data)
    return code


def to_folder(search: Search, how: Options, bar: Progress, folder: str) -> int:
    """Render all that was named and write it below a folder; nothing where a finding about what was built fails the run.

    What an earlier run wrote of a target that is not built stays.
    """
    out = OutputDir(folder)
    done = _rendered(search, how, pieces, bar)
    if code := folders.exit_code([each.result for each in done if each.result.built]):
        options.note(f"{file_name(folder)}: nothing is written, because of the findings above")
        return code
    top = _top(search.request)
    files = laid_out((Laid(unit.result.name, unit.written) for unit in done if unit.written is not None), top)
    unbuilt = [folder_of(name, top) for name in _unbuilt(search, done)]
    with bar.at("Writing"):
        changes = out.write(files, lambda path: any(path.startswith(f"{each}/" if each else "") for each in unbuilt))
    for file in changes.written:
        options.note(f"{file_name(file)}: written")
    for file in changes.removed:
        options.note(f"{file_name(file)}: removed")
    return folders.exit_code([each.result for each in done])


def _rendered(search: Search, how: Options, write: Write, bar: Progress) -> Sequence[RenderedUnit]:
    done = folders.render_units(search, how, write, bar)
    if search.request.flags["verbose"]:
        folders.note_all(search, done)
    found = [each.result for each in done]
    report(folders.combined_findings(found), sys.stderr)
    if not folders.exit_code(found):
        refuse_nothing((*search.request.paths, *search.request.kustomizations), found, search.found)
    return done


def _unbuilt(search: Search, done: Iterable[RenderedUnit]) -> set[str]:
    """The targets of which nothing was built, and all kustomizations in them: each may have been a target in an earlier run."""
    built = {unit.result.name for unit in done if unit.written is not None}
    return {folder for target in search.found.targets if target.name not in built for folder in target.kustomizations}


def _top(request: Request) -> str:
    """The folder that holds all that the command was called with."""
    named = [path for path in request.paths if path != STDIN]
    tops = [path if path in request.folders else os.path.dirname(path) for path in named]  # noqa: PTH120
    return os.path.commonpath([os.path.abspath(top) for top in tops or [os.curdir]])  # noqa: PTH100
