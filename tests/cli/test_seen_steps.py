"""Where this program is a step on the way to the cluster: what leaves counts, and which step gave a value is said."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from checking import run
from jsonschema import Draft202012Validator
from pages import data_in, machines_in
from test_own_step import INLINE, PLAIN, SIZE, STEP, VM
from trees import tree

from krm_fn.explaining.schema import schema

pytestmark = pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)

PATCH = "{patches: [{target: {kind: VirtualMachine}, patch: [%s]}]}"
SOCKETS = "{op: replace, path: /spec/template/spec/domain/cpu/sockets, value: 8}"
TWO = {
    **PLAIN,
    "kustomization.yaml": PLAIN["kustomization.yaml"]
    + f"transformers:\n- render.yaml\n- |\n{INLINE}\n    spec: {PATCH % SOCKETS}\n",
    "render.yaml": STEP + "spec:\n  defaults: cluster\n  configuration:\n    machineType: pc-q35-9.0\n",
}
PACKAGE = {
    "p/Kptfile": "kind: Kptfile\napiVersion: kpt.dev/v1\npipeline: {mutators: [{exec: kubevirt-render, configPath: r.yaml}]}\n",
    "p/r.yaml": STEP + f"spec: {PATCH % '{op: add, path: /spec/template/spec/hostname, value: a}'}\n",
    "p/vm.yaml": VM,
    "p/size.yaml": SIZE,
}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kustomize: str) -> Path:
    monkeypatch.setenv("PATH", f"{Path(kustomize).parent}:{os.environ['PATH']}")
    return tmp_path


def explained(here: Path, files: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The record of the only VM, and the sources of its values by their paths."""
    code, out, err = run("explain", ".", "-o", "json", cwd=tree(here, files))
    assert (code, err) == (0, "")
    Draft202012Validator(schema()).validate(json.loads(out))
    (record,) = json.loads(out)["vms"]
    return record, {field["path"]: field for field in record["fields"]}


def test_explain_names_the_steps_and_what_each_gave(here: Path) -> None:
    record, fields = explained(here, TWO)
    assert record["steps"] == [
        {"host": "kustomize", "mode": "expand", "file": "render.yaml", "index": 0, "line": 1, "column": 1},
        {"host": "kustomize", "mode": "expand", "file": "kustomization.yaml", "index": 0, "line": 5, "column": 5},
    ]
    sockets = fields["spec.template.spec.domain.cpu.sockets"]
    assert sockets["value"] == 8
    place = {"file": "kustomization.yaml", "index": 0, "line": 5, "column": 5}
    assert sockets["source"] == {"from": "step", "name": "kustomize", "field": "", **place}
    assert fields["spec.template.spec.domain.memory.guest"]["source"]["from"] == "instancetype"
    machine = fields["spec.template.spec.domain.machine.type"]["source"]
    assert (machine["from"], machine["file"], machine["line"]) == ("configuration", "render.yaml", 9)


def test_explain_shows_the_steps_as_text(here: Path) -> None:
    out = run("explain", ".", cwd=tree(here, TWO))[1]
    assert out.splitlines()[1:3] == [
        "  step of kustomize, mode expand  render.yaml:1:1",
        "  step of kustomize, mode expand  kustomization.yaml:5:5",
    ]
    assert "sockets: 8              step of kustomize  kustomization.yaml:5:5" in out


def test_explain_names_the_patch_of_a_package(here: Path) -> None:
    record, fields = explained(here, PACKAGE)
    assert [(each["host"], each["file"]) for each in record["steps"]] == [("kpt", "p/r.yaml")]
    source = fields["spec.template.spec.hostname"]["source"]
    assert (source["from"], source["file"], source["line"]) == ("patch", "p/r.yaml", 6)


@pytest.mark.parametrize("mode", ["annotate", "validate", "snapshot"])
def test_a_step_that_renders_nothing_is_named_too(here: Path, mode: str) -> None:
    listed = PLAIN["kustomization.yaml"] + "transformers: [render.yaml]\n"
    files = {**PLAIN, "kustomization.yaml": listed, "render.yaml": f"{STEP}spec: {{mode: {mode}}}\n"}
    record, fields = explained(here, files)
    assert [each["mode"] for each in record["steps"]] == [mode]
    assert fields["spec.template.spec.domain.cpu.sockets"]["source"]["from"] == "instancetype"


def test_capacity_counts_what_leaves(here: Path) -> None:
    code, out, err = run("capacity", ".", "-o", "json", cwd=tree(here, TWO))
    assert (code, err) == (0, "")
    assert [vm["vcpus"] for vm in json.loads(out)["vms"]] == [8]


def test_report_shows_what_leaves(here: Path) -> None:
    out = run("report", ".", "-o", "-", cwd=tree(here, TWO))[1]
    (machine,) = machines_in(out)
    assert data_in(out)["figures"][machine["vcpus"]][1] == "8"
    assert "step of kustomize" in out


@pytest.mark.parametrize("command", ["capacity", "explain"])
def test_what_a_step_refuses_is_told_and_shown_as_it_is_written(here: Path, command: str) -> None:
    files = {**PLAIN, "kustomization.yaml": PLAIN["kustomization.yaml"] + "transformers: [render.yaml]\n", "render.yaml": STEP}
    code, out, err = run(command, ".", cwd=tree(here, {**files, "vm.yaml": VM.replace("name: house", "name: hous")}))
    assert (code, "web" in out, "unresolved-instancetype" in err) == (1, True, True)
