"""`kubevirt-render init`: the first config of a repository, and the settings of a cluster in one that is there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from krm_fn import yamlio
from krm_fn.base.errors import InputError, UsageError
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.base.wording import listed
from krm_fn.cli import build_flags, completion, options, progress, replacing
from krm_fn.cli.build_flags import folder_options
from krm_fn.config.keys import KIND
from krm_fn.config.repository import NAME
from krm_fn.repositories import config_files, first_config
from krm_fn.repositories.building import TIMEOUT
from krm_fn.repositories.first_config import ClusterSettings
from krm_fn.repositories.loading import Options
from krm_fn.repositories.running import run
from krm_fn.repositories.workspace import Asked, Workspace
from krm_fn.sources import reading
from krm_fn.sources.files import Paths

STDOUT = "-"
UNREAD = ("**/testdata/**",)


@click.command()
@click.argument("path", default=".", metavar="[PATH]", shell_complete=completion.FOLDER)
@click.option(
    "--from",
    "source",
    metavar="FILE",
    shell_complete=completion.FILE,
    help="Take the release and the settings of a cluster from what `kubectl get kubevirt,hyperconverged -A -o yaml` printed, "
    "in this file or on stdin (-). A config that is there gets them, and stays as it is otherwise.",
)
@folder_options
@build_flags.build_options(TIMEOUT)
@click.option("--cluster", metavar="NAME", help="The cluster of --from, if the repository is for several.")
@click.option("--stdout", is_flag=True, help="Print the config instead of writing it.")
@click.option("--force", is_flag=True, help="Overwrite a config that is there.")
def init(path: str, source: str | None, cluster: str | None, *, stdout: bool, force: bool, **flags: Any) -> None:
    """Write a first .kubevirt-render.yaml for a repository.

    The file is written into the folder PATH. It names the clusters that the layout of the folders shows, such as
    clusters/north, and the releases that the KubeVirt objects there name. With --from it has the release and the
    settings of a cluster. No cluster is contacted. If PATH is -, the config of this folder is printed.
    """
    stdout, folder = stdout or path == STDOUT, "." if path == STDOUT else path
    if not os.path.isdir(folder):  # noqa: PTH112  takes any name
        raise UsageError(f"{path} is no folder; name the folder of a repository")
    if cluster and not source:
        raise UsageError("--cluster needs --from; save what `kubectl get kubevirt,hyperconverged -A -o yaml` prints")
    file = Path(folder) / NAME
    exists = os.path.lexists(file) and not force
    if exists and not (stdout or source):
        raise UsageError(
            f"{file.as_posix()} exists; --from adds the settings of a cluster, --force overwrites it, "
            "--stdout only prints the new one"
        )
    found = _settings(source) if source else None
    data = _merged(folder, file, found, cluster or "") if exists and found else _first(folder, found, cluster or "", flags)
    if stdout:
        click.echo(data.decode(), nl=False)
        return
    replacing.write(str(file), data)
    options.note(f"wrote {file.as_posix()}")


def _settings(source: str) -> ClusterSettings:
    """What the objects in a file say of their cluster."""
    found = first_config.settings_of(reading.read((source,)).items)
    if not found.release:
        options.note("the objects name no known KubeVirt release; set kubevirtVersion")
    return found


def _first(folder: str, found: ClusterSettings | None, cluster: str, flags: Mapping[str, Any]) -> bytes:
    """A new config; `found` is what is known of a cluster, of all of them if it has no name."""
    at_root = _is_root(folder)
    files = _files(folder)
    clusters = first_config.clusters_in(files) if at_root else {}
    if cluster and cluster not in clusters:
        raise _no_cluster(cluster, list(clusters), at_root=at_root)
    known = _described(folder, clusters, flags) | ({cluster: found} if found else {})
    return first_config.text(known, clusters, at_root=at_root, testdata=first_config.has_testdata(files)).encode()


def _described(folder: str, clusters: dict[str, list[str]], flags: Mapping[str, Any]) -> dict[str, ClusterSettings]:
    """What the objects of the repository say of each cluster."""
    exclude = (*UNREAD, *flags["exclude"])
    units = Workspace(Asked(paths=(folder,), isolated=True, exclude=exclude, apart=True)).units
    how = Options(using=build_flags.builder(), timeout=flags["timeout"])
    watch = progress.shown().watch
    found = run(units, how, first_config.describing, title="Reading", jobs=flags["jobs"], watch=watch) if units else []
    return first_config.described(((os.path.relpath(place, folder), offers) for place, offers in found), clusters)


def _merged(folder: str, file: Path, found: ClusterSettings, cluster: str) -> bytes:
    """The config that is there with what is known of a cluster. Raises: ConfigError for one that is wrong."""
    Workspace(Asked(paths=(), near=(folder,), config_file=str(file))).settings(folder)
    text, value = config_files.read(str(file))
    if as_map(value).get("kind") != KIND:
        raise InputError(f"expected kind: {KIND}; write it in that form, or overwrite it with --force", file=file.as_posix())
    named = [each["name"] for each in as_list(get(value, ("spec", "clusters")))]
    targets = first_config.clusters_in(_files(folder)).get(cluster, [])
    if cluster and cluster not in named and not (targets and _is_root(folder)):
        raise _no_cluster(cluster, named, at_root=_is_root(folder))
    spec = first_config.with_settings(as_map(value.get("spec")), found, cluster, targets)
    return yamlio.write_stream(text, [{**value, "spec": spec}])


def _no_cluster(name: str, known: list[str], *, at_root: bool) -> UsageError:
    if not at_root:
        return UsageError(
            f"--cluster {name}: clusters stand only in the config at the root of the repository; name that folder"
        )
    others = f"one of {listed(known, 'or')}" if known else "a folder such as clusters/" + name
    return UsageError(f"there is no cluster {name}, and no folder that shows it; expected {others}")


def _is_root(folder: str) -> bool:
    return len(config_files.ConfigFiles().folders(folder)) == 1


def _files(folder: str) -> list[str]:
    """The YAML files of a folder, relative to it."""
    return [Path(file).relative_to(folder).as_posix() for file in Paths([folder]).files(folder)]
