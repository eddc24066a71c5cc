"""`--in-place`: rendered objects go back into the files they came from; in folders, only those that no overlay changes.

The files with objects are rendered as they are, before any patch. So a VM that an overlay patches is refused: the patch would
come after the instancetype's values, and change nothing or the wrong thing.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import click

from krm_fn.base import bundle
from krm_fn.base.console import file_name, write_out
from krm_fn.base.errors import InputError, UsageError
from krm_fn.base.objects import Object, ref_of
from krm_fn.cli import options
from krm_fn.cli.build_flags import together
from krm_fn.cli.options import note
from krm_fn.cli.output_files import is_colored
from krm_fn.cli.outputs import all_items, inserted, rendered, written
from krm_fn.cli.progress import Progress
from krm_fn.cli.replacing import replacing
from krm_fn.cli.units import CommandRequest, refuse_nothing, units_of
from krm_fn.findings import results
from krm_fn.findings.finding import Finding
from krm_fn.findings.results import report
from krm_fn.pipeline.stages import Outcome
from krm_fn.repositories import loading, sharing
from krm_fn.repositories.bases import Alteration, Bases, own_files
from krm_fn.repositories.loading import Options, Unit
from krm_fn.repositories.rendering import rendered as rendered_unit
from krm_fn.repositories.types import Problem, Target
from krm_fn.repositories.workspace import Asked, Workspace
from krm_fn.sources import reading
from krm_fn.sources.files import Stamp, repository
from krm_fn.sources.places import Places
from krm_fn.sources.reading import Watch, unwatched
from krm_fn.sources.salvage import left_alone, passed_over
from krm_fn.sources.source import Source, Sources, text_with


def write_all(done: Iterable[tuple[Sources, Outcome]], watch: Watch = unwatched) -> list[str]:
    """Write the files whose objects changed, each by one rename, and give their names.

    What rendering added comes last in the last file that changed, or in the last file. All new texts are on the disk before the
    first file is replaced. Raises: InputError where a file must not be replaced (see `replacing`), or where there is no room or
    no right for the new ones; OSError.
    """
    changed = [pair for found, outcome in done for pair in texts(found, outcome, watch)]
    replace_all([(source.file, data, source.stamp) for source, data in changed])
    return [source.file for source, _ in changed]


def replace_all(new: Iterable[tuple[str, bytes, Stamp | None]]) -> None:
    """Replace files that were read by new texts, each by one rename, once all texts are on the disk. Raises: as `write_all`."""
    with replacing() as put:
        for file, data, stamp in new:
            try:
                put(file, data, stamp)
            except OSError as error:
                raise InputError(f"no new file can be created in its folder: {error.strerror}", file=file) from None


def note_written(files: Iterable[str]) -> None:
    """Name the files that were written."""
    for file in files:
        note(f"{file_name(file)}: written")


def need_files(paths: Sequence[str], kustomizations: Sequence[str], flag: str = "--in-place") -> None:
    """Raises: UsageError where something is to be read that can't be written back."""
    if "-" in paths or kustomizations:
        raise UsageError(f"{flag} needs files, but stdin and builds have no file to write to; remove {flag}")


def write_back(found: Sources, outcome: Outcome, bar: Progress) -> None:
    """Write the files whose objects changed, while the bar shows it, and name them."""
    with bar.at("Writing"):
        files = write_all([(found, outcome)], bar.watch)
    note_written(files)


def texts(found: Sources, outcome: Outcome, watch: Watch = unwatched) -> list[tuple[Source, bytes]]:
    """The sources whose objects changed, with their new texts."""
    pairs = list(rendered(found, outcome))
    differ = (any(old is not new for old, new in zip(source.items, items, strict=True)) for source, items in pairs)
    changed = [number for number, differs in enumerate(differ) if differs]
    last = (changed or [len(pairs) - 1])[-1]
    of_sources, added = inserted(found, outcome)
    more = {last: added} if added else {}
    numbers = sorted({*changed, *more})
    chosen = [pairs[number] for number in numbers]

    def text(place: int) -> bytes:
        return _text(*chosen[place], of_sources[numbers[place]], more.get(numbers[place], ()))

    new = written(chosen, text, watch)
    return [(source, text) for (source, _), text in zip(chosen, new, strict=True) if text != source.data]


def _text(source: Source, items: Sequence[Any], more: dict[int, list[Any]], last: Sequence[Any]) -> bytes:
    everything, before = all_items(source, items, more, source.text.items)
    return text_with(source, [*everything, *last], before)


# What a user can do about a base of patched VMs.
FIX = "render the kustomizations instead, for example with --output-dir, or use --force"


class Rendered(NamedTuple):
    """Files that were rendered as one bundle, and what came of them."""

    found: Sources
    outcome: Outcome


def render_in_place(request: CommandRequest, bar: Progress, *, force: bool) -> int:
    """Render files with objects: those of folders with the files beside them and what other folders offer. The exit code."""
    workspace, paths = request.searched(bar), request.flags["paths"]
    how = Options(
        timeout=request.flags["timeout"], follow=request.flags["follow_links"], ignores=not request.flags["no_ignores"]
    )
    files = own_files(workspace.found, workspace.asked.folders, follow=how.follow)
    note_parts(files.parts, verbose=request.flags["verbose"])
    if workspace.is_one_bundle:
        units = units_of(request, workspace)
    else:
        units = workspace.of_files(dict.fromkeys((*files.own, *workspace.asked.named)))
    done = _all(units, how, bar)
    if not done:
        refuse_nothing(paths, (), workspace.found)
    told = [(about.findings, about.fail_on) for about in workspace.about()]
    told += [(tuple(_findings(each, unit)), unit.settings.config.fail_on) for each, unit in done]
    report(results.ordered([finding for findings, _ in told for finding in findings]), sys.stderr)
    if not force:
        refuse_patched(changed_objects(each for each, _ in done), paths, follow=how.follow)
    with bar.at("Writing"):
        written = write_all([(each.found, each.outcome) for each, _ in done], bar.watch)
    note_written(written)
    return max((results.exit_code(findings, fail_on) for findings, fail_on in told), default=0)


def _findings(each: Rendered, unit: Unit) -> list[Finding]:
    """What there is to say of files that were rendered, and of those that were passed over."""
    skipped = passed_over(each.found.skipped, unit.settings.config.severity, each.outcome.release)
    return [*skipped, *Places(each.found, policies=unit.settings.config.policies).located(each.outcome.findings)]


def _all(units: Sequence[Unit], how: Options, bar: Progress) -> list[tuple[Rendered, Unit]]:
    read = [(unit, found) for unit in units if (found := _read(unit, how, bar))]
    offers = ((unit.settings.cluster, sharing.offers(found.items, "", found.places)) for unit, found in read)
    offered = sharing.offered_by_cluster(offers)
    with bar.at("Rendering"):
        return [(Rendered(found, _outcome(unit, found, offered, how)), unit) for unit, found in read]


def _read(unit: Unit, how: Options, bar: Progress) -> Sources | None:
    texts = loading.texts_of(unit, how)
    if isinstance(texts, Problem):
        return None
    try:
        return reading.parsed(texts, repair=left_alone(options.note, texts.named), watch=bar.watch)
    except reading.NothingFoundError:
        return None


def _outcome(unit: Unit, found: Sources, offered: dict[str, sharing.Offered], how: Options) -> Outcome:
    others = offered.get(unit.settings.cluster)
    text = b"\n".join(source.data for source in found.sources)
    taken = sharing.taken_by(sharing.reach(found.items, text, unit.called), others) if others else sharing.NOTHING
    return rendered_unit(found, unit.settings.config, taken.surroundings(unit.settings.externals), ignores=how.ignores)


def note_parts(parts: Sequence[str], *, verbose: bool) -> None:
    """Say which files are left alone, since they are parts of kustomizations and no objects of their own."""
    if verbose:
        for file in parts:
            options.note(
                f"{file_name(file)}: left alone: a kustomization uses it as a patch or another part, not as a resource"
            )
    elif parts:
        files, them = ("1 file is", "it") if len(parts) == 1 else (f"{len(parts)} files are", "them")
        options.note(f"{files} left alone: kustomizations use {them} as a patch or another part; --verbose names {them}")


def changed_objects(done: Iterable[Rendered]) -> Iterator[tuple[str, Object]]:
    """Each object that rendering changes, as it was, with its file."""
    for each in done:
        for source, items in rendered(each.found, each.outcome):
            for old, new in zip(source.items, items, strict=True):
                if old is not new:
                    pairs = zip(bundle.entries([old]), bundle.entries([new]), strict=False)  # those of a List
                    yield from ((source.file, before.obj) for before, after in pairs if before.obj is not after.obj)


def patched(
    changed: Iterable[tuple[str, Object]], paths: Sequence[str], *, follow: bool
) -> Iterator[tuple[str, Object, Alteration]]:
    """Those of the objects that kustomizations of their repository change, with what changes them."""
    objects = list(changed)
    if not objects:
        return
    bases = Bases(targets_around(paths, follow=follow))
    for file, obj in objects:
        if change := bases.change(file, obj):
            yield file, obj, change


def targets_around(paths: Sequence[str], *, follow: bool) -> tuple[Target, ...]:
    """The targets of the repositories that paths are in."""
    roots = list(dict.fromkeys(repository(path if os.path.isdir(path) else os.path.dirname(path) or ".") for path in paths))  # noqa: PTH112, PTH120
    return Workspace(Asked(paths=tuple(roots), isolated=True, follow=follow, applied=False)).found.targets


def refuse_patched(changed: Iterable[tuple[str, Object]], paths: Sequence[str], *, follow: bool) -> None:
    """Raises: InputError for a VM that a kustomization patches, or whose instancetype or preference it does."""
    found = list(patched(changed, paths, follow=follow))
    if not found:
        return
    file, obj, change = found[0]
    about = "it" if change.name == ref_of(obj).name and change.kind == ref_of(obj).kind else f"its {change.kind} {change.name}"
    others = len({other for other, _, _ in found} - {file})
    more = f" (and so in {others} other file{'s' * (others > 1)})" if others else ""
    raise InputError(
        f"{ref_of(obj)} is a base, and {file_name(change.file)} changes {about}{more}; "
        f"rendered here, it would keep the values from before that change; {FIX}",
        file=file,
    )


COLORS = {"-": "red", "+": "green", "@": "cyan"}
UNENDED = "\n\\ No newline at end of file\n"


def unified(file: str, before: bytes, after: bytes, *, color: bool = False) -> bytes:
    """The diff of one file, empty where nothing changed."""
    import difflib

    old, new = _lines_of(before), _lines_of(after)
    lines = difflib.unified_diff(old, new, _side_name("a", file), _side_name("b", file))
    return "".join(_shown(lines, color=color)).encode(errors="surrogateescape")


def _shown(lines: Iterable[str], *, color: bool) -> Iterator[str]:
    for line in lines:
        whole = line if line.endswith("\n") else line + UNENDED
        shade = COLORS.get(line[0]) if color else None
        yield click.style(whole.rstrip("\n"), fg=shade) + "\n" if shade else whole


def _lines_of(data: bytes) -> list[str]:
    """The lines of a text with their ends; what is no UTF-8 stays as it is."""
    text = data.decode(errors="surrogateescape")
    return [line + "\n" for line in text.split("\n")[:-1]] + [line for line in text.split("\n")[-1:] if line]


def _side_name(side: str, file: str) -> str:
    return file_name(file if os.path.isabs(file) else f"{side}/{file}")  # noqa: PTH117


looking_options = together(
    click.option(
        "--check", is_flag=True, help="Write nothing. Name the files that would change; the exit code is 1 if there are any."
    ),
    click.option("--diff", is_flag=True, help="Write nothing. Print the changes as a unified diff."),
)


def look(changed: Sequence[tuple[str, bytes, bytes]], *, check: bool, diff: bool) -> int:
    """Say what would change of files, each with its texts before and after. The exit code is 1 with `check` if one would."""
    for file, _, _ in changed if check else ():
        options.note(f"{file_name(file)}: would change")
    if diff:
        color = is_colored()
        write_out(b"".join(unified(*each, color=color) for each in changed))
    return int(bool(check and changed))
