"""`kubevirt-render plan`: what waits in a cluster, in steps with their cost."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import click

from krm_fn.base.console import one_line, printable
from krm_fn.base.markdown import code as in_code
from krm_fn.base.markdown import prose
from krm_fn.base.objects import Object, kind_of
from krm_fn.base.wording import listed
from krm_fn.changes import upgrade
from krm_fn.changes.pairs import Assumptions
from krm_fn.changes.sides import Side, side
from krm_fn.cli import options, progress
from krm_fn.cli.diff import UNSET, shown_options
from krm_fn.cli.drift import live_argument
from krm_fn.cli.formats import counted
from krm_fn.cli.live_units import OF_KUBECTL, GitUnits, git_of, live_objects, of_live, read_live, split
from krm_fn.kubevirt.migratability import REFUSED
from krm_fn.kubevirt.releases import parse
from krm_fn.live.applying import CLIENT_SIDE
from krm_fn.live.planning import plan as planned
from krm_fn.sizing import nodes
from krm_fn.sizing.draining import Drain, drains

# What an eviction does to machines, and how that is counted.
WORDS = {"migrates": "to migrate", "shutDown": "to be shut down", "external": "left to another controller"}
MOST_NAMED = 5


@click.command()
@live_argument
@options.output_option(("text", "json", "markdown"))
@click.option(
    "--to-kubevirt-version", **options.VERSION, help="Plan an upgrade to this release, too: what each of its steps does to VMs."
)
@shown_options
def plan(paths: tuple[str, ...], *, output: str, to_kubevirt_version: str | None, color: str, group: bool, **flags: Any) -> int:  # noqa: ARG001  of the shared options
    """Show what waits in a cluster, in steps with their cost.

    LIVE is what `kubectl get -o yaml` prints, as files or - for stdin; `kubevirt-render dump` prints the whole command. With
    PATHs of git, applying them is a step, too.

    The steps are VMs that wait for a restart or a migration, launchers of an older release, old revisions of instancetypes
    and preferences, and an upgrade of KubeVirt. Each has the migrations and restarts that it takes, the memory that must be
    free on other nodes, and commands to run by hand. Nodes that can't be drained are named. Nothing is run.
    """
    bar, flags = progress.shown(quiet=flags["verbose"]), {**UNSET, **flags}
    live_paths, git = split(paths)
    given = read_live(live_paths, flags, bar)
    live = live_objects(given)
    trees = git_of(git, live_paths, flags, bar)
    settings = next(unit.settings for tree in (*trees, given) for unit in tree.units.values())
    with bar.at("Planning"):
        base = side(live, settings.config, settings.externals)
        changed = of_live(given, GitUnits(trees=trees, own=OF_KUBECTL[CLIENT_SIDE]), Assumptions()).answer["vms"] if git else []
        head = side(live, settings.config.but(release=parse(to_kubevirt_version))) if to_kubevirt_version else None
        steps = upgrade.steps([("", base, head)], Assumptions()) if head else []
        answer = planned(live, base.analysis.release, changed=changed, upgrade=steps, drained=_drains(live, base))
    click.echo(json.dumps(answer, indent=2) if output == "json" else "\n".join(_lines(answer, markdown=output == "markdown")))
    return 0


def _drains(live: list[Object], base: Side) -> list[Drain]:
    found = [obj for obj in live if kind_of(obj) == "Node"]
    strategy, release = base.analysis.cluster.eviction_strategy, base.analysis.release
    return drains(nodes.read(found), live, strategy, release) if found else []


def _lines(answer: Object, *, markdown: bool) -> Iterator[str]:
    """The lines of text, or of Markdown."""
    head, item = ("### ", "- ") if markdown else ("", "  ")
    shown, code = (prose, in_code) if markdown else (_plain, _plain)
    if not answer["steps"]:
        yield f"{head}nothing waits"
    for number, step in enumerate(answer["steps"], 1):
        yield f"{head}{number}. {step['title']}: {_cost(step)}"
        for machine in step["machines"]:
            name = code(f"{machine['namespace']}/{machine['name']}")
            yield f"{item}{name}: {shown(machine['because'])}{_how(machine, code)}"
        yield ""
    for drain in answer["drains"]:
        can = "can" if drain["succeeds"] else "can not"
        yield f"{item if markdown else ''}node {code(drain['node'])} {can} be drained{shown(_why(drain))}"
    if "loss" in answer:
        yield f"{item if markdown else ''}with any one node gone, {shown(_loss(answer['loss']))}"
    yield from (f"{item if markdown else ''}{shown(each)}" for each in answer["unknown"])


def _plain(text: str) -> str:
    return printable(one_line(text))


def _how(machine: Object, code: Callable[[str], str]) -> str:
    if "command" in machine:
        return f"; {code(machine['command'])}"
    return f"; {machine['by']} does it by itself" if "by" in machine else ""


def _cost(step: Object) -> str:
    cost = step["cost"]
    parts = [counted(cost[key], key[:-1]) for key in ("migrations", "restarts") if cost[key]]
    parts += [f"{cost['memory']} of memory free on other nodes"] if "memory" in cost else []
    return ", ".join(parts) or counted(len(step["machines"]), "VM")


def _loss(loss: Object) -> str:
    lost = loss["withoutRoom"]
    if not lost:
        return "all machines find room on the others"
    names = listed(lost, "and", most=MOST_NAMED)
    return f"room is lacking for up to {counted(len(lost), 'machine')}: {names} of node {loss['node']}"


def _why(drain: Object) -> str:
    machines = drain["machines"]
    parts = [f"{counted(len(machines[what]), 'machine')} {words}" for what, words in WORDS.items() if machines.get(what)]
    for names, words in (
        (machines.get(REFUSED, ()), "can't be migrated, so the eviction is refused"),
        (drain["withoutRoom"], "fits on no other node"),
        (drain["held"], "is held by its disruption budget"),
    ):
        parts += [f"{listed(names, 'and', most=MOST_NAMED)} {words}"] if names else []
    return f": {'; '.join(parts)}" if parts else ""
