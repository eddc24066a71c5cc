"""What renames mean: a VM under another name is another VM, and what VMs refer to is followed or not."""

from __future__ import annotations

from krm_fn.base.annotations import Iterable, Iterator, Sequence
from krm_fn.base.bundle import Entry, effective_namespace
from krm_fn.base.objects import Object, kind_of, name_of
from krm_fn.base.paths import leaves
from krm_fn.changes.owners import KINDS, LEFT, Key, key_of
from krm_fn.changes.renames import SIZES, Rename, place
from krm_fn.kubevirt.facts import Found
from krm_fn.kubevirt.resolve import MATCHERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.changes.sides import Side
Referring = tuple[Entry, list[Found | None]]


RENAMED = "renamed"


def with_renames(records: Sequence[Object], found: Iterable[Rename]) -> list[Object]:
    """The records, with one instead of two for each machine that has another name."""
    machines = {key_of(each.new.obj): each for each in found if kind_of(each.new.obj) in KINDS}
    by_key = {_key(record): record for record in records}
    goes = {key for key, record in by_key.items() if LEFT not in record["effect"]}
    pairs = {new: each for new, each in machines.items() if {_old(each), new} <= goes}
    gone = {_old(each) for each in pairs.values()}
    return [_merged(record, pairs, by_key) for record in records if _key(record) not in gone]


def _key(record: Object) -> Key:
    return record["namespace"], record["name"], record["kind"]


def _old(rename: Rename) -> Key:
    return key_of(rename.old.obj)


def _merged(new: Object, pairs: dict[Key, Rename], by_key: dict[Key, Object]) -> Object:
    rename = pairs.get(_key(new))
    if rename is None:
        return new
    old = by_key[_old(rename)]
    record = {**new, "change": RENAMED, "from": _name_of(rename.old), "shownBy": rename.by, "effect": [RENAMED]}
    pods = {**old.get("pod", {}), **new.get("pod", {})}
    of_both = {key: [*old.get(key, ()), *new.get(key, ())] for key in ("data", "deletes")}
    return {**record, **({"pod": pods} if pods else {}), **{key: found for key, found in of_both.items() if found}}


def _name_of(entry: Entry) -> Object:
    space, name = place(entry)
    return {**({"namespace": space} if space else {}), "name": name}


def told(found: Iterable[Rename], base: Side, head: Side) -> list[Object]:
    """What else has another name: `users` refer to it by the new name, `left` by the old one."""
    others = [each for each in found if kind_of(each.new.obj) not in KINDS]
    if not others:
        return []
    sides = [_referring(head.holders.values(), side) for side in (base, head)]
    return [_told(each, *sides) for each in others]


def _told(rename: Rename, before: list[Referring], after: list[Referring]) -> Object:
    left, users = list(_users(rename.old, before)), list(_users(rename.new, after))
    shown = {"kind": kind_of(rename.new.obj), **_name_of(rename.new), "from": _name_of(rename.old), "shownBy": rename.by}
    return {**shown, "users": users, **({"left": left} if left else {})}


def _referring(holders: Iterable[Entry], side: Side) -> list[Referring]:
    """The machines, each with the instancetype and the preference that one side has for it."""
    resolver = side.analysis.resolver()
    resolved = ((entry, side.analysis.resolved(entry, resolver)) for entry in holders)
    return [(entry, [getattr(facts[2], matcher.field) for matcher in MATCHERS] if facts else []) for entry, facts in resolved]


def _users(wanted: Entry, machines: Iterable[Referring]) -> Iterator[Object]:
    """The machines that refer to an object by its name."""
    by_matcher = kind_of(wanted.obj) in SIZES
    for entry, found in machines:
        uses = any(each and each.entry and each.entry.obj is wanted.obj for each in found)
        if uses if by_matcher else _names(wanted, entry):
            yield {"kind": kind_of(entry.obj), "namespace": effective_namespace(entry.obj), "name": name_of(entry.obj)}


def _names(wanted: Entry, entry: Entry) -> bool:
    """True for an object of the same namespace that has the name as a value."""
    if effective_namespace(wanted.obj) != effective_namespace(entry.obj):
        return False
    return any(value == name_of(wanted.obj) for _, value in leaves(entry.obj.get("spec")))
