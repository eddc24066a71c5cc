"""The image, built from the Dockerfile and run as kustomize, kpt and strict clusters run it."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from building import copied, image_of
from running import ROOT, open_to_all, passed, run

from krm_fn import __version__, yamlio

STRICT = ("--network", "none", "--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges")
LIMIT = 150  # MB; the base is most of it

RESOURCE_LIST = """\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: kubevirt.io/v1
  kind: VirtualMachine
  metadata:
    name: web
  spec:
    runStrategy: Always
    instancetype:
      name: u1.medium
    template:
      spec:
        domain:
          devices: {}
"""

Container = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def container(image: str, podman: dict[str, str]) -> Container:
    """Runs the image with flags, arguments and stdin, and returns the result."""

    def call(*flags: str, arguments: tuple[str, ...] = (), stdin: str = RESOURCE_LIST) -> subprocess.CompletedProcess[str]:
        command = ["podman", "run", "--rm", "-i", *STRICT, *flags, image, *arguments]
        return subprocess.run(command, input=stdin, env=podman, capture_output=True, text=True, check=False)

    return call


@pytest.fixture
def inspected(image: str, podman: dict[str, str]) -> dict[str, Any]:
    (found,) = json.loads(passed(run("podman", "image", "inspect", image, cwd=ROOT, environment=podman)))
    return dict(found)


def rendered(text: str) -> object:
    (vm,) = yamlio.read_value(text)["items"]
    domain = vm["spec"]["template"]["spec"]["domain"]
    return vm["spec"].get("instancetype"), domain["memory"]


def python(code: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Flags and arguments that run a line of Python in the image instead of the function."""
    return ("--user", "nobody", "--entrypoint", "python3"), ("-c", code)


RANDOM = str(random.randrange(100_000, 2**31))  # OpenShift draws such a user for each namespace


def test_its_base_is_pinned_by_digest() -> None:
    bases = re.findall(r"^ARG BASE=(.+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert [re.fullmatch(r"python:3\.13-slim@sha256:[0-9a-f]{64}", base) is not None for base in bases] == [True]
    stages = re.findall(r"^FROM (\S+)", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert set(stages) == {"${BASE}", "scratch", "function"}


@pytest.mark.parametrize("user", ["nobody", "65534", "999", RANDOM], ids=["nobody", "65534", "999", "a random one"])
def test_it_renders_as_any_user_without_network_and_without_a_folder_to_write_to(container: Container, user: str) -> None:
    ran = container("--user", user, "--read-only-tmpfs=false")
    assert (ran.stderr, ran.returncode) == ("", 0)
    assert rendered(ran.stdout) == (None, {"guest": "4Gi"})


def test_it_renders_without_a_home(container: Container) -> None:
    flags, arguments = python(
        "import os; os.environ.pop('HOME', None);"
        " os.execvp('python3', ['python3', '-I', '-S', '-B', '/usr/local/bin/kubevirt-render'])"
    )
    assert rendered(container(*flags, arguments=arguments).stdout) == (None, {"guest": "4Gi"})


def test_it_renders_with_what_kustomize_sets(container: Container) -> None:
    ran = container("--user", "nobody", "-e", "LOG_TO_STDERR=true", "-e", "STRUCTURED_RESULTS=true", "-e", "PYTHONPATH=/proc")
    assert rendered(ran.stdout) == (None, {"guest": "4Gi"})


def test_no_shell_is_needed(container: Container) -> None:
    masked = ("-v", "/dev/null:/usr/bin/dash:ro", "-v", "/dev/null:/usr/bin/bash:ro")
    assert rendered(container("--user", "nobody", *masked).stdout) == (None, {"guest": "4Gi"})


def test_the_complete_command_is_in_the_image(container: Container) -> None:
    flags = ("--user", "nobody")
    assert container(*flags, arguments=("--version",)).stdout == f"kubevirt-render {__version__}\n"
    assert container(*flags, arguments=("catalogue", "show", "u1.medium")).returncode == 0
    assert container(*flags, arguments=("schema",)).returncode == 0
    patch = container(*flags, arguments=("render", "-o", "patch", "-"))
    assert '"op": "remove"' in patch.stdout or "op: remove" in patch.stdout
    assert container(*flags, "--entrypoint", "kubevirt-render", arguments=("--version",)).returncode == 0


def test_it_is_argo_cds_sidecar_too(container: Container, tmp_path: Path) -> None:
    example = ROOT / "kustomization-examples" / "argocd"
    app = open_to_all(shutil.copytree(example / "app", tmp_path / "app"))
    mounted = ("-v", f"{app}:/app:ro", "--workdir", "/app", "--entrypoint", "kubevirt-render")
    argo_cd = ("-e", "ARGOCD_APP_NAME=shop", "-e", "ARGOCD_APP_NAMESPACE=shop")
    flags = ("--kubevirt-version", "1.9", "--defaults", "pinned")
    ran = container("--user", "999", *mounted, *argo_cd, arguments=("argocd", "generate", *flags))
    assert (ran.stdout, ran.stderr, ran.returncode) == ((example / "expected.yaml").read_text(), "", 0)


def test_a_wrong_config_is_named(container: Container) -> None:
    config = "functionConfig:\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {name: a}\n  data: {mood: expand}\n"
    ran = container("--user", "nobody", stdin=RESOURCE_LIST + config)
    assert ran.returncode == 2
    assert ran.stderr.startswith("kubevirt-render: error: ")
    assert "data.mood" in ran.stderr


def test_findings_are_the_same_as_outside(container: Container) -> None:
    ran = container("--user", "nobody", stdin=RESOURCE_LIST.replace("u1.medium", "u1.mediumm"))
    assert ran.returncode == 1
    (result,) = yamlio.read_value(ran.stdout)["results"]
    assert result["field"]["proposedValue"] == "u1.medium"


@pytest.mark.parametrize("name", ["pip", "setuptools", "wheel", "ensurepip", "hatchling", "pytest", "idlelib"])
def test_nothing_that_is_not_needed_is_inside(container: Container, name: str) -> None:
    flags, arguments = python(
        "import importlib.util, sys; sys.path.append('/opt/kubevirt-render');"
        f" print(importlib.util.find_spec({name!r}), importlib.util.find_spec('krm_fn') is None)"
    )
    assert container(*flags, arguments=arguments).stdout == "None False\n"


def test_the_packages_are_those_of_the_lock(container: Container) -> None:
    locked = [line.split()[0] for line in (ROOT / "image" / "requirements.txt").read_text().splitlines() if "==" in line]
    of_older_pythons = [name for name in locked if name.startswith("typing-extensions")]
    flags, arguments = python(
        "import importlib.metadata as m;"
        " print(*sorted(f'{d.name}=={d.version}' for d in m.distributions(path=['/opt/kubevirt-render'])))"
    )
    inside = container(*flags, arguments=arguments).stdout.lower().split()
    expected = {*locked, f"kubevirt-render=={__version__}"} - set(of_older_pythons)
    assert {one.replace("_", "-") for one in inside} == expected


def test_everything_is_compiled(container: Container) -> None:
    flags, arguments = python(
        "import pathlib, sysconfig; from importlib.util import cache_from_source as compiled;"
        " places = ('/opt/kubevirt-render', sysconfig.get_path('stdlib'));"
        " sources = [file for place in places for file in pathlib.Path(place).rglob('*.py')];"
        " print(len(sources) > 500, [str(file) for file in sources if not pathlib.Path(compiled(file)).exists()])"
    )
    assert container(*flags, arguments=arguments).stdout == "True []\n"


def test_nothing_inside_may_be_written_by_the_function(container: Container) -> None:
    flags, arguments = python("import os; print([p for p, _, _ in os.walk('/opt/kubevirt-render') if os.access(p, os.W_OK)])")
    assert container(*flags, arguments=arguments).stdout == "[]\n"


def test_nothing_inside_raises_privileges(container: Container) -> None:
    flags, arguments = python(
        "import os; files = (os.path.join(p, f) for p, _, names in os.walk('/usr') for f in names);"
        " print([file for file in files if os.lstat(file).st_mode & 0o6000])"
    )
    assert container(*flags, arguments=arguments).stdout == "[]\n"


def test_it_starts_the_function_itself_as_nobody(inspected: dict[str, Any], container: Container) -> None:
    config = inspected["Config"]
    assert config["Entrypoint"] == ["python3", "-I", "-S", "-B", "/usr/local/bin/kubevirt-render"]
    assert (config.get("Cmd"), config["User"]) == (None, "65534:65534")
    flags, arguments = python("import pwd; print(pwd.getpwnam('nobody').pw_uid)")
    assert container(*flags, arguments=arguments).stdout == "65534\n"


def test_its_labels_say_what_it_is(inspected: dict[str, Any]) -> None:
    labels = {
        key.removeprefix("org.opencontainers.image."): value
        for key, value in inspected["Labels"].items()
        if key.startswith("org.opencontainers")
    }
    assert sorted(labels) == [
        "base.name",
        "description",
        "documentation",
        "licenses",
        "revision",
        "source",
        "title",
        "version",
    ]
    assert labels["base.name"] == "python:3.13-slim"
    assert (labels["title"], labels["licenses"], labels["version"]) == ("kubevirt-render", "Apache-2.0", __version__)


def test_it_is_one_layer_and_small(inspected: dict[str, Any], record_property: Callable[[str, object], None]) -> None:
    size = inspected["Size"] / 1e6
    record_property("figure", f"the image has {size:.0f} MB")
    assert len(inspected["RootFS"]["Layers"]) == 1
    assert size < LIMIT


@pytest.fixture
def pipelines(image: str, podman: dict[str, str]) -> str:
    """The id of the image for pipelines."""
    return image_of(ROOT, podman, "--target", "ci")


def checked(folder: Path, image: str, podman: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """`check` of a folder in an image, in the folder as the working directory."""
    command = ["podman", "run", "--rm", *STRICT, "-v", f"{open_to_all(folder)}:/repository:ro", "-w", "/repository", image]
    return subprocess.run([*command, "check", "."], env=podman, capture_output=True, text=True, check=False)


def test_a_pipeline_fails_for_a_wrong_kustomization_in_both_images(
    image: str, pipelines: str, podman: dict[str, str], tmp_path: Path
) -> None:
    vm = {**yamlio.read_value(RESOURCE_LIST)["items"][0]}
    patch = [{"op": "replace", "path": "/spec/instancetype/name", "value": "u1.mediumm"}]
    patches = [{"target": {"kind": "VirtualMachine"}, "patch": json.dumps(patch)}]
    (tmp_path / "kustomization.yaml").write_text(json.dumps({"resources": ["vm.yaml"], "patches": patches}))
    (tmp_path / "vm.yaml").write_text(json.dumps(vm))
    without, with_tools = (checked(tmp_path, each, podman) for each in (image, pipelines))
    assert (without.returncode, "neither kustomize nor kubectl is on the PATH" in without.stdout) == (1, True)
    assert (with_tools.returncode, "u1.mediumm is not found; use u1.medium" in with_tools.stdout) == (1, True), with_tools
    assert "not-built" not in with_tools.stdout


def test_the_image_for_pipelines_builds_charts(pipelines: str, podman: dict[str, str]) -> None:
    command = ("podman", "run", "--rm", *STRICT, "--tmpfs", "/tmp", "--entrypoint", "helm", pipelines, "version", "--short")
    assert passed(run(*command, cwd=ROOT, environment=podman)).startswith("v3.")


def test_the_image_for_pipelines_is_the_function_and_two_programs(
    inspected: dict[str, Any], pipelines: str, podman: dict[str, str], record_property: Callable[[str, object], None]
) -> None:
    (found,) = json.loads(passed(run("podman", "image", "inspect", pipelines, cwd=ROOT, environment=podman)))
    record_property("figure", f"the image for pipelines has {found['Size'] / 1e6:.0f} MB")
    assert len(found["RootFS"]["Layers"]) == 2
    assert (found["Config"]["User"], found["Config"]["Env"]) == (inspected["Config"]["User"], inspected["Config"]["Env"])
    assert found["Config"]["Entrypoint"] == inspected["Config"]["Entrypoint"]


def test_built_again_elsewhere_it_is_the_same(inspected: dict[str, Any], podman: dict[str, str], tmp_path: Path) -> None:
    again = image_of(copied(tmp_path / "copy"), podman, "--no-cache")
    assert again == inspected["Id"]


def test_it_runs_the_quickstart_as_the_installed_command_does(container: Container, environment: dict[str, str]) -> None:
    command = ("render", *(f"kustomization-examples/quickstart/bundle/{name}" for name in ("lab", "shop", "sizes.yaml")))
    expected = passed(run("kubevirt-render", *command, cwd=ROOT, environment=environment))
    mounted = ("-v", f"{ROOT / 'kustomization-examples'}:/src/kustomization-examples:ro", "--workdir", "/src")
    assert container(*mounted, arguments=command).stdout == expected
