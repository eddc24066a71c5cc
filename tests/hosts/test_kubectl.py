"""kubectl, which has kustomize inside and no exec functions: our plugin of kustomize's older kind, without a container."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from running import ROOT, passed, run
from test_kustomize import RENDER, SMALL, VM, objects, write

from krm_fn.base.objects import LOCAL_CONFIG, annotations_of

KUSTOMIZATION = "resources: [vm.yaml, small.yaml]\ntransformers: [render.yaml]\n"
CONFIG = RENDER.partition("  annotations:")[0]
PLACE = "kubevirt-render.dev/v1alpha1/rendervirtualmachines/RenderVirtualMachines"
BUILD = ("kubectl", "kustomize", "--enable-alpha-plugins", ".")

pytestmark = pytest.mark.usefixtures("kubectl")


@pytest.fixture
def plugged(tmp_path: Path, environment: dict[str, str]) -> dict[str, str]:
    """The environment of a user who has installed the plugin."""
    home = tmp_path / "home of plugins"
    passed(run("kubevirt-render", "install-plugin", str(home), cwd=tmp_path, environment=environment))
    return {**environment, "KUSTOMIZE_PLUGIN_HOME": str(home)}


@pytest.fixture
def app(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    return write(folder, vm=VM, small=SMALL, render=CONFIG, kustomization=KUSTOMIZATION)


def test_the_quickstart_builds_what_the_command_renders(bundle: Path, plugged: dict[str, str]) -> None:
    config = (bundle / "render.yaml").read_text()
    head, _, rest = config.partition("  annotations:\n")
    kept = rest[rest.index("\nspec:") :] if "\nspec:" in rest else "\n"
    (bundle / "render.yaml").write_text(head.rstrip("\n") + kept)
    built = objects(passed(run(*BUILD, cwd=bundle, environment=plugged)))
    rendered = objects((ROOT / "kustomization-examples" / "quickstart" / "expected.yaml").read_text())
    assert built == {key: obj for key, obj in rendered.items() if LOCAL_CONFIG not in annotations_of(obj)}


def test_an_instancetype_that_a_prefix_has_renamed_is_found(app: Path, plugged: dict[str, str]) -> None:
    write(app, kustomization="namePrefix: prod-\n" + KUSTOMIZATION)
    built = objects(passed(run(*BUILD, cwd=app, environment=plugged)))
    assert sorted(built) == [("VirtualMachine", "prod-web"), ("VirtualMachineClusterInstancetype", "prod-small")]
    spec = built["VirtualMachine", "prod-web"]["spec"]
    assert "instancetype" not in spec
    assert spec["template"]["spec"]["domain"]["cpu"]["sockets"] == 3


def test_the_config_is_read(app: Path, plugged: dict[str, str]) -> None:
    write(app, render=CONFIG + "spec: {mode: annotate}\n")
    built = objects(passed(run(*BUILD, cwd=app, environment=plugged)))
    vm = built["VirtualMachine", "web"]
    assert (vm["spec"]["instancetype"], annotations_of(vm)["kubevirt-render.dev/vcpus"]) == ({"name": "small"}, "3")


def test_a_mistake_fails_the_build_and_is_named(app: Path, plugged: dict[str, str]) -> None:
    write(app, vm=VM.replace("name: small", "name: smal"))
    ran = run(*BUILD, cwd=app, environment=plugged)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "kubevirt-render: error: VirtualMachine web: spec.instancetype.name: " in ran.stderr


def test_a_wrong_config_fails_the_build_and_names_the_nearest_word(app: Path, plugged: dict[str, str]) -> None:
    write(app, render=CONFIG + "spec: {moode: expand}\n")
    ran = run(*BUILD, cwd=app, environment=plugged)
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "kubevirt-render: error: functionConfig spec.moode: " in ran.stderr
    assert "did you mean mode" in ran.stderr


def test_without_a_folder_it_is_put_where_kustomize_looks(app: Path, environment: dict[str, str], tmp_path: Path) -> None:
    at_home = {**environment, "HOME": str(tmp_path / "user")}
    for unset in ("XDG_CONFIG_HOME", "KUSTOMIZE_PLUGIN_HOME"):
        at_home.pop(unset, None)
    (tmp_path / "user").mkdir()
    said = passed(run("kubevirt-render", "install-plugin", cwd=tmp_path, environment=at_home))
    assert "export" not in said
    assert (tmp_path / "user" / ".config" / "kustomize" / "plugin" / PLACE).stat().st_mode & stat.S_IXUSR
    assert "instancetype" not in objects(passed(run(*BUILD, cwd=app, environment=at_home)))["VirtualMachine", "web"]["spec"]


def test_the_message_for_another_folder_names_what_to_export(environment: dict[str, str], tmp_path: Path) -> None:
    said = passed(run("kubevirt-render", "install-plugin", "plugins", cwd=tmp_path, environment=environment))
    assert said.splitlines()[1:] == [f"export KUSTOMIZE_PLUGIN_HOME={tmp_path}/plugins"]


def test_an_exec_function_is_left_out_silently_and_check_expanded_reports_it(app: Path, environment: dict[str, str]) -> None:
    write(app, render=RENDER)
    built = run(*BUILD, cwd=app, environment=environment)
    assert (built.returncode, "name: small" in built.stdout) == (0, True)
    (app / "built.yaml").write_text(built.stdout)
    told = run("kubevirt-render", "check", "--expanded", "built.yaml", cwd=app, environment=environment)
    assert (told.returncode, "(unexpanded-vm)" in told.stdout) == (1, True)
    assert run("kubevirt-render", "check", "built.yaml", cwd=app, environment=environment).returncode == 0


def test_what_the_plugin_built_passes_check_expanded(app: Path, plugged: dict[str, str]) -> None:
    write(app, small=SMALL.replace("name: small\n", f'name: small\n  annotations: {{{LOCAL_CONFIG}: "true"}}\n'))
    (app / "built.yaml").write_text(passed(run(*BUILD, cwd=app, environment=plugged)))
    assert passed(run("kubevirt-render", "check", "--expanded", "built.yaml", cwd=app, environment=plugged)) == ""
