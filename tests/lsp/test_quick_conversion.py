"""The quick fix that lets a flat VM refer to an instancetype."""

from __future__ import annotations

from pathlib import Path

import pytest
from edited_files import workspace_of

from krm_fn.lsp.session import Session

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web}
spec:
  runStrategy: Always  # it never closes
  template:
    spec:
      domain:
        cpu: {sockets: 2, cores: 1, threads: 1}
        memory: {guest: 8Gi}
        devices: {}
"""
CONFIG = (
    "kind: RenderVirtualMachines\napiVersion: kubevirt-render.dev/v1alpha1\nspec: {severity: {could-use-instancetype: info}}\n"
)
PATCH = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web}
spec: {template: {spec: {domain: {cpu: {sockets: 1}}}}}
"""


def actions(file: str) -> list[tuple[str, str]]:
    """The titles of the quick fixes, and the text after each."""
    session = Session()
    session.begin()
    found = []
    for each in session.actions(file, 0, 99):
        lines = session.workspace.text(file).splitlines(keepends=True)
        for edit in reversed(each.edits):
            lines[edit.first : edit.last] = [edit.text]
        found.append((each.title, "".join(lines)))
    return found


def test_a_flat_vm_is_converted_in_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace_of(tmp_path, {"vm.yaml": VM, ".kubevirt-render.yaml": CONFIG}, monkeypatch)
    ((title, text),) = actions("vm.yaml")
    assert title == "Convert to an instancetype (could-use-instancetype)"
    assert text == VM.replace(
        "        cpu: {sockets: 2, cores: 1, threads: 1}\n        memory: {guest: 8Gi}\n        devices: {}\n",
        "        devices: {}\n  instancetype:\n    kind: VirtualMachineClusterInstancetype\n    name: u1.large\n",
    )


def test_no_fix_is_offered_where_the_config_does_not_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    workspace_of(tmp_path, {"vm.yaml": VM}, monkeypatch)
    assert actions("vm.yaml") == []


def test_no_fix_is_offered_where_another_file_changes_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        ".kubevirt-render.yaml": CONFIG,
        "vm.yaml": VM,
        "size.yaml": PATCH,
        "kustomization.yaml": "resources: [vm.yaml]\npatches: [{path: size.yaml}]\n",
    }
    workspace_of(tmp_path, files, monkeypatch)
    assert [title for title, _ in actions("vm.yaml") if title.startswith("Convert")] == []
