"""Kustomizations as people lay them out, built in every way there is: exec functions, containers, and kubectl's plugin."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from running import fetched, on_path, passed, run
from test_kustomize import RENDER, SMALL, VM, objects, write

from krm_fn import yamlio
from krm_fn.base.objects import annotations_of

CONFIG = RENDER.partition("  annotations:")[0]
IN_IMAGE = RENDER.replace("exec:\n        path: kubevirt-render", "container:\n        image: localhost/kubevirt-render:test")
PLAIN = "resources: [vm.yaml, small.yaml]\n"
RENDERED = "transformers: [render.yaml]\n"
LOCAL = SMALL.replace("name: small\n", 'name: small\n  annotations: {config.kubernetes.io/local-config: "true"}\n')
WAYS = [
    "kustomize 4.5.4 exec",
    "kustomize 5.8.1 exec",
    "kustomize 4.5.4 image",
    "kustomize 5.8.1 image",
    "kubectl image",
    "kubectl plugin",
]
FUNCTIONS = WAYS[:-1]


class Way:
    """One way to build: the config that goes with it, and the command."""

    def __init__(self, config: str, command: tuple[str, ...], environment: dict[str, str]) -> None:
        self.config = config
        self.command = command
        self.environment = environment

    def run(self, folder: Path) -> subprocess.CompletedProcess[str]:
        return run(*self.command, "--enable-alpha-plugins", ".", cwd=folder, environment=self.environment)

    def build(self, folder: Path) -> dict[tuple[str, str], Any]:
        return objects(passed(self.run(folder)))


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, tmp_path: Path, environment: dict[str, str]) -> Way:
    program, _, form = request.param.rpartition(" ")
    release = program.partition(" ")[2]
    command = (on_path("kubectl"), "kustomize") if program == "kubectl" else (fetched(release), "build")
    if form == "exec":
        return Way(RENDER, (*command, "--enable-exec"), environment)
    if form == "image":
        request.getfixturevalue("image")
        return Way(IN_IMAGE, command, request.getfixturevalue("podman"))
    home = str(tmp_path / "plugins")
    passed(run("kubevirt-render", "install-plugin", home, cwd=tmp_path, environment=environment))
    return Way(CONFIG, command, {**environment, "KUSTOMIZE_PLUGIN_HOME": home})


@pytest.fixture
def folder(tmp_path: Path) -> Callable[[str], Path]:
    """Makes folders beside each other."""

    def make(name: str) -> Path:
        made = tmp_path / "tree" / name
        made.mkdir(parents=True)
        return made

    return make


def memory(vm: Any) -> object:
    return vm["spec"]["template"]["spec"]["domain"].get("memory")


def test_a_prefix_and_a_suffix_of_the_same_layer(way: Way, folder: Callable[[str], Path]) -> None:
    kustomization = PLAIN + RENDERED + "namePrefix: prod-\nnameSuffix: -eu\n"
    built = way.build(write(folder("app"), vm=VM, small=SMALL, render=way.config, kustomization=kustomization))
    assert memory(built["VirtualMachine", "prod-web-eu"]) == {"guest": "1Gi"}
    assert ("VirtualMachineClusterInstancetype", "prod-small-eu") in built


def test_an_overlay_renders_what_lower_layers_have_renamed_twice(way: Way, folder: Callable[[str], Path]) -> None:
    write(folder("base"), vm=VM, small=SMALL, kustomization=PLAIN + "nameSuffix: -eu\n")
    write(folder("middle"), kustomization="resources: [../base]\nnamePrefix: prod-\n")
    kustomization = "resources: [../middle]\nnamePrefix: big-\n" + RENDERED
    built = way.build(write(folder("overlay"), render=way.config, kustomization=kustomization))
    assert memory(built["VirtualMachine", "big-prod-web-eu"]) == {"guest": "1Gi"}


def test_a_base_renders_and_overlays_rename_what_it_made(way: Way, folder: Callable[[str], Path]) -> None:
    write(folder("base"), vm=VM, small=SMALL, render=way.config, kustomization=PLAIN + RENDERED)
    built = way.build(write(folder("overlay"), kustomization="resources: [../base]\nnamePrefix: prod-\nnamespace: shop\n"))
    vm = built["VirtualMachine", "prod-web"]
    assert (memory(vm), vm["metadata"]["namespace"]) == ({"guest": "1Gi"}, "shop")


def test_an_overlay_may_patch_the_size_before_it_renders(way: Way, folder: Callable[[str], Path]) -> None:
    write(folder("base"), vm=VM, small=SMALL, kustomization=PLAIN)
    patch = (
        "patches:\n- target: {kind: VirtualMachineClusterInstancetype}\n"
        '  patch: \'[{"op": "replace", "path": "/spec/memory/guest", "value": "5Gi"}]\'\n'
    )
    built = way.build(write(folder("overlay"), render=way.config, kustomization="resources: [../base]\n" + patch + RENDERED))
    assert memory(built["VirtualMachine", "web"]) == {"guest": "5Gi"}


def test_a_component_brings_the_function(way: Way, folder: Callable[[str], Path]) -> None:
    component = "apiVersion: kustomize.config.k8s.io/v1alpha1\nkind: Component\n" + RENDERED
    write(folder("rendering"), render=way.config, kustomization=component)
    built = way.build(write(folder("app"), vm=VM, small=SMALL, kustomization=PLAIN + "components: [../rendering]\n"))
    assert memory(built["VirtualMachine", "web"]) == {"guest": "1Gi"}


def test_a_config_inside_the_kustomization(way: Way, folder: Callable[[str], Path]) -> None:
    inline = "transformers:\n- |-\n" + "".join(f"  {line}\n" for line in (way.config + "spec: {mode: annotate}\n").splitlines())
    built = way.build(write(folder("app"), vm=VM, small=SMALL, kustomization=PLAIN + inline))
    assert annotations_of(built["VirtualMachine", "web"])["kubevirt-render.dev/memory"] == "1Gi"


def test_sizes_vendored_for_rendering_alone(way: Way, folder: Callable[[str], Path]) -> None:
    kustomization = PLAIN + "namePrefix: prod-\n" + RENDERED
    built = way.build(write(folder("app"), vm=VM, small=LOCAL, render=way.config, kustomization=kustomization))
    assert list(built) == [("VirtualMachine", "prod-web")]
    assert memory(built["VirtualMachine", "prod-web"]) == {"guest": "1Gi"}


def test_sizes_vendored_in_a_folder_of_their_own(way: Way, folder: Callable[[str], Path]) -> None:
    write(folder("catalogue"), small=LOCAL, kustomization="resources: [small.yaml]\n")
    kustomization = "resources: [vm.yaml, ../catalogue]\nnamePrefix: prod-\n" + RENDERED
    app = write(folder("app"), vm=VM, render=way.config, kustomization=kustomization)
    if "4.5.4" in way.command[0]:  # it leaves local objects out of every layer, before the next one sees them
        assert "VirtualMachineClusterInstancetype small is not found" in way.run(app).stderr
        return
    built = way.build(app)
    assert list(built) == [("VirtualMachine", "prod-web")]
    assert memory(built["VirtualMachine", "prod-web"]) == {"guest": "1Gi"}


def test_files_are_named_if_kustomize_names_them(way: Way, folder: Callable[[str], Path]) -> None:
    write(folder("base"), vm=VM.replace("name: small", "name: smal"), small=SMALL, kustomization=PLAIN)
    kustomization = "resources: [../base]\nbuildMetadata: [originAnnotations]\n" + RENDERED
    ran = way.run(write(folder("overlay"), render=way.config, kustomization=kustomization))
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "kubevirt-render: error: ../base/vm.yaml: VirtualMachine web: spec.instancetype.name: " in ran.stderr


def test_origins_stay_on_what_was_rendered(way: Way, folder: Callable[[str], Path]) -> None:
    kustomization = PLAIN + "buildMetadata: [originAnnotations]\n" + RENDERED
    built = way.build(write(folder("app"), vm=VM, small=SMALL, render=way.config, kustomization=kustomization))
    assert yamlio.read_value(annotations_of(built["VirtualMachine", "web"])["config.kubernetes.io/origin"]) == {
        "path": "vm.yaml"
    }


def test_validating_changes_nothing(way: Way, folder: Callable[[str], Path], environment: dict[str, str]) -> None:
    app = write(folder("app"), vm=VM, small=SMALL, kustomization=PLAIN)
    plain = passed(run(*(part for part in way.command if part != "--enable-exec"), ".", cwd=app, environment=environment))
    write(app, render=way.config + "spec: {mode: validate}\n", kustomization=PLAIN + RENDERED)
    assert passed(way.run(app)) == plain


@pytest.mark.parametrize("way", FUNCTIONS, indirect=True)  # plugins of the older kind are found by their config's kind
def test_a_config_map_is_a_config_too(way: Way, folder: Callable[[str], Path]) -> None:
    config = way.config.replace("kubevirt-render.dev/v1alpha1", "v1").replace("RenderVirtualMachines", "ConfigMap")
    kustomization = PLAIN + RENDERED
    app = write(folder("app"), vm=VM, small=SMALL, render=config + "data: {mode: annotate}\n", kustomization=kustomization)
    vm = way.build(app)["VirtualMachine", "web"]
    assert (vm["spec"]["instancetype"], annotations_of(vm)["kubevirt-render.dev/vcpus"]) == ({"name": "small"}, "3")


@pytest.mark.parametrize("way", FUNCTIONS, indirect=True)  # plugins of the older kind are sent bare documents
def test_validators_can_not_be_used(way: Way, folder: Callable[[str], Path]) -> None:
    config = way.config + "spec: {mode: validate}\n"
    ran = way.run(write(folder("app"), vm=VM, small=SMALL, render=config, kustomization=PLAIN + "validators: [render.yaml]\n"))
    assert ran.returncode == 1
    assert "validator shouldn't modify the resource map" in ran.stderr


def test_kpt_doc_shows_what_the_image_is_for(kpt: str, image: str, podman: dict[str, str], tmp_path: Path) -> None:
    environment = {**podman, "KPT_FN_RUNTIME": "podman"}
    ran = run(kpt, "fn", "doc", "-i", image, cwd=tmp_path, environment=environment)
    assert "Render KubeVirt virtual machines offline" in passed(ran)


def test_kpt_runs_the_image_with_a_config_and_shows_findings(
    kpt: str, image: str, podman: dict[str, str], tmp_path: Path
) -> None:
    write(tmp_path, vm=VM.replace("name: small", "name: smal"), small=SMALL, render=CONFIG + "spec: {mode: validate}\n")
    (tmp_path / "Kptfile").write_text(
        "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata: {name: app}\n"
        f"pipeline:\n  validators:\n    - image: {image}\n      configPath: render.yaml\n"
    )
    environment = {**podman, "KPT_FN_RUNTIME": "podman"}
    ran = run(kpt, "fn", "render", ".", "--image-pull-policy", "never", cwd=tmp_path, environment=environment)
    assert ran.returncode != 0
    assert "spec.instancetype.name" in ran.stdout + ran.stderr
    (tmp_path / "vm.yaml").write_text(VM)
    passed(run(kpt, "fn", "render", ".", "--image-pull-policy", "never", cwd=tmp_path, environment=environment))
    assert (tmp_path / "vm.yaml").read_text() == VM


def test_a_container_is_given_no_network_and_no_root(image: str, podman: dict[str, str], folder: Callable[[str], Path]) -> None:
    """The arguments with which kustomize calls `docker`, recorded by a wrapper."""
    kustomize = fetched("5.8.1")
    wrapper = folder("wrapper") / "docker"
    wrapper.write_text(f'#!/bin/sh\necho "$@" >>{wrapper.parent}/calls\nexec podman "$@"\n')
    wrapper.chmod(0o755)
    environment = {**podman, "PATH": f"{wrapper.parent}{os.pathsep}{podman['PATH']}"}
    app = write(folder("app"), vm=VM, small=SMALL, render=IN_IMAGE, kustomization=PLAIN + RENDERED)
    passed(run(kustomize, "build", "--enable-alpha-plugins", ".", cwd=app, environment=environment))
    (call,) = (wrapper.parent / "calls").read_text().splitlines()
    for flags in ("--network none", "--user nobody", "--security-opt=no-new-privileges"):
        assert flags in call
    assert call.endswith(f" {image}")
