"""Adopting a step of this program, or dropping it, is a change like any other: `diff` says what it does to each running VM.

The bundles are those of the measured changes in which an instancetype was written into its VM.
"""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import Any

import pytest
from checking import run
from committing import commit, git
from measured import cases, files
from test_own_step import INLINE, STEP
from trees import tree

import krm_fn

Object = dict[str, Any]
HEAD = "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\n"
EVERY = 3  # bundle: each form renders and compares all of them
CASES = [case for name in files("changes") for case in cases(name) if "instancetype-inlined" in case["changes"]][::EVERY]


def spec(case: Object) -> Object:
    return {"kubevirtVersion": case["kubevirt"].removeprefix("v"), "configuration": case.get("config", {})}


def step(case: Object) -> str:
    return f"{STEP}spec: {json.dumps(spec(case))}\n"


def inline(case: Object) -> str:
    return f"resources: [all.json]\ntransformers:\n  - |\n{INLINE}\n    spec: {json.dumps(spec(case))}\n"


def kpt(case: Object) -> Object:
    call = {"exec": "kubevirt-render", "configPath": "step.yaml"}
    return {"apiVersion": "kpt.dev/v1", "kind": "Kptfile", "metadata": {"name": "p"}, "pipeline": {"mutators": [call]}}


def application(folder: str, case: Object) -> str:
    version, configuration = spec(case).values()
    given = [{"name": "kubevirtVersion", "string": version}, {"name": "configuration", "string": json.dumps(configuration)}]
    plugin = {"name": "kubevirt-render", "parameters": given}
    source = {"repoURL": "https://git.example.com/vms.git", "path": folder, "plugin": plugin}
    app = {"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": {"name": folder}}
    return json.dumps({**app, "spec": {"source": source, "destination": {"namespace": "a"}}})


# For a folder and its case: the files without the step, and what of them is another one with it.
FORMS = {
    "kustomization, file": lambda _, case: (
        {"kustomization.yaml": "resources: [all.json]\n"},
        {"kustomization.yaml": "resources: [all.json]\ntransformers: [step.yaml]\n", "step.yaml": step(case)},
    ),
    "kustomization, inline": lambda _, case: (
        {"kustomization.yaml": "resources: [all.json]\n"},
        {"kustomization.yaml": inline(case)},
    ),
    "component": lambda _, case: (
        {"kustomization.yaml": "resources: [all.json]\n"},
        {
            "kustomization.yaml": "resources: [all.json]\ncomponents: [step]\n",
            "step/kustomization.yaml": "kind: Component\ntransformers: [step.yaml]\n",
            "step/step.yaml": step(case),
        },
    ),
    "Kptfile": lambda _, case: ({}, {"Kptfile": json.dumps(kpt(case)), "step.yaml": step(case)}),
    "application": lambda folder, case: ({}, {"app.yaml": application(folder, case)}),
    "application of a kustomization": lambda folder, case: (
        {"kustomization.yaml": "resources: [all.json]\n"},
        {"app.yaml": application(folder, case)},
    ),
    "pipeline": lambda *_: ({}, {}),
}


def stream(items: list[Object]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def written(here: Path, form: str, *, stepped: bool) -> None:
    """The bundles of all cases, one a folder, with or without the step."""
    clusters = []
    for number, case in enumerate(CASES):
        folder = f"c{number}"
        without, more = FORMS[form](folder, case)
        found = {"all.json": stream(case["old"]), **without, **(more if stepped else {})}
        apart = {f"apps/{folder}.yaml": found.pop("app.yaml")} if "app.yaml" in found else {}
        tree(here, {**{f"{folder}/{name}": text for name, text in found.items()}, **apart})
        rendered = {"rendered": True} if stepped and form == "pipeline" else {}
        clusters.append({"name": folder, "targets": [folder], **spec(case), **rendered})
    (here / ".kubevirt-render.yaml").write_text(HEAD + f"spec: {json.dumps({'clusters': clusters})}\n")


def expected(case: Object, *, adopted: bool) -> list[Object]:
    """What `diff` says of the bundle and of what the function makes of it."""
    config = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "spec": spec(case)}
    given = {"items": case["old"], "functionConfig": config}
    made = krm_fn.process(copy.deepcopy(given))
    assert not any(each["severity"] == "error" for each in made["results"])
    both = (given, {**made, "functionConfig": config})
    found: list[Object] = krm_fn.diff(*(both if adopted else both[::-1]))["vms"]
    return found


@pytest.mark.parametrize("adopted", [True, False], ids=["adopted", "dropped"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
def test_a_step_is_a_change_like_any_other(
    form: str, kustomize: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, adopted: bool
) -> None:
    monkeypatch.setenv("PATH", f"{Path(kustomize).parent}:{os.environ['PATH']}")
    git(tmp_path, "init", "-q", "-b", "main")
    written(tmp_path, form, stepped=not adopted)
    commit(tmp_path, {})
    for file in [each for each in tmp_path.rglob("*") if each.is_file() and ".git/" not in f"{each}"]:
        file.unlink()
    written(tmp_path, form, stepped=adopted)
    code, out, err = run("diff", "--base", "HEAD", ".", "-o", "json", cwd=tmp_path)
    answer = json.loads(out)
    assert (code in (0, 1), "uncompared" in answer) == (True, False), err
    found: dict[str, list[Object]] = {}
    for record in answer["vms"]:
        found.setdefault(record.pop("target"), []).append({key: each for key, each in record.items() if key != "cluster"})
    assert len(found) > len(CASES) / 2  # most of them change
    for number, case in enumerate(CASES):
        assert found.get(f"c{number}", []) == expected(case, adopted=adopted), number
