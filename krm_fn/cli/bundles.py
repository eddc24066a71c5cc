"""The bundles that a command works on: each unit of what its arguments name, with what the others of its cluster offer."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from krm_fn.base.bundle import entries
from krm_fn.base.value import Value
from krm_fn.cli import options
from krm_fn.cli.formats import combined_findings, exit_code
from krm_fn.cli.progress import Progress
from krm_fn.cli.units import CommandRequest, note_all, refuse_nothing, units_of
from krm_fn.findings.results import report
from krm_fn.kubevirt.holders import holder_of
from krm_fn.repositories.homes import Material
from krm_fn.repositories.judging import UnitResult, judge_problem, of_no_object, release_of
from krm_fn.repositories.leaving import leaving
from krm_fn.repositories.loading import Options, Parsed, Unit
from krm_fn.repositories.sharing import Taken
from krm_fn.sources.places import Places
from krm_fn.sources.salvage import passed_over, reported
from krm_fn.sources.source import Sources
from krm_fn.sources.steps import Leaving
from krm_fn.sources.unbuilt import undeployed

ERROR = "error"


class ReadBundle(Value):
    """One bundle: a unit, its objects, and what it takes of others."""

    unit: Unit
    parsed: Parsed
    taken: Taken

    @cached_property
    def found(self) -> Sources:
        """The objects that are applied, as they are written where the target can't be built."""
        return self.parsed.deployed

    @cached_property
    def left(self) -> Leaving | None:
        """What leaves, None where no step is on the way. Raises: ConfigError for a step whose config is wrong."""
        return leaving(self.parsed.but(found=self.found), self.taken, self.unit.settings) if self.parsed.steps else None

    @property
    def applied(self) -> tuple[Sequence[Any], Sequence[tuple[str, int]], Sequence[frozenset[str]]]:
        """The objects as they are applied, with their places and what applies them; as they are written where a step fails."""
        found = self.found
        if self.left is None or self.left.fails:
            return found.items, found.places, found.units
        items = self.left.by_number(len(found.items))
        more = len(items) - len(found.items)
        return items, [*found.places, *[("", 0)] * more], [*found.units, *[frozenset[str]()] * more]

    @cached_property
    def material(self) -> Material:
        """The bundle as a unit of a run."""
        return self.parsed.material(self.unit, self.taken).but(left=self.left)


def read_bundles(request: CommandRequest, bar: Progress) -> tuple[list[ReadBundle], int]:
    """The bundles of what the arguments name, and the exit code.

    What can't be built or read is reported on stderr and left out, as in `check`; the exit code is for that.
    Raises: ConfigError, UsageError; InputError for what is named and can't be opened or built.
    """
    workspace = request.searched(bar)
    units = units_of(request, workspace)
    found = request.run(units, _read, "Reading", bar, workspace.others, here=True)
    left_out = [*map(_unread, found), *workspace.about()]
    report(combined_findings(left_out), sys.stderr)
    if request.flags["verbose"]:
        note_all(workspace, units, left_out)
    else:
        options.note_hidden([] if any(each.vms for each in left_out) else left_out)
    code = exit_code(left_out)
    read = [each for each in found if each.found.items]
    if not (read or code):
        refuse_nothing(request.named, left_out, workspace.found)
    return read, code


def read_again(request: CommandRequest, bar: Progress) -> list[ReadBundle]:
    """The same bundles once more, as the files are now, in this process, without a word about what can't be read or built."""
    workspace = request.searched(bar)
    alone = request.but(flags={**request.flags, "jobs": 1})
    found = alone.run(units_of(request, workspace), _read, "Reading", bar, workspace.others, here=True)
    return [each for each in found if each.found.items]


def _read(unit: Unit, parsed: Parsed, taken: Taken, _: Options) -> ReadBundle:
    return ReadBundle(unit=unit, parsed=parsed, taken=taken)


def _unread(read: ReadBundle) -> UnitResult:
    """What is not read of a bundle. Raises: InputError for a document, if the config silences it."""
    unit, parsed = read.unit, read.parsed
    severity, release = unit.settings.config.severity, release_of(unit.settings.config)
    found = [*reported(parsed.lost, severity, release), *passed_over(parsed.found.skipped, severity, release)]
    found += Places(parsed.found).located(undeployed(parsed.found, parsed.unlisted, severity, release))
    if read.left and read.left.fails:
        found += Places(read.found).located(each for each in read.left.findings if each.severity == ERROR)
    notes = (*parsed.notes, *read.taken.notes)
    if parsed.problem:
        about = judge_problem(unit, parsed.problem)
        found, notes = [*about.findings, *found], (*about.notes, *notes)
    result = of_no_object(found, unit.settings)
    items = parsed.found.items
    vms = sum(holder_of(entry.obj) is not None for entry in entries(items))
    known = {"objects": len(items), "vms": vms, "hidden": parsed.hidden}
    return result.but(name=unit.name, notes=notes, built=parsed.problem is None, **known)
