"""`kubevirt-render check`: findings only, in the forms that people and CI systems read.

With `--fix`, a run is repeated until nothing is left to fix: a fix may bring up a finding that was hidden behind the first one.
"""

from __future__ import annotations

import datetime as dt
import os
import sys
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import click

from krm_fn.base.console import file_name
from krm_fn.base.errors import UsageError
from krm_fn.cli import baseline, completion, inplace_folders, options, output_files, progress, replacing, units
from krm_fn.cli.build_flags import schemas_option
from krm_fn.cli.formats import FORMATS, CheckReport, combined, counted, written
from krm_fn.cli.output_files import color_option, is_colored, is_terminal
from krm_fn.cli.progress import Progress, is_quiet
from krm_fn.cli.units import CommandRequest, executor_options, judging_options, refuse_nothing, severity_at
from krm_fn.findings import fingerprints, results
from krm_fn.findings.finding import Finding
from krm_fn.kubevirt.settings import Config
from krm_fn.repositories.clusters import validating
from krm_fn.repositories.fixes import Fix, Place, agreed, rewritten
from krm_fn.repositories.judging import UnitResult
from krm_fn.repositories.loading import Options
from krm_fn.rules import registry
from krm_fn.sources.files import is_within

fix_option = click.option(
    "--fix",
    is_flag=True,
    help="Write the proposed values of findings that are certain into the files, and report what remains.",
)


def fixed_results(request: CommandRequest, how: Options, bar: Progress, known: Container[str] = ()) -> list[UnitResult]:
    """What comes of each unit; with `how.fixing`, once all that is certain is fixed.

    Findings whose fingerprints are `known` are not fixed. Raises: as `units.results_of`; UsageError for input that is in no
    file; InputError for a file that can't be replaced.
    """
    if not how.fixing:
        return units.results_of(request, how, bar)
    inplace_folders.need_files(request.flags["paths"], request.flags["kustomizations"], flag="--fix")
    done: dict[Place, str] = {}
    try:
        while True:
            found = units.results_of(request, how, bar)
            fixes = agreed(unit.fixing for unit in found if unit.fixing)
            new = [each for each in fixes if each.place not in done and each.fingerprint not in known]
            written = _write_fixes(new, request.flags["paths"])
            if not written:
                return found
            done.update({fix.place: fix.file for fix in written})
    finally:
        _note_fixed(done.values())


def _note_fixed(files: Iterable[str]) -> None:
    """Name the files that changed, with the numbers of their values."""
    each = list(files)
    for file in sorted(set(each)):
        count = each.count(file)
        options.note(f"{file_name(file)}: fixed {count} value{'s' * (count > 1)}")


def _write_fixes(fixes: Iterable[Fix], paths: Sequence[str]) -> list[Fix]:
    """Write the files below the paths, all or none; the fixes that are in them now."""
    roots = tuple(map(os.path.realpath, paths))
    texts = [each for each in rewritten((fix for fix in fixes if is_within(fix.file, roots)), paths) if each.fixes]
    inplace_folders.replace_all((each.file, each.after, each.stamp) for each in texts)
    return [fix for each in texts for fix in each.fixes]


def show_tally(report: CheckReport, found: Sequence[UnitResult]) -> None:
    """Print the line on stderr, for somebody who looks at it and does not see these numbers elsewhere."""
    if is_quiet() or not (sys.stderr and sys.stderr.isatty()) or (report.summary and sys.stdout and sys.stdout.isatty()):
        return
    click.echo(tally(report, found), err=True)


def tally(report: CheckReport, found: Sequence[UnitResult]) -> str:
    """`12 targets, 48 VMs, 0 errors`; other numbers that are 0 are left out."""
    return ", ".join(_parts(report, found))


def _parts(report: CheckReport, found: Sequence[UnitResult]) -> Iterator[str]:
    if report.targets:
        unbuilt = sum(bool(unit.name) and not unit.built for unit in found)
        yield counted(report.targets, "target") + (f" ({unbuilt} not built)" if unbuilt else "")
    files = len({file for unit in found if not unit.name for file in unit.files if file})
    if files:
        yield counted(files, "file")
    yield counted(sum(unit.vms for unit in found), "VM")
    for severity, number in results.count(report.findings).items():
        if number or severity == "error":
            yield counted(number, severity)
    if silent := sum(report.silenced.values()):
        yield f"{silent} suppressed"


# Off unless --expanded is set.
UNEXPANDED = "unexpanded-vm"
# The formats that name every object.
LISTING = ("junit", "tap")


@click.command()
@options.input_options
@output_files.outputs_option(FORMATS)
@click.option(
    "--expanded",
    is_flag=True,
    help="Report VMs that still refer to an instancetype or preference.",
)
@click.option(
    "--summary",
    is_flag=True,
    help="Print the number of findings in the last line (formats text, github and tap), and name files that are not judged.",
)
@color_option("colours and the lines of the files in text output")
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
@baseline.base_options
@fix_option
@options.cache_options
@executor_options
@schemas_option
@options.ignores_option
@options.config_options
def check(
    outputs: tuple[str, ...],
    *,
    expanded: bool,
    color: str,
    baseline_file: str | None,
    update_baseline: bool,
    today: str | None,
    **flags: Any,
) -> int:
    """Report what KubeVirt refuses, and other mistakes.

    The input is files, folders, kustomizations (-k DIR) or stdin (-). The kustomizations in a folder are built,
    offline, and the result of each is checked. The files that they use are not checked by themselves. Helm charts are
    built with --helm. In OpenShift Templates and VirtualMachineTemplates, the objects are checked with the default
    values of their parameters.

    check reports what the API server and KubeVirt's webhooks would refuse, and mistakes that otherwise become visible
    only in the cluster: missing objects, shared disks, equal MAC addresses. render reports only what prevents rendering.
    check writes no objects, so --mode, --instances, --provenance and --pod-size have no effect.

    The exit code is 1 if a finding has the severity of --fail-on or a higher one. With --base, only new findings count.
    """
    targets = output_files.parsed(outputs, FORMATS)
    known = _known(baseline_file, update=update_baseline)
    day = _today(today) if known else ""
    levels = options.levels_by_flag(flags)
    listed = any(name in LISTING for name, _ in targets)
    how = judging_options(flags, quoted=_is_rich(color), listed=listed, fixing=flags["fix"])
    request = CommandRequest(flags=flags, checking=partial(_checking, levels=levels, expanded=expanded))
    bar = progress.shown(quiet=flags["verbose"])
    before = baseline.read_earlier(request, how, bar, combined)
    found = fixed_results(request.but(before=before.objects if before else {}), how, bar, _prints(known, before))
    report = combined(found).but(summary=flags["summary"], off=_off(found, levels))
    if known is not None:
        known = _written(known, report.findings) if update_baseline else known
        report = _without_known(report, known, severity_at(request, known.file, found), day)
    report = baseline.without_old(report, before) if before else report
    _write(targets, report, color)
    show_tally(report, found)
    code = max((results.exit_code([each], report.fail_on_of(each)) for each in report.findings), default=0)
    return code or refuse_nothing(request.named, found)


def _known(file: str | None, *, update: bool) -> baseline.Baseline | None:
    """The baseline, None without one. Raises: UsageError where there is none that could be updated."""
    if update and not file:
        raise UsageError("--update-baseline needs --baseline FILE")
    return baseline.read(file, may_lack=update) if file else None


def _prints(known: baseline.Baseline | None, before: baseline.Earlier | None) -> set[str]:
    """The fingerprints of the findings that do not count."""
    return {*(entry.fingerprint for entry in (known.entries if known else ())), *(before.findings if before else ())}


def _checking(config: Config, levels: Mapping[str, str], *, expanded: bool) -> Config:
    """The config of `check`; `levels` has the severities that flags gave."""
    config = validating(config)
    if not expanded:
        return config
    return config.but(severity={**config.severity, UNEXPANDED: levels.get(UNEXPANDED, "error")})


def _off(found: Iterable[UnitResult], by_flag: Mapping[str, str]) -> dict[str, int]:
    """How many findings of rules that are off there would be, by what turns them off."""
    off = [(rule, number) for unit in found for rule, number in unit.off.items()]
    flagged = sum(number for rule, number in off if by_flag.get(rule) == "off")
    return {"config": sum(number for _, number in off) - flagged, "flag": flagged}


def _written(known: baseline.Baseline, findings: Iterable[Finding]) -> baseline.Baseline:
    new = baseline.updated(known, findings)
    before, after = ({entry.fingerprint for entry in each.entries} for each in (known, new))
    replacing.write(new.file, new.data)
    counts = f"{len(after & before)} kept, {len(after - before)} added, {len(before - after)} removed"
    options.note(f"{file_name(new.file)}: {counts}")
    return new


def _without_known(report: CheckReport, known: baseline.Baseline, severity: Mapping[str, str], today: str) -> CheckReport:
    """The report without known findings, and with findings about the baseline itself."""
    parted = baseline.split(report.findings, known, today=today, release=report.release)
    of_baseline = (
        finding.but(file=known.file, line=line, column=column)
        for finding in registry.judge_bundle(parted.facts, severity, "baseline")
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


def _is_rich(color: str) -> bool:
    """True where stdout shows the lines of files."""
    return is_terminal() or color == "always"


def _write(targets: list[tuple[str, str]], report: CheckReport, color: str) -> None:
    """Write the files first, then stdout; colour goes to stdout alone."""
    shown = report.but(rich=_is_rich(color), color=is_colored(color))
    output_files.check(targets)
    output_files.write([(file, written(name, report if file else shown)) for name, file in targets])
