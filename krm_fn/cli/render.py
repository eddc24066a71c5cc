"""`kubevirt-render render`: files, folders and kustomizations in, rendered objects out."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from krm_fn.base.console import write_out
from krm_fn.base.errors import UsageError
from krm_fn.cli import inplace, options, outputs, progress
from krm_fn.cli.quiet import quiet_option
from krm_fn.findings import results
from krm_fn.findings.results import report
from krm_fn.pipeline import stages
from krm_fn.pipeline.stages import Judging
from krm_fn.sources.places import Places
from krm_fn.sources.salvage import passed_over

if TYPE_CHECKING:
    from typing import Any

    from krm_fn.cli.progress import Progress
    from krm_fn.pipeline.stages import Outcome
    from krm_fn.sources.reading import Sources


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
@quiet_option
@options.ignores_option
@options.config_options
def render(
    paths: tuple[str, ...],
    kustomizations: tuple[str, ...],
    output: str,
    config_file: str | None,
    *,
    verbose: bool,
    timeout: float,
    follow_links: bool,
    in_place: bool,
    no_ignores: bool,
    **flags: Any,
) -> int:
    """Render files, folders, kustomizations (-k DIR) or stdin (-).

    Instancetypes and preferences are applied to the VMs. Everything else is printed unchanged.

    Findings are printed on stderr. If a finding has the severity of --fail-on or a higher one, the exit code is 1 and
    stdout stays empty. There are two exceptions: -o resourcelist prints the list with the findings as results, and
    --in-place writes the objects that could be rendered. If the input can't be read, nothing is written.
    """
    if in_place and click.get_current_context().get_parameter_source("output") is not ParameterSource.DEFAULT:
        raise UsageError("--in-place keeps the format of each file; remove -o or --in-place")
    if in_place:
        inplace.need_files(paths, kustomizations)
    bar = progress.shown(quiet=verbose)
    found = options.read_sources(
        paths, kustomizations, verbose=verbose, timeout=timeout, follow_links=follow_links, watch=bar.watch
    )
    config = options.settings(found, config_file, flags, near=(*paths, *kustomizations), verbose=verbose)
    with bar.at("Rendering"):
        judging = Judging(ignores=not no_ignores)
        outcome = stages.render(found.items, config, places=found.places, judging=judging)
    skipped = passed_over(found.skipped, config.severity, outcome.release)
    if verbose:
        options.note(f"the target release is KubeVirt {outcome.release}")
    outcome = outcome.but(findings=results.ordered([*skipped, *outcome.findings]))
    report(Places(found).located(outcome.findings), sys.stderr)
    code = results.exit_code(outcome.findings, config.fail_on)
    if in_place:
        inplace.write_back(found, outcome, bar, verbose=verbose)
    elif not code or output in outputs.WITH_RESULTS:
        _print(output, found, outcome, bar)
    return code


def _print(output: str, found: Sources, outcome: Outcome, bar: Progress) -> None:
    if output == "patch" and (more := outputs.appended(found, outcome)):
        options.note(f"added objects ({len(more)}) are left out, because a patch cannot add objects; -o yaml prints them")
    with bar.at("Writing"):
        data = outputs.OUTPUTS[output](found, outcome, bar.watch)
    write_out(data)
