"""Where the sizes of VMs are written, and the texts of the files after VMs were converted.

A base that several targets use is changed where all of them can be: as the VMs need it that no patch concerns. Patches follow,
and say what differs for their targets.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from krm_fn.base.objects import Object, Ref, ref_of
from krm_fn.base.paths import get
from krm_fn.converting.conversion import matchers_of
from krm_fn.converting.rewriting import Rewriting, ToInstancetype
from krm_fn.converting.suggesting import ConversionWish, Suggestion
from krm_fn.kubevirt.holders import vm_path
from krm_fn.pipeline.capacity import facts_of
from krm_fn.pipeline.conversions import Conversions
from krm_fn.pipeline.surroundings import bundle_of
from krm_fn.repositories.fixes import Fix, NewText, rewritten
from krm_fn.repositories.homes import Material
from krm_fn.repositories.writers import WritingPlace
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.yamlio import ListText
from krm_fn.yamlio.compare import same

if TYPE_CHECKING:
    from krm_fn.yamlio import StreamText

CHART, UNKNOWN = "a chart makes it", "the file that it stands in is not known"
DISAGREE = "targets that share the patch in {} would get different instancetypes"
NO_PATCH = "{} gets another instancetype than the others, and no patch of it says a size"
NOT_WRITTEN = "an alias, an anchor or a tag stands in its text"


class VmDocument(NamedTuple):
    """A document that says something of a VM: where it is written, what it has, and the place by its resolved name."""

    place: WritingPlace
    written: Any
    key: tuple[Any, ...]


class WrittenVm(NamedTuple):
    """A VM of one unit that is to be changed, how, and where it is written. `patches` come outermost first."""

    unit: str
    facts: VmFacts
    change: Rewriting
    base: VmDocument
    patches: tuple[VmDocument, ...]

    @property
    def concerned(self) -> list[VmDocument]:
        """The patches that have something of it."""
        return [each for each in self.patches if self.change.patch(each.written) is not each.written]


def facts_of_material(material: Material, more: Sequence[Object] = ()) -> BundleFacts:
    """The facts of the objects as they are written, before this program's own steps, with `more` in the cluster.

    Raises: ConfigError, as `facts_of`.
    """
    found, beside = material.found, material.surroundings.but(context=(*material.surroundings.context, *more))
    bundle = bundle_of(found.items, found.places, found.units, beside)
    return facts_of(bundle, material.settings.config, surroundings=beside)


def to_instancetype(found: Suggestion) -> ToInstancetype:
    """How the documents of a VM change that gets what was suggested."""
    return ToInstancetype(
        at=found.facts.prefix,
        release=found.facts.release,
        matchers=matchers_of(found.converted.vm) if found.converted else {},
        spec=found.instancetype.spec if found.instancetype else {},
    )


def quick_fix(material: Material, ref: Ref) -> Fix | None:
    """The change with which a flat VM refers to its nearest instancetype, if all of it is in one document of a file."""
    found = Conversions(facts_of_material(material), ConversionWish()).suggestions()
    chosen = next((each for each in found if ref_of(each.facts.entry.obj) == ref), None)
    place = located(material, chosen.facts, to_instancetype(chosen), "") if chosen and chosen.instancetype else UNKNOWN
    edits = planned([place])[0] if isinstance(place, WrittenVm) else []
    return edits[0].fixes[0] if edits and len(edits[0].fixes) == 1 else None


def located(material: Material, facts: VmFacts, change: Rewriting, unit: str) -> WrittenVm | str:
    """The VM with where it is written, or why that is not known."""
    entry, target = facts.entry, material.target
    file, index = material.found.places[entry.item]
    if target and target.is_chart:
        return CHART
    base: WritingPlace | None = WritingPlace(file, index, entry.path)
    patches: list[tuple[WritingPlace, Any]] = []
    if material.homes:
        base, patches = material.homes.parts(entry.item, file, entry.path)
    text = material.places.text(base.file) if base and base.file else None
    written = _written(text, base) if base and text else None
    if base is None or not isinstance(written, dict) or vm_path(written) is None:
        return UNKNOWN
    return WrittenVm(unit, facts, change, _document(base, written), tuple(_document(*each) for each in patches))


def _written(text: StreamText | ListText, place: WritingPlace) -> Any:
    """What stands at a place of a text, None where that is no stream."""
    is_there = not isinstance(text, ListText) and 0 <= place.item < len(text.items)
    return get(text.items, (place.item, *place.path)) if is_there else None


def _document(place: WritingPlace, written: Any) -> VmDocument:
    file, item, path, inside = place
    return VmDocument(place, written, (os.path.realpath(file), item, path, inside))


class BaseEdit(NamedTuple):
    """The VMs that one base makes, and the values that change in it and in their patches."""

    users: tuple[WrittenVm, ...]
    fixes: tuple[Fix, ...]


class Refusal(NamedTuple):
    """A VM that is left alone, and why."""

    candidate: WrittenVm
    reason: str


def planned(found: Iterable[WrittenVm]) -> tuple[list[BaseEdit], list[Refusal]]:
    """The edits of each base, and the VMs that are left alone."""
    by_base: dict[tuple[Any, ...], list[WrittenVm]] = {}
    for each in found:
        by_base.setdefault(each.base.key, []).append(each)
    edits: list[BaseEdit] = []
    refused: list[Refusal] = []
    for users in by_base.values():
        made = _of_base(users)
        if isinstance(made, str):
            refused += (Refusal(each, made) for each in users)
        else:
            edits.append(BaseEdit(tuple(users), tuple(made)))
    return edits, refused


def _of_base(users: Sequence[WrittenVm]) -> list[Fix] | str:
    """The edits of a base and its patches, or why there are none."""
    plain = [each for each in users if not each.concerned]
    common = Counter(each.change.key for each in plain or users).most_common(1)[0][0]
    chosen = next(each for each in users if each.change.key == common)
    base = chosen.base
    edits = {base.key: (base, chosen.change.manifest(base.written))}
    for user in users:
        differs, concerned = user.change.key != common, user.concerned
        if differs and not concerned:
            return NO_PATCH.format(user.unit)
        for number, part in enumerate(concerned):
            over = chosen.change if differs and not number else None
            new = user.change.patch(part.written, over, base.written)
            if part.key in edits and not same(edits[part.key][1], new):
                return DISAGREE.format(part.place.file)
            edits[part.key] = part, new
    why = next((new for _, new in edits.values() if isinstance(new, str)), "")
    return why or [_fix(part, new) for part, new in edits.values()]


def _fix(part: VmDocument, new: Any) -> Fix:
    file, item, path, inside = part.place
    return Fix(file=file, item=item, path=path, inside=inside, current=part.written, proposed=new)


def texts(edits: Sequence[BaseEdit]) -> tuple[list[NewText], list[BaseEdit]]:
    """The new texts of files, and the edits that can't be written, which are not in the texts."""
    written, left = list(edits), list[BaseEdit]()
    while True:
        wanted = {fix.place: fix for each in written for fix in each.fixes}
        made = list(rewritten(wanted.values()))
        done = [fix for each in made for fix in each.fixes]
        if len(done) == len(wanted):
            return made, left
        failed = wanted.keys() - {fix.place for fix in done}
        left += (each for each in written if any(fix.place in failed for fix in each.fixes))
        written = [each for each in written if not any(fix.place in failed for fix in each.fixes)]
