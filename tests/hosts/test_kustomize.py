"""What kustomize builds with the function is what the command renders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from running import ROOT, passed, run

from krm_fn import yamlio
from krm_fn.base.objects import LOCAL_CONFIG, annotations_of

BUILD = ("build", "--enable-alpha-plugins", "--enable-exec", ".")

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web
spec:
  runStrategy: Always
  instancetype:
    name: small
  template:
    spec:
      domain:
        devices: {}
"""

SMALL = """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterInstancetype
metadata:
  name: small
spec:
  cpu:
    guest: 3
  memory:
    guest: 1Gi
"""

RENDER = """\
apiVersion: kubevirt-render.dev/v1alpha1
kind: RenderVirtualMachines
metadata:
  name: render
  annotations:
    config.kubernetes.io/function: |
      exec:
        path: kubevirt-render
"""


def write(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / f"{name}.yaml").write_text(text)
    return folder


def objects(text: str) -> dict[tuple[str, str], Any]:
    """The objects of a YAML stream by kind and name."""
    found = (yamlio.read_value(f"{document}\n") for document in text.split("\n---\n"))
    return {(obj["kind"], obj["metadata"]["name"]): obj for obj in found}


def test_the_quickstart_builds_what_the_command_renders(kustomize: str, bundle: Path, environment: dict[str, str]) -> None:
    built = objects(passed(run(kustomize, *BUILD, cwd=bundle, environment=environment)))
    rendered = objects((ROOT / "kustomization-examples" / "quickstart" / "expected.yaml").read_text())
    kept = {key: obj for key, obj in rendered.items() if LOCAL_CONFIG not in annotations_of(obj)}
    assert sorted(kept) == [
        ("DataSource", "debian"),
        ("DataVolume", "debian-13"),
        ("VirtualMachine", "builder"),
        ("VirtualMachine", "db"),
        ("VirtualMachine", "web"),
    ]
    assert built == kept


def test_an_instancetype_that_a_prefix_has_renamed_is_found(
    kustomize: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    kustomization = "namePrefix: prod-\nresources: [vm.yaml, small.yaml]\ntransformers: [render.yaml]\n"
    write(tmp_path, vm=VM, small=SMALL, render=RENDER, kustomization=kustomization)
    built = objects(passed(run(kustomize, *BUILD, cwd=tmp_path, environment=environment)))
    spec = built["VirtualMachine", "prod-web"]["spec"]
    assert "instancetype" not in spec
    assert spec["template"]["spec"]["domain"]["cpu"]["sockets"] == 3


def test_a_validating_transformer_passes_what_is_right_and_changes_nothing(
    kustomize: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    kustomization = "resources: [vm.yaml, small.yaml]\n"
    plain = passed(
        run(
            kustomize,
            "build",
            ".",
            cwd=write(tmp_path, vm=VM, small=SMALL, kustomization=kustomization),
            environment=environment,
        )
    )
    write(tmp_path, render=RENDER + "spec: {mode: validate}\n", kustomization=kustomization + "transformers: [render.yaml]\n")
    assert passed(run(kustomize, *BUILD, cwd=tmp_path, environment=environment)) == plain


@pytest.mark.parametrize("mode", ["expand", "validate"])
def test_a_mistake_fails_the_build_and_is_named_on_stderr(
    mode: str, kustomize: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    kustomization = "resources: [vm.yaml, small.yaml]\ntransformers: [render.yaml]\nbuildMetadata: [originAnnotations]\n"
    wrong = VM.replace("name: small", "name: smal")
    write(tmp_path, vm=wrong, small=SMALL, render=f"{RENDER}spec: {{mode: {mode}}}\n", kustomization=kustomization)
    ran = run(kustomize, *BUILD, cwd=tmp_path, environment=environment)
    assert (ran.returncode, ran.stdout) == (1, "")
    first = ran.stderr.splitlines()[0]
    assert first.startswith("kubevirt-render: error: vm.yaml: VirtualMachine web: spec.instancetype.name: ")
    assert "small" in first


def test_sizes_marked_local_config_are_used_and_left_out(kustomize: str, tmp_path: Path, environment: dict[str, str]) -> None:
    local = SMALL.replace("name: small\n", 'name: small\n  annotations: {config.kubernetes.io/local-config: "true"}\n')
    kustomization = "resources: [vm.yaml, small.yaml]\ntransformers: [render.yaml]\n"
    write(tmp_path, vm=VM, small=local, render=RENDER, kustomization=kustomization)
    built = objects(passed(run(kustomize, *BUILD, cwd=tmp_path, environment=environment)))
    assert list(built) == [("VirtualMachine", "web")]
    assert built["VirtualMachine", "web"]["spec"]["template"]["spec"]["domain"]["memory"] == {"guest": "1Gi"}


def test_a_renamed_data_volume_is_warned_of_and_the_name_references_of_the_examples_make_kustomize_change_its_references(
    kustomize: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    volumes = "      volumes: [{name: a, dataVolume: {name: root}}, {name: b, persistentVolumeClaim: {claimName: root}}]\n"
    disk = "apiVersion: cdi.kubevirt.io/v1beta1\nkind: DataVolume\nmetadata: {name: root}\nspec: {source: {blank: {}}}\n"
    prefixed = "namePrefix: dev-\nresources: [vm.yaml, small.yaml, disk.yaml]\ntransformers: [render.yaml]\n"
    write(tmp_path, vm=VM + volumes, small=SMALL, disk=disk, render=RENDER, kustomization=prefixed)
    warned = run(kustomize, *BUILD, cwd=tmp_path, environment=environment)
    assert "kustomize renamed DataVolume root to dev-root" in warned.stderr
    assert volumes_of(passed(warned)) == [
        {"name": "a", "dataVolume": {"name": "root"}},
        {"name": "b", "persistentVolumeClaim": {"claimName": "root"}},
    ]
    copied = (ROOT / "kustomization-examples/overlays-with-prefix/name-references.yaml").read_text()
    silenced = f'{RENDER}spec: {{severity: {{former-name: "off"}}}}\n'
    configured = f"{prefixed}configurations: [name-references.yaml]\n"
    write(tmp_path, **{"name-references": copied, "render": silenced, "kustomization": configured})
    built = run(kustomize, *BUILD, cwd=tmp_path, environment=environment)
    assert volumes_of(passed(built)) == [
        {"name": "a", "dataVolume": {"name": "dev-root"}},
        {"name": "b", "persistentVolumeClaim": {"claimName": "dev-root"}},
    ]
    assert built.stderr == ""


def volumes_of(text: str) -> list[Any]:
    """The volumes of the VM that was built."""
    (vm,) = [each for (kind, _), each in objects(text).items() if kind == "VirtualMachine"]
    volumes: list[Any] = vm["spec"]["template"]["spec"]["volumes"]
    return volumes


def test_a_wrong_config_fails_the_build_and_names_the_nearest_word(
    kustomize: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    kustomization = "resources: [vm.yaml, small.yaml]\ntransformers: [render.yaml]\n"
    write(tmp_path, vm=VM, small=SMALL, render=RENDER + "spec: {mood: expand}\n", kustomization=kustomization)
    ran = run(kustomize, *BUILD, cwd=tmp_path, environment=environment)
    assert ran.returncode == 1
    assert "spec.mood" in ran.stderr
    assert "mode" in ran.stderr


def test_what_the_command_prints_of_files_in_any_form_is_a_resource(
    kustomize: str, tmp_path: Path, environment: dict[str, str]
) -> None:
    """kustomize refuses two of these files themselves."""
    texts = {
        "a.json": '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}',
        "b.yaml": f"%YAML 1.1\n---\n{SMALL}...\n",
        "c.yaml": f"# ours\n--- !!map # here\n{VM}",
        "d.yaml": "--- {apiVersion: v1, kind: ConfigMap, metadata: {name: d}}\n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    printed = passed(run("kubevirt-render", "render", *texts, cwd=tmp_path, environment=environment))
    (tmp_path / "all.yaml").write_text(printed)
    (tmp_path / "kustomization.yaml").write_text("resources: [all.yaml]\n")
    built = yamlio.read_stream(passed(run(kustomize, "build", ".", cwd=tmp_path, environment=environment)).encode())
    assert [item["metadata"]["name"] for item in built.items] == ["a", "d", "small", "web"]
