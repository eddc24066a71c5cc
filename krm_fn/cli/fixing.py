"""`check --fix`: writes the values that findings propose with certainty into the files that have the wrong ones.

A run is repeated until nothing is left to fix: a fix may bring up a finding that was hidden behind the first one.
"""

from __future__ import annotations

import os
from collections.abc import Container, Iterable, Sequence

import click

from krm_fn.base.console import file_name
from krm_fn.base.errors import InputError
from krm_fn.cli import inplace_folders, options, units
from krm_fn.cli.progress import Progress
from krm_fn.cli.units import CommandRequest
from krm_fn.repositories.fixes import Fix, Place, agreed, fixed
from krm_fn.repositories.judging import UnitResult
from krm_fn.repositories.loading import Options
from krm_fn.sources.files import Stamp, is_within, read_found, read_named

fix_option = click.option(
    "--fix",
    is_flag=True,
    help="Write the proposed values of findings that are certain into the files, and report what remains.",
)


def results_of(request: CommandRequest, how: Options, bar: Progress, known: Container[str] = ()) -> list[UnitResult]:
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
            written = _write(new, request.flags["paths"])
            if not written:
                return found
            done.update({fix.place: fix.file for fix in written})
    finally:
        _note(done.values())


def _note(files: Iterable[str]) -> None:
    """Name the files that changed, with the numbers of their values."""
    each = list(files)
    for file in sorted(set(each)):
        count = each.count(file)
        options.note(f"{file_name(file)}: fixed {count} value{'s' * (count > 1)}")


def _write(fixes: Iterable[Fix], paths: Sequence[str]) -> list[Fix]:
    """Write the files below the paths, all or none; the fixes that are in them now."""
    roots = tuple(map(os.path.realpath, paths))
    by_file: dict[str, list[Fix]] = {}
    for fix in fixes:
        if is_within(fix.file, roots):
            by_file.setdefault(fix.file, []).append(fix)
    texts: list[tuple[str, bytes, Stamp | None]] = []
    written: list[Fix] = []
    for file, wanted in by_file.items():
        try:
            data, stamp = read_named(file) if file in paths else read_found(file)
            new, made = fixed(data, wanted)
        except (OSError, InputError):
            continue  # the findings remain
        if made:
            texts.append((file, new, stamp))
            written += made
    inplace_folders.replace_all(texts)
    return written
