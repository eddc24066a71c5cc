"""`kubevirt-render render`: files, folders and kustomizations in, rendered objects out."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from krm_fn.base.console import write_out
from krm_fn.base.errors import UsageError
from krm_fn.cli import completion, inplace, inplace_folders, options, outputs, progress, render_repository
from krm_fn.cli import output_dir as output_dirs
from krm_fn.cli.build_flags import build_flags_option
from krm_fn.cli.folder_options import folder_options
from krm_fn.cli.folders import Search
from krm_fn.cli.quiet import quiet_option
from krm_fn.cli.units import Request
from krm_fn.findings import results
from krm_fn.findings.results import report
from krm_fn.pipeline import stages
from krm_fn.pipeline.stages import Judging
from krm_fn.repositories.loading import Options
from krm_fn.repositories.rendering import with_variants
from krm_fn.sources.places import Places
from krm_fn.sources.reading import STDIN
from krm_fn.sources.salvage import left_alone, passed_over, repairing, reported

if TYPE_CHECKING:
    from typing import Any

    from krm_fn.cli.progress import Progress
    from krm_fn.pipeline.stages import Outcome
    from krm_fn.sources.reading import Sources
    from krm_fn.sources.salvage import Lost


@click.command()
@options.source_options
@click.option(
    "-o",
    "--output",
    type=click.Choice(tuple(outputs.OUTPUTS)),
    default="yaml",
    show_default=True,
    help="yaml: all documents; unchanged ones keep their text. json: a v1 List. resourcelist: a ResourceList with "
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
@folder_options
@build_flags_option
@quiet_option
@options.ignores_option
@options.config_options
def render(
    paths: tuple[str, ...],
    kustomizations: tuple[str, ...],
    output: str,
    config_file: str | None,
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
    if in_place:
        inplace.need_files(paths, kustomizations)
    if output_dir is not None:
        output_dirs.check_apart(output_dir, (*(path for path in paths if path != STDIN), *kustomizations))
    bar = progress.shown(quiet=flags["verbose"])
    request = Request(
        paths=paths, kustomizations=kustomizations, config_file=config_file, flags=flags, checking=lambda config: config
    )
    search = Search(request, bar, follow=flags["follow_links"], without=output_dir or "")
    how = Options(timeout=flags["timeout"], follow=flags["follow_links"], ignores=not flags["no_ignores"])
    if output_dir is not None:
        return render_repository.to_folder(search, how, bar, output_dir)
    if not search.is_repository:
        return _one_bundle(request, bar, output, in_place=in_place, force=force)
    if in_place:
        return inplace_folders.render_in_place(search, how, bar, force=force)
    return render_repository.to_stdout(search, how, bar, output)


def _check_usage(*, in_place: bool, force: bool, output_dir: str | None) -> None:
    """Raises: UsageError for flags that exclude one another."""
    given = click.get_current_context().get_parameter_source("output") is not ParameterSource.DEFAULT
    if in_place and given:
        raise UsageError("--in-place keeps the format of each file; remove -o or --in-place")
    if force and not in_place:
        raise UsageError("--force needs --in-place")
    if output_dir is not None and (in_place or given):
        raise UsageError(f"--output-dir writes YAML files; remove it or {'--in-place' if in_place else '-o'}")


def _one_bundle(request: Request, bar: Progress, output: str, *, in_place: bool, force: bool) -> int:
    """Render all that was named as one bundle. The exit code."""
    flags, verbose, paths = request.flags, request.flags["verbose"], request.paths
    lost: list[Lost] = []
    named = frozenset(Path(path).as_posix() for path in paths)
    found = options.read_sources(
        paths,
        request.kustomizations,
        verbose=verbose,
        timeout=flags["timeout"],
        build_flags=flags["build_flags"],
        follow_links=flags["follow_links"],
        repair=left_alone(options.note, named) if in_place else repairing(lost, named),
        watch=bar.watch,
    )
    config = options.settings(found, request.config_file, flags, near=(*paths, *request.kustomizations), verbose=verbose)
    with bar.at("Rendering"):
        judging = Judging(ignores=not flags["no_ignores"])
        outcome = stages.render(found.items, config, places=found.places, judging=judging)
    skipped = passed_over(found.skipped, config.severity, outcome.release)
    if verbose:
        options.note(f"the target release is KubeVirt {outcome.release}")
    unread = reported(lost, config.severity, outcome.release)
    outcome = outcome.but(findings=results.ordered([*skipped, *with_variants(outcome.findings, found, config)]))
    report(results.ordered([*unread, *Places(found, lost, policies=config.policies).located(outcome.findings)]), sys.stderr)
    outcome = outcome.but(findings=results.ordered([*unread, *outcome.findings]))
    code = results.exit_code(outcome.findings, config.fail_on)
    if in_place and not force:
        changed = inplace_folders.changed_objects([inplace_folders.Rendered(found, outcome)])
        inplace_folders.refuse_patched(changed, paths, follow=flags["follow_links"])
    if in_place:
        inplace.write_back(found, outcome, bar)
    elif not code or output in outputs.WITH_RESULTS:
        _print(output, found, outcome, bar)
    return code


def _print(output: str, found: Sources, outcome: Outcome, bar: Progress) -> None:
    if output == "patch" and (more := outputs.appended(found, outcome)):
        options.note(f"added objects ({len(more)}) are left out, because a patch cannot add objects; -o yaml prints them")
    with bar.at("Writing"):
        data = outputs.OUTPUTS[output](found, outcome, bar.watch)
    write_out(data)
