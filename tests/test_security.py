"""The table of docs/security.md: for each command and each way, hostile files do nothing but what the cell says."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from running import ROOT, fetched, helm

sys.path.append(str(ROOT / "scripts" / "fuzz"))

import laws
import strangers
from watching import Seen, World

PAGE = (ROOT / "docs" / "security.md").read_text()
HEAD = "| command | config |"
TREES = 4  # hostile ones for each cell
CONFIG = "kind: RenderVirtualMachines\nspec: {%s}\n"
POLICIES, SCHEMAS = "policies: [policies]", "schemaPolicies: [{name: s, schema: {maxProperties: 99}}]"
# A harmless tree of each way, in which the file that the way is about is read where the cell says so.
PLAIN: dict[str, strangers.Files] = {
    "config": {".kubevirt-render.yaml": CONFIG % "kubevirtVersion: '1.9'"},
    "kustomization": {"app/kustomization.yaml": "resources: [vm.yaml]\n"},
    "chart": {
        "chart/Chart.yaml": "apiVersion: v2\nname: c\nversion: 1.0.0\n",
        "chart/templates/vm.yaml": strangers.VM % ("c", "u1.small"),
    },
    "git": {".git": strangers.PLAIN, "app/kustomization.yaml": "resources: [vm.yaml, gone.yaml]\n"},
    "policies": {"policies/p.yaml": strangers.POLICY, ".kubevirt-render.yaml": CONFIG % POLICIES},
    "schemas": {
        "schemas/crd.yaml": strangers.DEFINITION.replace("<schema>", "{type: object}"),
        ".kubevirt-render.yaml": CONFIG % SCHEMAS,
    },
    "tests": {"cases/one/expected.yaml": "findings: []\n", "cases/one/input.yaml": strangers.VM % ("a", "u1.small")},
    "editor settings": {".vscode/settings.json": "{}", "sitecustomize.py": ""},
}
OUT, CASE_OUT = strangers.Link("../../outside/secret.yaml"), strangers.Link("../../../outside/secret.yaml")
# Links that lead out of the tree, wherever a kustomization, a chart or a folder may have one.
LINKS: strangers.Files = {
    **PLAIN["chart"],
    "app/kustomization.yaml": "resources: [vm.yaml, link.yaml]\ngenerators: [plugins, made]\npatches: [{path: patch.yaml}]\n",
    "app/made/kustomization.yaml": "resources: [a.yaml, ../../folder/base/a.yaml]\n",
    "broken/kustomization.yaml": "resources: [a\n",
    **dict.fromkeys(
        ("app/link.yaml", "app/patch.yaml", "app/plugins/a.yaml", "app/made/a.yaml", "broken/a.yaml", "chart/values.yaml"), OUT
    ),
    **dict.fromkeys((f"cases/three/{name}.yaml" for name in ("config", "expected", "input", "rendered")), CASE_OUT),
    "chart/templates/a.yaml": strangers.Link("../../../outside/secret.yaml"),
    "folder": strangers.Link("../outside"),
    "delivered/kustomization.yaml": OUT,
    "delivered/vm.yaml": PLAIN["chart"]["chart/templates/vm.yaml"],
    "clusters/north/delivered.yaml": (
        "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: delivered, namespace: flux-system}\n"
        "spec: {path: ./delivered, sourceRef: {kind: GitRepository, name: flux-system}}\n"
    ),
    "package/Kptfile": (
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: p}\n"
        "pipeline: {mutators: [{exec: kubevirt-render, configPath: ../../outside/secret.yaml}]}\n"
    ),
    "package/vm.yaml": PLAIN["chart"]["chart/templates/vm.yaml"],
}
# Names that no file has.
NO_NAMES: strangers.Files = {
    "app/kustomization.yaml": 'generators: ["", "a\\0"]\n',
    "base/kustomization.yaml": 'resources: ["a\\0", ../vm.yaml]\npatches: [{path: "a\\0"}]\ncomponents: ["a\\0"]\n',
    "cases/four/expected.yaml": 'inputs: ["a\\0"]\n',
}
STARTED = {"kustomization": "kustomize", "chart": "helm", "git": "git"}


def table() -> dict[tuple[str, str], str]:
    """The words of the cells, by command and way."""
    rows = [
        [cell.strip(" `") for cell in line.strip("|").split("|")]
        for line in PAGE.partition(HEAD)[2].partition("\n\n")[0].split("\n")[2:]
    ]
    return {(row[0], way): word for row in rows for way, word in zip(PLAIN, row[1:], strict=True)}


CELLS = table()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    fetched("5.8.1"), helm()
    made = World(tmp_path_factory.mktemp("world") / "world")
    yield made
    made.close()


def watched(world: World, name: str, files: strangers.Files, *, trace: bool = False) -> Seen:
    """What a command does on a tree. No law may be broken."""
    command = strangers.COMMANDS[name]
    loose = {} if name == "argocd discover" else strangers.LOOSE  # it ends at the first VM
    world.clear()
    strangers.write({**loose, **strangers.beside(command), **files}, world.tree)
    seen = world.watch(command, trace=trace)
    assert laws.broken(world, command, seen) == "", files
    return seen


def found(world: World, files: strangers.Files, seen: Seen, name: str, way: str) -> str:
    """What a cell is called in which this was seen."""
    if STARTED.get(way) in {Path(each.name).name for each in seen.programs}:
        return "commits" if way == "git" else "built"
    opened = [name for name in files if str(world.tree / name) in seen.opened]
    if not opened or way == "git":
        return "not read"
    return "settings" if ".kubevirt-render.yaml" in opened or (name, way) == ("test", "tests") else "data"


def test_every_command_and_way_of_the_table_is_known() -> None:
    assert {name for name, _ in CELLS} <= {*strangers.COMMANDS}
    assert PAGE.partition(HEAD)[2].partition("\n")[0].strip(" |").split(" | ") == [*PLAIN][1:]
    words = set(re.findall(r"^- \*\*([a-z ]+)\*\*: (?!prints|reads|gets)", PAGE, re.MULTILINE))
    assert {*CELLS.values()} <= words


@pytest.mark.parametrize(("name", "way"), CELLS)
def test_files_of_strangers_do_what_the_table_says(world: World, name: str, way: str) -> None:
    seen = watched(world, name, PLAIN[way], trace=shutil.which("strace") is not None)
    assert found(world, PLAIN[way], seen, name, way) == CELLS[name, way]


@pytest.mark.parametrize("name", dict.fromkeys(name for name, _ in CELLS))
def test_no_link_is_followed_out_of_the_tree(world: World, name: str) -> None:
    watched(world, name, LINKS)


@pytest.mark.parametrize("name", dict.fromkeys(name for name, _ in CELLS))
def test_no_null_byte_in_a_name_is_a_crash(world: World, name: str) -> None:
    watched(world, name, NO_NAMES)


@pytest.mark.parametrize(("name", "way"), CELLS)
def test_hostile_files_break_no_law(world: World, name: str, way: str) -> None:
    for number in range(TREES):
        watched(world, name, strangers.WAYS[way](Random(f"{name}/{way}/{number}"), world))
