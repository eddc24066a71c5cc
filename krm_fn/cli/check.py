"""`kubevirt-render check`: findings only, in the forms that people and CI systems read."""

from __future__ import annotations

import datetime as dt
import os
import re
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from krm_fn.base import bundle
from krm_fn.base.console import file_name, write_out
from krm_fn.base.errors import UsageError
from krm_fn.base.objects import ref_of
from krm_fn.base.suggestions import meant
from krm_fn.cli import baseline, completion, options, progress, replacing
from krm_fn.cli.formats import FORMATS, Report, Subject, written
from krm_fn.cli.schemas import read_schemas, schemas_option
from krm_fn.findings import fingerprints, results
from krm_fn.pipeline import stages
from krm_fn.pipeline.stages import Judging
from krm_fn.rules import registry
from krm_fn.sources import unbuilt
from krm_fn.sources.files import leads_out
from krm_fn.sources.places import Places
from krm_fn.sources.salvage import Doubts, findings, passed_over, salvage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from krm_fn.findings.finding import Finding
    from krm_fn.kubevirt.releases import Release
    from krm_fn.kubevirt.settings import Config
    from krm_fn.pipeline.stages import Outcome
    from krm_fn.sources.reading import Repair, Sources
    from krm_fn.sources.salvage import Lost

# Keys that every Kubernetes object has, and no playbook.
OF_OBJECTS = re.compile(rb"""apiVersion|^["']?kind\b""", re.MULTILINE)
# Off unless --expanded is set.
UNEXPANDED = "unexpanded-vm"
# Fails the run at any severity, unless the baseline knows it.
UNREADABLE = "unreadable-document"


@click.command()
@options.source_options
@click.option(
    "-o",
    "--output",
    "outputs",
    multiple=True,
    default=("text",),
    show_default=True,
    metavar="FORMAT[=FILE]",
    shell_complete=completion.among(lambda: FORMATS),
    help=f"The output format: {', '.join(FORMATS)}. Without FILE, the output is written to stdout. Repeatable.",
)
@click.option(
    "--expanded",
    is_flag=True,
    help="Report VMs that still refer to an instancetype or preference.",
)
@click.option("--summary", is_flag=True, help="Print the number of findings in the last line (formats text, github and tap).")
@click.option(
    "--color",
    type=click.Choice(("auto", "always", "never")),
    default="auto",
    show_default=True,
    help="Show colours and the lines of the files in text output. auto: only on a terminal; no colours if NO_COLOR is set.",
)
@click.option(
    "--baseline",
    "baseline_file",
    metavar="FILE",
    shell_complete=completion.FILE,
    help="A file with known findings. They are not reported.",
)
@click.option(
    "--update-baseline", is_flag=True, help="Write the findings of this run to the baseline. Keep reasons and expiry dates."
)
@click.option(
    "--today", metavar="YYYY-MM-DD", hidden=True, help="The day for which the expiry dates of the baseline are checked."
)
@schemas_option
@options.ignores_option
@options.config_options
def check(
    paths: tuple[str, ...],
    kustomizations: tuple[str, ...],
    schemas: tuple[str, ...],
    outputs: tuple[str, ...],
    config_file: str | None,
    *,
    verbose: bool,
    timeout: float,
    follow_links: bool,
    expanded: bool,
    summary: bool,
    color: str,
    baseline_file: str | None,
    update_baseline: bool,
    today: str | None,
    no_ignores: bool,
    **flags: Any,
) -> int:
    """Check files, folders, kustomizations (-k DIR) or stdin (-), and print findings.

    check reports what the API server and KubeVirt's webhooks would refuse, and mistakes that otherwise become visible
    only in the cluster: missing objects, shared disks, equal MAC addresses. render reports only what prevents rendering.
    check writes no objects, so --mode, --instances and --provenance have no effect.

    The exit code is 1 if a finding has the severity of --fail-on or a higher one.
    """
    targets = _targets(outputs)
    known = _known(baseline_file, update=update_baseline)
    day = _today(today) if known else ""
    lost: list[Lost] = []
    bar = progress.shown(quiet=verbose)
    read = partial(options.read_sources, verbose=verbose, timeout=timeout, follow_links=follow_links, watch=bar.watch)
    found = read(paths, kustomizations, unbuilt=False, repair=_repair(lost, {Path(path).as_posix() for path in paths}))
    config = options.settings(found, config_file, flags, near=(*paths, *kustomizations), verbose=verbose)
    levels = options.levels_by_flag(flags)
    config = _checking(config, levels, expanded=expanded)
    with bar.at("Checking"):
        judging = Judging(ignores=not no_ignores, definitions=not flags["isolated"], off=True, units=found.units)
        outcome = stages.render(found.items, config, places=found.places, schemas=read_schemas(schemas), judging=judging)
        report = _report(found, outcome, config, lost).but(summary=summary, off=_off(outcome, levels))
    if verbose:
        options.note(f"the target release is KubeVirt {outcome.release}")
    if known is not None:
        known = _written(known, report.findings) if update_baseline else known
        report = _without_known(report, known, config, day, outcome.release)
    _write(targets, report, color)
    return _exit_code(report, config)


def _known(file: str | None, *, update: bool) -> baseline.Baseline | None:
    """The baseline, None without one. Raises: UsageError where there is none that could be updated."""
    if update and not file:
        raise UsageError("--update-baseline needs --baseline FILE")
    return baseline.read(file, may_lack=update) if file else None


def _checking(config: Config, levels: Mapping[str, str], *, expanded: bool) -> Config:
    """The config of `check`; `levels` has the severities that flags gave."""
    config = config.but(mode="validate")
    if not expanded:
        return config
    return config.but(severity={**config.severity, UNEXPANDED: levels.get(UNEXPANDED, "error")})


def _exit_code(report: Report, config: Config) -> int:
    lacks = any(finding.rule == UNREADABLE for finding in report.findings)
    return 1 if lacks else results.exit_code(report.findings, config.fail_on)


def _repair(lost: list[Lost], named: set[str]) -> Repair:
    """What makes a text readable by emptying documents; it notes them in `lost`.

    What is found in a folder and has neither apiVersion nor kind is no Kubernetes object (a playbook, say): it is skipped.
    """

    def repair(data: bytes, file: str) -> bytes:
        data, found = salvage(data, file)
        lost.extend(each for each in found if file in named or OF_OBJECTS.search(each.text))
        return data

    return repair


def _report(found: Sources, outcome: Outcome, config: Config, lost: list[Lost]) -> Report:
    """Raises: InputError for a document that can't be read where the config turns its rule off."""
    places, stands = Places(found, lost), found.places
    of_input = list(findings(lost, config.severity, outcome.release))
    if lost and not of_input:
        raise lost[0].error
    of_input += passed_over(found.skipped, config.severity, outcome.release)
    silent = [each.finding for each in outcome.ignored]
    doubts = Doubts(lost)
    sure = unbuilt.certain(outcome.findings, found)
    certain = [finding for finding in sure if not doubts.concern(finding)]
    located = places.located((*certain, *silent))
    marked = fingerprints.printed((*of_input, *located))
    counted = len(of_input) + len(certain)
    return Report(
        findings=results.ordered(marked[:counted]) if of_input else tuple(marked[:counted]),
        suppressed=tuple(each.but(finding=finding) for finding, each in zip(marked[counted:], outcome.ignored, strict=True)),
        fail_on=config.fail_on,
        release=outcome.release,
        line=places.line,
        subjects=tuple(_subjects(found, stands)),
        files=tuple(dict.fromkeys(file for file, _ in stands)),
    )


def _off(outcome: Outcome, by_flag: Mapping[str, str]) -> dict[str, int]:
    """How many findings of rules that are off there would be, by what turns them off."""
    flagged = sum(by_flag.get(finding.rule) == "off" for finding in outcome.off)
    return {"config": len(outcome.off) - flagged, "flag": flagged}


def _subjects(found: Sources, places: Sequence[tuple[str, int]]) -> Iterator[Subject]:
    for entry in bundle.entries(found.items):
        yield Subject(ref=ref_of(entry.obj), file=places[entry.item][0], item=entry.item, inside=entry.path)


def _written(known: baseline.Baseline, findings: Iterable[Finding]) -> baseline.Baseline:
    new = baseline.updated(known, findings)
    before, after = ({entry.fingerprint for entry in each.entries} for each in (known, new))
    replacing.write(new.file, new.data)
    counts = f"{len(after & before)} kept, {len(after - before)} added, {len(before - after)} removed"
    options.note(f"{file_name(new.file)}: {counts}")
    return new


def _without_known(report: Report, known: baseline.Baseline, config: Config, today: str, release: Release) -> Report:
    """The report without known findings, and with findings about the baseline itself."""
    parted = baseline.split(report.findings, known, today=today, release=release)
    of_baseline = (
        finding.but(file=known.file, line=line, column=column)
        for finding in registry.judge_bundle(parted.facts, config.severity, "baseline")
        for line, column in [known.place(finding.path)]
    )
    return report.but(
        findings=results.ordered([*parted.new, *fingerprints.printed(of_baseline)]),
        suppressed=(*report.suppressed, *parted.known),
    )


def _today(given: str | None) -> str:
    """The day, YYYY-MM-DD: as given, else of SOURCE_DATE_EPOCH, else the clock's, in UTC."""
    if given is not None:
        if baseline.day(given) is None:
            raise UsageError(f"--today: found {given!r}; expected YYYY-MM-DD")
        return given
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    try:
        moment = dt.datetime.fromtimestamp(int(epoch), dt.UTC) if epoch else dt.datetime.now(dt.UTC)
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"SOURCE_DATE_EPOCH: found {epoch!r}; expected seconds since 1970") from None
    return moment.date().isoformat()


def _write(targets: list[tuple[str, str]], report: Report, color: str) -> None:
    """Write the files first, then stdout; colour goes to stdout alone."""
    terminal = sys.stdout is not None and sys.stdout.isatty()
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    shown = report.but(
        rich=terminal or color == "always", color=color == "always" or (color == "auto" and terminal and not plain)
    )
    for _, file in targets:
        if file and leads_out(file):
            raise UsageError(f"-o: {file} is a symbolic link to a file outside the repository; name that file instead")
    texts = [(file, written(name, report if file else shown).encode(errors="replace")) for name, file in targets]
    for file, data in texts:
        if file:
            replacing.write(file, data)
    write_out(b"".join(data for file, data in texts if not file))


def _targets(outputs: tuple[str, ...]) -> list[tuple[str, str]]:
    """Format and file of each output, "" for stdout, which takes only one."""
    targets = []
    for text in outputs:
        name, _, file = text.partition("=")
        if name not in FORMATS:
            likely = meant(name, tuple(FORMATS))
            fix = f"; did you mean {likely}" if likely else ""
            raise UsageError(f"-o: unknown format {name!r}; expected one of {', '.join(FORMATS)}{fix}")
        targets.append((name, "" if file == "-" else file))
    if [file for _, file in targets].count("") > 1:
        raise UsageError("-o: only one output can be written to stdout; write the others to files with -o FORMAT=FILE")
    return targets
