"""What files of a folder refer to may be in the cluster, unless a name is misspelt; a bundle that is named is complete."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from checking import run

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {{name: web, namespace: shop}}
spec:
  runStrategy: Always
  {matcher}
  template:
    spec:
      domain: {{devices: {{}}}}
      volumes: [{{name: root, persistentVolumeClaim: {{claimName: golden}}}}]
"""
SIZE = """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineInstancetype
metadata: {name: small, namespace: shop}
spec: {cpu: {guest: 1}, memory: {guest: 1Gi}}
"""
CONFIG = "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\n"
OWN = "instancetype: {kind: VirtualMachineInstancetype, name: NAME}"
ABOUT_ABSENT = ("unresolved-instancetype", "unresolved-preference", "failed-inference", "missing-revision")


@pytest.fixture
def severities(tmp_path: Path) -> object:
    def call(matcher: str, *paths: str, config: str = "") -> list[tuple[str, str]]:
        (tmp_path / "vms").mkdir()
        (tmp_path / "vms" / "vm.yaml").write_text(VM.format(matcher=matcher))
        (tmp_path / "vms" / "sizes.yaml").write_text(SIZE)
        if config:
            (tmp_path / ".kubevirt-render.yaml").write_text(config)
        found = json.loads(run("check", *(paths or ["."]), "-o", "json", "--no-cache", cwd=tmp_path)[1])["results"]
        return [(each["tags"]["rule"], each["severity"]) for each in found if each["tags"]["rule"] in ABOUT_ABSENT]

    return call


@pytest.mark.parametrize(
    ("matcher", "rule"),
    [
        (OWN.replace("NAME", "gigantic"), "unresolved-instancetype"),
        ("instancetype: {name: of-our-company}", "unresolved-instancetype"),
        ("preference: {kind: VirtualMachinePreference, name: appliance}", "unresolved-preference"),
        ("preference: {inferFromVolume: root}", "failed-inference"),
        ("instancetype: {name: u1.small, revisionName: stored-long-ago}", "missing-revision"),
    ],
)
def test_what_the_files_of_a_folder_lack_may_be_in_the_cluster(severities, matcher: str, rule: str) -> None:
    assert severities(matcher) == [(rule, "warning")]


@pytest.mark.parametrize(
    "matcher",
    [
        OWN.replace("NAME", "smal"),
        "instancetype: {name: u1.smalll}",
        "instancetype: {name: small}",  # of the other kind
    ],
)
def test_a_misspelling_of_what_is_known_is_an_error(severities, matcher: str) -> None:
    assert severities(matcher) == [("unresolved-instancetype", "error")]


def test_files_that_are_named_are_a_whole_bundle(severities) -> None:
    found = severities(OWN.replace("NAME", "gigantic"), "vms/vm.yaml", "vms/sizes.yaml")
    assert found == [("unresolved-instancetype", "error")]


def test_what_is_external_is_not_reported(severities) -> None:
    config = CONFIG + "spec: {external: [{kind: PersistentVolumeClaim}]}\n"
    assert severities("preference: {inferFromVolume: root}", config=config) == []


def test_a_severity_in_the_config_decides(severities) -> None:
    config = CONFIG + "spec: {severity: {failed-inference: error}}\n"
    found = severities("preference: {inferFromVolume: root}", config=config)
    assert found == [("failed-inference", "error")]


def test_a_vm_that_can_not_be_rendered_fails_render(severities, tmp_path: Path) -> None:
    severities(OWN.replace("NAME", "gigantic"))
    assert run("render", ".", cwd=tmp_path)[:2] == (1, "")
