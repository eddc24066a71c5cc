"""The records of an answer together: VMs that change in the same way for the same reason, and edits that reach many VMs.

And what a change does to pods, quotas and disks, as lines for people.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from krm_fn.base.objects import Object
from krm_fn.base.value import Value
from krm_fn.changes.data import DELETED
from krm_fn.changes.owners import SOURCES
from krm_fn.changes.summary import IN_ORDER, called, order
from krm_fn.cli.changes_fields import cause as worded_cause
from krm_fn.cli.sizes.cells import about
from krm_fn.kubevirt.updates.data_volumes import REFUSED
from krm_fn.sizing.rows import amount, is_shown

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


# What is said of every pod that is new or gone.
ALWAYS = {"cpu": "CPU", "memory": "memory"}
QOS = "QoS class"
MOST_FIELDS = 3  # of an edit, that are named


def pod_lines(record: Object) -> Iterator[str]:
    """What the pods of both sides request, as far as it differs: `pod requests CPU 0.205 → 0.405, memory 2.3Gi → 4.3Gi`."""
    if "pod" not in record:
        return
    sides = [record["pod"].get(side, {}) for side in ("before", "after")]
    for word, side in zip(("before", "after"), sides, strict=True):
        if "error" in side and side["error"] != record.get("startError"):
            yield f"  no pod {word}: {side['error']}"
    both = all("requests" in side for side in sides)
    said = list(_differing(*sides)) if both else list(_only(sides[0] if "requests" in sides[0] else sides[1]))
    if said:
        yield f"  {_head(sides)}: {', '.join(said)}"


def _head(sides: list[Object]) -> str:
    before, after = ("requests" in side for side in sides)
    return "pod requests" if before and after else "pod that is gone requests" if before else "new pod requests"


def _differing(before: Object, after: Object) -> Iterator[str]:
    old, new = before["requests"], after["requests"]
    for name in sorted(old | new, key=lambda name: (name not in ALWAYS, name)):
        if (before_it := _amount(name, old)) != (after_it := _amount(name, new)):
            yield f"{ALWAYS.get(name, name)} {before_it} → {after_it}"
    if before["qosClass"] != after["qosClass"]:
        yield f"{QOS} {before['qosClass']} → {after['qosClass']}"


def _only(side: Object) -> Iterator[str]:
    requests = side.get("requests", {})
    for name in requests:
        if name in ALWAYS or is_shown(name):
            yield f"{ALWAYS.get(name, name)} {_amount(name, requests)}"


def _amount(name: str, amounts: Object) -> str:
    return amount(name, amounts[name]) if name in amounts else "none"


def quota_lines(answer: Object) -> Iterator[str]:
    """One line for each resource of a quota whose use or bound changes."""
    for quota in answer["quotas"]:
        for row in quota["resources"]:
            yield f"quota {about(quota)}: {_use(row)}"


def _use(row: Object) -> str:
    """`requests.cpu 48 → 64 of 60: over by 4`."""
    name = row["name"]
    before, after, hard = (amount(name, row[key]) for key in ("before", "after", "hard"))
    former = f" (before: {amount(name, row['hardBefore'])})" if "hardBefore" in row else ""
    over = f": over by {amount(name, row['exceeded'])}" if "exceeded" in row else ""
    used = f"{before} → {after}" if before != after else after
    return f"{name} {used} of {hard}{former}{over}"


def data_lines(record: Object, pen: Pen, shown: Callable[[str], str] = str) -> Iterator[str]:
    """What happens to the objects that hold the machine's data; what is refused first. `shown`: how names are written."""
    for each in sorted(record.get("data", ()), key=lambda each: each["effect"] != REFUSED):
        name = pen.name(f"{each['kind']}/{shown(each['name'])}")
        message = pen.prose(each.get("message", ""))
        if each["effect"] == DELETED:
            size = f" ({pen.prose(each['size'])})" if "size" in each else ""
            yield f"deletes {name}, with its data{size}" + (f"; {message}" if message else "")
        else:
            fields = [pen.name(field) for field in each.get("fields", ())]
            some = ", ".join(fields[:MOST_FIELDS]) + (
                f" and {len(fields) - MOST_FIELDS} more" if len(fields) > MOST_FIELDS else ""
            )
            refused = "refused: " if each["effect"] == REFUSED else ""
            yield f"{refused}{name}" + (f": {some}{_sizes(each)}: {message}" if fields else f" {message}")


def _sizes(each: Object) -> str:
    return f" {each['size']} → {each['newSize']}" if "newSize" in each else ""
