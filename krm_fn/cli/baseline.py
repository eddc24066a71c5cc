"""Baselines: a file of known findings, which `check` reports as suppressed and doesn't count.

version: 1
findings:
- fingerprint: 0f3c…
  rule: instancetype-conflict
  object: VirtualMachine shop/web
  path: spec.template.spec.domain.cpu.cores
  reason: moves to u1.large with the next release   # optional, written by people
  expires: "2026-12-31"                             # optional: the last day on which it counts as known

With `check --base REF`, the findings that a commit of the git repository has already are known. Policies that compare objects
get those of the commit, too.
"""

from __future__ import annotations

import datetime as dt
import os
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import click

from krm_fn import yamlio
from krm_fn.base.errors import ConfigError, InputError, UsageError
from krm_fn.base.paths import Path, dotted
from krm_fn.base.value import Value
from krm_fn.cli import units
from krm_fn.cli.build_flags import together
from krm_fn.cli.formats import BASE, CheckReport
from krm_fn.cli.output_files import json_text
from krm_fn.cli.progress import Progress
from krm_fn.cli.trees import CommitRange, SideTree, paths_in, trees_of
from krm_fn.cli.units import CommandRequest, Key, key_of, units_of
from krm_fn.config.keys import child, hint, unlike
from krm_fn.config.places import located
from krm_fn.findings.finding import Finding, Suppressed
from krm_fn.kubevirt.releases import Release
from krm_fn.pipeline.stages import Before
from krm_fn.repositories.judging import UnitResult
from krm_fn.repositories.loading import Options
from krm_fn.repositories.rendering import objects_of
from krm_fn.repositories.workspace import Workspace
from krm_fn.rules.facts.ignores import BaselineFacts, Known
from krm_fn.sources.files import content, refuse_links_out
from krm_fn.sources.reading import STDIN, NothingFoundError

VERSION = 1
HEAD = "# Known findings of `kubevirt-render check`. --update-baseline rewrites this file and keeps each reason and expires.\n"


class Baseline(Value):
    """The entries of a file, in order. `data` is its text, b"" where there is no file yet."""

    file: str
    data: bytes = b""
    entries: tuple[Known, ...] = ()

    def place(self, path: Path) -> tuple[int, int]:
        """Line and column of a place in the file."""
        return yamlio.read_stream(self.data, file=self.file).place(0, path)


class Split(Value):
    """The findings that are new, those that are known, and the facts of the baseline itself."""

    new: tuple[Finding, ...]
    known: tuple[Suppressed, ...]
    facts: BaselineFacts


def read(file: str, *, may_lack: bool = False) -> Baseline:
    """The baseline in a file; an empty one where there is none and `may_lack` allows this.

    Raises: ConfigError, which names the file and the place in it.
    """
    refuse_links_out([file])
    try:
        data = pathlib.Path(file).read_bytes()
    except FileNotFoundError:
        if may_lack:
            return Baseline(file=file)
        raise ConfigError("the baseline does not exist; create it with --update-baseline", file=file) from None
    except OSError as error:
        raise ConfigError(error.strerror or "can't be read", file=file) from None
    try:
        text = yamlio.read_stream(data, file=file)
    except InputError as error:
        raise ConfigError(error.message, file=file, line=error.line, column=error.column) from None
    try:
        return Baseline(file=file, data=data, entries=entries(text.items[0] if len(text.items) == 1 else None))
    except ConfigError as error:
        raise located(error, file, lambda path: text.place(0, path, key=True)) from None


def entries(value: Any) -> tuple[Known, ...]:
    if not isinstance(value, dict) or not isinstance(value.get("findings"), list):
        raise ConfigError(f"not a baseline; expected one map with version: {VERSION} and a list of findings")
    if value.get("version") != VERSION:
        raise unlike(value.get("version"), str(VERSION), "version")
    return tuple(_entry(entry, dotted(("findings", number))) for number, entry in enumerate(value["findings"]))


def _entry(value: Any, path: str) -> Known:
    if not isinstance(value, dict):
        raise unlike(value, "a map", path)
    given = {key: "" if text is None else text for key, text in value.items()}
    for key, text in given.items():
        if key not in Known._fields:
            raise ConfigError(
                f"unknown key; expected one of {', '.join(Known._fields)}{hint(key, Known._fields)}", path=child(path, key)
            )
        if not isinstance(text, str):
            raise unlike(text, "a string; put it in quotes", child(path, key))
    for key in ("fingerprint", "rule"):
        if not given.get(key):
            raise ConfigError("the key is missing; add it", path=child(path, key))
    if given.get("expires") and day(given["expires"]) is None:
        raise unlike(given["expires"], "a date YYYY-MM-DD", child(path, "expires"))
    return Known(**given)


def day(text: str) -> str | None:
    """The date where the text is one of the form YYYY-MM-DD, else None."""
    try:
        return text if dt.date.fromisoformat(text).isoformat() == text else None
    except ValueError:
        return None


def split(findings: Iterable[Finding], baseline: Baseline, *, today: str, release: Release) -> Split:
    """The findings, which have fingerprints, compared with a baseline. What stands for findings not reported is never known."""
    numbered = list(enumerate(baseline.entries))
    by_print = {known.fingerprint: known for _, known in reversed(numbered)}
    found = list(findings)
    met = {finding.fingerprint for finding in found}
    cut = {finding.rule for finding in found if finding.more}
    valid = {mark: known for mark, known in by_print.items() if not known.expires or known.expires >= today}
    return Split(
        new=tuple(finding for finding in found if finding.more or finding.fingerprint not in valid),
        known=tuple(
            Suppressed(finding=finding, by="baseline", reason=valid[finding.fingerprint].reason)
            for finding in found
            if finding.fingerprint in valid and not finding.more
        ),
        facts=BaselineFacts(
            release=release,
            today=today,
            expired=tuple((n, known) for n, known in numbered if known.fingerprint in met and known.fingerprint not in valid),
            unused=tuple(
                (n, known)
                for n, known in numbered
                if (known.fingerprint not in met and known.rule not in cut) or by_print[known.fingerprint] is not known
            ),
        ),
    )


def updated(baseline: Baseline, findings: Iterable[Finding]) -> Baseline:
    """The baseline of exactly these findings, sorted; reason and expiry of entries that remain stay."""
    before = {known.fingerprint: known for known in reversed(baseline.entries)}
    entries = [
        before.get(finding.fingerprint, Known(fingerprint=finding.fingerprint, rule=finding.rule)).but(
            rule=finding.rule, object=str(finding.ref) if finding.ref else "", path=dotted(finding.path)
        )
        for finding in findings
        if not finding.more
    ]
    entries.sort(key=lambda known: (known.object, known.path, known.rule, known.fingerprint))
    return Baseline(file=baseline.file, data=_text(baseline.file, entries).encode(), entries=tuple(entries))


def _text(file: str, entries: list[Known]) -> str:
    """YAML, or JSON where the file's name says so."""
    listed = [{key: getattr(known, key) for key in Known._fields if getattr(known, key)} for known in entries]
    value = {"version": VERSION, "findings": listed}
    return json_text(value) if file.endswith(".json") else HEAD + yamlio.dump(value)


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


def read_earlier(
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
    parted = split(report.findings, Baseline(file="", entries=known), today="", release=report.release)
    silent = {each.finding.fingerprint for each in report.suppressed}
    old = (Suppressed(finding=each.finding, by=BASE, reason=f"already at {earlier.ref}") for each in parted.known)
    return report.but(
        findings=parted.new,
        suppressed=(*report.suppressed, *old),
        since=earlier.ref,
        gone=tuple(earlier.findings[each.fingerprint] for _, each in parted.facts.unused if each.fingerprint not in silent),
    )
