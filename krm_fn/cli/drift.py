"""`kubevirt-render drift`: what applying git would change on each live VM."""

from __future__ import annotations

import os
from typing import Any

import click

from krm_fn.changes.pairs import Assumptions
from krm_fn.cli import completion, options, progress
from krm_fn.cli.diff import MIGRATABLE, OUTPUTS, UNSET, answered, fail_on_option, migratable_option, shown_options
from krm_fn.cli.live_units import OF_KUBECTL, GitUnits, git_of, of_live, read_live, split
from krm_fn.live.applying import CLIENT_SIDE

live_argument = click.argument("paths", nargs=-1, metavar="LIVE... [PATH]...", required=True, shell_complete=completion.FILE)


@click.command()
@live_argument
@options.output_option(
    OUTPUTS,
    text="The output format. markdown: for the comment of a pull request. patch: a JSON patch (RFC 6902) for each VM, from its "
    "rendered form in the cluster to the one after the apply.",
)
@fail_on_option
@click.option(
    "--apply",
    type=click.Choice(tuple(OF_KUBECTL)),
    default=CLIENT_SIDE,
    show_default=True,
    help="How kubectl applies what no delivery of the repository applies. Flux and Argo CD apply in their own manner.",
)
@migratable_option
@shown_options
def drift(
    paths: tuple[str, ...], *, output: str, fail_on: str, apply: str, migratable: str, color: str, group: bool, **flags: Any
) -> int:
    """Say what applying git would change on each live VM.

    LIVE is what `kubectl get -o yaml` prints, as files or - for stdin; `kubevirt-render dump` prints the whole command. PATHs
    are files, folders or kustomizations of git; the default is this folder. The first path is LIVE, and so are other files with
    objects that were read from a cluster.

    Each object is applied as its delivery does: Flux on the server's side, Argo CD by the options of the Application. The
    output says what that does to each machine, what is in the cluster and not in git, and which fields another manager changes
    back.

    The exit code is 1 if the apply does to a VM what --fail-on names, or something more severe; with --fail-on never, it is 0.
    It is 1 also if the input can't be read or built.
    """
    bar = progress.shown(quiet=flags["verbose"])
    flags = {**UNSET, **flags}
    live, git = split(paths)
    given = read_live(live, flags, bar)
    units = GitUnits(trees=git_of(git or (os.curdir,), live, flags, bar), own=OF_KUBECTL[apply])
    with bar.at("Comparing"):
        compared = of_live(given, units, Assumptions(migratable=MIGRATABLE[migratable]))
    return answered(compared, output=output, fail_on=fail_on, color=color, group=group)
