"""`kubevirt-render adopt`: clean manifests of what runs in a cluster."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import click

from krm_fn import yamlio
from krm_fn.base.console import file_name
from krm_fn.base.errors import InputError, UsageError
from krm_fn.base.objects import Object
from krm_fn.changes.owners import key_of
from krm_fn.changes.sides import side
from krm_fn.cli import build_flags, completion, options, progress
from krm_fn.cli.build_flags import folder_options, part_options
from krm_fn.cli.diff import CLUSTER_KEYS, UNSET
from krm_fn.cli.formats import counted
from krm_fn.cli.live_units import live_objects, read_live
from krm_fn.cli.output_dir import check_apart, check_way
from krm_fn.cli.replacing import replacing
from krm_fn.config.repository import NAME
from krm_fn.kubevirt.updates.admission import written
from krm_fn.kubevirt.updates.machine import Machine
from krm_fn.kubevirt.updates.stored_form import stored
from krm_fn.live import adopting
from krm_fn.repositories import building, first_config
from krm_fn.repositories.first_config import UNSAID


@click.command()
@click.argument("paths", nargs=-1, metavar="DUMP...", required=True, shell_complete=completion.FILE)
@click.option(
    "--output-dir", required=True, metavar="DIR", shell_complete=completion.FOLDER, help="The folder that gets the manifests."
)
@click.option(
    "--revisions",
    type=click.Choice(adopting.REVISIONS),
    default=adopting.KEEP,
    show_default=True,
    help="What becomes of the stored revisions of instancetypes and preferences. keep: VMs keep what the cluster has stored. "
    "name: the manifests have the revisions, too, and VMs name them. expand: VMs have them written into their spec.",
)
@click.option("--force", is_flag=True, help="Overwrite files that are there and have other contents.")
@options.verbose_option
@build_flags.build_options(building.TIMEOUT)
@options.links_option
@folder_options
@part_options
@options.helm_option
@build_flags.build_flags_option
@options.keys_options(CLUSTER_KEYS)
def adopt(paths: tuple[str, ...], *, output_dir: str, revisions: str, force: bool, **flags: Any) -> int:
    """Write clean manifests of what runs in a cluster.

    DUMP is what `kubectl get -o yaml` prints, as files or - for stdin; `kubevirt-render dump` prints the whole command.

    The manifests have no status and nothing that the cluster writes again by itself. Names, UUIDs, serials and MAC addresses
    stay. Applying them changes nothing: `kubevirt-render drift DUMP DIR` shows it. DIR gets a folder for each namespace, with
    a kustomization, and a .kubevirt-render.yaml with the release and the settings of the cluster. Secrets are never written.
    """
    bar = progress.shown(quiet=flags["verbose"])
    given = read_live(paths, {**UNSET, **flags}, bar)
    live = live_objects(given)
    settings = next(iter(given.units.values())).settings
    cluster = side(live, settings.config, settings.externals)

    def admit(vm: Object) -> Object:
        machine = Machine(vm=stored(vm))
        return written(machine, cluster.world(machine.namespace, str(vm.get("apiVersion"))))

    def expand(obj: Object) -> Object | None:
        key = key_of(obj)
        return None if key in cluster.assumed else cluster.rendered(cluster.holders[key])

    with bar.at("Adopting"):
        found = adopting.adopted(live, admit, revisions=revisions, expand=expand)
    if not found.files:
        raise UsageError("the dump has no VM, pool or replica set, and no instance beside theirs; save these, too, with `dump`")
    texts = {path: yamlio.dump(obj).encode() for path, obj in found.files.items()}
    texts[NAME] = _config(live).encode()
    _write(Path(output_dir), texts, force=force)
    for note in found.notes:
        options.note(note)
    options.note(f"wrote {counted(len(texts), 'file')} to {file_name(output_dir)}")
    return 0


def _config(live: list[Object]) -> str:
    """The first config: the release and the settings of the cluster, as far as the dump has them."""
    try:
        known = first_config.settings_of(live)
    except InputError as error:
        options.note(str(error))
        known = UNSAID
    return first_config.text({"": known}, {})


def _write(folder: Path, texts: dict[str, bytes], *, force: bool) -> None:
    """Write all files, or none, and follow no link.

    Raises: UsageError where one is there and has other contents; InputError where something else is in the way; OSError.
    """
    check_apart(str(folder), ())
    for path, data in texts.items():
        file = folder / path
        with contextlib.suppress(FileNotFoundError):
            check_way(str(folder), path)
        if file.exists() and not file.is_file():
            raise UsageError(f"{file_name(file.as_posix())} is not a file; name another folder")
        if file.is_file() and not force and file.read_bytes() != data:
            raise UsageError(f"{file_name(file.as_posix())} exists and has other contents; name another folder, or use --force")
    with replacing() as put:
        for path, data in texts.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            put(str(folder / path), data)
