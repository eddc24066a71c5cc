"""Writing rendered objects back into the files they came from."""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn.base.console import file_name
from krm_fn.base.errors import InputError, UsageError
from krm_fn.cli.options import note
from krm_fn.cli.outputs import all_items, inserted, rendered, written
from krm_fn.cli.replacing import replacing
from krm_fn.sources.reading import unwatched
from krm_fn.sources.rewriting import text_with

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

    from krm_fn.cli.progress import Progress
    from krm_fn.pipeline.stages import Outcome
    from krm_fn.sources.files import Stamp
    from krm_fn.sources.reading import Watch
    from krm_fn.sources.source import Source, Sources


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
    changed = [number for number, (source, items) in enumerate(pairs) if _differ(source, items)]
    last = (changed or [len(pairs) - 1])[-1]
    of_sources, added = inserted(found, outcome)
    more = {last: added} if added else {}
    numbers = sorted({*changed, *more})
    chosen = [pairs[number] for number in numbers]

    def text(place: int) -> bytes:
        return _text(*chosen[place], of_sources[numbers[place]], more.get(numbers[place], ()))

    new = written(chosen, text, watch)
    return [(source, text) for (source, _), text in zip(chosen, new, strict=True) if text != source.data]


def _differ(source: Source, items: Sequence[Any]) -> bool:
    return any(old is not new for old, new in zip(source.items, items, strict=True))


def _text(source: Source, items: Sequence[Any], more: dict[int, list[Any]], last: Sequence[Any]) -> bytes:
    everything, before = all_items(source, items, more, source.text.items)
    return text_with(source, [*everything, *last], before)
