"""`diff` of trees: the units of both sides read, paired by their folder, and compared."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from krm_fn.base.value import Value
from krm_fn.changes import diffing, sides, upgrade
from krm_fn.cli import build_flags, options
from krm_fn.cli.folders import by_folder
from krm_fn.config import merged
from krm_fn.repositories import building
from krm_fn.repositories.bundles import UnitObjects, read_all
from krm_fn.repositories.clusters import Configs
from krm_fn.repositories.discovery import discover
from krm_fn.repositories.judging import Options, Unit, judge_problem
from krm_fn.repositories.settings import Settings
from krm_fn.repositories.types import Discovery

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from krm_fn.base.objects import Object
    from krm_fn.changes.pairs import Assumptions
    from krm_fn.changes.sides import Side
    from krm_fn.cli.progress import Progress
    from krm_fn.cli.trees import Tree
    from krm_fn.findings.finding import Finding
    from krm_fn.kubevirt.releases import Release
    from krm_fn.kubevirt.settings import Config

    Sides = tuple[str, Side, Side]
    Key = tuple[str, bool]  # folder; True for a target, False for files that no kustomization uses


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


class Compared(Value):
    """The answer about all units that could be read whole on both sides, these sides, and the findings about the others."""

    answer: Object
    sides: Sequence[Sides]
    findings: tuple[Finding, ...] = ()
    is_whole: bool = True


def compared(sides: Sequence[Sides], assumptions: Assumptions) -> Compared:
    """What the change does to the VMs of some targets, each with its name and both sides."""
    return Compared(answer=diffing.compare_all(sides, assumptions), sides=sides)


def with_steps(found: Compared, assumptions: Assumptions) -> Compared:
    """The same with what happens at each step of the upgrade that the change is."""
    return found.but(answer={**found.answer, "steps": upgrade.steps(found.sides, assumptions)})


class TreeUnits(Value):
    """The units of one side by their key, each with its objects; and the findings about what can't be built or read."""

    units: Mapping[Key, Unit]
    objects: Mapping[Key, UnitObjects]
    findings: tuple[Finding, ...]
    built: bool

    @property
    def is_whole(self) -> bool:
        """True if all units can be built and read."""
        return self.built and all(each.is_whole for each in self.objects.values())

    def has_whole(self, key: Key) -> bool:
        """True for a unit of which all is known; also for one that is not there."""
        return key not in self.objects or self.objects[key].is_whole

    def settings(self, key: Key) -> Config | None:
        """The config of a unit, None if there is no such unit."""
        return self.units[key].settings.config if key in self.units else None

    def side(self, key: Key, settings: Config) -> Side:
        """The side of one unit, with no object where there is no such unit."""
        found = self.objects.get(key, UnitObjects())
        return sides.side([*found.items, *found.taken], settings)


def read_tree(tree: Tree, paths: Sequence[str], flags: Mapping[str, Any], bar: Progress) -> TreeUnits:
    """The units below some paths of a tree; other units of the tree offer them objects.

    Raises: ConfigError, InputError, UsageError.
    """
    with tree.entered():
        present, root = tuple(filter(os.path.lexists, paths)), os.path.relpath(tree.root)
        flags = {**flags, "configuration": tree.own(flags["configuration"])}
        configs = Configs(
            present,
            file=tree.own(flags["config_file"]),
            isolated=flags["isolated"],
            flags=partial(options.with_flags, flags=flags),
            exclude=flags["exclude"],
        )
        excludes = partial(_excludes, tree, configs)
        search = partial(discover, excludes=excludes, follow=flags["follow_links"])
        folders = tuple(filter(os.path.isdir, present))
        with bar.at("Searching"):
            found = search(folders)
            around = search((root,)) if root not in paths else Discovery()
        named = tuple(path for path in present if path not in folders)
        return _read(tree, (found._replace(files=(*found.files, *named)), around), configs, flags, bar)


def _excludes(tree: Tree, configs: Configs, path: str) -> bool:
    return tree.leaves_out(path) or configs.excludes(path)


def _read(
    tree: Tree, found: tuple[Discovery, Discovery], configs: Configs, flags: Mapping[str, Any], bar: Progress
) -> TreeUnits:
    """The units of the first discovery; those of the second one only offer objects to them."""
    using = build_flags.builder()
    settings = Settings(configs, lambda config: config)
    missing = building.missing(found[0].targets) if using is None else None
    problems = [*found[0].problems, *([missing] if missing else [])]
    units, around = (_units(each, settings, built=using is not None) for each in found)
    others = [unit for key, unit in around.items() if key not in units]
    how = Options(using=using, timeout=flags["timeout"], follow=flags["follow_links"])
    read = read_all([*units.values(), *others], how, jobs=flags["jobs"], watch=bar.watch)
    objects = dict(zip(units, read, strict=False))  # the rest are the others
    about = [judge_problem(Unit(settings=settings(os.path.dirname(each.file))), each) for each in problems]  # noqa: PTH120
    findings = [finding for of_unit in about for finding in of_unit.findings]
    findings += [finding for read_unit in objects.values() for finding in read_unit.findings]
    if flags["verbose"]:
        _note(tree, objects)
    shown = tuple(each.but(file=tree.named(each.file)) for each in findings)
    return TreeUnits(units=units, objects=objects, findings=shown, built=not problems)


def _units(found: Discovery, settings: Settings, *, built: bool) -> dict[Key, Unit]:
    targets = found.targets if built else ()
    units = {(each.folder, True): Unit(settings=settings(each.folder), name=each.name, target=each) for each in targets}
    for folder, files in by_folder(found.files):
        units[folder, False] = Unit(settings=settings(folder), files=files)
    return units


def _note(tree: Tree, objects: Mapping[Key, UnitObjects]) -> None:
    """Say what was left alone, and what came from other units."""
    for (folder, _), each in objects.items():
        for text in each.notes:
            options.note(f"{tree.named(folder)}: {text}")


def compare(base: TreeUnits, head: TreeUnits, assumptions: Assumptions, to: ClusterAfter) -> Compared:
    """What the change from one side to the other does; `to` is the cluster after the change."""
    findings = tuple(dict.fromkeys((*base.findings, *head.findings)))
    found = compared(list(_sides(base, head, to)), assumptions)
    return found.but(findings=findings, is_whole=base.is_whole and head.is_whole)


def _sides(base: TreeUnits, head: TreeUnits, to: ClusterAfter) -> Iterator[Sides]:
    """The folder and both sides of each pair of units that can be compared."""
    for old, new in pairs(base, head):
        if not (base.has_whole(old) and head.has_whole(new)):
            continue
        before, after = base.settings(old), head.settings(new)
        after = after or before
        if not after:
            continue
        before = before or after
        yield new[0], base.side(old, before), head.side(new, to.settings(after))


def pairs(base: TreeUnits, head: TreeUnits) -> Iterator[tuple[Key, Key]]:
    """The units of both sides that belong together: those of one folder.

    Files that get a kustomization stay what they were: the only unit of a folder is paired with the only one there.
    """
    for folder in sorted({folder for folder, _ in (*base.units, *head.units)}):
        old, new = ([kind for kind in (True, False) if (folder, kind) in each.units] for each in (base, head))
        if len(old) == len(new) == 1:
            yield (folder, old[0]), (folder, new[0])
        else:
            yield from (((folder, kind), (folder, kind)) for kind in (True, False) if kind in (*old, *new))
