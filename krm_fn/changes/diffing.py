"""`diff`: what a change of a bundle does to its VMs."""

from __future__ import annotations

from krm_fn import config
from krm_fn.base.bundle import Bundle, effective_namespace
from krm_fn.base.errors import InputError
from krm_fn.base.objects import group_of, kind_of, name_of
from krm_fn.base.paths import as_list, get, with_integers
from krm_fn.base.value import Value
from krm_fn.changes.instance_records import instance_record, replica_set_record
from krm_fn.changes.manifests import with_manifest
from krm_fn.changes.owners import INSTANCE, POOL, REPLICA_SET, VM, key_of
from krm_fn.changes.pairs import Assumptions, Pair
from krm_fn.changes.pool_records import pool_record
from krm_fn.changes.records import is_worth_telling, refused_record
from krm_fn.changes.repeats import Repeats
from krm_fn.changes.sizes import Sizes
from krm_fn.changes.summary import summary
from krm_fn.changes.vm_records import vm_record
from krm_fn.kubevirt.configuration import kubevirt_of
from krm_fn.kubevirt.holders import SERVED
from krm_fn.kubevirt.presets.index import NONE
from krm_fn.kubevirt.updates.admission import misshapen
from krm_fn.kubevirt.updates.machine import World
from krm_fn.pipeline.analysis import Analysis, analysis_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from krm_fn.base.bundle import Entry
    from krm_fn.base.objects import Object
    from krm_fn.changes.owners import Key
    from krm_fn.kubevirt.settings import Config

METHODS = ("spec", "workloadUpdateStrategy", "workloadUpdateMethods")
# The API version of the instances that pools and replica sets make, by which presets are chosen.
INSTANCE_VERSION = "kubevirt.io/v1"
OTHERS = {POOL: pool_record, REPLICA_SET: replica_set_record, INSTANCE: instance_record}


def diff(base: Object, head: Object, *, apply: bool = True, migratable: bool = True, new: bool = False) -> Object:
    """What the change from one ResourceList to another does to each VM: `{"vms": [record, …], "quotas": […], "summary": …,
    "assumptions": …}`.

    `new`: no VM exists yet; the records compare what new VMs start as. VMs that nothing changes are left out. The arguments
    are left as they were.
    Raises: ConfigError where a functionConfig is wrong, InputError where `items` is no list.
    """
    return compare(side_of(base), side_of(head), Assumptions(apply=apply, migratable=migratable, new=new))


def compare(base: Side, head: Side, assumptions: Assumptions) -> Object:
    """The answer about both sides."""
    return compare_all([("", base, head)], assumptions)


def compare_all(targets: Iterable[tuple[str, Side, Side]], assumptions: Assumptions) -> Object:
    """The answer about several targets, each with its name and both sides. A record names its target, unless that is ""."""
    records: list[Object] = []
    quotas: list[Object] = []
    total = others = 0
    for target, base, head in targets:
        sizes = Sizes(base.analysis, head.analysis, new=assumptions.new)
        sides = Sides(base=base, head=head, assumptions=assumptions, sizes=sizes, repeats=Repeats())
        of_target = {"target": target} if target else {}
        told, used = sizes.completed([record for record in sides.records() if is_worth_telling(record)])
        records += [{**of_target, **record} for record in told]
        quotas += [{**of_target, **quota} for quota in used]
        total += len(sides.keys)
        others += sum(kind != VM for _, _, kind in sides.keys)
    taken = {"apply": assumptions.apply, "migratable": assumptions.migratable, "new": assumptions.new}
    return {"vms": records, "quotas": quotas, "summary": summary(records, total, others), "assumptions": taken}


class Side(Value):
    """One side of the change: its objects and settings, and what holds a VM or an instance, by its key."""

    analysis: Analysis
    holders: dict[Key, Entry]
    worlds: dict[tuple[str, str], World]

    def world(self, namespace: str, api_version: str) -> World:
        """The cluster of this side as a VM of a namespace sees it."""
        key = namespace, api_version
        if key not in self.worlds:
            self.worlds[key] = self._world(*key)
        return self.worlds[key]

    def _world(self, namespace: str, api_version: str) -> World:
        """Settings that nobody states are KubeVirt's defaults."""
        analysis = self.analysis
        found = kubevirt_of(analysis.bundle)
        return World(
            bundle=analysis.bundle,
            cluster=analysis.cluster.but(known=True),
            release=analysis.release,
            resolver=analysis.resolver(),
            presets=analysis.presets.seen_by(api_version, namespace) if analysis.presets else NONE,
            update_methods=tuple(map(str, as_list(get(found.obj, METHODS)))) if found else (),
        )


def side_of(resource_list: Object) -> Side:
    """The side that a ResourceList describes. Raises: as `diff`."""
    settings = config.read(resource_list.get("functionConfig"))
    items = resource_list.get("items")
    if items is not None and not isinstance(items, list | tuple):
        raise InputError("items is no list")
    return side([with_integers(item) for item in items or []], settings)


def side(items: list[Any], settings: Config) -> Side:
    """The side of these items under a config."""
    bundle = Bundle(_last_of_each(items))
    holders: dict[Key, Entry] = {}
    for group, kind in SERVED:
        for entry in bundle.ordered(bundle.of_kind(kind, group)):
            holders.setdefault(key_of(entry.obj), entry)
    return Side(analysis=analysis_of(bundle, settings), holders=holders, worlds={})


def _last_of_each(items: list[Any]) -> list[Any]:
    """The items without those that a later one of the same name replaces, as they do in a cluster."""
    last = {_identity(item): number for number, item in enumerate(items)}
    return [item for number, item in enumerate(items) if last[_identity(item)] == number]


def _identity(item: Any) -> tuple[Any, ...]:
    """What tells an object from others; lists and what is no object are never the same."""
    if not isinstance(item, dict) or not name_of(item):
        return (id(item),)
    return group_of(item), kind_of(item), effective_namespace(item), name_of(item)


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

    def records(self) -> Iterator[Object]:
        for key in self.keys:
            old, new = self.base.holders.get(key), self.head.holders.get(key)
            if old is None or new is None:
                change = "added" if old is None else "removed"
                yield {**_record(key, change), "effect": [change]}
            elif old.obj != new.obj and (wrong := misshapen(new.obj, self.head.analysis.release)):
                yield {**_record(key, "changed"), **refused_record(wrong)}
            elif misshapen(old.obj, self.base.analysis.release):
                if old.obj != new.obj:
                    yield {**_record(key, "added"), "effect": ["added"]}  # no cluster has the old one
            else:
                pair = self._pair(old, new)
                yield {**_record(key, "changed"), **with_manifest(self._keys_of(pair), pair)}

    def _keys_of(self, pair: Pair) -> Object:
        kind = pair.owner.kind
        return OTHERS[kind](pair) if kind in OTHERS else vm_record(pair, self.repeats)

    def _pair(self, old: Entry, new: Entry) -> Pair:
        version = str(new.obj.get("apiVersion")) if kind_of(new.obj) == VM else INSTANCE_VERSION
        namespace = effective_namespace(new.obj)
        origin, world = (side.world(namespace, version) for side in (self.base, self.head))
        return Pair(old=old, new=new, origin=origin, world=world, how=self.assumptions, sizes=self.sizes)


def _record(key: Key, change: str) -> Object:
    return {"kind": key[2], "namespace": key[0], "name": key[1], "change": change}
