"""`kubevirt-render dump`: the kubectl command whose output the commands about live objects read."""

from __future__ import annotations

import subprocess
import sys

import click

from krm_fn.base import programs
from krm_fn.base.errors import InputError
from krm_fn.live import dumps


@click.command()
@click.option(
    "--run",
    is_flag=True,
    help="Run the command with the kubectl on the PATH, by your own context, and print what it prints. It only reads.",
)
def dump(*, run: bool) -> int:
    """Print the kubectl command that shows what runs.

    adopt, drift and plan read its output. Nothing is run without --run. Secrets and ConfigMaps are never asked for. With
    --run, kubectl is also asked which kinds the cluster has, so that those of CDI and HyperConverged are there where it has
    them.
    """
    if not run:
        click.echo(dumps.command())
        return 0
    program = programs.find("kubectl")
    if program is None:
        raise InputError("kubectl is not on the PATH; put it there, or run the printed command")
    served = _output((program, "api-resources", "--verbs=list", "-o", "name"))
    kinds = [kind for kind in (*dumps.KINDS, *dumps.OF_SOME) if kind in served.decode().split()]
    if not kinds:
        raise InputError("the cluster serves no kind of KubeVirt; name another one with the context of kubectl")
    sys.stdout.buffer.write(_output((program, *dumps.command(kinds).split()[1:])))
    return 0


def _output(command: tuple[str, ...]) -> bytes:
    """What a command prints. Raises: InputError where it can't be started, or fails."""
    try:
        found = subprocess.run(command, stdout=subprocess.PIPE, check=False)  # noqa: S603  fixed words and read-only verbs
    except OSError as error:
        raise InputError(f"kubectl can't be run: {error.strerror}; run the printed command instead") from None
    if found.returncode:
        raise InputError(f"kubectl failed with exit code {found.returncode}; its own message says why")
    return found.stdout
