"""`diff`: what a change of a bundle does to its VMs."""

from __future__ import annotations

from krm_fn import config
from krm_fn.base.bundle import Bundle, effective_namespace
from krm_fn.base.errors import InputError
from krm_fn.base.objects import group_of, kind_of, name_of
from krm_fn.base.paths import as_list, get, with_integers
from krm_fn.base.value import Value
from krm_fn.changes import policies
from krm_fn.changes.records import fails_as_before, is_worth_telling, record_of, refused_record, untouched_record
from krm_fn.changes.sizes import Sizes
from krm_fn.changes.summary import summary
from krm_fn.changes.untouched import is_untouched
from krm_fn.kubevirt.configuration import kubevirt_of
from krm_fn.kubevirt.presets.index import NONE
from krm_fn.kubevirt.updates.admission import misshapen
from krm_fn.kubevirt.updates.machine import World
from krm_fn.kubevirt.updates.transition import fresh, transition
from krm_fn.pipeline.analysis import Analysis, analysis_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from krm_fn.base.bundle import Entry
    from krm_fn.base.objects import Object
    from krm_fn.kubevirt.settings import Config

METHODS = ("spec", "workloadUpdateStrategy", "workloadUpdateMethods")
VM = "VirtualMachine"

Key = tuple[str, str]


def diff(base: Object, head: Object, *, apply: bool = True, migratable: bool = True, new: bool = False) -> Object:
    """What the change from one ResourceList to another does to each VM: `{"vms": [record, …], "quotas": […], "summary": …,
    "assumptions": …}`.

    `new`: no VM exists yet; the records compare what new VMs start as. VMs that nothing changes are left out. The arguments
    are left as they were.
    Raises: ConfigError where a functionConfig is wrong, InputError where `items` is no list.
    """
    return compare(side_of(base), side_of(head), Assumptions(apply=apply, migratable=migratable, new=new))


class Assumptions(Value):
    """How the change reaches the cluster, and what is taken for granted; see `diff`."""

    apply: bool = True
    migratable: bool = True
    new: bool = False


def compare(base: Side, head: Side, assumptions: Assumptions) -> Object:
    """The answer about both sides."""
    return compare_all([("", base, head)], assumptions)


def compare_all(targets: Iterable[tuple[str, Side, Side]], assumptions: Assumptions) -> Object:
    """The answer about several targets, each with its name and both sides. A record names its target, unless that is ""."""
    records: list[Object] = []
    quotas: list[Object] = []
    total = 0
    for target, base, head in targets:
        sizes = Sizes(base.analysis, head.analysis, head.vms)
        sides = Sides(base=base, head=head, assumptions=assumptions, sizes=sizes)
        of_target = {"target": target} if target else {}
        found = policies.triggered(base.analysis, head.analysis, new=assumptions.new)
        judged = (found.get(_key_of(record), policies.NONE).added_to(record) for record in sides.records())
        told, used = sizes.completed([record for record in judged if is_worth_telling(record)])
        records += [{**of_target, **record} for record in told]
        quotas += [{**of_target, **quota} for quota in used]
        total += len(sides.keys)
    taken = {"apply": assumptions.apply, "migratable": assumptions.migratable, "new": assumptions.new}
    return {"vms": records, "quotas": quotas, "summary": summary(records, total), "assumptions": taken}


class Side(Value):
    """One side of the change: its objects and settings, and its VMs by namespace and name."""

    analysis: Analysis
    vms: dict[Key, Entry]
    worlds: dict[Key, World]

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
    found = bundle.ordered(bundle.of_kind(VM, "kubevirt.io"))
    vms: dict[Key, Entry] = {}
    for entry in found:
        vms.setdefault((effective_namespace(entry.obj), name_of(entry.obj)), entry)
    return Side(analysis=analysis_of(bundle, settings), vms=vms, worlds={})


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

    @property
    def keys(self) -> list[Key]:
        """Namespace and name of all VMs."""
        return sorted({*self.base.vms, *self.head.vms})

    def records(self) -> Iterator[Object]:
        for key in self.keys:
            old, new = self.base.vms.get(key), self.head.vms.get(key)
            if old is None or new is None:
                yield _one_sided(old or new, "added" if old is None else "removed")
            elif old.obj != new.obj and (wrong := misshapen(new.obj, self.head.analysis.release)):
                yield {**_record(key, "changed"), **refused_record(wrong)}
            elif misshapen(old.obj, self.base.analysis.release):
                if old.obj != new.obj:
                    yield _one_sided(new, "added")  # no cluster has the old one
            else:
                yield self._changed(old.obj, new.obj, key)

    def _changed(self, old: Object, new: Object, key: Key) -> Object:
        worlds = [side.world(key[0], str(new.get("apiVersion"))) for side in (self.base, self.head)]
        how = self.assumptions
        record = _record(key, "changed")
        if how.apply and not how.new and is_untouched(old, new, *worlds):
            return {**record, **untouched_record(old, *worlds)}
        if how.new:
            found = fresh(old, new, *worlds)
        else:
            found = transition(old, new, *worlds, apply=how.apply, migratable=how.migratable)
        if old == new and fails_as_before(found):
            return {**record, **untouched_record(old, *worlds)}
        return {**record, **record_of(found), **self.sizes.of(found)}


def _record(key: Key, change: str) -> Object:
    return {"kind": VM, "namespace": key[0], "name": key[1], "change": change}


def _key_of(record: Object) -> Key:
    return record["namespace"], record["name"]


def _one_sided(entry: Entry | None, change: str) -> Object:
    obj = entry.obj if entry else {}
    return {**_record((effective_namespace(obj), name_of(obj)), change), "effect": [change]}
