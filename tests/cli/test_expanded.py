"""`check --expanded` after `render`: silent about what only the references needed."""

from __future__ import annotations

import pytest
from checking import check, run

BUNDLE = """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterInstancetype
metadata: {name: small}
spec: {cpu: {guest: 2}, memory: {guest: 2Gi}}
---
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachinePreference
metadata: {name: linux, namespace: shop}
spec: {devices: {preferredDiskBus: virtio}}
---
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterInstancetype
metadata:
  name: spare
  annotations: {kubevirt-render.dev/ignore: "unused-instancetype: for later"}
spec: {cpu: {guest: 4}, memory: {guest: 2Gi}}
---
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web, namespace: shop}
spec:
  runStrategy: Always
  instancetype: {name: small}
  preference: {kind: VirtualMachinePreference, name: linux}
  template: {spec: {domain: {devices: {}}}}
"""


@pytest.fixture
def rendered(tmp_path):
    code, out, err = run("render", "-", cwd=tmp_path, stdin=BUNDLE)
    assert (code, err) == (0, "")
    return out


def test_rendered_objects_have_no_findings(tmp_path, rendered):
    assert "kind: VirtualMachinePreference" in rendered
    assert check("--expanded", "-", cwd=tmp_path, stdin=rendered) == (0, "", "")


def test_without_the_flag_the_same_objects_are_unused(tmp_path, rendered):
    out = check("-", cwd=tmp_path, stdin=rendered)[1]
    assert out.count("(unused-instancetype)") == 2
    assert "spare" not in out


def test_what_was_stored_for_a_rendered_vm_is_not_unused(tmp_path):
    code, stored, _ = run("render", "--mode", "snapshot", "-", cwd=tmp_path, stdin=BUNDLE)
    assert (code, stored.count("kind: ControllerRevision")) == (0, 2)
    out = run("render", "-", cwd=tmp_path, stdin=stored)[1]
    assert check("--expanded", "-", cwd=tmp_path, stdin=out) == (0, "", "")


def test_a_vm_that_is_not_rendered_is_the_only_finding(tmp_path):
    code, out, _ = check("--expanded", "-", cwd=tmp_path, stdin=BUNDLE)
    assert (code, out.count("\n"), out.count("(unexpanded-vm)")) == (1, 2, 2)


def test_the_outputs_of_two_clusters_are_not_added_up(tmp_path):
    quota = "---\napiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: shop}\nspec: {hard: {pods: '1'}}\n"
    vm = f"apiVersion: kubevirt.io/v1\n{BUNDLE.rpartition('apiVersion: kubevirt.io/v1')[2]}{quota}"
    vm = vm.replace("  instancetype: {name: small}\n  preference: {kind: VirtualMachinePreference, name: linux}\n", "")
    vm = vm.replace("domain: {", "domain: {memory: {guest: 1Gi}, ")
    for name in ("north", "south"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "all.yaml").write_text(vm)
    assert "quota" not in check("--expanded", ".", cwd=tmp_path)[1]
    (tmp_path / "south/all.yaml").write_text(vm.replace("name: web", "name: other"))
    assert "the VMs need 2 of pods, but the quota has 1" in check("--expanded", ".", cwd=tmp_path)[1]
