"""`diff`: what a change of a bundle does to its VMs.

What an edit changes in an object and in no machine, such as a label of the VM itself or a template of a disk that exists.

What renames mean: a VM under another name is another VM, and what VMs refer to is followed or not.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterable, Iterator, Sequence
from krm_fn.base.bundle import Entry, effective_namespace
from krm_fn.base.errors import ConfigError
from krm_fn.base.objects import Object, group_of, kind_of, name_of
from krm_fn.base.paths import as_list, as_map, get, leaves
from krm_fn.base.redaction import reach
from krm_fn.base.value import Value
from krm_fn.base.wording import show
from krm_fn.changes import policies
from krm_fn.changes.data import FORCING, REMOVED, REPLACING, Data, left_by, mark_of
from krm_fn.changes.opened_gates import OpenedGates
from krm_fn.changes.owner_records import instance_record, pool_record, replica_set_record, vm_record
from krm_fn.changes.owners import INSTANCE, KINDS, LEFT, POOL, REPLICA_SET, VM, Key, key_of, owner_of
from krm_fn.changes.pairs import AUTO, Assumptions, Pair
from krm_fn.changes.records import NOTHING, is_worth_telling, refused_record
from krm_fn.changes.renames import SIZES, Rename, place, renames
from krm_fn.changes.repeats import Repeats
from krm_fn.changes.scaling import RECREATED
from krm_fn.changes.sides import Side, side_of
from krm_fn.changes.sizes import Sizes
from krm_fn.changes.summary import summary
from krm_fn.kubevirt.facts import Found
from krm_fn.kubevirt.holders import SERVED
from krm_fn.kubevirt.resolve import MATCHERS
from krm_fn.kubevirt.stored_revisions import KIND as REVISION
from krm_fn.kubevirt.updates.admission import misshapen, shape_is_open
from krm_fn.kubevirt.updates.references import ENTRY, compared
from krm_fn.kubevirt.updates.stored_form import PARTS

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


def with_manifest(record: Object, pair: Pair, base: Side, head: Side) -> Object:
    """The record with the paths of what was edited, if that does nothing to the machine.

    An edit after which the object is rendered as before, such as a default that is written out, is none.
    """
    if not pair.is_edited or record["effect"] != [NOTHING] or base.rendered(pair.old) == head.rendered(pair.new):
        return record
    paths = edited_paths(pair.old.obj, pair.new.obj)
    return {**record, "manifest": paths} if paths else record


def edited_paths(old: Object, new: Object) -> list[str]:
    """The paths at which the manifests of an object differ, without keys that may be secret, sorted."""
    before, after = ({key: each[key] for key in PARTS if key in each} for each in (old, new))
    found = {_shown(each.pointer, each.steps) for each in compared(before, after)}
    return sorted(found)


def _shown(pointer: str, steps: tuple[str | int, ...]) -> str:
    """The pointer up to the first key below which all is secret."""
    shown = len(reach(steps).shown)
    hidden = sum(step is not ENTRY for step in steps[shown:])
    return pointer.rsplit("/", hidden)[0] if hidden else pointer


# The API version of the instances that pools and replica sets make, by which presets are chosen.
INSTANCE_VERSION = "kubevirt.io/v1"
ADDED, REFUSED = "added", "refused"
SHAPE = "a placeholder stands for a map or a list"
# What instancetypes and preferences set of an instance.
SIZED = ("/spec/domain/", "/spec/nodeSelector", "/spec/schedulerName", "/spec/subdomain", "/spec/terminationGracePeriodSeconds")
OTHERS = {POOL: pool_record, REPLICA_SET: replica_set_record, INSTANCE: instance_record}


def diff(base: Object, head: Object, *, apply: bool = True, migratable: bool | str = AUTO, new: bool = False) -> Object:
    """What the change from one ResourceList to another does to each VM: `{"vms": [record, …], "renames": […], "quotas": […],
    "summary": …, "assumptions": …}`, and `policies` if some say nothing.

    `migratable`: whether running VMs can be live-migrated: True, False, or "auto" for what each instance and its claims say.
    `new`: no VM exists yet; the records compare what new VMs start as. VMs that nothing changes are left out. The arguments
    are left as they were.
    Raises: ConfigError where a functionConfig or `migratable` is wrong, InputError where `items` is no list.
    """
    if not isinstance(migratable, bool) and migratable != AUTO:
        raise ConfigError(f"migratable is {show(migratable)}; expected {AUTO!r}, True or False")
    return compare(side_of(base), side_of(head), Assumptions(apply=apply, migratable=migratable, new=new))


def compare(base: Side, head: Side, assumptions: Assumptions) -> Object:
    """The answer about both sides."""
    return compare_all([("", base, head)], assumptions)


def compare_all(targets: Iterable[tuple[str, Side, Side]], assumptions: Assumptions) -> Object:
    """The answer about several targets, each with its name and both sides. A record names its target, unless that is ""."""
    found: dict[str, list[Object]] = {"vms": [], "renames": [], "quotas": [], "policies": []}
    total = others = 0
    for target, base, head in targets:
        unknown = frozenset((*base.assumed, *head.assumed, *base.open, *head.open))
        sizes = Sizes(base.analysis, head.analysis, new=assumptions.new, unknown=unknown)
        sides = Sides(base=base, head=head, assumptions=assumptions, sizes=sizes, repeats=Repeats())
        for key, told_of in sides.told().items():
            found[key] += [{"target": target, **each} if target else each for each in told_of]
        total += len(sides.keys)
        others += sum(kind != VM for _, _, kind in sides.keys)
    total -= sum(record["change"] == RENAMED for record in found["vms"])
    taken = {"apply": assumptions.apply, "migratable": assumptions.migratable, "new": assumptions.new}
    if not found["policies"]:
        del found["policies"]
    return {**found, "summary": summary(found["vms"], total, others), "assumptions": taken}


class Sides(Value):
    """Both sides of a change, how it reaches the cluster, and what it does to pods."""

    base: Side
    head: Side
    assumptions: Assumptions
    sizes: Sizes
    repeats: Repeats

    @property
    def keys(self) -> list[Key]:
        """The keys of all VMs, pools, replica sets and instances."""
        return sorted({*self.base.holders, *self.head.holders})

    def told(self) -> dict[str, list[Object]]:
        """What is told of both sides: `vms`, `renames`, `quotas`, `policies`."""
        said = policies.triggered(self.base.analysis, self.head.analysis, new=self.assumptions.new)
        judged = (said.of_vms.get(_key_of(record), policies.NONE).added_to(record) for record in self.records())
        records, quotas = self.sizes.completed([record for record in judged if is_worth_telling(record)])
        renamed = renames(self.base.bundle, self.head.bundle)
        return {
            "vms": with_renames(records, renamed),
            "renames": told(renamed, self.base, self.head),
            "quotas": quotas,
            "policies": said.told(),
        }

    def records(self) -> Iterator[Object]:
        data = None if self.assumptions.new else Data(self.base, self.head)
        gates = OpenedGates(self.base, self.head)
        for key in self.keys:
            old, new = self.base.holders.get(key), self.head.holders.get(key)
            record = self._record(key, old, new)
            if record is not None:
                existing = None if record["change"] == ADDED else old
                judged = gates.added_to(record, new if existing else None)
                yield data.added_to(judged, existing, new) if data else judged

    def _record(self, key: Key, old: Entry | None, new: Entry | None) -> Object | None:
        """What happens to the object of a key; None where neither side of it can be in a cluster."""
        if old is None or new is None:
            change, mark = (ADDED, "") if old is None else (REMOVED, left_by(old.obj, self.head))
            if mark:
                return {**_record(key, change), "effect": [LEFT], "leftBy": mark}
            unknown = self._unknown(key, self.head) if change == ADDED else {}
            return {**_record(key, change), "effect": [change], **({"unknown": unknown} if unknown else {})}
        if old.obj != new.obj and (wrong := misshapen(new.obj, self.head.analysis.release)):
            refused = refused_record(wrong)
            return {**_record(key, "changed"), **(_without_it(refused) if self._recreates(old, new) else refused)}
        if misshapen(old.obj, self.base.analysis.release):  # no cluster has the old one
            return {**_record(key, ADDED), "effect": [ADDED]} if old.obj != new.obj else None
        templated = self.base.templated or self.head.templated
        if templated and old.obj != new.obj and any(shape_is_open(each.obj, self.head.analysis.release) for each in (old, new)):
            unknown = self._unknown(key, self.base, self.head) or {"values": [SHAPE]}
            return {**_record(key, "changed"), "effect": [NOTHING], "unknown": unknown}
        pair = self._pair(old, new)
        found = self._keys_of(pair)
        if found["effect"] == [REFUSED] and pair.is_edited and "asBefore" not in found and self._recreates(old, new):
            found = self._anew(pair, found)
        record = {**_record(key, "changed"), **with_manifest(found, pair, self.base, self.head)}
        return self._with_unknown(record, key, pair)

    def _recreates(self, old: Entry, new: Entry) -> bool:
        """True for an object that is deleted and created anew where its update is refused."""
        return self.head.delivered.recreates or any(mark_of(each.obj, FORCING) for each in (old, new))

    def _anew(self, pair: Pair, refused: Object) -> Object:
        """The keys of an object whose update is refused, and that is deleted and created anew; that may be refused, too."""
        fresh = self._keys_of(pair.but(how=pair.how.but(new=True)))
        if fresh["effect"] == [REFUSED]:
            return _without_it({**refused, "update": {**refused["update"], **fresh["update"]}})
        return {**fresh, "effect": [RECREATED], "update": refused["update"]}

    def _with_unknown(self, record: Object, key: Key, pair: Pair) -> Object:
        """The record without sizes, if the object refers to what only the cluster has; that is named."""
        unknown = self._unknown(key, self.base, self.head)
        if not unknown:
            return record
        known = {name: value for name, value in record.items() if name not in ("guest", "pod")}
        if "objects" in unknown:
            known |= _without_stand_ins(record, self._open_sides(key, pair))
        if not (pair.is_edited or is_worth_telling(known)):
            return known
        return {**known, "unknown": {**record.get("unknown", {}), **unknown}}

    def _open_sides(self, key: Key, pair: Pair) -> Iterator[tuple[str, Object]]:
        """The sides on which an object refers to what only the cluster has; it keeps a stored revision with the reference."""
        if key in self.base.assumed:
            yield "old", pair.old.obj
        refers = all(get(pair.old.obj, ("spec", each.field)) == get(pair.new.obj, ("spec", each.field)) for each in MATCHERS)
        if any(refers or ref.kind != REVISION for ref in self.head.assumed.get(key, ())):
            yield "new", pair.new.obj

    def _unknown(self, key: Key, *sides: Side) -> Object:
        """What decides the sizes of an object and is not known on one of these sides."""
        refs = {str(ref) for side in sides for ref in side.assumed.get(key, ())}
        values = {value for side in sides for value in side.open.get(key, ())}
        return {name: sorted(found) for name, found in (("objects", refs), ("values", values)) if found}

    def _keys_of(self, pair: Pair) -> Object:
        kind = pair.owner.kind
        return OTHERS[kind](pair) if kind in OTHERS else vm_record(pair, self.repeats)

    def _pair(self, old: Entry, new: Entry) -> Pair:
        version = str(new.obj.get("apiVersion")) if kind_of(new.obj) == VM else INSTANCE_VERSION
        owner = owner_of(new.obj)
        origin, world = (side.world(owner.namespace, version) for side in (self.base, self.head))
        replaced = self.head.delivered.replaces or mark_of(new.obj, REPLACING)
        how = self.assumptions.but(apply=False) if replaced else self.assumptions
        return Pair(old=old, new=new, origin=origin, world=world, how=how, sizes=self.sizes, owner=owner)


def _without_it(refused: Object) -> Object:
    """The keys of an object that is deleted, and whose new manifest the API server does not take then."""
    return {**refused, "effect": [REFUSED, REMOVED]}


def _without_stand_ins(record: Object, sides: Iterable[tuple[str, Object]]) -> Object:
    """The keys of a record without values of objects that only stand for what the cluster has, on some sides.

    What the manifest of a side states itself is known.
    """
    known: Object = {}
    if "changes" in record:
        open_sides = list(sides)
        known["changes"] = [_known(change, open_sides) for change in record["changes"]]
    if "keeps" in record:
        known["keeps"] = [{key: each for key, each in kept.items() if key != "fields"} for kept in record["keeps"]]
    return known


def _known(change: Object, open_sides: Sequence[tuple[str, Object]]) -> Object:
    if not change["path"].startswith(SIZED):
        return change
    hidden = [name for name, obj in open_sides if not _is_stated(obj, change["path"])]
    kept = {key: each for key, each in change.items() if key not in hidden}
    return {**kept, "unknown": hidden} if hidden else change


def _is_stated(obj: Object, pointer: str) -> bool:
    """True if the manifest says what is at a place of its instances, or lacks the whole entry."""
    found: Any = get(obj, SERVED[group_of(obj), kind_of(obj)].instance[:-1])
    for step in pointer.strip("/").split("/"):
        key, _, name = step.rstrip("]").partition("[")
        found = as_map(found).get(key)
        if name:
            found = next((each for each in as_list(found) if as_map(each).get("name") == name), None)
            if found is None:
                return True
    return found is not None


def _key_of(record: Object) -> Key:
    return record["namespace"], record["name"], record["kind"]


def _record(key: Key, change: str) -> Object:
    return {"kind": key[2], "namespace": key[0], "name": key[1], "change": change}
