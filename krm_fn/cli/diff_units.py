"""`diff` of trees: the units of both sides read, paired by their folder, and compared."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

from krm_fn.base.objects import Object, kind_of
from krm_fn.base.paths import canonical
from krm_fn.base.value import Value
from krm_fn.base.wording import listed
from krm_fn.changes import diffing, sides
from krm_fn.changes.pairs import Assumptions
from krm_fn.changes.sides import Side
from krm_fn.cli import options
from krm_fn.cli.formats import counted
from krm_fn.cli.progress import Progress
from krm_fn.cli.units import CommandRequest, units_of
from krm_fn.config import merged
from krm_fn.findings.finding import Finding
from krm_fn.findings.results import described, place, report
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.settings import Config
from krm_fn.repositories.loading import BUILT, Unit
from krm_fn.repositories.names import OFFERED
from krm_fn.repositories.packages import is_below
from krm_fn.repositories.rendering import NO_FILE, UnitObjects, objects_of, together
from krm_fn.repositories.workspace import Workspace
from krm_fn.sources.files import folder_of
from krm_fn.sources.reading import NothingFoundError

if TYPE_CHECKING:
    from krm_fn.cli.trees import SideTree
Sides = tuple[str, Side, Side]
Searched = tuple[CommandRequest, Workspace]
Key = tuple[str, str]  # folder and kind of a unit


ONE = ("", "")  # the key of all that a side without a folder has


class ClusterAfter(Value):
    """What flags say about the cluster after the change, None where it is as before."""

    release: Release | None = None
    configuration: Object | None = None

    def __bool__(self) -> bool:
        return bool(self.release or self.configuration is not None)

    def settings(self, config: Config) -> Config:
        """The config of a unit after the change."""
        config = config.but(release=self.release) if self.release else config
        if self.configuration is None:
            return config
        return config.but(configuration=merged(config.configuration, self.configuration))


class UnitDiff(Value):
    """The answer about all units that could be read whole on both sides, these sides, and the findings about the others."""

    answer: Object
    sides: Sequence[Sides]
    findings: tuple[Finding, ...] = ()

    @property
    def is_whole(self) -> bool:
        """True if all units are compared."""
        return "uncompared" not in self.answer


def compared(sides: Sequence[Sides], assumptions: Assumptions) -> UnitDiff:
    """What the change does to the VMs of some targets, each with its name and both sides."""
    return UnitDiff(answer=diffing.compare_all(sides, assumptions), sides=sides)


class TreeUnits(Value):
    """The units of one side by their key, each with its objects, and the findings about what can't be built or read."""

    units: Mapping[Key, Unit]
    objects: Mapping[Key, UnitObjects]
    idle: int = 0

    def unread(self, key: Key, other: TreeUnits, of: Key) -> tuple[UnitObjects, ...]:
        """What can't be read whole and has to be to compare a unit with one of the other side.

        That is the unit itself, or else all units that have got files which the unit has lost: its VMs may be there now.
        """
        if key in self.objects and not self.objects[key].is_whole:
            return (self.objects[key],)
        lost = other.parts(of) - self.parts(key)
        unread = (each for each, found in self.objects.items() if not found.is_whole)
        return tuple(self.objects[each] for each in unread if not lost.isdisjoint(self.parts(each) - other.parts(each)))

    def with_objects_of(self, others: Sequence[TreeUnits]) -> TreeUnits:
        """The same with the objects of other sides that are read as one."""
        whole = together([each for side in (self, *others) for each in side.objects.values()])
        return self.but(objects={ONE: whole}) if others else self

    def joined(self, packages: Sequence[str]) -> TreeUnits:
        """The same with one unit for all files below each of some folders, of which a tool applies the files together.

        They may be several here, where no tool does so yet, or any more.
        """
        units, objects = dict(self.units), dict(self.objects)
        for package in packages:
            keys = [key for key in sorted(units) if not key[1] and is_below(key[0], [package])]
            if keys and keys != [(package, "")]:
                unit = units[keys[0]].but(files=tuple(file for key in keys for file in units[key].files), package=package)
                whole = together([objects.pop(key) for key in keys])
                units = {key: each for key, each in units.items() if key not in keys} | {(package, ""): unit}
                objects[package, ""] = whole
        return self.but(units=units, objects=objects)

    def parts(self, key: Key) -> frozenset[str]:
        """What a unit is made of, files and folders of kustomizations; nothing where there is no such unit."""
        if key not in self.units:
            return frozenset()
        unit = self.units[key]
        return frozenset((*unit.target.inputs, *unit.target.kustomizations) if unit.target else unit.files)

    def counts(self, key: Key) -> bool:
        """True for a unit with objects of KubeVirt, as far as that is known."""
        return key in self.objects and self.objects[key].counts

    @cached_property
    def offered(self) -> frozenset[str]:
        """The objects that units use of others."""
        items = (item for each in self.objects.values() for item in each.items if isinstance(item, dict))
        return frozenset(canonical(item) for item in items if kind_of(item) in OFFERED)

    def settings(self, key: Key) -> Config | None:
        """The config of a unit, None if there is no such unit."""
        return self.units[key].settings.config if key in self.units else None

    def side(self, key: Key, settings: Config) -> Side:
        """The side of one unit, with no object where there is no such unit."""
        found = self.objects.get(key, UnitObjects())
        external = self.units[key].settings.externals if key in self.units else ()
        return sides.side([*found.items, *found.taken], settings, external, found.affixes)


def read_tree(tree: SideTree, paths: Sequence[str], flags: Mapping[str, Any], bar: Progress) -> TreeUnits:
    """The units below some paths of a tree; other units of the tree offer them objects.

    Raises: ConfigError, InputError, UsageError.
    """
    with tree.entered():
        present = tuple(filter(os.path.lexists, paths))
        own = {name: tree.own(flags[name]) for name in ("configuration", "config_file")}
        flags = {**flags, **own, "paths": present, "kustomizations": ()}
        request = CommandRequest(flags=flags, apart=True, root=tree.root, leaves_out=tree.leaves_out)
        asked = request.asked.but(reach=tree.reach)
        with bar.at("Searching"):
            workspace = Workspace(asked)
            passed_over = workspace.passed_over()
            applied = (file for file in workspace.found.files if file not in workspace.unlisted)
            files = workspace.of_files((*applied, *asked.named))
        every = [*(unit for unit in workspace.targets if not unit.is_suspended), *files, *workspace.charts]
        units = {_key(unit): unit for unit in workspace.wanted(every, may_lack=True)}
        left = [unit.but(is_other=True) for unit in workspace.of_files(sorted(workspace.unlisted))]
        others = [*left, *(unit for unit in workspace.others if _key(unit) not in units)]
        found = request.run([*units.values()], objects_of, "Reading", bar, others)
    objects = {}
    for unit, of_unit in zip(units, found, strict=True):
        told = tuple(each.but(file=tree.named(each.file)) for each in of_unit.findings)
        objects[unit] = of_unit.but(findings=told)
    for each in (each for about in passed_over for each in about.findings if each.rule == NO_FILE):
        key = folder_of(each.file), ""
        of_folder = objects.get(key, UnitObjects())
        unread = (*of_folder.findings, each.but(file=tree.named(each.file)))
        objects[key] = of_folder.but(findings=unread, is_whole=False, counts=True)
    if flags["verbose"]:
        _note(tree, objects)
    return TreeUnits(units=units, objects=objects, idle=workspace.idle)


def searched(path: str, flags: Mapping[str, Any], bar: Progress) -> Searched:
    """What is found at a path, which may be `-` for stdin. Raises: ConfigError, InputError, UsageError."""
    request = CommandRequest(flags={**flags, "paths": (path,), "kustomizations": ()})
    return request, request.searched(bar)


def read_as_one(found_at: Searched, bar: Progress) -> TreeUnits:
    """What a file, stdin or a folder has, as one unit: a side that is no folder is compared with all of the other one.

    Raises: ConfigError, InputError, UsageError.
    """
    request, workspace = found_at
    units = units_of(request, workspace)
    whole = together(request.run(units, objects_of, "Reading", bar))
    if request.flags["verbose"]:
        for text in whole.notes:
            options.note(text)
    return TreeUnits(units=dict.fromkeys([ONE], units[0]) if units else {}, objects={ONE: whole}, idle=workspace.idle)


def _key(unit: Unit) -> Key:
    return (unit.target.folder if unit.target else unit.called), unit.kind


def _note(tree: SideTree, objects: Mapping[Key, UnitObjects]) -> None:
    """Say what was left alone, and what came from other units."""
    for (folder, _), each in objects.items():
        for text in each.notes:
            options.note(f"{tree.named(folder)}: {text}")


def compare(base: TreeUnits, head: TreeUnits, assumptions: Assumptions, to: ClusterAfter, *, alone: bool = False) -> UnitDiff:
    """What the change from one side to the other does; `to` is the cluster after the change.

    `alone`: where the folder that the user names is the only unit, it is not named again.
    What can't be read is told of where a side has objects of KubeVirt. Raises: NothingFoundError.
    """
    packages = sorted({_package(unit) for side in (base, head) for unit in side.units.values()} - {""})
    base, head = base.joined(packages), head.joined(packages)
    both = list(pairs(base, head))
    unread = {(old, new): (*base.unread(old, head, new), *head.unread(new, base, old)) for old, new in both}
    left = {pair for pair, found in unread.items() if found and not to and _is_left_alone(base, head, *pair)}
    unread = {pair: () if pair in left else found for pair, found in unread.items()}
    sides = [each for old, new in both if not unread[old, new] for each in _sides(base, head, old, new, to, alone=alone)]
    about: dict[str, dict[Finding, None]] = {}
    for (old, new), found in unread.items():
        if found and (base.counts(old) or head.counts(new)):
            about.setdefault(_called(base, head, old, new), {}).update(
                dict.fromkeys(finding for each in found for finding in each.findings)
            )
    if not (about or left) and not any(each.items for side in (base, head) for each in side.objects.values()):
        if idle := base.idle or head.idle:
            options.note(f"nothing to compare: {counted(idle, 'kustomization')} without objects of KubeVirt")
            return compared(sides, assumptions)
        report([finding for found in unread.values() for each in found for finding in each.findings], sys.stderr)
        raise NothingFoundError("no Kubernetes object found on either side; expected YAML or JSON with apiVersion and kind")
    if alike := sorted({new[0] or "the files" for old, new in left if base.counts(old) or head.counts(new)}):
        options.note(f"the change leaves {listed(alike, 'and')} alone, which can't be built or read on either side")
    done = compared(sides, assumptions)
    if not done.answer["summary"]["total"]:
        options.note_hidden(head.objects.values())
    findings = tuple(dict.fromkeys(chain.from_iterable(about.values())))
    return done.but(answer=with_uncompared(done.answer, about), findings=findings)


def _package(unit: Unit) -> str:
    """The folder of which a tool applies files together that are below it, "" for none."""
    target = unit.target
    is_deep = target and target.is_files and any(folder_of(file) != target.folder for file in target.inputs)
    return target.folder if target and is_deep else unit.package


def _is_left_alone(base: TreeUnits, head: TreeUnits, old: Key, new: Key) -> bool:
    """True for a unit that is whole on neither side, and that the change does nothing to, nor to what it may use of others."""
    if not (old in base.objects and new in head.objects and base.objects[old].is_made_as(head.objects[new])):
        return False
    return base.settings(old) == head.settings(new) and base.offered == head.offered


def with_uncompared(answer: Object, about: Mapping[str, Iterable[Finding]]) -> Object:
    """The answer with the targets that are not compared, if there are some."""
    if not about:
        return answer
    told = [{"target": target, "because": [described(each, place(each)) for each in found]} for target, found in about.items()]
    return {**answer, "uncompared": told, "summary": {**answer["summary"], "uncompared": len(told)}}


def _sides(base: TreeUnits, head: TreeUnits, old: Key, new: Key, to: ClusterAfter, *, alone: bool) -> Iterator[Sides]:
    """The folder and both sides of units that can be compared. The folder is "" if it has to be `alone` and is."""
    before, after = base.settings(old), head.settings(new)
    after = after or before
    if after:
        only = alone and {*base.units, *head.units} <= {old, new} and new[0] == os.curdir
        yield "" if only else _called(base, head, old, new), base.side(old, before or after), head.side(new, to.settings(after))


def _called(base: TreeUnits, head: TreeUnits, old: Key, new: Key) -> str:
    """What messages call a pair of units."""
    unit = head.units.get(new) or base.units.get(old)
    return unit.called if unit and new[0] else new[0]


def pairs(base: TreeUnits, head: TreeUnits) -> Iterator[tuple[Key, Key]]:
    """The units of both sides that belong together: those of one folder, and those that one delivery applies.

    Files that get a kustomization stay what they were: the only unit of a folder is paired with the only one there.
    """
    alone: tuple[dict[str, Key], dict[str, Key]] = {}, {}
    for folder in sorted({folder for folder, _ in (*base.units, *head.units)}):
        old, new = ([kind for at, kind in each.units if at == folder] for each in (base, head))
        if len(old) == len(new) == 1:
            yield (folder, old[0]), (folder, new[0])
            continue
        for kind in sorted({*old, *new}, reverse=True):
            key = folder, kind
            if kind in ("", BUILT) or (kind in old and kind in new):
                yield key, key
            else:
                alone[kind in new][kind] = key
    for kind in sorted({*alone[0], *alone[1]}):  # another folder than before
        old_key, new_key = (each.get(kind) for each in alone)
        yield old_key or new_key or ONE, new_key or old_key or ONE
