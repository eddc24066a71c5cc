"""Where the sizes of VMs are written, and the texts of the files after VMs were converted.

A base that several targets use is converted where all of them can be. It gets the instancetype of those that change no size;
patches with sizes lose these, and name another instancetype where a target gets one.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from krm_fn.base.errors import InputError
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, get
from krm_fn.converting.rewriting import has_sizes, matchers_of, rewritten
from krm_fn.converting.suggesting import Suggestion
from krm_fn.repositories.fixes import Fix, fixed
from krm_fn.repositories.homes import Material
from krm_fn.repositories.writers import WritingPlace
from krm_fn.sources import reading
from krm_fn.sources.files import Stamp, read_found
from krm_fn.yamlio.compare import same

Key = tuple[str, int, Path]

CHART, UNKNOWN = "a chart makes it", "the file that it stands in is not known"
TEMPLATED = "it stands in a template"
DISAGREE = "targets that share the patch in {} would get different instancetypes"
NO_PATCH = "{} gets another instancetype than the others, and no patch of it says a size"
NOT_WRITTEN = "{} can't be written there: an alias, an anchor or a placeholder stands for it"


class Part(NamedTuple):
    """A document that says something of a VM: where it is written, what it has, and the path of the VM in the object."""

    place: WritingPlace
    written: Any

    @property
    def key(self) -> tuple[Any, ...]:
        file, item, path, inside = self.place
        return os.path.realpath(file), item, path, inside


class Candidate(NamedTuple):
    """A VM of one unit, with its suggestion, None where it must stay as it is, and where it is written."""

    unit: str
    suggestion: Suggestion
    base: Part
    patches: tuple[Part, ...]

    @property
    def matchers(self) -> Object:
        """The matchers that it gets."""
        return matchers_of(self.suggestion.converted.vm) if self.suggestion.converted else {}

    def sized(self) -> list[Part]:
        """The patches that say sizes, outermost first."""
        found = self.suggestion.instancetype
        return [each for each in self.patches if found and has_sizes(each.written, *self._how)]

    @property
    def _how(self) -> tuple[Any, ...]:
        found, facts = self.suggestion.instancetype, self.suggestion.facts
        return facts.prefix, found.spec if found else {}, facts.release

    def edit(self, part: Part, matchers: Object) -> tuple[Part, Any]:
        """A part with these matchers and without sizes."""
        return part, rewritten(part.written, *self._how, matchers)


def located(material: Material, suggestion: Suggestion, unit: str) -> Candidate | str:
    """The VM with where it is written, or why that is not known."""
    entry, target = suggestion.facts.entry, material.target
    file, index = material.found.places[entry.item]
    if target and target.is_chart:
        return CHART
    base: WritingPlace | None = WritingPlace(file, index, entry.path)
    patches: list[tuple[WritingPlace, Any]] = []
    if material.homes:
        base, patches = material.homes.parts(entry.item, file, entry.path)
    written = _written(base) if base and base.file else None
    if base is None or not isinstance(written, dict):
        return UNKNOWN
    return Candidate(unit, suggestion, Part(base, written), tuple(Part(*each) for each in patches))


def _written(place: WritingPlace) -> Any:
    """What stands at a place, None where it can't be read."""
    text = reading.stream(place.file)
    return get(text.items, (place.item, *place.path)) if text and 0 <= place.item < len(text.items) else None


class Refusal(NamedTuple):
    """A VM that is left alone, and why."""

    candidate: Candidate
    reason: str


def planned(found: Iterable[Candidate]) -> tuple[list[list[Fix]], list[Refusal]]:
    """The edits for each base, and the VMs that are left alone."""
    by_base: dict[tuple[Any, ...], list[Candidate]] = {}
    for each in found:
        by_base.setdefault(each.base.key, []).append(each)
    edits: list[list[Fix]] = []
    refused: list[Refusal] = []
    for users in by_base.values():
        made = _of_base(users)
        if isinstance(made, str):
            refused += (Refusal(each, made) for each in users)
        else:
            edits.append(made)
    return edits, refused


def _of_base(users: Sequence[Candidate]) -> list[Fix] | str:
    """The edits of a base and its patches, or why there are none."""
    plain = [each for each in users if not each.sized()]
    counted = Counter(map(_key_of, plain or users))
    chosen = next(each for each in users if _key_of(each) == counted.most_common(1)[0][0])
    edits = {chosen.base.key: chosen.edit(chosen.base, chosen.matchers)}
    for user in users:
        sized, differing = user.sized(), _differing(chosen.matchers, user.matchers)
        if differing and not sized:
            return NO_PATCH.format(user.unit)
        for number, part in enumerate(sized):
            edit = user.edit(part, {} if number else differing)
            if part.key in edits and not same(edits[part.key][1], edit[1]):
                return DISAGREE.format(part.place.file)
            edits[part.key] = edit
    return [_fix(part, new) for part, new in edits.values()]


def _key_of(user: Candidate) -> str:
    return repr(sorted(user.matchers.items()))


def _differing(base: Object, own: Object) -> Object:
    """The matchers that a patch has to set over those of the base; None takes one away."""
    return {key: own.get(key) for key in {**base, **own} if base.get(key) != own.get(key)}


def _fix(part: Part, new: Any) -> Fix:
    file, item, path, inside = part.place
    return Fix(file=file, item=item, path=path, inside=inside, current=part.written, proposed=new)


class NewText(NamedTuple):
    """The new text of a file, with the state in which it was read."""

    file: str
    before: bytes
    after: bytes
    stamp: Stamp


def texts(edits: Sequence[Sequence[Fix]]) -> tuple[list[NewText], list[int]]:
    """The new texts of files, and the numbers of the bases of which an edit can't be written; these are not in the texts."""
    left = set[int]()
    while True:
        made, failed = _texts([each for number, each in enumerate(edits) if number not in left])
        if not failed:
            return made, sorted(left)
        left |= {number for number, each in enumerate(edits) if any(fix.place in failed for fix in each)}


def _texts(edits: Iterable[Sequence[Fix]]) -> tuple[list[NewText], set[Any]]:
    by_file: dict[str, dict[Any, Fix]] = {}
    for fix in (fix for each in edits for fix in each):
        by_file.setdefault(os.path.realpath(fix.file), {})[fix.place] = fix
    made, failed = list[NewText](), set[Any]()
    for fixes in by_file.values():
        file = next(iter(fixes.values())).file
        try:
            data, stamp = read_found(file)
            new, done = fixed(data, fixes.values())
        except (OSError, InputError):
            new, done, data, stamp = b"", [], b"", Stamp(real=file, state=())
        failed |= fixes.keys() - {fix.place for fix in done}
        made.append(NewText(file, data, new, stamp))
    return made, failed
