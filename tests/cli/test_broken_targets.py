"""A kustomization that can't be built is reported once; commands go on with the others, and fail."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from checking import run
from trees import tree

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web}
spec:
  runStrategy: Always
  instancetype: {name: u1.small}
  template: {spec: {domain: {devices: {}}}}
"""
CONFIG = "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\n"
BROKEN = "resources: [absent.yaml]\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kustomize: str) -> Path:
    monkeypatch.setenv("PATH", f"{Path(kustomize).parent}:{os.environ['PATH']}")
    files = {"good/kustomization.yaml": "resources: [vm.yaml]\n", "good/vm.yaml": VM, "bad/kustomization.yaml": BROKEN}
    return tree(tmp_path, files)


pytestmark = pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)


@pytest.mark.parametrize("command", ["capacity", "explain"])
def test_the_other_targets_are_shown(here: Path, command: str) -> None:
    code, out, err = run(command, ".", "-o", "json", cwd=here)
    assert code == 1
    assert [each["name"] for each in json.loads(out)["vms"]] == ["web"]
    assert [line.partition("kustomize does not build this")[0] for line in err.splitlines()] == [
        "kubevirt-render: error: bad/kustomization.yaml: "
    ]


@pytest.mark.parametrize("command", ["capacity", "explain"])
def test_a_severity_in_the_config_decides_on_the_exit_code(here: Path, command: str) -> None:
    tree(here, {".kubevirt-render.yaml": CONFIG + "spec: {severity: {kustomization-not-built: warning}}\n"})
    assert run(command, ".", cwd=here)[0] == 0


@pytest.mark.parametrize("words", [["capacity"], ["capacity", "--matrix"], ["explain"]])
def test_where_nothing_can_be_built_only_that_is_said(here: Path, words: list[str]) -> None:
    code, _, err = run(*words, "bad", cwd=here)
    assert code == 1
    assert len(err.splitlines()) == 1


def test_render_prints_all_or_nothing(here: Path) -> None:
    code, out, err = run("render", ".", cwd=here)
    assert (code, out) == (1, "")
    assert "kustomize does not build this" in err
