"""`check --base REF`: the findings that a commit of the git repository has already. Only the others count.

Policies that compare objects get those of the commit, too.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import click

from krm_fn.base.errors import UsageError
from krm_fn.base.value import Value
from krm_fn.cli import baseline, units
from krm_fn.cli.baseline import Baseline
from krm_fn.cli.build_flags import together
from krm_fn.cli.formats import BASE, CheckReport
from krm_fn.cli.progress import Progress
from krm_fn.cli.trees import CommitRange, SideTree, paths_in, trees_of
from krm_fn.cli.units import CommandRequest, Key, key_of, units_of
from krm_fn.findings.finding import Finding, Suppressed
from krm_fn.pipeline.stages import Before
from krm_fn.repositories.judging import UnitResult
from krm_fn.repositories.loading import Options
from krm_fn.repositories.rendering import objects_of
from krm_fn.repositories.workspace import Workspace
from krm_fn.rules.facts.ignores import Known
from krm_fn.sources.files import content
from krm_fn.sources.reading import STDIN, NothingFoundError

POLICY = b"ValidatingAdmissionPolicy"


def have_policies(request: CommandRequest) -> bool:
    """True if a run may have policies: in the config, in a flag, in its files, or in what is built outside of folders.

    Raises: ConfigError, InputError, UsageError.
    """
    if request.flags["policies"] or request.flags["kustomizations"]:
        return True
    workspace = Workspace(request.asked)
    units = workspace.units
    every = (*(unit.settings for unit in units), *map(workspace.settings, request.flags["paths"]))
    if any(settings.config.policies for settings in every):
        return True
    files = (file for unit in units for file in unit.inputs)
    return any(POLICY in content(file) for file in (*files, *workspace.asked.named))


def objects_at(request: CommandRequest, bar: Progress) -> dict[Key, Before]:
    """What each unit consists of, by its key; in the working directory, which is that of the earlier state.

    Raises: ConfigError, InputError.
    """
    workspace = request.searched(bar)
    units = units_of(request, workspace)
    objects = request.run(units, objects_of, "Reading", bar, workspace.others)
    return {
        key_of(unit): Before(items=[*each.items, *each.taken], config=unit.settings.config, is_whole=each.is_whole)
        for unit, each in zip(units, objects, strict=True)
    }


# The flags that may name a file or a folder.
FILES = ("configuration", "cache")


class Earlier(Value):
    """The findings at a commit by their fingerprints; `ref` is its name. `objects` are what its units consisted of, for
    policies.
    """

    ref: str
    findings: Mapping[str, Finding]
    objects: Mapping[Key, Before] = {}


base_options = together(
    click.option(
        "--base",
        metavar="REF",
        help="Check this commit of the git repository, too. Findings that it has do not count, and those that are gone are "
        "listed.",
    ),
    click.option(
        "--merge-base/--no-merge-base",
        default=None,
        help="Start from the newest commit that --base and the working tree have in common, as a review does. Default: yes.",
    ),
)


def _change(flags: Mapping[str, Any]) -> CommitRange | None:
    """What is compared, None without --base. Raises: UsageError."""
    base, merge_base = flags["base"], flags["merge_base"]
    if base is None:
        if merge_base is not None:
            raise UsageError("--merge-base needs --base; name a branch, a tag or a commit with it")
        return None
    return CommitRange(base=base, merge_base=merge_base is not False)


def read(
    request: CommandRequest, how: Options, bar: Progress, report_of: Callable[[Sequence[UnitResult]], CheckReport]
) -> Earlier | None:
    """The findings at the base, each part with the config that it has there; None without --base.

    Raises: UsageError, ConfigError; InputError for what can't be read at the base.
    """
    change = _change(request.flags)
    if change is None:
        return None
    if STDIN in request.flags["paths"]:
        raise UsageError("--base compares files of a git repository; stdin (-) is on no side")
    compares = have_policies(request)
    with trees_of(change, verbose=request.flags["verbose"]) as (tree, head):
        there = _at(tree, head, request)
        if not there.named:
            return Earlier(ref=change.base, findings={})
        with tree.entered():
            try:
                objects = objects_at(there, bar) if compares else {}
                found = units.results_of(there, how.but(fixing=False, quoted=False, listed=False, unchanged=compares), bar)
            except NothingFoundError:
                found, objects = [], {}
        findings = report_of(found).findings if found else ()
    return Earlier(ref=change.base, findings={each.fingerprint: each for each in findings}, objects=objects)


def _at(tree: SideTree, head: SideTree, request: CommandRequest) -> CommandRequest:
    """What to check in a tree: the same paths as far as they exist there."""
    flags = request.flags
    files = {name: os.path.abspath(given) for name in FILES if (given := flags[name]) and os.path.exists(given)}  # noqa: PTH100, PTH110
    config = os.path.abspath(flags["config_file"]) if flags["config_file"] else None  # noqa: PTH100
    paths, kustomizations = (
        tuple(filter(tree.has, paths_in((tree, head), flags[key]))) if flags[key] else () for key in ("paths", "kustomizations")
    )
    there = {**flags, **files, "paths": paths, "kustomizations": kustomizations, "config_file": tree.own(config)}
    return request.but(root=tree.root, flags={**there, "configuration": tree.own(there["configuration"])})


def without_old(report: CheckReport, earlier: Earlier) -> CheckReport:
    """The report in which only the findings count that the commit does not have."""
    known = tuple(Known(fingerprint=mark, rule=each.rule) for mark, each in earlier.findings.items() if not each.more)
    parted = baseline.split(report.findings, Baseline(file="", entries=known), today="", release=report.release)
    silent = {each.finding.fingerprint for each in report.suppressed}
    old = (Suppressed(finding=each.finding, by=BASE, reason=f"already at {earlier.ref}") for each in parted.known)
    return report.but(
        findings=parted.new,
        suppressed=(*report.suppressed, *old),
        since=earlier.ref,
        gone=tuple(earlier.findings[each.fingerprint] for _, each in parted.facts.unused if each.fingerprint not in silent),
    )
