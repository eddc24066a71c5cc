"""`kubevirt-render report`: one page about the VMs of files, folders and kustomizations, for a browser."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import click

from krm_fn.base.errors import UsageError
from krm_fn.base.objects import Object
from krm_fn.changes.pairs import Assumptions
from krm_fn.cli import baseline, completion, diff_units, options, output_files, progress, units
from krm_fn.cli.build_flags import schemas_option
from krm_fn.cli.changes_groups import RecordGroup, grouped, quota_lines, word_of
from krm_fn.cli.changes_text import about, figures, rename_lines, what
from krm_fn.cli.formats import BASE, combined
from krm_fn.cli.formats import CheckReport as Checked
from krm_fn.cli.output_files import Pen
from krm_fn.cli.progress import Progress
from krm_fn.cli.trees import CommitRange, paths_in, trees_of
from krm_fn.cli.units import PROCESSES, CommandRequest
from krm_fn.findings import results
from krm_fn.reporting.describing import Change as Changed
from krm_fn.reporting.describing import DescribedUnit, PagePart, Report, describe
from krm_fn.repositories.clusters import validating
from krm_fn.sources.reading import STDIN

FORMAT = "html"
# The page escapes all texts itself.
PLAIN = Pen(name=str, prose=str)
INDENT = "  "  # of what `diff` says below a headline


@click.command()
@options.input_options
@click.option(
    "-o",
    "--output",
    "output",
    required=True,
    metavar="FILE",
    shell_complete=completion.FILE,
    help="The file to write, such as report.html. A file that exists is replaced. -: stdout.",
)
@baseline.base_options
@schemas_option
@options.ignores_option
@options.config_options
def report(output: str, **flags: Any) -> int:
    """Write one page about VMs for a browser.

    The input is files, folders, kustomizations (-k DIR) or stdin (-). The page shows the findings of `check`, what the
    VMs need, what they refer to, and each rendered VM with the source of each value. With --base REF, it also shows
    what the change since a commit does to each VM. The page is one file that loads nothing.

    The exit code is 0 also if there are findings. It is 1 if a kustomization can't be built or a document can't be read:
    stderr says why. Use check to fail a pipeline.
    """
    page = _page_writer()
    target = "" if output == "-" else output
    output_files.check([(FORMAT, target)])
    flags = {**flags, "cache": "", "executor": PROCESSES, "scheduler": None}
    request, how = CommandRequest(flags=flags, checking=validating), units.judging_options(flags, listed=False)
    bar = progress.shown(quiet=flags["verbose"])
    before = baseline.read_earlier(request, how, bar, combined)
    request = request.but(before=before.objects) if before else request
    found = units.results_of(request, how.but(describing=describe), bar)
    checked = combined(found)
    checked = baseline.without_old(checked, before) if before else checked
    described = tuple(
        DescribedUnit(part=each.described or PagePart(), target=each.name, cluster=each.cluster, findings=each.findings)
        for each in found
    )
    changes = _changes(request, bar) if before else {}
    with bar.at("Writing"):
        text = page(_report(tuple(map(_named, request.named)), described, checked).but(**changes))
    output_files.write([(target, text)])
    unjudged = [each for each in checked.findings if results.is_unjudged(each)]
    results.report(unjudged, sys.stderr)
    if not unjudged:
        units.refuse_nothing(request.named, found)
    return int(bool(unjudged))


def _page_writer() -> Callable[[Report], str]:
    """What writes the page. Raises: UsageError where the library for it is not installed."""
    try:
        from krm_fn.reporting.page import page
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("jinja2", "markupsafe"):
            raise
        raise UsageError("report: the package jinja2 is missing; run `pip install .` in a clone of this program") from None
    return page


def _named(path: str) -> str:
    """A path as a title: a folder that is called `.` or `..` has a name."""
    if path == STDIN:
        return "standard input"
    is_dots = os.path.basename(os.path.normpath(path)) in (os.curdir, os.pardir)  # noqa: PTH119
    return (is_dots and os.path.basename(os.path.abspath(path))) or path  # noqa: PTH100, PTH119


def _report(paths: tuple[str, ...], described: tuple[DescribedUnit, ...], checked: Checked) -> Report:
    return Report(
        paths=paths,
        units=described,
        findings=checked.findings,
        known=tuple(each.finding for each in checked.suppressed if each.by == BASE),
        gone=checked.gone,
        since=checked.since,
        figures=checked.figures,
        releases=tuple(map(str, checked.releases)),
    )


def _changes(request: CommandRequest, bar: Progress) -> Mapping[str, Any]:
    """What the change since the base does to each VM."""
    flags = request.flags
    change = CommitRange(base=flags["base"], merge_base=flags["merge_base"] is not False)
    with trees_of(change, verbose=False) as trees:
        paths = paths_in(trees, request.named)
        base, head = (diff_units.read_tree(tree, paths, flags, bar) for tree in trees)
        with bar.at("Comparing"):
            found = diff_units.compare(base, head, Assumptions(), diff_units.ClusterAfter())
    if not found.is_whole:
        options.note("what the change does is not known for targets and files that can't be read on one side")
    answer = {**found.answer, **{key: list(map(_without_here, found.answer[key])) for key in ("vms", "quotas", "renames")}}
    groups = grouped(answer["vms"], partial(about, pen=PLAIN), together=False)
    return {
        "changes": tuple(map(_changed, groups)),
        "change_figures": figures(answer),
        "quota_changes": (*rename_lines(answer, PLAIN), *quota_lines(answer)),
    }


def _without_here(record: Object) -> Object:
    """The record without its target where that is the folder itself."""
    return {key: value for key, value in record.items() if (key, value) != ("target", os.curdir)}


def _changed(group: RecordGroup) -> Changed:
    record = group.first
    return Changed(
        kind=record["kind"],
        target=record.get("target", ""),
        namespace=record["namespace"],
        name=record["name"],
        effect=word_of(record),
        sentences=(what(group), *(line.removeprefix(INDENT) for line in group.lines)),
    )
