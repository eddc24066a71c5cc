"""`kubevirt-render init`: the first config of a repository."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from krm_fn.base.errors import UsageError
from krm_fn.cli import completion, options, replacing
from krm_fn.config.repository import NAME
from krm_fn.repositories import config_files, first_config
from krm_fn.repositories.first_config import ClusterSettings
from krm_fn.sources import reading
from krm_fn.sources.files import Paths

if TYPE_CHECKING:
    from collections.abc import Iterator

STDOUT = "-"


@click.command()
@click.argument("path", default=".", metavar="[PATH]", shell_complete=completion.FOLDER)
@click.option(
    "--from",
    "source",
    metavar="FILE",
    shell_complete=completion.FILE,
    help="Take the release and the settings of a cluster from what `kubectl get kubevirt,hyperconverged -A -o yaml` printed, "
    "in this file or on stdin (-).",
)
@click.option("--stdout", is_flag=True, help="Print the config instead of writing it.")
@click.option("--force", is_flag=True, help="Overwrite a config that is there.")
def init(path: str, source: str | None, *, stdout: bool, force: bool) -> None:
    """Write a first .kubevirt-render.yaml for a repository.

    The file is written into the folder PATH. It names the clusters that the layout of the folders shows, such as
    clusters/north. With --from it has the release and the settings of a cluster. No cluster is contacted. If PATH is
    -, the config of this folder is printed.
    """
    stdout, folder = stdout or path == STDOUT, "." if path == STDOUT else path
    if not os.path.isdir(folder):  # noqa: PTH112  takes any name
        raise UsageError(f"{path} is no folder; name the folder of a repository")
    file = Path(folder) / NAME
    if not (stdout or force) and os.path.lexists(file):
        raise UsageError(f"{file.as_posix()} exists; --force overwrites it, --stdout only prints the new one")
    at_root = len(config_files.ConfigFiles().folders(folder)) == 1
    files = list(_files(folder))
    clusters = first_config.clusters_in(files) if at_root else {}
    testdata = first_config.has_testdata(files)
    text = first_config.text(_settings(source), clusters, at_root=at_root, testdata=testdata)
    if stdout:
        click.echo(text, nl=False)
        return
    replacing.write(str(file), text.encode())
    options.note(f"wrote {file.as_posix()}")


def _settings(source: str | None) -> ClusterSettings:
    """What the objects in a file say of their cluster."""
    if source is None:
        return ClusterSettings()
    read = reading.read((source,))
    found = first_config.settings_of(read.items)
    if not found.release:
        options.note("the objects name no known KubeVirt release; set kubevirtVersion")
    return found


def _files(folder: str) -> Iterator[str]:
    """The YAML files of a folder, relative to it."""
    return (Path(file).relative_to(folder).as_posix() for file in Paths([folder]).files(folder))
