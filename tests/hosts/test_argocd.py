"""Argo CD's sidecar, played: its calls, its environment and its work folder, as a user without a name and without a home.

What is played is what the config management plugin server does: it unpacks the repository into a folder of its own, with file
modes reset, starts the commands of plugin.yaml in the application's folder, and takes stdout where the exit code is 0.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from running import HOSTS, ROOT, absent, open_to_all

import krm_fn
from krm_fn import yamlio

EXAMPLE = ROOT / "kustomization-examples" / "argocd"
PLUGIN = yamlio.read_value((EXAMPLE / "plugin.yaml").read_text())["spec"]
USER = 999
DEADLINE = 60

PROGRAM = """\
import sys

sys.path.append({packages!r})
sys.argv[0] = "kubevirt-render"
from krm_fn.__main__ import main

sys.exit(main())
"""
MOUNTS = ["unshare", "--mount", "/bin/sh", "-c"]
AS_USER = f'exec setpriv --reuid={USER} --regid={USER} --clear-groups "$@"'

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web
spec:
  runStrategy: Always
  instancetype:
    name: u1.small
  template:
    spec:
      domain:
        devices: {}
"""


def tools() -> list[str]:
    """Folders with kustomize and kubectl, where the machine has them."""
    fetched = sorted(HOSTS.glob("*/kustomize"))
    found = [str(path.parent) for path in fetched[-1:]]
    return found + [str(Path(path).parent) for name in ("kustomize", "kubectl") if (path := shutil.which(name))]


def script(sidecar: Sidecar, name: str, text: str) -> None:
    """A program of that name, found before all others."""
    file = sidecar.folder / "bin" / name
    file.write_text(text if text.startswith("#!") else f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)


def reachable() -> bool:
    """True where the sidecar's user can run this very interpreter."""
    try:
        return as_user([sys.executable, "-c", "import yaml"], [], env={}).returncode == 0
    except PermissionError:
        return False


def started(command: list[str], mounts: list[str]) -> dict[str, Any]:
    """How a command is started as the sidecar's user, where we may; `mounts` are made before, for the command alone."""
    if mounts:
        command = [*MOUNTS, " && ".join(["mount --make-rprivate /", *mounts, AS_USER]), "sh", *command]
    elif os.geteuid() == 0:
        return {"args": command, "user": USER, "group": USER, "extra_groups": ()}
    return {"args": command}


def as_user(command: list[str], mounts: list[str], **how: Any) -> subprocess.CompletedProcess[str]:
    how.update(started(command, mounts), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=DEADLINE)
    return subprocess.run(**how, check=False)


class Sidecar:
    """One sidecar with the example's plugin.yaml. An interpreter that its user can't reach is mounted where it can."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = ":".join([str(folder / "bin"), *tools(), "/usr/bin", "/bin"])
        self.mounts: list[str] = []
        interpreter = sys.executable
        if not reachable():
            (folder / "python").mkdir()
            self.mounts = [f"mount --bind {sys.base_prefix} {folder}/python"]
            interpreter = f"{folder}/python/bin/python{sys.version_info[0]}.{sys.version_info[1]}"
        (folder / "bin").mkdir()
        for package in (krm_fn, click, yaml):  # copies: a checkout may be closed to other users
            shutil.copytree(Path(str(package.__file__)).parent, folder / "packages" / package.__name__)
        program = folder / "kubevirt-render.py"
        program.write_text(PROGRAM.format(packages=str(folder / "packages")))
        open_to_all(folder)
        script(self, "kubevirt-render", f'exec "{interpreter}" "{program}" "$@"')

    def environment(self, parameters: list[dict[str, object]] | None = None, **env: str) -> dict[str, str]:
        """What Argo CD gives to generate, with the parameters in both of its forms."""
        flat = {}
        for one in parameters or []:
            variable = "PARAM_" + re.sub("[^A-Z0-9_]", "_", str(one["name"]).upper())
            if "string" in one:
                flat[variable] = str(one["string"])
            for number, text in enumerate(one.get("array", [])):
                flat[f"{variable}_{number}"] = text
            for key, text in dict(one.get("map", {})).items():
                flat[f"{variable}_{re.sub('[^A-Z0-9_]', '_', key.upper())}"] = text
        return {
            "PATH": self.path,
            "ARGOCD_APP_NAME": "shop",
            "ARGOCD_APP_NAMESPACE": "shop",
            "ARGOCD_APP_PROJECT_NAME": "default",
            "ARGOCD_APP_REVISION": "0123456789abcdef0123456789abcdef01234567",
            "ARGOCD_APP_REVISION_SHORT": "0123456",
            "ARGOCD_APP_REVISION_SHORT_8": "01234567",
            "ARGOCD_APP_SOURCE_PATH": "app",
            "ARGOCD_APP_SOURCE_REPO_URL": "https://git.example.com/team/vms.git",
            "ARGOCD_APP_SOURCE_TARGET_REVISION": "main",
            "KUBE_VERSION": "1.33",
            "KUBE_API_VERSIONS": "v1,apps/v1,kubevirt.io/v1,instancetype.kubevirt.io/v1beta1",
            "ARGOCD_APP_PARAMETERS": json.dumps(parameters or []),
            **flat,
            **{f"ARGOCD_ENV_{name}": text for name, text in env.items()},
        }

    @contextmanager
    def unpacked(self, app: Path) -> Iterator[Path]:
        """A fresh copy of the application's repository, which is gone afterwards."""
        work = Path(tempfile.mkdtemp(dir=self.folder))
        try:
            copied = Path(shutil.copytree(app, work / "app"))
            for path in (work, copied, *copied.rglob("*")):
                path.chmod(0o755 if path.is_dir() else 0o644)
                if os.geteuid() == 0:
                    os.chown(path, USER, USER)
            yield copied
        finally:
            shutil.rmtree(work)

    def call(self, command: list[str], app: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """One call of the plugin's."""
        with self.unpacked(app) as folder:
            return as_user(command, self.mounts, cwd=folder, env=environment)

    def generate(
        self, app: Path, parameters: list[dict[str, object]] | None = None, *extra: str, **env: str
    ) -> subprocess.CompletedProcess[str]:
        """What GenerateManifest does: init, where there is one, then generate."""
        environment = self.environment(parameters, **env)
        if "init" in PLUGIN:
            assert self.call(command_of(PLUGIN["init"]), app, environment).returncode == 0
        return self.call([*command_of(PLUGIN["generate"]), *extra], app, environment)


def command_of(step: dict[str, list[str]]) -> list[str]:
    return [*step["command"], *step.get("args", [])]


@pytest.fixture
def sidecar() -> Iterator[Sidecar]:
    folder = Path(tempfile.mkdtemp())  # pytest's own folders are closed to other users
    try:
        found = Sidecar(folder)
        ran = found.call(["kubevirt-render", "--version"], EXAMPLE / "app", found.environment())
        if ran.returncode:
            pytest.skip(f"user {USER} can't run this Python: {ran.stderr.strip()[-200:]}")
        yield found
    finally:
        shutil.rmtree(folder)


@pytest.fixture
def app(tmp_path: Path) -> Path:
    """An application's folder with one VM."""
    folder = tmp_path / "app"
    folder.mkdir()
    (folder / "vm.yaml").write_text(VM)
    return folder


def test_the_example_generates_what_stands_beside_it(sidecar: Sidecar) -> None:
    ran = sidecar.generate(EXAMPLE / "app")
    assert (ran.stdout, ran.stderr, ran.returncode) == ((EXAMPLE / "expected.yaml").read_text(), "", 0)


def test_what_the_example_generates_is_in_sync_with_the_cluster(sidecar: Sidecar) -> None:
    command = ["kubevirt-render", "argocd", "ignore-differences", "expected.yaml", "--defaults", "pinned"]
    ran = sidecar.call(command, EXAMPLE, sidecar.environment())
    assert (ran.stdout, ran.stderr, ran.returncode) == ("ignoreDifferences: []\n", "", 0)


def test_the_examples_application_sets_parameters_that_are_known(sidecar: Sidecar) -> None:
    source = yamlio.read_value((EXAMPLE / "application.yaml").read_text())["spec"]["source"]
    assert sidecar.generate(EXAMPLE / "app", source["plugin"]["parameters"]).returncode == 0
    assert source["path"] == str((EXAMPLE / "app").relative_to(ROOT))


def test_generating_twice_gives_the_same_bytes(sidecar: Sidecar) -> None:
    assert sidecar.generate(EXAMPLE / "app").stdout == sidecar.generate(EXAMPLE / "app").stdout


def test_parameters_are_announced_as_a_list(sidecar: Sidecar, app: Path) -> None:
    few = {key: value for key, value in sidecar.environment().items() if key in ("PATH", "ARGOCD_APP_NAME")}
    ran = sidecar.call(command_of(PLUGIN["parameters"]["dynamic"]), app, few)
    announced = {one["name"]: one for one in json.loads(ran.stdout)}
    assert announced["kubevirtVersion"]["string"] == "1.9.0"
    assert announced["defaults"]["string"] == "pinned"


def test_a_folder_with_vms_is_discovered_and_another_is_not(sidecar: Sidecar, app: Path) -> None:
    discover = ["kubevirt-render", "argocd", "discover"]
    assert sidecar.call(discover, app, sidecar.environment()).stdout == "vm.yaml\n"
    (app / "vm.yaml").write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")
    ran = sidecar.call(discover, app, sidecar.environment())
    assert (ran.stdout, ran.returncode) == ("", 0)


def test_the_word_generate_may_be_left_out(sidecar: Sidecar, app: Path) -> None:
    whole = sidecar.call(["kubevirt-render", "argocd", "generate"], app, sidecar.environment())
    assert sidecar.call(["kubevirt-render", "argocd"], app, sidecar.environment()).stdout == whole.stdout != ""


def test_an_applications_parameters_lie_over_the_plugins_flags(sidecar: Sidecar, app: Path) -> None:
    ran = sidecar.generate(app, [{"name": "mode", "string": "annotate"}, {"name": "defaults", "string": "cluster"}])
    assert "kubevirt-render.dev/memory: 2Gi" in ran.stdout
    assert "serial" not in ran.stdout


def test_env_of_the_application_is_read(sidecar: Sidecar, app: Path) -> None:
    assert "name: u1.small" in sidecar.generate(app, MODE="validate").stdout


def test_a_config_of_the_applications_folder_may_be_named(sidecar: Sidecar, app: Path) -> None:
    config = (
        "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nmetadata: {name: r}\nspec: {mode: validate}\n"
    )
    (app / "render.yaml").write_text(config)
    ran = sidecar.generate(app, [{"name": "config", "string": "render.yaml"}])
    assert "name: u1.small" in ran.stdout
    assert "RenderVirtualMachines" not in ran.stdout
    outside = sidecar.generate(app, [{"name": "config", "string": "../../etc/passwd"}])
    assert (outside.stdout, outside.returncode) == ("", 2)
    assert "application shop: parameter config: " in outside.stderr


def test_a_kustomization_is_built(sidecar: Sidecar, app: Path) -> None:
    if not tools():
        absent("kustomize")
    (app / "kustomization.yaml").write_text("resources: [vm.yaml]\nnamePrefix: prod-\nbuildMetadata: [originAnnotations]\n")
    ran = sidecar.generate(app)
    built = yamlio.read_value(ran.stdout)
    assert (built["metadata"], ran.returncode) == ({"name": "prod-web", "namespace": "shop"}, 0)
    assert built["spec"]["template"]["spec"]["domain"]["memory"] == {"guest": "2Gi"}


def test_a_kustomization_that_fails_fails_the_application_with_its_message(sidecar: Sidecar, app: Path) -> None:
    if not tools():
        absent("kustomize")
    (app / "kustomization.yaml").write_text("resources: [gone.yaml]\n")
    ran = sidecar.generate(app)
    assert (ran.stdout, ran.returncode) == ("", 1)
    assert "gone.yaml" in ran.stderr
    assert "error: application shop: `k" in ran.stderr


def test_build_options_reach_the_build(sidecar: Sidecar, app: Path) -> None:
    script(
        sidecar,
        "kustomize",
        f'echo "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: a}}\ndata: {{args: \\"$*\\"}}"; cat <<E\n---\n{VM}E',
    )
    (app / "kustomization.yaml").write_text("resources: [vm.yaml]\n")
    ran = sidecar.generate(app, [{"name": "buildOptions", "array": ["--enable-helm"]}], "--build-option=--as-current-user")
    assert 'args: "build --as-current-user --enable-helm ."' in ran.stdout


def test_a_chart_is_built_by_helm_with_what_argo_cd_knows(sidecar: Sidecar, app: Path) -> None:
    script(sidecar, "helm", f'test -n "$HOME" || exit 3; echo "# $*"; cat <<E\n{VM}E')
    (app / "Chart.yaml").write_text("apiVersion: v2\nname: shop\nversion: 1.0.0\n")
    ran = sidecar.generate(app)
    assert ran.returncode == 0
    assert "# template shop . --include-crds --namespace shop --kube-version 1.33 --api-versions v1 " in ran.stdout


def test_a_build_that_takes_too_long_is_ended_with_its_children(sidecar: Sidecar, app: Path) -> None:
    script(sidecar, "kustomize", "sleep 147.11 & echo $! > ../child; sleep 147.11")
    (app / "kustomization.yaml").write_text("resources: [vm.yaml]\n")
    with sidecar.unpacked(app) as folder:
        command = [*command_of(PLUGIN["generate"]), "--timeout", "1"]
        ran = as_user(command, sidecar.mounts, cwd=folder, env=sidecar.environment())
        child = (folder.parent / "child").read_text().strip()
    assert (ran.stdout, ran.returncode) == ("", 1)
    assert "application shop: `kustomize build` was stopped after 1 s, because Argo CD waits for only 60 s" in ran.stderr
    assert ends(child)


def test_when_argo_cd_ends_it_the_build_ends_too(sidecar: Sidecar, app: Path) -> None:
    script(sidecar, "kustomize", "echo $$ > ../child; exec sleep 147.11")
    (app / "kustomization.yaml").write_text("resources: [vm.yaml]\n")
    with sidecar.unpacked(app) as folder:
        note = folder.parent / "child"
        command = started(command_of(PLUGIN["generate"]), sidecar.mounts)
        process = subprocess.Popen(**command, cwd=folder, env=sidecar.environment(), start_new_session=True)
        deadline = time.monotonic() + DEADLINE
        while not (note.exists() and note.read_text()) and time.monotonic() < deadline:
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGTERM)
        assert process.wait(DEADLINE) == 128 + signal.SIGTERM
        assert ends(note.read_text().strip())


def ends(process: str) -> bool:
    """True once a process is gone, or a mere entry of the table, which its parent has not read yet; False after 30 s."""
    for _ in range(3000):
        try:
            if ") Z" in Path(f"/proc/{process}/stat").read_text():
                return True
        except OSError:
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize(
    "files",
    [{}, {"a.yaml": VM.replace("  name: web\n", '  name: web\n  annotations: {config.kubernetes.io/local-config: "true"}\n')}],
)
def test_an_answer_without_objects_is_refused_unless_it_is_meant(sidecar: Sidecar, app: Path, files: dict[str, str]) -> None:
    (app / "vm.yaml").unlink()
    for name, text in files.items():
        (app / name).write_text(text)
    ran = sidecar.generate(app)
    assert (ran.stdout, ran.returncode) == ("", 1)
    assert "application shop: there is no object to apply" in ran.stderr
    for meant in (
        sidecar.generate(app, [{"name": "allowEmpty", "string": "true"}]),
        sidecar.generate(app, None, "--allow-empty"),
    ):
        assert (meant.stdout, meant.stderr, meant.returncode) == ("", "", 0)


def test_a_build_that_prints_nothing_is_refused(sidecar: Sidecar, app: Path) -> None:
    script(sidecar, "kustomize", "exit 0")
    (app / "kustomization.yaml").write_text("resources: []\n")
    assert sidecar.generate(app).returncode == 1


def test_a_mistake_is_named_with_application_file_and_fix(sidecar: Sidecar, app: Path) -> None:
    (app / "vm.yaml").write_text(VM.replace("u1.small", "u1.smal"))
    ran = sidecar.generate(app)
    assert (ran.stdout, ran.returncode) == ("", 1)
    first, last = ran.stderr.splitlines()
    assert first.startswith("kubevirt-render: error: vm.yaml: VirtualMachine shop/web: spec.instancetype.name: ")
    reason = "nothing is generated because of the findings above (1 error); correct them"
    assert last == f"kubevirt-render: error: application shop: {reason}"


def test_broken_yaml_is_one_line_that_names_the_application(sidecar: Sidecar, app: Path) -> None:
    (app / "vm.yaml").write_text("a: [\n")
    ran = sidecar.generate(app)
    assert (ran.stdout, ran.returncode, ran.stderr.count("\n")) == ("", 1, 1)
    assert ran.stderr.startswith("kubevirt-render: error: application shop: vm.yaml:")


def test_the_root_may_be_read_only(sidecar: Sidecar) -> None:
    read_only = ["mount --bind /tmp /tmp", "mount -o remount,bind,ro /"]
    try:
        allowed = os.geteuid() == 0 and as_user(["true"], read_only).returncode == 0
    except FileNotFoundError:
        allowed = False
    if not allowed:
        pytest.skip("mounting needs root, unshare and setpriv")
    sidecar.mounts = [*read_only[:1], *sidecar.mounts, *read_only[1:]]
    ran = sidecar.generate(EXAMPLE / "app")
    assert (ran.stdout, ran.stderr, ran.returncode) == ((EXAMPLE / "expected.yaml").read_text(), "", 0)


def test_the_component_lays_plugin_and_sidecar_over_an_installation(sidecar: Sidecar, tmp_path: Path) -> None:
    if not tools():
        absent("kustomize")
    shutil.copytree(EXAMPLE, tmp_path / "argocd")
    server = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "argocd-repo-server"},
        "spec": {"template": {"spec": {"containers": [{"name": "argocd-repo-server"}], "volumes": [{"name": "var-files"}]}}},
    }
    (tmp_path / "install.yaml").write_text(yamlio.dump(server))
    (tmp_path / "kustomization.yaml").write_text("namespace: argocd\nresources: [install.yaml]\ncomponents: [argocd]\n")
    environment = {**os.environ, "PATH": sidecar.path}
    program = ["kustomize", "build"] if shutil.which("kustomize", path=sidecar.path) else ["kubectl", "kustomize"]
    ran = subprocess.run([*program, "."], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    built = {one["kind"]: one for one in map(yamlio.read_value, ran.stdout.split("\n---\n"))}
    spec = built["Deployment"]["spec"]["template"]["spec"]
    assert [one["name"] for one in spec["containers"]] == ["kubevirt-render", "argocd-repo-server"]
    mounted = {one["name"]: one for one in spec["volumes"]}["kubevirt-render-plugin"]["configMap"]["name"]
    assert mounted == built["ConfigMap"]["metadata"]["name"]
    assert yamlio.read_value(built["ConfigMap"]["data"]["plugin.yaml"])["spec"] == PLUGIN
