"""`kubevirt-render migrate`: rewrites objects of old kinds and forms to those that the target release serves."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from krm_fn import config
from krm_fn import migrate as migration
from krm_fn.base.bundle import Bundle
from krm_fn.base.console import write_out
from krm_fn.cli import inplace, options, outputs, progress
from krm_fn.cli.quiet import quiet_option
from krm_fn.config.keys import NAMES
from krm_fn.findings import results
from krm_fn.findings.results import report
from krm_fn.kubevirt.configuration import release_of
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline.stages import Outcome
from krm_fn.sources.places import Places
from krm_fn.sources.salvage import passed_over
from krm_fn.yamlio import ListText
from krm_fn.yamlio.documents import ended_as

if TYPE_CHECKING:
    from krm_fn.sources.reading import Sources


@click.command()
@options.source_options
@quiet_option
@click.option("--in-place", is_flag=True, help="Write the result to the files instead of stdout.")
@click.option("--kubevirt-version", **options.VERSION, help=options.help_of(NAMES["kubevirtVersion"]))
@click.option("--fail-on", type=options.Words(NAMES["failOn"].words), help=options.help_of(NAMES["failOn"]))
def migrate(
    paths: tuple[str, ...],
    kustomizations: tuple[str, ...],
    *,
    verbose: bool,
    timeout: float,
    follow_links: bool,
    in_place: bool,
    kubevirt_version: str | None,
    fail_on: str | None,
) -> int:
    """Rewrite old manifests for a KubeVirt release: files, folders, kustomizations (-k DIR) or stdin (-).

    The command replaces old kinds, API versions and fields: flavors by instancetypes, presets by instancetypes and
    preferences, OfflineVirtualMachines by VMs. Everything else is printed unchanged.

    Findings on stderr name what can't be migrated. If a finding has the severity of --fail-on or a higher one, the exit
    code is 1 and stdout stays empty.
    """
    if in_place:
        inplace.need_files(paths, kustomizations)
    bar = progress.shown(quiet=verbose)
    found = options.read_sources(
        paths, kustomizations, verbose=verbose, timeout=timeout, follow_links=follow_links, watch=bar.watch
    )
    given = {"kubevirtVersion": kubevirt_version, "failOn": fail_on}
    settings = config.with_texts(Config(), given, place=options.flag_of)
    with bar.at("Migrating"):
        release = release_of(Bundle(found.items), settings)
        items, findings = migration.migrate(found.items, release, places=found.places)
    findings = results.ordered([*passed_over(found.skipped, {}, release), *findings])
    for source in found.sources:
        source.text.successors = migration.RENAMED_KEYS
    report(Places(found).located(findings), sys.stderr)
    code, outcome = results.exit_code(findings, settings.fail_on), Outcome(items=items, findings=findings)
    if in_place:
        inplace.write_back(found, outcome, bar, verbose=verbose)
    elif not code:
        write_out(_ended_as_it_came(found, outcome, outputs.to_yaml(found, outcome, bar.watch)))
    return code


def _ended_as_it_came(found: Sources, outcome: Outcome, out: bytes) -> bytes:
    """The output without a final line break where the text that comes last has none."""
    last = next((source for source in reversed(found.sources) if source.objects), None)
    if last is None or isinstance(last.text, ListText) or outputs.appended(found, outcome):
        return out
    return ended_as(last.data, out)
