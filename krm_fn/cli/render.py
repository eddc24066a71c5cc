"""`kubevirt-render render`: files, folders and kustomizations in, rendered objects out."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from krm_fn.base.errors import UsageError
from krm_fn.cli import completion, inplace_folders, options, outputs, progress, render_repository
from krm_fn.cli import output_dir as output_dirs
from krm_fn.cli.progress import quiet_option
from krm_fn.cli.units import Request
from krm_fn.repositories.workspace import nothing
from krm_fn.sources.reading import STDIN

if TYPE_CHECKING:
    from typing import Any


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
@quiet_option
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
    request = Request(
        flags=flags,
        apart=True,
        whole=True,  # what is rendered may be applied, so no object is left out
        applied=not in_place,  # the files themselves are rendered
        leaves_out=partial(_is_below, top=os.path.realpath(output_dir)) if output_dir else nothing,
    )
    if in_place:
        inplace_folders.need_files(flags["paths"], flags["kustomizations"])
    if output_dir is not None:
        output_dirs.check_apart(output_dir, (path for path in request.named if path != STDIN))
    bar = progress.shown(quiet=flags["verbose"])
    if in_place:
        return inplace_folders.render_in_place(request, bar, force=force)
    if output_dir is not None:
        return render_repository.to_folder(request, bar, output_dir)
    return render_repository.to_stdout(request, bar, output)


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
