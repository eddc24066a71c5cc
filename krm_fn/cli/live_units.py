"""Live objects and git as a command reads them: what is live, and in which manner each unit of git is applied."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from krm_fn.base.bundle import entries
from krm_fn.base.errors import InputError, UsageError
from krm_fn.base.objects import Object, name_of, namespace_of, ref_of
from krm_fn.base.value import Value
from krm_fn.base.wording import brief, listed
from krm_fn.changes import drifting
from krm_fn.changes.pairs import Assumptions
from krm_fn.changes.sides import Side, side
from krm_fn.cli import diff_units, options
from krm_fn.cli.diff_units import ClusterAfter, TreeUnits, UnitDiff
from krm_fn.cli.progress import Progress
from krm_fn.cli.trees import of_folder
from krm_fn.cli.units import MOST_NAMED
from krm_fn.flux import applying
from krm_fn.live import dumps
from krm_fn.live.applying import CLIENT_SIDE, REPLACE, SERVER_SIDE
from krm_fn.live.overlaying import ARGOCD, Manner, Overlay, overlaid
from krm_fn.repositories.deliveries import manner_of
from krm_fn.repositories.loading import Unit
from krm_fn.sources.reading import STDIN

FLUX, HELM = "kustomize-controller", "helm-controller"
# What each manner of a delivery is for the API server.
MANNERS = {"client-side apply": CLIENT_SIDE, "server-side apply": SERVER_SIDE, "replace": REPLACE}
OF_KUBECTL = {
    CLIENT_SIDE: Manner(),
    SERVER_SIDE: Manner(manner=SERVER_SIDE, manager="kubectl"),
    REPLACE: Manner(manner=REPLACE, manager="kubectl-replace"),
}
OWNERLESS = (
    "the dump has no managedFields, so nothing is known of what git no longer names; "
    "add --show-managed-fields to the command, as `kubevirt-render dump` does"
)


def split(paths: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The paths with live objects, and those of git. Raises: UsageError."""
    live = tuple(path for number, path in enumerate(paths) if number == 0 or path == STDIN or _holds_live(path))
    if live.count(STDIN) > 1:
        raise UsageError("- is named twice; stdin can be read once only")
    return live, tuple(path for path in paths if path not in live)


def _holds_live(path: str) -> bool:
    if not os.path.isfile(path):  # noqa: PTH113
        return False
    with open(path, "rb") as file:  # noqa: PTH123
        data = file.read()
    return b"resourceVersion" in data and b"uid" in data


def read_live(paths: tuple[str, ...], flags: Mapping[str, Any], bar: Progress) -> TreeUnits:
    """The live objects of some paths. Raises: ConfigError, InputError, UsageError."""
    whole = {**flags, "target": None, "cluster": None}  # these choose among what git has
    found = [diff_units.read_as_one(diff_units.searched(path, whole, bar), bar) for path in paths]
    return found[0].with_objects_of(found[1:])


def is_live(given: TreeUnits) -> bool:
    """True for objects that were read from a cluster, with machines among them."""
    return any(dumps.is_machine(entry.obj) for each in given.objects.values() for entry in entries(each.items))


def live_objects(given: TreeUnits) -> list[Object]:
    """The objects of a dump.

    Raises: UsageError where nothing in it is live, InputError where it can't be read, and for a name that can't be.
    """
    unread = next((each for of_unit in given.objects.values() if not of_unit.is_whole for each in of_unit.findings), None)
    if unread:
        raise InputError(unread.message, file=unread.file, line=unread.line, column=unread.column)
    found = [entry.obj for of_unit in given.objects.values() for entry in entries(of_unit.items)]
    if not any(map(dumps.is_live, found)):
        raise UsageError(
            "LIVE has no object that was read from a cluster, with its uid; expected what `kubectl get -o yaml` prints: "
            f"`{dumps.command()}`"
        )
    if wrong := next((obj for obj in found if not dumps.is_named(obj)), None):
        raise InputError(f"LIVE has {brief(str(ref_of(wrong)))}: no cluster has an object of such a name; correct the dump")
    return found


class GitUnits(Value):
    """What git has: the units below some paths, how kubectl applies those without a delivery, and the cluster afterwards."""

    trees: Sequence[TreeUnits]
    own: Manner
    to: ClusterAfter = ClusterAfter()

    def applied(self) -> Iterator[tuple[Manner, list[Object]]]:
        """Each object with the manner in which it is applied."""
        for tree in self.trees:
            for key, found in tree.objects.items():
                manner = _of_unit(tree.units[key], self.own) if key in tree.units else self.own
                for entry in entries(found.items):
                    action = applying.action(entry.obj) if manner.manager == FLUX else ""
                    if action != "skip":
                        yield (manner.but(migrate="") if action == "merge" else manner), [entry.obj]


def git_of(paths: Sequence[str], live: Sequence[str], flags: Mapping[str, Any], bar: Progress) -> list[TreeUnits]:
    """The units of git below some paths, without the files that are `live`. Raises: ConfigError, InputError, UsageError."""
    left_out = frozenset(map(os.path.realpath, live))
    return [
        diff_units.read_tree(of_folder(path).but(left_out=left_out), (os.curdir,), flags, bar)
        if os.path.isdir(path)  # noqa: PTH112
        else diff_units.read_as_one(diff_units.searched(path, flags, bar), bar)
        for path in paths
    ]


def of_live(given: TreeUnits, git: GitUnits, assumptions: Assumptions) -> UnitDiff:
    """The answer about a cluster, and git applied to it.

    Raises: UsageError where nothing is live, or where git has units of several clusters.
    """
    live = live_objects(given)
    clusters = sorted({unit.settings.cluster or "none" for tree in git.trees for unit in tree.units.values()})
    if len(clusters) > 1:
        named = listed(clusters, "and")
        raise UsageError(f"LIVE is one cluster, and these paths belong to {named}; choose one with --cluster or by its path")
    settings = next(unit.settings for tree in (*git.trees, given) for unit in tree.units.values())
    lacking = dumps.lacking(live)
    base = side(live, settings.config, settings.externals, lacking=lacking)
    overlay = overlaid(live, git.applied(), base.analysis.release)
    head = side(overlay.items, git.to.settings(settings.config), settings.externals, lacking=lacking)
    answer, trees = drifting.drift(base, head, overlay, assumptions), git.trees
    _note(overlay, base)
    unread = {_called(tree, key): each for tree in trees for key, each in tree.objects.items() if not each.is_whole}
    findings = tuple(finding for each in unread.values() for finding in each.findings)
    about = {target: each.findings for target, each in unread.items() if each.counts}
    return UnitDiff(answer=diff_units.with_uncompared(answer, about), sides=[("", base, head)], findings=findings)


def _called(tree: TreeUnits, key: tuple[str, str]) -> str:
    """What a unit is called; "" for what is read as one."""
    unit = tree.units.get(key)
    return unit.called if unit else ""


def _of_unit(unit: Unit, own: Manner) -> Manner:
    delivery = unit.target.delivery if unit.target else None
    if delivery is None:
        return own
    how = manner_of(delivery)
    prunes = name_of(delivery.obj) if how["prune"] else ""
    if not delivery.is_of_flux:
        manner, is_argo = MANNERS[how["manner"]], delivery.tool != "Flux"
        is_server = manner == SERVER_SIDE
        found = Manner(manner=manner, manager=ARGOCD if is_argo else HELM, force=is_server)
        return found.but(migrate="argocd" if is_server else "", prunes=prunes) if is_argo else found
    names = {"name": name_of(delivery.obj), "namespace": namespace_of(delivery.obj)}
    labels = tuple((f"{applying.GROUP}/{key}", value) for key, value in names.items() if value)
    return Manner(manner=SERVER_SIDE, manager=FLUX, migrate="flux", labels=labels, force=True, prunes=prunes)


def _note(overlay: Overlay, base: Side) -> None:
    """Say what the dump lacks, with the command that gets it."""
    if overlay.ownerless:
        options.note(OWNERLESS)
    lacking = sorted({str(ref) for refs in base.assumed.values() for ref in refs})
    if lacking:
        kinds = sorted({f"{ref.partition(' ')[0].lower()}s" for ref in lacking})
        options.note(f"the dump lacks {listed(lacking, 'and', most=MOST_NAMED)}; get it with `{dumps.command(kinds)}`")
