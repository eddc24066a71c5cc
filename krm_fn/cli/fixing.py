"""`check --fix`: writes the values that findings propose with certainty into the files that have the wrong ones.

A run is repeated until nothing is left to fix: a fix may bring up a finding that was hidden behind the first one.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from krm_fn import yamlio
from krm_fn.base.console import file_name
from krm_fn.base.errors import InputError
from krm_fn.base.paths import get, put_in
from krm_fn.cli import inplace, options, units
from krm_fn.findings.finding import UNSET
from krm_fn.repositories.fixes import agreed
from krm_fn.sources import reading
from krm_fn.sources.files import is_within, read_found
from krm_fn.yamlio.compare import same
from krm_fn.yamlio.documents import ended_as

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Sequence
    from typing import Any

    from krm_fn.base.paths import Path
    from krm_fn.cli.progress import Progress
    from krm_fn.cli.units import Request
    from krm_fn.repositories.fixes import Fix, Place
    from krm_fn.repositories.judging import Options, UnitResult
    from krm_fn.sources.files import Stamp
    from krm_fn.yamlio.texts import Text


def fix_option(command: Any) -> Any:
    """Gives a command `--fix`; it reaches it as `fix`."""
    text = "Write the proposed values of findings that are certain into the files, and report what remains."
    return click.option("--fix", is_flag=True, help=text)(command)


def results_of(request: Request, how: Options, bar: Progress, known: Container[str] = ()) -> list[UnitResult]:
    """What comes of each unit; with `how.fixing`, once all that is certain is fixed.

    Findings whose fingerprints are `known` are not fixed. Raises: as `units.results_of`; UsageError for input that is in no
    file; InputError for a file that can't be replaced.
    """
    if not how.fixing:
        return units.results_of(request, how, bar)
    inplace.need_files(request.paths, request.kustomizations, flag="--fix")
    done: dict[Place, str] = {}
    try:
        while True:
            found = units.results_of(request, how, bar)
            fixes = agreed(unit.fixing for unit in found if unit.fixing)
            new = [each for each in fixes if each.place not in done and each.fingerprint not in known]
            written = _write(new, request.paths)
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
            data, stamp = read_found(file)
            new, made = fixed(data, wanted)
        except (OSError, InputError):
            continue  # the findings remain
        if made:
            texts.append((file, new, stamp))
            written += made
    inplace.replace_all(texts)
    return written


def fixed(data: bytes, fixes: Iterable[Fix]) -> tuple[bytes, list[Fix]]:
    """The text of a file with the fixes whose places are exactly known in it, and these.

    Raises: InputError where it can't be read or written.
    """
    source = reading.of_bytes(data).sources[0]
    items = list(source.text.items)
    made: list[Fix] = []
    for fix in fixes:
        new = _with_fix(source.text, items, fix)
        if new is not None:
            items, made = new, [*made, fix]
    written = inplace.text_with(source, items) if made else data
    read_again = reading.of_bytes(written).sources[0].text.items if made else items
    return (written, made) if same(list(read_again), items) else (data, [])


def _with_fix(text: Text, items: list[Any], fix: Fix) -> list[Any] | None:
    """The items of a text with a fix; None where the place does not have the wrong value, or shares it with others."""
    at = fix.item, fix.path
    if fix.inside is None:
        return _with_value(text, items, at, fix.current, fix.proposed)
    outer = get(items, (fix.item, *fix.path))
    if not isinstance(outer, str):
        return None
    inner = yamlio.read_stream(outer.encode())
    new = _with_value(inner, list(inner.items), fix.inside, fix.current, fix.proposed)
    if new is None:
        return None
    return _with_value(text, items, at, outer, ended_as(outer.encode(), yamlio.write_stream(inner, new)).decode())


def _with_value(text: Text, items: list[Any], at: tuple[int, Path], current: Any, new: Any) -> list[Any] | None:
    number, path = at
    if not text.stands_alone(number, path) or not same(get(items, (number, *path), UNSET), current):
        return None
    return list(put_in(items, (number, *path), new))
