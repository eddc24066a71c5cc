"""One bundle through every host gives equal objects; docs/hosts.md has the table of it, row by row as found here.

`UPDATE_HOSTS_TABLE=1` writes the rows of the hosts that are here into the page instead of comparing them.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from running import ROOT, fetched, on_path, passed, run
from test_argocd import Sidecar, sidecar  # noqa: F401  a fixture

from krm_fn import yamlio
from krm_fn.base.objects import LOCAL_CONFIG, annotations_of

BUNDLE = ROOT / "fixtures" / "hosts" / "bundle"
POLICIES = ROOT / "fixtures" / "hosts" / "policies" / "policies.yaml"
PAGE = ROOT / "docs" / "hosts.md"
PLUGINS = "--enable-alpha-plugins"
WHOLE = ("--truncate-output=false",)

Key = tuple[str, str, str, str]
Objects = Mapping[Key, Any]

CONFIG = "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nmetadata:\n  name: render\n"
ANNOTATED = CONFIG + "  annotations:\n    config.kubernetes.io/function: |\n      {}\n"
EXEC = ANNOTATED.format("exec: {path: kubevirt-render}")
CONTAINER = ANNOTATED.format("container: {image: localhost/kubevirt-render:test}")
KPTFILE = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: bundle\npipeline:\n  mutators:\n    - {}\n"


def by_key(found: list[Any]) -> Objects:
    """Objects by what names them; those that only tools read are left out. Raises: AssertionError where one is there twice."""
    of_tools = ("kustomize.config.k8s.io", "kpt.dev", "kubevirt-render.dev")
    objects = [obj for obj in found if obj.get("metadata") and obj["apiVersion"].partition("/")[0] not in of_tools]
    keys = [(o["apiVersion"], o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]) for o in objects]
    assert len(set(keys)) == len(keys)
    return dict(zip(keys, objects, strict=True))


def read(text: str) -> Objects:
    """The objects of a YAML stream, read by our own reader."""
    return by_key(list(yamlio.read_stream(text.encode()).items))


def read_folder(folder: Path) -> Objects:
    return by_key([obj for file in sorted(folder.rglob("*.yaml")) for obj in yamlio.read_stream(file.read_bytes()).items])


class Host:
    """A copy of the bundle, the environment to run something over it, and what the programs wrote beside their output."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder = folder
        self.environment = environment
        self.told = ""

    def call(self, *command: str) -> str:
        return self.noted(run(*command, cwd=self.folder, environment=self.environment))

    def noted(self, ran: subprocess.CompletedProcess[str]) -> str:
        self.told += ran.stderr
        return passed(ran)

    def transformed_by(self, config: str) -> Host:
        """The bundle with the function below `transformers:`."""
        (self.folder / "render.yaml").write_text(config)
        with (self.folder / "kustomization.yaml").open("a") as kustomization:
            kustomization.write("transformers: [render.yaml]\n")
        return self

    def piped(self, entry: str) -> Host:
        """The bundle as a kpt package with the function in its pipeline."""
        (self.folder / "Kptfile").write_text(KPTFILE.format(entry))
        return self


def command(host: Host, _: pytest.FixtureRequest) -> Objects:
    return read(host.call("kubevirt-render", "render", "."))


def function(host: Host, _: pytest.FixtureRequest) -> Objects:
    """A ResourceList as a host would write it, on stdin."""
    items = [obj for key, obj in sorted(read_folder(host.folder).items())]
    listed = yamlio.write_resource_list(
        yamlio.read_resource_list(b"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\n"), items, []
    )
    ran = subprocess.run(["kubevirt-render"], input=listed, env=host.environment, capture_output=True, check=True)
    host.told += ran.stderr.decode()
    return by_key(yamlio.read_value(ran.stdout.decode())["items"])


def kustomize_exec(release: str) -> Callable[[Host, pytest.FixtureRequest], Objects]:
    def build(host: Host, _: pytest.FixtureRequest) -> Objects:
        program = fetched(release)
        return read(host.transformed_by(EXEC).call(program, "build", PLUGINS, "--enable-exec", "."))

    return build


def kustomize_container(host: Host, request: pytest.FixtureRequest) -> Objects:
    contained(host, request)
    return read(host.transformed_by(CONTAINER).call(fetched("5.8.1"), "build", PLUGINS, "."))


def kubectl_container(host: Host, request: pytest.FixtureRequest) -> Objects:
    contained(host, request)
    return read(host.transformed_by(CONTAINER).call(on_path("kubectl"), "kustomize", PLUGINS, "."))


def kubectl_plugin(host: Host, request: pytest.FixtureRequest) -> Objects:
    kubectl = on_path("kubectl")
    home = str(request.getfixturevalue("tmp_path") / "plugins")
    host.call("kubevirt-render", "install-plugin", home)
    host.environment = {**host.environment, "KUSTOMIZE_PLUGIN_HOME": home}
    return read(host.transformed_by(CONFIG).call(kubectl, "kustomize", PLUGINS, "."))


def kpt_render(host: Host, _: pytest.FixtureRequest) -> Objects:
    host.piped("exec: kubevirt-render").call(on_path("kpt"), "fn", "render", ".", "--allow-exec", *WHOLE)
    return read_folder(host.folder)


def kpt_render_image(host: Host, request: pytest.FixtureRequest) -> Objects:
    image = contained(host, request)
    host.piped(f"image: {image}").call(on_path("kpt"), "fn", "render", ".", "--image-pull-policy", "never", *WHOLE)
    return read_folder(host.folder)


def kpt_eval_image(host: Host, request: pytest.FixtureRequest) -> Objects:
    image = contained(host, request)
    host.call(on_path("kpt"), "fn", "eval", ".", "--image", image, "--image-pull-policy", "never", *WHOLE)
    return read_folder(host.folder)


def argo_cd(host: Host, request: pytest.FixtureRequest) -> Objects:
    played: Sidecar = request.getfixturevalue("sidecar")
    (host.folder / "kustomization.yaml").unlink()  # its build would leave out the local sizes before they are looked for
    return read(host.noted(played.generate(host.folder, [{"name": "defaults", "string": "auto"}])))


def contained(host: Host, request: pytest.FixtureRequest) -> str:
    """The image's name; from now on the host finds podman, which answers to `docker` too."""
    host.environment = {**request.getfixturevalue("podman"), "KPT_FN_RUNTIME": "podman"}
    return str(request.getfixturevalue("image"))


HOSTS: dict[str, Callable[[Host, pytest.FixtureRequest], Objects]] = {
    "`kubevirt-render render`": command,
    "the function on stdin": function,
    "kustomize 4.5.4, exec": kustomize_exec("4.5.4"),
    "kustomize 5.6.0, exec": kustomize_exec("5.6.0"),
    "kustomize 5.8.1, exec": kustomize_exec("5.8.1"),
    "kustomize 5.8.1, image": kustomize_container,
    "kubectl kustomize, image": kubectl_container,
    "kubectl kustomize, plugin": kubectl_plugin,
    "kpt fn render, exec": kpt_render,
    "kpt fn render, image": kpt_render_image,
    "kpt fn eval, image": kpt_eval_image,
    "Argo CD": argo_cd,
}


# What shows a plugin's findings only where the plugin fails.
SILENT = ("kubectl kustomize, plugin",)


def table_row(name: str, given: Objects, expected: Objects, found: Objects) -> str:
    """A row of the table: the output, how much of it equals that of the command, and what was left out."""
    changed = sum(found[key] != given[key] for key in found)
    equal = sum(found[key] == expected.get(key) for key in found)
    left_out = [key for key in expected if key not in found]
    local = [key for key in left_out if LOCAL_CONFIG in annotations_of(expected[key])]
    assert left_out == local
    gone = f"{len(local)} `local-config`" if local else "nothing"
    return f"| {name} | {len(given)} | {len(found)} | {changed} | {equal} | {gone} |"


@pytest.fixture
def host(tmp_path: Path, environment: dict[str, str]) -> Host:
    return Host(Path(shutil.copytree(BUNDLE, tmp_path / "bundle")), environment)


def update(name: str, row: str) -> None:
    with PAGE.open("r+") as page:
        fcntl.flock(page, fcntl.LOCK_EX)
        lines = [row if line.startswith(f"| {name} |") else line for line in page.read().splitlines()]
        page.seek(0)
        page.write("\n".join(lines) + "\n")
        page.truncate()


@pytest.mark.parametrize("name", HOSTS)
def test_every_host_gives_what_the_command_gives(
    name: str, host: Host, request: pytest.FixtureRequest, environment: dict[str, str]
) -> None:
    expected = read(passed(run("kubevirt-render", "render", str(BUNDLE), cwd=ROOT, environment=environment)))
    found = HOSTS[name](host, request)
    differing = {key: (found[key], expected.get(key)) for key in found if found[key] != expected.get(key)}
    assert differing == {}
    row = table_row(name, read_folder(BUNDLE), expected, found)
    if os.environ.get("UPDATE_HOSTS_TABLE"):
        update(name, row)
    assert row in PAGE.read_text().splitlines()


@pytest.fixture
def with_policies(host: Host) -> Host:
    """The bundle with policies in it, which warn."""
    shutil.copy(POLICIES, host.folder)
    with (host.folder / "kustomization.yaml").open("a") as kustomization:
        kustomization.write(f"  - {POLICIES.name}\n")
    return host


def told_of_policies(text: str) -> list[str]:
    """What the policies said, in order of the names; hosts put their own words around it."""
    return sorted(set(re.findall(r"finding of [\w:-]+|userInfo is known to the cluster only", text)))


@pytest.mark.parametrize("name", HOSTS)
def test_every_host_reports_the_findings_of_policies_and_leaves_them_as_they_came(
    name: str, with_policies: Host, request: pytest.FixtureRequest, environment: dict[str, str]
) -> None:
    given = read(POLICIES.read_text())
    ran = run("kubevirt-render", "render", str(with_policies.folder), cwd=ROOT, environment=environment)
    passed(ran)
    expected = told_of_policies(ran.stderr)
    assert len(expected) == len(set(expected)) == 24
    found = HOSTS[name](with_policies, request)
    assert {key: found.get(key) for key in given} == given
    if name not in SILENT:
        assert told_of_policies(with_policies.told) == expected


@pytest.mark.parametrize("name", SILENT)
def test_a_host_that_is_silent_where_it_succeeds_reports_the_findings_of_policies_that_deny(
    name: str, with_policies: Host, request: pytest.FixtureRequest
) -> None:
    file = with_policies.folder / POLICIES.name
    file.write_text(file.read_text().replace("[Warn]", "[Deny]").replace("[Audit]", "[Deny]"))
    with pytest.raises(AssertionError):
        HOSTS[name](with_policies, request)
    assert len(told_of_policies(with_policies.told)) == 24


def test_the_bundle_is_large_and_of_many_kinds() -> None:
    keys = read_folder(BUNDLE)
    assert len(keys) == 39
    assert len({kind for _, kind, _, _ in keys}) == 23


def test_the_table_has_the_hosts_and_no_others() -> None:
    rows = [line.split(" | ")[0].removeprefix("| ") for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    assert [row for row in rows if row in HOSTS] == list(HOSTS)
