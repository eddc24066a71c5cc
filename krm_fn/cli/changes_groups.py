"""The records of an answer together: VMs that change in the same way for the same reason, and edits that reach many VMs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from krm_fn.base.objects import Object
from krm_fn.base.value import Value
from krm_fn.changes.owners import SOURCES
from krm_fn.changes.summary import IN_ORDER, called, order
from krm_fn.cli.changes_fields import cause as worded_cause

if TYPE_CHECKING:
    from krm_fn.cli.output_files import Pen


# What is said of VMs to which nothing happens.
KEPT, AS_BEFORE, WITHOUT_EFFECT = "kept", "as before", "no effect"


class RecordGroup(Value):
    """Records of one kind with the same effects, about which the same lines are written."""

    records: tuple[Object, ...]
    lines: tuple[str, ...]

    @property
    def first(self) -> Object:
        """One of the records."""
        return self.records[0]


def grouped(records: Iterable[Object], lines: Callable[..., Iterable[str]], *, together: bool = True) -> list[RecordGroup]:
    """The records in groups, the most severe first, then the largest. Not `together`: a group for each record.

    `lines(record)` are about one record; `lines(record, generic=True)` are the same without its name. VMs that fail as before
    and that the change does not touch have no group.
    """
    found: dict[tuple[Any, ...], list[Object]] = {}
    for number, record in enumerate(sorted((each for each in records if "unedited" not in each), key=_place)):
        said = tuple(lines(record, generic=together))
        key = (record["kind"], *record["effect"], word_of(record), said) if together else (number, said)
        found.setdefault(key, []).append(record)
    groups = [_group(members, key[-1], lines) for key, members in found.items()]
    return sorted(groups, key=lambda each: (*order(each.first), -len(each.records), _place(each.first)))


def _group(members: list[Object], shared: tuple[str, ...], lines: Callable[..., Iterable[str]]) -> RecordGroup:
    return RecordGroup(records=tuple(members), lines=shared if len(members) > 1 else tuple(lines(members[0])))


def _place(record: Object) -> tuple[str, ...]:
    return record["namespace"], record["name"], record.get("target", ""), record["kind"]


def label(record: Object) -> str:
    """The name of a record, with the former one if it is renamed."""
    old = record.get("from")
    if not old:
        return str(record["name"])
    was = old["name"] if old.get("namespace") == record["namespace"] else place(old)
    return f"{record['name']} (was {was})"


def place(named: Object) -> str:
    """Namespace and name of an object."""
    return "/".join(named[key] for key in ("namespace", "name") if key in named)


def places(records: Iterable[Object]) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Where the records are: namespace, names, and the targets that have all of these names there."""
    names: dict[tuple[str, str], list[str]] = {}
    for record in records:
        names.setdefault((record["namespace"], record.get("target", "")), []).append(label(record))
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (namespace, target), several in names.items():
        found.setdefault((namespace, tuple(several)), []).append(target)
    return [(*key, tuple(sorted(filter(None, targets)))) for key, targets in sorted(found.items())]


class EditReach(Value):
    """An edit of an object that VMs share: the records that it reaches, and those that keep what they have."""

    cause: Object
    reached: tuple[Object, ...]
    kept: tuple[Object, ...]


def reaches(records: Sequence[Object]) -> list[EditReach]:
    """The edits of shared objects that concern more than one VM, those that reach most VMs first."""
    found: dict[str, tuple[Object, dict[str, dict[int, Object]]]] = {}
    for number, record in enumerate(records):
        for kind, cause in (*(("reached", each) for each in _causes(record)), *((KEPT, each) for each in _kept(record))):
            _, sides = found.setdefault(json.dumps(cause, sort_keys=True), (cause, {"reached": {}, KEPT: {}}))
            sides[kind][number] = record
    edits = [
        EditReach(cause=cause, reached=tuple(sides["reached"].values()), kept=tuple(sides[KEPT].values()))
        for cause, sides in found.values()
        if len({**sides["reached"], **sides[KEPT]}) > 1
    ]
    return sorted(edits, key=lambda each: (-len(each.reached), -len(each.kept), json.dumps(each.cause, sort_keys=True)))


def _causes(record: Object) -> Iterator[Object]:
    """The causes that are no edits of the VM itself; an object of the VM's namespace names it."""
    for change in record.get("changes", ()):
        for cause in change["causes"]:
            if cause["source"] not in SOURCES.values():
                yield _placed(cause, record) if cause["source"] in ("instancetype", "preference") else cause


def _kept(record: Object) -> Iterator[Object]:
    """The edits that do not reach the VM, in the form of causes."""
    for kept in record.get("keeps", ()):
        for field in kept.get("fields", ()):
            values = {key: field[was] for key, was in (("old", "kept"), ("new", "new")) if was in field}
            named = {"source": kept["matcher"], "kind": kept["kind"], "name": kept["name"], "field": field["field"]}
            yield _placed({**named, **values}, record)


def _placed(cause: Object, record: Object) -> Object:
    bare = {key: value for key, value in cause.items() if key != "namespace"}
    return bare if "Cluster" in cause["kind"] else {**bare, "namespace": record["namespace"]}


def reach_line(reach: EditReach, pen: Pen) -> str:
    """An edit and whom it reaches: `… spec.cpu.guest 2 → 4 reaches 200 VMs: 200 restart; 12 VMs keep a stored revision`."""
    edit, reached, kept = worded_cause(reach.cause, pen), len(reach.reached), len(reach.kept)
    keeping = f"{counted(kept)} keep{'s' * (kept == 1)} a stored revision"
    if not reached:
        return f"{edit} reaches no VM that exists: {keeping}"
    return f"{edit} reaches {counted(reached)}: {counts(reach.reached)}" + (f"; {keeping}" if kept else "")


def word_of(record: Object) -> str:
    """What happens to a VM, in a word or two."""
    if "asBefore" in record:
        return AS_BEFORE
    return called(record) or (KEPT if "keeps" in record else WITHOUT_EFFECT)


def counts(records: Iterable[Object]) -> str:
    """How many records of each sort there are: `1 refused, 200 restart`."""
    words = sorted((word for record in records if (word := called(record))), key=IN_ORDER.index)
    return ", ".join(f"{len(list(several)):,} {word}" for word, several in groupby(words))


def counted(number: int, noun: str = "VM") -> str:
    """`1 VM`, `2 VMs`, `5,000 VMs`."""
    return f"{number:,} {noun}{'s' * (number != 1)}"
