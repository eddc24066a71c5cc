"""What is in the cluster and not in git counts in every command: a network, an instancetype, a preference."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from checking import run
from committing import commit, git

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web, namespace: vms}
spec:
  runStrategy: Always
  instancetype: {name: u1.small}
  template:
    spec:
      domain: {devices: {interfaces: [{name: lan, bridge: {}}]}}
      networks: [{name: lan, multus: {networkName: lan}}]
      volumes: [{name: root, containerDisk: {image: example.com/web}}]
"""
EXTERNAL = """\
kind: RenderVirtualMachines
spec:
  kubevirtVersion: "1.6"
  external:
  - {kind: NetworkAttachmentDefinition, namespace: vms}
  - {kind: VirtualMachineClusterInstancetype, name: ours.*}
  - {kind: VirtualMachinePreference, namespace: vms, name: ours}
"""
OURS = VM.replace("u1.small", "ours.small")
PREFERRED = VM.replace("  template:", "  preference: {kind: VirtualMachinePreference, name: ours}\n  template:")


def here(folder: Path, vm: str) -> Path:
    git(folder, "init", "-q", "-b", "main")
    return commit(folder, {".kubevirt-render.yaml": EXTERNAL, "vm.yaml": vm})


def record_of(folder: Path, vm: str) -> dict[str, object]:
    (folder / "vm.yaml").write_text(vm)
    (record,) = json.loads(run("diff", "--base", "HEAD", "-o", "json", cwd=folder)[1])["vms"]
    return record


def test_a_network_of_the_cluster_keeps_no_pod_from_being_made(tmp_path: Path) -> None:
    here(tmp_path, VM)
    (vm,) = json.loads(run("capacity", ".", "-o", "json", cwd=tmp_path)[1])["vms"]
    assert "podError" not in vm
    out = run("diff", ".", "--kubevirt-version", "1.5", "--to-kubevirt-version", "1.6", cwd=tmp_path)[1]
    assert ("pod requests: memory" in out, "no pod" in out) == (True, False)


@pytest.mark.parametrize(
    ("vm", "edit", "effect"),
    [
        (OURS, ("Always", "Halted"), ["stopped"]),
        (OURS, ("example.com/web", "example.com/new"), ["restartRequired", "atNextStart"]),
        (OURS, ("{devices", "{memory: {guest: 2Gi}, devices"), ["refused"]),
        (PREFERRED, ("Always", "Halted"), ["stopped"]),
    ],
)
def test_what_does_not_depend_on_an_object_of_the_cluster_is_told(
    tmp_path: Path, vm: str, edit: tuple[str, str], effect: list[str]
) -> None:
    here(tmp_path, vm)
    found = record_of(tmp_path, vm.replace(*edit))
    assert found["effect"] == effect
    (name,) = found["unknown"]["objects"]  # type: ignore[index]
    assert name in {"VirtualMachineClusterInstancetype ours.small", "VirtualMachinePreference vms/ours"}


def test_no_size_of_an_instancetype_of_the_cluster_is_made_up(tmp_path: Path) -> None:
    here(tmp_path, OURS)
    found = record_of(tmp_path, OURS.replace("ours.small", "ours.large"))
    assert found["unknown"] == {
        "objects": ["VirtualMachineClusterInstancetype ours.large", "VirtualMachineClusterInstancetype ours.small"]
    }
    assert not {"pod", "guest"} & {*found}
    (tmp_path / "vm.yaml").write_text(OURS)
    (tmp_path / "new.yaml").write_text(OURS.replace("name: web", "name: new"))
    (record,) = json.loads(run("diff", "--base", "HEAD", "-o", "json", cwd=tmp_path)[1])["vms"]
    assert (record["change"], "pod" in record) == ("added", False)


def test_a_placeholder_of_another_vm_stays_unknown_beside_an_object_of_the_cluster(tmp_path: Path) -> None:
    other = VM.replace("  instancetype: {name: u1.small}\n", "").replace("{devices", "{memory: {guest: 2Gi}, devices")
    here(tmp_path, OURS)
    commit(tmp_path, {"other.yaml": other.replace("name: web", "name: other")})
    (tmp_path / "other.yaml").write_text(other.replace("name: web", "name: other").replace("2Gi", '"${SIZE}"'))
    (record,) = json.loads(run("diff", "--base", "HEAD", "-o", "json", cwd=tmp_path)[1])["vms"]
    assert record["unknown"] == {"values": ["spec.template.spec.domain.memory.guest is ${SIZE}"]}
    assert "pod" not in record


def test_an_upgrade_that_nothing_is_known_to_change_changes_nothing(tmp_path: Path) -> None:
    here(tmp_path, OURS)
    out = run("diff", ".", "--kubevirt-version", "1.7", "--to-kubevirt-version", "1.8", cwd=tmp_path)[1]
    assert "none of 1 VM changes" in out
    assert "not found" not in out
