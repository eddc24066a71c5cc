"""`kubevirt-render diff`, as a user runs it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import NamedTuple

import checking
import pytest
from markdown_it import MarkdownIt
from trees import tree

BASE = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web}
spec:
  runStrategy: Always
  template:
    spec:
      domain: {cpu: {sockets: 2}, memory: {guest: 2Gi}, devices: {interfaces: [{name: default, masquerade: {}}]}}
      networks: [{name: default, pod: {}}]
"""
HEAD = BASE.replace("sockets: 2", "sockets: 4")


class Ran(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


def run(*arguments: str, cwd: Path, stdin: str = "") -> Ran:
    return Ran(*checking.run(*arguments, cwd=cwd, stdin=stdin))


@pytest.fixture
def sides(tmp_path: Path) -> Path:
    for side, text in (("base", BASE), ("head", HEAD)):
        (tmp_path / side).mkdir()
        (tmp_path / side / "vm.yaml").write_text(text)
    return tmp_path


def test_text_has_a_block_for_each_vm_and_a_line_of_figures(sides: Path) -> None:
    ran = run("diff", "base", "head", cwd=sides)
    assert ran.returncode == 0
    assert ran.stdout == (
        "VirtualMachine default/web: needs a live migration; changes at the next start\n"
        "  whether KubeVirt starts the migration depends on workloadUpdateStrategy, which is not known here; "
        "add the KubeVirt object, or name the settings with --configuration\n"
        "  pod requests: CPU 0.205 → 0.405, memory 2.3Gi → 2.32Gi\n"
        "  because of the manifest: spec.template.spec.domain.cpu.sockets:\n"
        "    CPU sockets 2 → 4, after the migration\n"
        "    hotplug limit of CPU sockets 8 → 16, at the next start\n"
        "\n"
        "1 of 1 VM changes: 1 migration\n"
    )


def test_places_are_written_as_findings_write_them(tmp_path: Path) -> None:
    text = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web, labels: {app.example.com/part-of: shop}}
spec:
  runStrategy: Always
  template:
    spec:
      domain: {memory: {guest: 1Gi}, devices: {disks: [{name: root, disk: {}}]}}
      volumes: [{name: root, persistentVolumeClaim: {claimName: root}}]
"""
    (tmp_path / "a.yaml").write_text(text)
    (tmp_path / "b.yaml").write_text(text.replace("shop", "site"))
    (tmp_path / "c.yaml").write_text(text.replace("claimName: root", "claimName: new"))
    out = run("diff", "a.yaml", "b.yaml", cwd=tmp_path)[1]
    assert '  metadata.labels["app.example.com/part-of"] is edited, but that changes no machine\n' in out
    assert "  volume root: claim name root → new, after a restart" in run("diff", "a.yaml", "c.yaml", cwd=tmp_path)[1]


def test_equal_sides_have_the_line_of_figures_alone(sides: Path) -> None:
    assert run("diff", "base", "base/vm.yaml", cwd=sides).stdout == "none of 1 VM changes\n"


IMAGE = """\
apiVersion: cdi.kubevirt.io/v1beta1
kind: DataVolume
metadata: {name: img}
spec:
  source: {http: {url: "https://example.org/first.qcow2"}}
  storage: {resources: {requests: {storage: 5Gi}}}
---
"""
IMAGE_USER = BASE + "      volumes: [{name: d, dataVolume: {name: img}}]\n"


def test_an_edit_of_a_data_volume_is_refused_and_fails(tmp_path: Path) -> None:
    tree(tmp_path, {"base.yaml": IMAGE + IMAGE_USER, "head.yaml": IMAGE.replace("first", "second") + IMAGE_USER})
    ran = run("diff", "base.yaml", "head.yaml", cwd=tmp_path)
    assert ran.returncode == 1
    assert ran.stdout == (
        "VirtualMachine default/web: an edit of what it uses is refused; stays as it is\n"
        "  refused: DataVolume/img: spec.source.http.url: CDI refuses it (Cannot update DataVolume Spec), so the apply fails "
        "and the disk stays; for another disk, use another name\n"
        "\n"
        "1 of 1 VM changes: 1 data refused\n"
    )


def test_a_deleted_disk_fails_and_a_vm_that_is_made_anew_without_one_does_not(tmp_path: Path) -> None:
    tree(tmp_path, {"base.yaml": IMAGE + IMAGE_USER, "head.yaml": IMAGE_USER, "renamed.yaml": BASE.replace("web", "shop")})
    ran = run("diff", "base.yaml", "head.yaml", cwd=tmp_path)
    assert ran.returncode == 1
    assert "  deletes DataVolume/img, with its data (5Gi)\n" in ran.stdout
    assert run("diff", "base.yaml", "head.yaml", "--fail-on", "refused", cwd=tmp_path).returncode == 0
    tree(tmp_path, {"old.yaml": BASE})
    assert run("diff", "old.yaml", "renamed.yaml", cwd=tmp_path).returncode == 0


REFUSED = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web}
spec:
  runStrategy: Halted
  preference: {inferFromVolume: root}
  template: {spec: {domain: {devices: {}}, volumes: [{name: root, persistentVolumeClaim: {claimName: root}}]}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: root, labels: {instancetype.kubevirt.io/default-preference: fedora}}
"""


@pytest.mark.parametrize("output", ["text", "markdown"])
def test_a_vm_that_is_refused_as_before_and_not_edited_is_not_told(tmp_path: Path, output: str) -> None:
    (tmp_path / "vm.yaml").write_text(REFUSED)
    (tmp_path / "edited.yaml").write_text(REFUSED.replace("Halted", "Always"))
    assert [vm["effect"] for vm in json.loads(run("diff", "vm.yaml", "vm.yaml", "-o", "json", cwd=tmp_path).stdout)["vms"]] == [
        ["refused"]
    ]
    assert "web" not in run("diff", "vm.yaml", "vm.yaml", "-o", output, cwd=tmp_path).stdout
    assert "1 of 1 VM changes: 1 refused" in run("diff", "vm.yaml", "edited.yaml", "-o", output, cwd=tmp_path).stdout


def test_json_is_the_answer_of_the_library(sides: Path) -> None:
    answer = json.loads(run("diff", "base", "head", "-o", "json", cwd=sides).stdout)
    assert [vm["effect"] for vm in answer["vms"]] == [["live", "migration:nobody", "atNextStart"]]


@pytest.mark.parametrize(
    ("level", "code"), [("refused", 0), ("restart", 0), ("migration", 1), ("live", 1), ("any", 1), ("never", 0)]
)
def test_the_exit_code_follows_the_level(sides: Path, level: str, code: int) -> None:
    assert run("diff", "base", "head", "--fail-on", level, cwd=sides).returncode == code


def test_one_side_may_be_stdin(sides: Path) -> None:
    assert run("diff", "-", "head", cwd=sides, stdin=BASE).stdout.endswith("1 of 1 VM changes: 1 migration\n")


def test_stdin_is_read_once(sides: Path) -> None:
    ran = run("diff", "-", "-", cwd=sides, stdin=BASE)
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr == "kubevirt-render: error: both sides are -; stdin can be read once only\n"


def test_what_cannot_be_read_is_an_error_in_one_line(sides: Path) -> None:
    ran = run("diff", "base", "missing", cwd=sides)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.count("\n") == 1


def test_colours_are_shown_when_they_are_wanted(sides: Path) -> None:
    assert "\x1b[" in run("diff", "base", "head", "--color", "always", cwd=sides).stdout
    assert "\x1b[" not in run("diff", "base", "head", cwd=sides).stdout


def test_a_setting_of_the_cluster_can_be_a_flag(sides: Path) -> None:
    stage = "{vmRolloutStrategy: Stage}"
    ran = run("diff", "base", "head", "--configuration", stage, cwd=sides)
    assert ran.stdout.splitlines()[0] == "VirtualMachine default/web: needs a restart"


def test_a_vm_that_cannot_migrate_takes_no_memory(sides: Path) -> None:
    (sides / "head" / "vm.yaml").write_text(BASE.replace("2Gi", "4Gi"))
    ran = run("diff", "base", "head", "--migratable", "false", "--fail-on", "restart", cwd=sides)
    assert ran.returncode == 1
    assert "only available for migratable VMs" in ran.stdout


def test_new_vms_can_be_compared(sides: Path) -> None:
    ran = run("diff", "base", "head", "--assume", "new", cwd=sides)
    assert ran.stdout.splitlines()[0] == "VirtualMachine default/web: starts with other values"
    assert ran.stdout.splitlines()[-1] == "1 of 1 VM would start with other values"


def test_an_upgrade_alone_can_be_compared(sides: Path) -> None:
    ran = run("diff", "base", "--kubevirt-version", "1.5", "--to-kubevirt-version", "1.9", "-o", "json", cwd=sides)
    (record,) = json.loads(ran.stdout)["vms"]
    causes = [cause for change in record["changes"] for cause in change["causes"]]
    assert {"source": "release", "old": "1.5.3", "new": "1.9.0"} in causes


def test_one_side_without_a_release_is_no_comparison(sides: Path) -> None:
    ran = run("diff", "base", cwd=sides)
    assert ran.returncode == 2
    assert ran.stderr.startswith("kubevirt-render: error: HEAD is missing; name the files after the change")


def test_a_downgrade_is_told_because_kubevirt_has_none(sides: Path) -> None:
    ran = run("diff", "base", "--kubevirt-version", "1.9", "--to-kubevirt-version", "1.5", cwd=sides)
    assert ran.stderr == (
        "kubevirt-render: note: --to-kubevirt-version: 1.5.3 is older than KubeVirt 1.9.0, and KubeVirt has no downgrade; "
        "name the release before the change with --kubevirt-version\n"
    )
    assert run("diff", "base", "--kubevirt-version", "1.5", "--to-kubevirt-version", "1.9", cwd=sides).stderr == ""


def test_an_unknown_release_is_refused(sides: Path) -> None:
    ran = run("diff", "base", "--to-kubevirt-version", "7.1", cwd=sides)
    assert ran.returncode == 2
    assert ran.stderr.startswith("kubevirt-render: error: unknown KubeVirt release 7.1; expected one of")


def test_markdown_has_a_mark_and_a_fold_for_each_level(sides: Path) -> None:
    out = run("diff", "base", "head", "-o", "markdown", cwd=sides).stdout
    assert out.startswith("<!-- kubevirt-render diff -->\n### kubevirt-render: 1 of 1 VM changes: 1 migration\n")
    html = MarkdownIt("commonmark").render(out)
    assert "<summary>1 VM: migration</summary>" in html
    assert html.count("<li>") == 7  # six lines of text, and the meaning of the word


QUOTA = """\
---
apiVersion: v1
kind: ResourceQuota
metadata: {name: "a_b*c", namespace: default}
spec: {hard: {requests.cpu: 400m, requests.memory: 4Gi}}
"""


def test_quotas_stand_before_the_figures(sides: Path) -> None:
    for side in ("base", "head"):
        (sides / side / "quota.yaml").write_text(QUOTA)
    blocks = run("diff", "base", "head", cwd=sides).stdout.split("\n\n")
    assert blocks[-2].splitlines() == [
        "quota default/a_b*c: requests.cpu 0.205 → 0.405 of 0.4: over by 0.005",
        "quota default/a_b*c: requests.memory 2.3Gi → 2.32Gi of 4Gi",
    ]
    html = MarkdownIt("commonmark").render(run("diff", "base", "head", "-o", "markdown", cwd=sides).stdout)
    assert "<li>quota <code>default/a_b*c:</code> requests.cpu 0.205 → 0.405 of 0.4: over by 0.005</li>" in html


def test_only_the_configuration_of_the_cluster_may_change(tmp_path):
    tree(tmp_path, {"vm.yaml": LIMITED, "later.yaml": "liveUpdateConfiguration: {maxCpuSockets: 2}\n", "wrong.yaml": "[1]\n"})
    code, out, err = run("diff", "vm.yaml", "--assume", "new", "--to-configuration", "later.yaml", "-o", "json", cwd=tmp_path)
    assert (code, err) == (0, "")
    (vm,) = json.loads(out)["vms"]
    (change,) = [each for each in vm["changes"] if each["path"] == "/spec/domain/cpu/maxSockets"]
    assert (change["old"], change["new"], change["causes"][0]["source"]) == (4, 2, "kubevirt")
    code, out, err = run("diff", "vm.yaml", "--to-configuration", "wrong.yaml", cwd=tmp_path)
    assert (code, out, err.count("\n")) == (2, "", 1)


LIMITED = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web, namespace: default}
spec: {runStrategy: Always, template: {spec: {domain: {cpu: {sockets: 1}, memory: {guest: 1Gi}, devices: {}}}}}
"""


@pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
def test_overlays_of_a_base_beside_them_are_compared_as_check_reads_them(
    tmp_path: Path, kustomize: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(kustomize).parent}:{os.environ['PATH']}")
    tree(
        tmp_path,
        {
            "base/kustomization.yaml": "resources: [vm.yaml]\n",
            "base/vm.yaml": BASE,
            "one/kustomization.yaml": "resources: [../base]\nnamePrefix: a-\n",
            "two/kustomization.yaml": "resources: [../base]\nnamePrefix: b-\n",
        },
    )
    assert "1 of 1 VM changes: 1 renamed" in run("diff", "one", "two", "--fail-on", "never", cwd=tmp_path).stdout
    ran = run("diff", ".", "../two", cwd=tmp_path / "one")  # the base is beyond what is named
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "kustomization.yaml:1:13: not built: it refers to ../base, which is outside the repository" in ran.stderr


def test_a_file_that_can_not_be_read_is_named_where_it_is_not_compared(sides: Path) -> None:
    (sides / "broken.yaml").write_text(f"{BASE}  - x\n")
    ran = run("diff", "base/vm.yaml", "broken.yaml", cwd=sides)
    assert ran.returncode == 1
    assert ran.stdout.startswith("not compared: broken.yaml:")
