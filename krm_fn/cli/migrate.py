"""`kubevirt-render migrate`: rewrites objects of old kinds and forms to those that the target release serves."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from krm_fn import migrate as migration
from krm_fn import yamlio
from krm_fn.base.console import file_name, write_out
from krm_fn.base.errors import UsageError
from krm_fn.base.objects import ref_of
from krm_fn.cli import build_flags, inplace_folders, options, outputs, progress
from krm_fn.cli.build_flags import exclude_option
from krm_fn.cli.formats import counted
from krm_fn.cli.inplace_folders import look, looking_options
from krm_fn.cli.progress import Progress
from krm_fn.findings import results
from krm_fn.findings.results import report
from krm_fn.kubevirt.releases import NEWEST
from krm_fn.pipeline.stages import Outcome
from krm_fn.repositories.bases import Uses, own_files
from krm_fn.repositories.workspace import Asked, Workspace
from krm_fn.sources import reading
from krm_fn.sources.places import Places
from krm_fn.sources.reading import STDIN, NothingFoundError
from krm_fn.sources.salvage import left_alone, passed_over
from krm_fn.sources.source import Sources
from krm_fn.yamlio import ListText

# The keys of the config that count here.
KEYS = ("kubevirtVersion", "failOn", "severity")


@click.command()
@options.source_options
@click.option("--in-place", is_flag=True, help="Write the result to the files instead of stdout.")
@looking_options
@exclude_option
@options.keys_options(KEYS)
def migrate(
    paths: tuple[str, ...],
    kustomizations: tuple[str, ...],
    *,
    in_place: bool,
    check: bool,
    diff: bool,
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
        inplace_folders.need_files(paths, kustomizations, flag="--in-place" if in_place else "--check" if check else "--diff")
    bar = progress.shown(quiet=flags["verbose"])
    with bar.at("Searching"):
        workspace = Workspace(_asked(paths, flags))
    try:
        found = _read(workspace, kustomizations, flags, bar)
    except NothingFoundError:
        if not (targets := workspace.found.targets):
            raise
        options.note(f"nothing to migrate: {counted(len(targets), 'kustomization')} without files of objects")
        return 0
    with bar.at("Migrating"):
        outcome, code = _migrated(found, workspace)
    report(Places(found).located(outcome.findings), sys.stderr)
    _note_patched(found, outcome, paths, follow=flags["follow_links"])
    if in_place:
        inplace_folders.write_back(found, outcome, bar)
    elif check or diff:
        changed = [(source.file, source.data, data) for source, data in inplace_folders.texts(found, outcome)]
        return int(bool(look(changed if check or not code else [], check=check, diff=diff and not code) or code))
    elif not code:
        write_out(_ended_as_it_came(found, outcome, outputs.to_yaml(found, outcome, bar.watch)))
    return code


def _check_usage(*, in_place: bool, check: bool, diff: bool) -> None:
    """Raises: UsageError for flags that exclude one another."""
    if in_place and (check or diff):
        raise UsageError(f"{'--check' if check else '--diff'} writes no files; remove it or --in-place")


def _asked(paths: tuple[str, ...], flags: Mapping[str, Any]) -> Asked:
    """What is to be read, and by which settings."""
    return Asked(
        paths=paths,
        config_file=flags["config_file"],
        isolated=flags["isolated"],
        laid=options.laying(flags),
        exclude=tuple(flags["exclude"]),
        follow=flags["follow_links"],
        applied=False,
    )


def _read(workspace: Workspace, kustomizations: tuple[str, ...], flags: Mapping[str, Any], bar: Progress) -> Sources:
    """What is to be migrated: of folders with kustomizations, the files that are no patches or other parts of them."""
    verbose, asked, found = flags["verbose"], workspace.asked, workspace.found
    if not (found.targets or found.excluded):
        named = frozenset(Path(path).as_posix() for path in asked.paths)
        return options.read_sources(
            asked.paths,
            kustomizations,
            verbose=verbose,
            timeout=flags["timeout"],
            follow_links=asked.follow,
            repair=left_alone(options.note, named) if asked.folders else None,
            watch=bar.watch,
        )
    files = own_files(found, asked.folders, follow=asked.follow)
    inplace_folders.note_parts(files.parts, verbose=verbose)
    read = reading.read(
        asked.named,
        found=files.own,
        built=build_flags.built(kustomizations, timeout=flags["timeout"], follow=asked.follow),
        follow=asked.follow,
        note=options.note if verbose else lambda _: None,
        repair=left_alone(options.note),
        watch=bar.watch,
    )
    return read.but(skipped=(*read.skipped, *found.skipped))


def _migrated(found: Sources, workspace: Workspace) -> tuple[Outcome, int]:
    """What becomes of the objects, each for the oldest release of its clusters, and the exit code."""
    uses = Uses(workspace, found)
    of_sources = [(source, uses.oldest(source)) for source in found.sources]
    ways = [(use.release, use.settings.config.severity) for source, use in of_sources for _ in source.items]
    release = min((way[0] for way in ways), key=lambda each: each.version, default=NEWEST)
    items, findings = migration.migrate(found.items, release, places=found.places, ways=ways)
    for source in found.sources:
        source.text.successors = migration.RENAMED_KEYS
    settings = [use.settings.config for source, use in of_sources for _ in source.items]
    about = [(finding, settings[finding.item]) for finding in findings]
    for skipped in found.skipped:
        own = workspace.settings(os.path.dirname(skipped.file)).config  # noqa: PTH120
        about += [(finding, own) for finding in passed_over((skipped,), own.severity, release)]
    code = max((results.exit_code((finding,), own.fail_on) for finding, own in about), default=0)
    return Outcome(items=items, findings=results.ordered(finding for finding, _ in about)), code


def _note_patched(found: Sources, outcome: Outcome, paths: tuple[str, ...], *, follow: bool) -> None:
    """Name the patches of objects that are migrated: they may have old forms, too."""
    changed = inplace_folders.changed_objects([inplace_folders.Rendered(found, outcome)])
    files = (path for path in paths if path != STDIN)
    for file, obj, change in inplace_folders.patched(changed, tuple(files), follow=follow):
        options.note(
            f"{file_name(file)}: {ref_of(obj)}: {file_name(change.file)} changes this object and is not migrated; "
            "check it for old forms"
        )


def _ended_as_it_came(found: Sources, outcome: Outcome, out: bytes) -> bytes:
    """The output without a final line break where the text that comes last has none."""
    last = next((source for source in reversed(found.sources) if source.objects), None)
    if last is None or isinstance(last.text, ListText) or outputs.appended(found, outcome):
        return out
    return yamlio.ended_as(last.data, out)
