"""kpt writes what the function returns into users' files: only what rendering changes may differ there."""

from __future__ import annotations

from pathlib import Path

from running import ROOT, passed, run

from krm_fn import yamlio

KPTFILE = """\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata:
  name: package
  annotations:
    config.kubernetes.io/local-config: "true"
pipeline:
  mutators:
    - exec: kubevirt-render
"""

# All that a reader and writer of YAML likes to change, and no VM.
ODDITIES = """\
# head of the file
apiVersion: v1
kind: ConfigMap
metadata: {name: oddities, labels: {tier: "web", on: "yes"}} # flow style
data:
  plain: yes
  mode: 0777
  mac: 52:54:00:12:34:56 # no number
  date: 2024-01-01
  exponent: 1e3
  quoted: "true"
  single: 'it''s'
  folded: >-
    one
    line
  # above the script
  script: |
    #!/bin/sh
    echo "hello"	# a tab

    exit 0
---
apiVersion: v1
kind: ConfigMap
metadata:
    name: anchors
data: &data
    a: &value "1"
    b: *value
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: anchors-again
data:
  a: &value "2"
  b: *value
# foot of the file
"""

LISTED = """\
apiVersion: v1
kind: List
metadata:
  name: list
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: listed}
  data: {a: b}
"""


def commit(folder: Path, environment: dict[str, str]) -> None:
    for command in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "before")):
        passed(run("git", *command, cwd=folder, environment=environment))


def diff(folder: Path, environment: dict[str, str]) -> str:
    """What changed since `commit`, untracked files too, without context."""
    passed(run("git", "add", "-A", "--intent-to-add", cwd=folder, environment=environment))
    return passed(run("git", "diff", "--unified=0", cwd=folder, environment=environment))


def changed(text: str, sign: str) -> list[str]:
    """The lines that a diff takes away ("-") or adds ("+")."""
    return [line[1:] for line in text.splitlines() if line.startswith(sign) and not line.startswith(sign * 3)]


def settled(kpt: str, folder: Path, environment: dict[str, str]) -> None:
    """Commit the package as kpt itself would write it, so that a diff shows the function's doing alone."""
    passed(run(kpt, "fn", "eval", ".", "--exec", "cat", cwd=folder, environment=environment))
    commit(folder, environment)


def test_a_package_without_a_vm_is_left_as_it_was(kpt: str, tmp_path: Path, environment: dict[str, str]) -> None:
    for name, text in {"Kptfile": KPTFILE, "oddities.yaml": ODDITIES, "list.yaml": LISTED}.items():
        (tmp_path / name).write_text(text)
    settled(kpt, tmp_path, environment)
    passed(run(kpt, "fn", "render", ".", "--allow-exec", cwd=tmp_path, environment=environment))
    assert diff(tmp_path, environment) == ""


def test_rendering_removes_only_the_references(kpt: str, bundle: Path, environment: dict[str, str]) -> None:
    settled(kpt, bundle, environment)
    passed(run(kpt, "fn", "render", ".", "--allow-exec", cwd=bundle, environment=environment))
    assert changed(diff(bundle, environment), "-") == [
        "  instancetype:",
        "    kind: VirtualMachineClusterInstancetype",
        "    name: house.burst",
        "  preference:",
        "    inferFromVolume: root",
        "        devices: {}",
        "  instancetype:",
        "    kind: VirtualMachineInstancetype # the team's own, shop/sizes.yaml",
        "    name: db.large",
        "  preference:",
        "    name: house.linux",
        "              disk: {}",
        "  instancetype:",
        "    name: u1.small",
        "  preference:",
        "    name: fedora",
    ]


def test_rendering_twice_changes_nothing_more(kpt: str, bundle: Path, environment: dict[str, str]) -> None:
    passed(run(kpt, "fn", "render", ".", "--allow-exec", cwd=bundle, environment=environment))
    commit(bundle, environment)
    passed(run(kpt, "fn", "render", ".", "--allow-exec", cwd=bundle, environment=environment))
    assert diff(bundle, environment) == ""


def test_render_and_eval_write_the_vms_that_the_command_renders(kpt: str, bundle: Path, environment: dict[str, str]) -> None:
    expected = (ROOT / "kustomization-examples" / "quickstart" / "expected.yaml").read_text()
    command = (kpt, "fn", "eval", ".", "--exec", "kubevirt-render", "--fn-config", "render.yaml")
    passed(run(*command, cwd=bundle, environment=environment))
    written = [path.read_text() for path in (bundle / "lab/builder.yaml", bundle / "shop/db.yaml", bundle / "shop/web.yaml")]
    documents = [f"{document}\n" for document in expected.split("\n---\n")]
    vms = [yamlio.read_value(document) for document in documents if "\nkind: VirtualMachine\n" in f"\n{document}"]
    assert [yamlio.read_value(text.partition("\n---\n")[0] + "\n") for text in written] == vms


def test_a_mistake_fails_the_pipeline_and_leaves_the_files_alone(kpt: str, tmp_path: Path, environment: dict[str, str]) -> None:
    mistake = ROOT / "kustomization-examples" / "quickstart" / "mistake" / "vm.yaml"
    (tmp_path / "vm.yaml").write_text(mistake.read_text())
    (tmp_path / "Kptfile").write_text(KPTFILE)
    commit(tmp_path, environment)
    ran = run(kpt, "fn", "render", ".", "--allow-exec", "--results-dir", "results", cwd=tmp_path, environment=environment)
    assert ran.returncode != 0
    assert (tmp_path / "vm.yaml").read_text() == mistake.read_text()
    (result,) = yamlio.read_value((tmp_path / "results" / "results.yaml").read_text())["items"][0]["results"]
    assert result["field"] == {"path": "spec.instancetype.name", "currentValue": "u1.smalll", "proposedValue": "u1.small"}
    assert result["file"]["path"] == "vm.yaml"


def test_a_configmap_given_by_words_is_the_config(kpt: str, bundle: Path, environment: dict[str, str]) -> None:
    (bundle / "Kptfile").unlink()
    ran = run(kpt, "fn", "eval", ".", "--exec", "kubevirt-render", "--", "mode=expnd", cwd=bundle, environment=environment)
    assert ran.returncode != 0
    assert "expand" in ran.stdout + ran.stderr
