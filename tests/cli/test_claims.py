"""What says how claims can be used: objects of other targets, and the repository's config; every command takes it alike."""

import csv
import json
import os
from pathlib import Path

import pytest
from checking import run
from committing import commit, git
from pages import machines_in
from trees import tree

pytestmark = pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web, namespace: vms}
spec:
  runStrategy: Always
  dataVolumeTemplates:
  - metadata: {name: web-root}
    spec: {storage: {resources: {requests: {storage: 10Gi}}}, source: {blank: {}}}
  template:
    spec:
      evictionStrategy: LiveMigrate
      domain:
        memory: {guest: 1Gi}
        devices: {interfaces: [{name: default, masquerade: {}}]}
      networks: [{name: default, pod: {}}]
      volumes:
      - {name: root, dataVolume: {name: web-root}}
"""
STORAGE = """\
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata:
  name: disks
  annotations: {storageclass.kubernetes.io/is-default-class: "true"}
provisioner: disks.example.com
---
apiVersion: cdi.kubevirt.io/v1beta1
kind: StorageProfile
metadata: {name: disks}
spec: {claimPropertySets: [{volumeMode: Filesystem, accessModes: [%s]}]}
"""
CONFIG = """\
apiVersion: kubevirt-render.dev/v1alpha1
kind: RenderVirtualMachines
spec:
  configuration: {vmRolloutStrategy: LiveUpdate}
"""
OWN = {"vms/web.yaml": VM, "vms/kustomization.yaml": "resources: [web.yaml]\n", ".kubevirt-render.yaml": CONFIG}
REQUIRED = "live migration requires that all PVCs must be shared (using ReadWriteMany access mode)"
ONCE, MANY = "ReadWriteOnce", "ReadWriteMany"


def profile(mode: str) -> dict[str, str]:
    return {"storage/all.yaml": STORAGE % mode, "storage/kustomization.yaml": "resources: [all.yaml]\n"}


def stated(text: str) -> dict[str, str]:
    return {".kubevirt-render.yaml": CONFIG + text}


def class_of(mode: str, name: str = "disks") -> str:
    return f"  storageProfiles: [{{name: {name}, default: true, accessModes: [{mode}]}}]\n"


def claims(*entries: str) -> str:
    return f"  claims: [{', '.join(entries)}]\n"


# What says the access modes, and the answer that follows.
SAID = {
    "nothing": ({}, "unknown"),
    "a profile, once": (profile(ONCE), "False"),
    "a profile, many": (profile(MANY), "True"),
    "config, once": (stated(class_of(ONCE)), "False"),
    "config, many": (stated(class_of(MANY)), "True"),
    "config and a profile": ({**profile(ONCE), **stated(class_of(MANY))}, "False"),
    "a claim": (stated(claims("{namespace: vms, name: web-*, accessModes: [ReadWriteOnce]}")), "False"),
    "the first claim that fits": (
        stated(claims("{name: web-*, accessModes: [ReadWriteMany]}", "{accessModes: [ReadWriteOnce]}")),
        "True",
    ),
    "claims of others": (stated(claims("{namespace: other, accessModes: [ReadWriteOnce]}")), "unknown"),
    "a claim before the class": (stated(claims("{accessModes: [ReadWriteMany]}") + class_of(ONCE)), "True"),
}
every = pytest.mark.parametrize(("files", "answer"), SAID.values(), ids=[*SAID])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kustomize: Path) -> Path:
    monkeypatch.setenv("PATH", f"{Path(kustomize).parent}:{os.environ['PATH']}")
    return tmp_path


@every
def test_capacity_says_whether_the_vm_can_be_migrated(here: Path, files: dict[str, str], answer: str) -> None:
    folder = tree(here, {**OWN, **files})
    (vm,) = json.loads(run("capacity", ".", "-o", "json", cwd=folder)[1])["vms"]
    found = vm["migratable"]
    assert (found["liveMigratable"]["status"] if "liveMigratable" in found else "unknown") == answer


@every
def test_the_report_says_it_of_each_vm(here: Path, files: dict[str, str], answer: str) -> None:
    folder = tree(here, {**OWN, **files})
    run("report", ".", "-o", "page.html", cwd=folder)
    (vm,) = machines_in((folder / "page.html").read_text())
    told = {
        "True": ("yes", ""),
        "False": ("no", f"cannot migrate VMI: PVC web-root is not shared, {REQUIRED}"),
        "unknown": ("unknown", "that depends on PersistentVolumeClaim/web-root"),
    }
    assert (vm["migration"], vm["obstacle"]) == told[answer]


@every
def test_rows_count_the_vms(here: Path, files: dict[str, str], answer: str) -> None:
    folder = tree(here, {**OWN, **files})
    (row,) = csv.DictReader(run("capacity", ".", "-o", "csv", "--by", "namespace", cwd=folder)[1].splitlines())
    counts = {"True": ("1", "0"), "False": ("0", "1"), "unknown": ("0", "0")}
    assert (row["migratable"], row["not_migratable"]) == counts[answer]


@every
def test_check_tells_a_drain_that_hangs(here: Path, files: dict[str, str], answer: str) -> None:
    out = run("check", ".", "--no-cache", cwd=tree(here, {**OWN, **files}))[1]
    assert ("claim web-root is not ReadWriteMany" in out) == (answer == "False")


@every
def test_diff_says_how_the_vm_takes_more_memory(here: Path, files: dict[str, str], answer: str) -> None:
    git(here, "init", "-q", "-b", "main")
    commit(here, {**OWN, **files})
    (here / "vms/web.yaml").write_text(VM.replace("guest: 1Gi", "guest: 2Gi"))
    (record,) = json.loads(run("diff", "--base", "HEAD", "-o", "json", cwd=here)[1])["vms"]
    status = record["migratable"]["status"].replace("Unknown", "unknown") if "migratable" in record else "True"
    assert (status, bool(record.get("restartRequired"))) == (answer, answer == "False")


def test_a_claim_that_is_stated_is_not_missing(here: Path) -> None:
    vm = VM.replace("dataVolume: {name: web-root}", "persistentVolumeClaim: {claimName: kept}")
    folder = tree(here, {**OWN, "vms/web.yaml": vm})
    assert "kept is not in the bundle" in run("check", ".", "--no-cache", cwd=folder)[1]
    tree(here, stated(claims("{namespace: vms, name: kept, accessModes: [ReadWriteMany]}")))
    assert "kept" not in run("check", ".", "--no-cache", cwd=folder)[1]


def test_the_nearest_config_says_it(here: Path) -> None:
    text = (
        f"{CONFIG}  clusters:\n  - {{name: north, targets: [vms], storageProfiles: [{{name: disks, accessModes: [{MANY}]}}]}}\n"
    )
    vm = VM.replace("storage: {resources", "storage: {storageClassName: disks, resources")
    folder = tree(here, {**OWN, "vms/web.yaml": vm, ".kubevirt-render.yaml": text + class_of(ONCE)})
    assert "is not ReadWriteMany" not in run("check", ".", "--no-cache", cwd=folder)[1]
