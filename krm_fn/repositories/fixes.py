"""The values that findings propose with certainty, those on which all units agree, and the texts of files with them."""

from __future__ import annotations

import os
from collections.abc import Callable, Container, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from krm_fn import yamlio
from krm_fn.base.errors import InputError
from krm_fn.base.paths import Path, get, put_in
from krm_fn.base.value import Value
from krm_fn.findings.finding import UNSET, Finding
from krm_fn.repositories.writers import WritingPlace
from krm_fn.rules.registry import ALWAYS, CASE, declared
from krm_fn.sources import reading
from krm_fn.sources.files import Stamp, read_found, read_named
from krm_fn.sources.source import text_with
from krm_fn.yamlio.compare import same
from krm_fn.yamlio.texts import Text

if TYPE_CHECKING:
    from krm_fn.sources.places import Places
Place = tuple[str, int, Path, tuple[int, Path] | None]


# By these others refer to an object: patches and references would miss it under another name.
IDENTITY = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))


class Fix(Value):
    """A value that is to be another one: that at `path` in document `item` of `file`.

    `inside` leads on in a text that is written there in place, by document and path. `fingerprint` is that of the finding.
    """

    file: str
    item: int
    path: Path
    inside: tuple[int, Path] | None = None
    current: Any
    proposed: Any
    fingerprint: str = ""

    @property
    def place(self) -> Place:
        """What two fixes of one value have in common."""
        return os.path.realpath(self.file), self.item, self.path, self.inside

    def agrees(self, other: Fix) -> bool:
        """True where both want the same."""
        return same(self.current, other.current) and same(self.proposed, other.proposed)


class Fixing(Value):
    """The files that one unit reads, and the fixes that its findings propose."""

    reads: tuple[str, ...]
    fixes: tuple[Fix, ...] = ()


def is_certain(finding: Finding) -> bool:
    """True where a finding proposes the only value that can be meant."""
    if not _is_complete(finding) or finding.path in IDENTITY:
        return False
    certain = declared(finding.rule).certain
    return certain == ALWAYS or (certain == CASE and _differ_in_case(finding.current, finding.proposed))


def _is_complete(finding: Finding) -> bool:
    """True where a finding says which value is to be replaced, and by which. A key without a value may be meant to go."""
    return not (UNSET in (finding.current, finding.proposed) or finding.current is None or finding.deeper)


def _differ_in_case(one: object, other: object) -> bool:
    return isinstance(one, str) and isinstance(other, str) and one.lower() == other.lower()


def written_at(places: Places, finding: Finding) -> WritingPlace | None:
    """Where the value of a finding is written, if its object is not built."""
    written = places.written(finding)
    return WritingPlace(*written) if written else None


def proposed(
    findings: Iterable[Finding], origin: Callable[[Finding], WritingPlace | None], *, certain: bool = True
) -> Iterator[Fix]:
    """The fixes that findings propose; `origin` says where the value of each is written, None where that is not known.

    Without `certain`, also those that a user has to decide on.
    """
    for finding in filter(is_certain if certain else _is_complete, findings):
        at = origin(finding)
        if at and at.file and at.item >= 0:
            yield Fix(
                file=at.file,
                item=at.item,
                path=at.path,
                inside=at.inside,
                current=finding.current,
                proposed=finding.proposed,
                fingerprint=finding.fingerprint,
            )


def agreed(found: Iterable[Fixing]) -> list[Fix]:
    """The fixes on which all units agree that read the file."""
    fixings = list(found)
    wanted: dict[Place, list[Fix | None]] = {}
    for fixing in fixings:
        for place, fix in _of_unit(fixing).items():
            wanted.setdefault(place, []).append(fix)
    files = {place[0] for place in wanted}
    readers = dict.fromkeys(files, 0)
    for fixing in fixings if files else ():
        for file in files.intersection(map(os.path.realpath, fixing.reads)):
            readers[file] += 1
    return [fix for place, each in wanted.items() if len(each) == readers[place[0]] and (fix := _unanimous(each))]


def _of_unit(fixing: Fixing) -> dict[Place, Fix | None]:
    """The fixes of a unit by their places, None where it has different ones."""
    by_place: dict[Place, list[Fix | None]] = {}
    for fix in fixing.fixes:
        by_place.setdefault(fix.place, []).append(fix)
    return {place: _unanimous(fixes) for place, fixes in by_place.items()}


def _unanimous(fixes: list[Fix | None]) -> Fix | None:
    """The fix that all are, None where they differ."""
    first = fixes[0]
    return first if first and all(each and each.agrees(first) for each in fixes) else None


class NewText(NamedTuple):
    """The new text of a file with the fixes that are in it, and the state in which the file was read, None for a new file."""

    file: str
    before: bytes
    after: bytes
    stamp: Stamp | None
    fixes: tuple[Fix, ...] = ()

    @property
    def real(self) -> str:
        """The resolved name of the file."""
        return self.stamp.real if self.stamp else os.path.realpath(self.file)


def rewritten(fixes: Iterable[Fix], named: Container[str] = ()) -> Iterator[NewText]:
    """The files of fixes, each with those that can be made. `named` are files that a user names.

    A file that can't be read is left out.
    """
    by_file: dict[str, dict[Place, Fix]] = {}
    for fix in fixes:
        place = fix.place
        by_file.setdefault(place[0], {})[place] = fix
    for wanted in by_file.values():
        file = next(iter(wanted.values())).file
        try:
            data, stamp = read_named(file) if file in named else read_found(file)
            new, made = fixed(data, wanted.values())
        except (OSError, InputError):
            continue  # the findings remain
        yield NewText(file, data, new, stamp, tuple(made))


def fixed(data: bytes, fixes: Iterable[Fix]) -> tuple[bytes, list[Fix]]:
    """The text of a file with the fixes whose places are exactly known in it, and these.

    Raises: InputError where it can't be read or written.
    """
    source = reading.of_bytes(data).sources[0]
    source.text.quotes = True
    items = list(source.text.items)
    made: list[Fix] = []
    for fix in fixes:
        new = _with_fix(source.text, items, fix)
        if new is not None:
            items, made = new, [*made, fix]
    written = text_with(source, items) if made else data
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
    inner.quotes = True
    new = _with_value(inner, list(inner.items), fix.inside, fix.current, fix.proposed)
    if new is None:
        return None
    return _with_value(text, items, at, outer, yamlio.ended_as(outer.encode(), yamlio.write_stream(inner, new)).decode())


def _with_value(text: Text, items: list[Any], at: tuple[int, Path], current: Any, new: Any) -> list[Any] | None:
    number, path = at
    if not text.stands_alone(number, path) or not same(get(items, (number, *path), UNSET), current):
        return None
    return list(put_in(items, (number, *path), new))
