"""`kubevirt-render migrate`: rewrites objects of old kinds and forms to those that the target release serves."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from krm_fn import config
from krm_fn import migrate as migration
from krm_fn.base.bundle import Bundle
from krm_fn.base.console import file_name, write_out
from krm_fn.base.errors import UsageError
from krm_fn.base.objects import ref_of
from krm_fn.cli import build_flags, diffs, inplace, inplace_folders, options, outputs, progress
from krm_fn.cli.color import is_colored
from krm_fn.cli.file_flags import flag_of
from krm_fn.cli.folder_options import exclude_option
from krm_fn.cli.quiet import quiet_option
from krm_fn.config.keys import NAMES
from krm_fn.findings import results
from krm_fn.findings.results import report
from krm_fn.kubevirt.configuration import release_of
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline.stages import Outcome
from krm_fn.repositories.bases import own_files
from krm_fn.repositories.workspace import Asked, Workspace
from krm_fn.sources import reading
from krm_fn.sources.places import Places
from krm_fn.sources.reading import STDIN
from krm_fn.sources.salvage import left_alone, passed_over
from krm_fn.yamlio import ListText
from krm_fn.yamlio.documents import ended_as

if TYPE_CHECKING:
    from collections.abc import Mapping

    from krm_fn.cli.progress import Progress
    from krm_fn.sources.reading import Sources


@click.command()
@options.source_options
@quiet_option
@click.option("--in-place", is_flag=True, help="Write the result to the files instead of stdout.")
@click.option(
    "--check", is_flag=True, help="Write nothing. Name the files that would change; the exit code is 1 if there are any."
)
@click.option("--diff", is_flag=True, help="Write nothing. Print the changes as a unified diff.")
@exclude_option
@click.option("--kubevirt-version", **options.VERSION, help=options.help_of(NAMES["kubevirtVersion"]))
@click.option("--fail-on", type=options.Words(NAMES["failOn"].words), help=options.help_of(NAMES["failOn"]))
def migrate(
    paths: tuple[str, ...],
    kustomizations: tuple[str, ...],
    *,
    in_place: bool,
    check: bool,
    diff: bool,
    kubevirt_version: str | None,
    fail_on: str | None,
    **flags: Any,
) -> int:
    """Rewrite old manifests for a KubeVirt release.

    The input is files, folders, kustomizations (-k DIR) or stdin (-). The command replaces old kinds, API versions and
    fields: flavors by instancetypes, presets by instancetypes and preferences, OfflineVirtualMachines by VMs.
    Everything else is printed unchanged. In folders with kustomizations, the resources are migrated in their own
    files. Patches and other parts of a kustomization are left alone.

    Findings on stderr name what can't be migrated. If a finding has the severity of --fail-on or a higher one, the
    exit code is 1 and stdout stays empty.
    """
    _check_usage(in_place=in_place, check=check, diff=diff)
    if in_place or check or diff:
        inplace.need_files(paths, kustomizations, flag="--in-place" if in_place else "--check" if check else "--diff")
    bar = progress.shown(quiet=flags["verbose"])
    found = _read(paths, kustomizations, flags, bar)
    given = {"kubevirtVersion": kubevirt_version, "failOn": fail_on}
    settings = config.with_texts(Config(), given, place=flag_of)
    with bar.at("Migrating"):
        outcome = _migrated(found, settings)
    report(Places(found).located(outcome.findings), sys.stderr)
    _note_patched(found, outcome, paths, follow=flags["follow_links"])
    code = results.exit_code(outcome.findings, settings.fail_on)
    if in_place:
        inplace.write_back(found, outcome, bar)
    elif check or diff:
        return _compared(found, outcome, code, check=check, diff=diff)
    elif not code:
        write_out(_ended_as_it_came(found, outcome, outputs.to_yaml(found, outcome, bar.watch)))
    return code


def _check_usage(*, in_place: bool, check: bool, diff: bool) -> None:
    """Raises: UsageError for flags that exclude one another."""
    if in_place and (check or diff):
        raise UsageError(f"{'--check' if check else '--diff'} writes no files; remove it or --in-place")


def _read(paths: tuple[str, ...], kustomizations: tuple[str, ...], flags: Mapping[str, Any], bar: Progress) -> Sources:
    """What is to be migrated: of folders with kustomizations, the files that are no patches or other parts of them."""
    verbose, follow = flags["verbose"], flags["follow_links"]
    folders = [path for path in paths if path != STDIN and os.path.isdir(path)]  # noqa: PTH112
    with bar.at("Searching"):
        asked = Asked(paths=paths, exclude=tuple(flags["exclude"]), follow=follow)
        found = Workspace(asked).found
    if not (found.targets or found.excluded):
        named = frozenset(Path(path).as_posix() for path in paths)
        return options.read_sources(
            paths,
            kustomizations,
            verbose=verbose,
            timeout=flags["timeout"],
            follow_links=follow,
            repair=left_alone(options.note, named) if folders else None,
            watch=bar.watch,
        )
    files = own_files(found, folders, follow=follow)
    inplace_folders.note_parts(files.parts, verbose=verbose)
    read = reading.read(
        [path for path in paths if path not in folders],
        found=files.own,
        built=build_flags.built(kustomizations, timeout=flags["timeout"], follow=follow),
        follow=follow,
        note=options.note if verbose else lambda _: None,
        repair=left_alone(options.note),
        watch=bar.watch,
    )
    return read.but(skipped=(*read.skipped, *found.skipped))


def _migrated(found: Sources, settings: Config) -> Outcome:
    release = release_of(Bundle(found.items), settings)
    items, findings = migration.migrate(found.items, release, places=found.places)
    for source in found.sources:
        source.text.successors = migration.RENAMED_KEYS
    return Outcome(items=items, findings=results.ordered([*passed_over(found.skipped, {}, release), *findings]))


def _note_patched(found: Sources, outcome: Outcome, paths: tuple[str, ...], *, follow: bool) -> None:
    """Name the patches of objects that are migrated: they may have old forms, too."""
    changed = inplace_folders.changed_objects([inplace_folders.Rendered(found, outcome)])
    files = (path for path in paths if path != STDIN)
    for file, obj, change in inplace_folders.patched(changed, tuple(files), follow=follow):
        options.note(
            f"{file_name(file)}: {ref_of(obj)}: {file_name(change.file)} changes this object and is not migrated; "
            "check it for old forms"
        )


def _compared(found: Sources, outcome: Outcome, code: int, *, check: bool, diff: bool) -> int:
    """Say what would change. The exit code: with `check`, 1 where something would."""
    changed = inplace.texts(found, outcome)
    for source, _ in changed if check else ():
        options.note(f"{file_name(source.file)}: would change")
    if diff and not code:
        color = is_colored()
        write_out(b"".join(diffs.unified(source.file, source.data, data, color=color) for source, data in changed))
    return int(bool(code or (check and changed)))


def _ended_as_it_came(found: Sources, outcome: Outcome, out: bytes) -> bytes:
    """The output without a final line break where the text that comes last has none."""
    last = next((source for source in reversed(found.sources) if source.objects), None)
    if last is None or isinstance(last.text, ListText) or outputs.appended(found, outcome):
        return out
    return ended_as(last.data, out)
