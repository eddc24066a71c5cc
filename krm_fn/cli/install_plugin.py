"""`kubevirt-render install-plugin`: what kubectl needs to render without a container."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import click

import __main__
import krm_fn
from krm_fn.base import programs
from krm_fn.base.console import NAME
from krm_fn.cli import completion
from krm_fn.cli.replacing import replacing
from krm_fn.config.keys import API_VERSION, KIND

PROGRAM = """\
# kustomize calls this for each {kind} that names no function of its own.
import sys

sys.path.append({root!r})
from krm_fn.__main__ import main

sys.exit(main())
"""


@click.command("install-plugin")
@click.argument("folder", required=False, metavar="[DIR]", shell_complete=completion.FOLDER)
def install_plugin(folder: str | None) -> None:
    """Install the plugin for `kubectl kustomize`.

    `kubectl kustomize --enable-alpha-plugins` then renders. DIR is the plugin home of kustomize. The default is the
    folder in which kustomize looks for plugins.
    """
    home = Path(folder).absolute() if folder else _home()
    place = home / API_VERSION / KIND.lower() / KIND
    place.parent.mkdir(parents=True, exist_ok=True)
    zipapp = _zipapp()
    package = str(Path(krm_fn.__file__).resolve().parents[1])
    text = starter(sys.executable, zipapp) if zipapp else program(sys.executable, package)
    with replacing(mode=0o755) as put:  # kustomize may be running the old one
        put(str(place), text.encode())
    click.echo(f"{place}: installed, for {sys.executable}")
    if home != _home():
        click.echo(f"export KUSTOMIZE_PLUGIN_HOME={home}")
    click.echo(
        f"{NAME}: note: remove the function annotation from the {KIND}, and run kubectl kustomize --enable-alpha-plugins",
        err=True,
    )


def _home() -> Path:
    """Where kustomize looks for plugins."""
    if home := os.environ.get("KUSTOMIZE_PLUGIN_HOME"):
        return Path(home).absolute()
    config = os.environ.get("XDG_CONFIG_HOME")
    return (Path(config).absolute() if config else Path.home() / ".config") / "kustomize" / "plugin"


def _zipapp() -> str | None:
    """The file that holds the program, where it runs from one. The folder in which that has unpacked itself may go."""
    archive = getattr(getattr(__main__, "__loader__", None), "archive", None)
    return str(Path(archive).absolute()) if archive else None


def starter(interpreter: str, zipapp: str) -> str:
    """The executable's text, where the program is one file."""
    return f'#!/bin/sh\nexec {shlex.quote(interpreter)} -I -S {shlex.quote(zipapp)} "$@"\n'


def program(interpreter: str, root: str) -> str:
    """The executable's text: run by this interpreter, with the package found in `root` where it is not installed."""
    return programs.script(interpreter, PROGRAM.format(kind=KIND, root=root))
