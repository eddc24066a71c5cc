"""What leaves is what the host gives that calls this program: each form of the step is compared with the real program."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from checking import run
from committing import commit, git
from running import passed
from running import run as call
from test_own_step import PLAIN, SIZE, VM
from trees import tree

from krm_fn import yamlio
from krm_fn.base.objects import annotations_of, group_of
from krm_fn.repositories import building
from krm_fn.repositories.loading import Options
from krm_fn.repositories.rendering import objects_of
from krm_fn.repositories.running import run as run_units
from krm_fn.repositories.workspace import Asked, Workspace
from krm_fn.sources.reading import unwatched
from krm_fn.sources.skipping import TOOL_GROUPS
from krm_fn.sources.steps import is_local

OF_HOSTS = ("internal.config.kubernetes.io/", "config.kubernetes.io/", "config.k8s.io/", "kubevirt-render.dev/local")
HEAD = "apiVersion: kpt.dev/v1\nkind: Kptfile\nmetadata:\n  name: p\npipeline:\n"
CALL = "    - exec: kubevirt-render\n"
CONFIG = "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nmetadata: {name: render}\nspec: "
FILES = {"vm.yaml": VM, "size.yaml": SIZE}
LARGE = SIZE.replace("guest: 2}", "guest: 4}")
SHARED = "\n".join(line for line in SIZE.splitlines() if "annotations:" not in line)
FLAGS = ("--defaults", "pinned", "--kubevirt-version=1.6")


def bare(items: list[Any]) -> list[str]:
    """The objects for the cluster, without what only hosts read, sorted."""
    found = []
    for item in items:
        if not isinstance(item, dict) or group_of(item) in TOOL_GROUPS or is_local(item):
            continue
        kept = {key: value for key, value in annotations_of(item).items() if not key.startswith(OF_HOSTS)}
        metadata = {key: value for key, value in item["metadata"].items() if key != "annotations"}
        found.append(json.dumps({**item, "metadata": {**metadata, **({"annotations": kept} if kept else {})}}, sort_keys=True))
    return sorted(found)


def leaving(folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The objects that leave a repository, by this program."""
    monkeypatch.chdir(folder)
    workspace = Workspace(Asked(apart=True))
    how = Options(using=building.builder())
    found = run_units(workspace.units, how, objects_of, title="", jobs=1, watch=unwatched)
    return bare([item for each in found for item in each.items])


def rendered(kpt: str, folder: Path, environment: dict[str, str]) -> list[str]:
    """The objects of a package that kpt has rendered."""
    passed(call(kpt, "fn", "render", ".", "--allow-exec", cwd=folder, environment=environment))
    files = [file for file in folder.rglob("*.yaml") if not file.name.startswith(".")]
    return bare([item for file in files for item in yamlio.read_stream(file.read_bytes()).items])


PIPELINES = {
    "plain": {"Kptfile": HEAD + "  mutators:\n" + CALL},
    "values of a ConfigMap": {
        "Kptfile": HEAD + "  mutators:\n" + CALL + '      configMap: {defaults: cluster, kubevirtVersion: "1.6"}\n'
    },
    "a file": {
        "Kptfile": HEAD + "  mutators:\n" + CALL + "      configPath: r.yaml\n",
        "r.yaml": CONFIG + "{mode: annotate}\n",
    },
    "snapshot": {"Kptfile": HEAD + "  mutators:\n" + CALL + "      configMap: {mode: snapshot}\n"},
    "annotate, then expand": {
        "Kptfile": HEAD + "  mutators:\n" + CALL + "      configMap: {mode: annotate}\n" + CALL,
    },
    "expand, then a patch": {
        "Kptfile": HEAD + "  mutators:\n" + CALL + CALL + "      configPath: r.yaml\n",
        "r.yaml": CONFIG
        + "{patches: [{target: {kind: VirtualMachine}, patch: [{op: add, path: /spec/template/spec/hostname, value: a}]}]}\n",
    },
    "snapshot, then expand": {"Kptfile": HEAD + "  mutators:\n" + CALL + "      configMap: {mode: snapshot}\n" + CALL},
    "a validator": {"Kptfile": HEAD + "  validators:\n" + CALL + "      configMap: {defaults: cluster}\n"},
    "both": {"Kptfile": HEAD + "  validators:\n" + CALL + "      configMap: {mode: validate}\n  mutators:\n" + CALL},
    "selected": {
        "Kptfile": HEAD
        + "  mutators:\n"
        + CALL
        + "      selectors: [{kind: VirtualMachine, name: web}, {kind: VirtualMachineInstancetype}]\n",
        "db.yaml": VM.replace("name: web", "name: db"),
    },
    "left out": {
        "Kptfile": HEAD + "  mutators:\n" + CALL + "      exclude: [{labels: {app: db}}]\n",
        "db.yaml": VM.replace("name: web,", "name: db, labels: {app: db},"),
    },
    "a package in a package": {
        "Kptfile": HEAD + "  mutators:\n" + CALL + "      configMap: {mode: annotate}\n",
        "db/Kptfile": HEAD.replace("name: p", "name: db") + "  mutators:\n" + CALL,
        "db/db.yaml": VM.replace("name: web", "name: db"),
        "db/size.yaml": SIZE,
        "size.yaml": SIZE.replace("name: house", "name: other"),
        "vm.yaml": VM.replace("name: house", "name: other"),
    },
    "another program": {"Kptfile": HEAD + "  mutators:\n    - exec: cat\n" + CALL},
    "a release of the program": {"Kptfile": HEAD + "  mutators:\n    - exec: kubevirt-render\n      name: r\n"},
}


@pytest.mark.parametrize("form", PIPELINES)
def test_what_leaves_a_package_is_what_kpt_renders(
    kpt: str, form: str, tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {**FILES, **PIPELINES[form]}
    ours = leaving(tree(tmp_path / "ours", files), monkeypatch)
    assert ours == rendered(kpt, tree(tmp_path / "theirs", files), environment)


# ---- Argo CD

APP = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: shop, namespace: argocd}
spec:
  project: default
  source:
    repoURL: https://git.example.com/team/vms.git
    path: app
    plugin: PLUGIN
  destination: {server: https://kubernetes.default.svc, namespace: shop}
"""
SIDECAR = """\
apiVersion: argoproj.io/v1alpha1
kind: ConfigManagementPlugin
metadata: {name: vms}
spec:
  version: v1.0
  generate:
    command: [kubevirt-render, argocd, generate]
    args: [--defaults, pinned, --kubevirt-version=1.6ISOLATED]
"""


def application(plugin: object) -> dict[str, str]:
    return {"argocd/app.yaml": APP.replace("PLUGIN", json.dumps(plugin))}


def sidecar(more: str = "") -> dict[str, str]:
    return {"argocd/plugin.yaml": SIDECAR.replace("ISOLATED", more)}


def app(files: dict[str, str]) -> dict[str, str]:
    return {f"app/{name}": text for name, text in files.items()}


IN_NO_NAMESPACE = {"vm.yaml": VM.replace(", namespace: vms", ""), "size.yaml": SIZE.replace("  namespace: vms\n", "")}
FIRST = {"name": "kubevirt-render"}
REPOSITORY_CONFIG = {"app/.kubevirt-render.yaml": CONFIG + "{defaults: none}\n"}
APPLICATIONS: dict[str, tuple[dict[str, str], dict[str, Any], tuple[str, ...]]] = {
    "files": (app(FILES), FIRST, ()),
    "files below": (app({"a/vm.yaml": VM, "b/size.yaml": SIZE}), FIRST, ()),
    "files without a namespace": (app(IN_NO_NAMESPACE), FIRST, ()),
    "a kustomization": (app({**PLAIN, "size.yaml": SHARED}), FIRST, ()),
    "a kustomization that keeps the size": (app(PLAIN), FIRST, ()),
    "parameters": (
        app(FILES),
        {
            **FIRST,
            "parameters": [
                {"name": "defaults", "string": "pinned"},
                {"name": "severity", "map": {"unused-instancetype": "off"}},
                {"name": "provenance", "string": "true"},
            ],
        },
        (),
    ),
    "env": (
        app(FILES),
        {**FIRST, "env": [{"name": "KUBEVIRT_VERSION", "value": "1.5"}, {"name": "DEFAULTS", "value": "cluster"}]},
        (),
    ),
    "a config of the repository": ({**app(FILES), **REPOSITORY_CONFIG}, FIRST, ()),
    "a config that is named": (
        app({**FILES, "own.yaml": CONFIG + "{mode: annotate}\n"}),
        {**FIRST, "parameters": [{"name": "config", "string": "own.yaml"}]},
        (),
    ),
    "flags of the sidecar": (
        {**app(FILES), **sidecar()},
        {"name": "vms-v1.0"},
        FLAGS,
    ),
    "parameters over flags": (
        {**app(FILES), **sidecar()},
        {"name": "vms-v1.0", "parameters": [{"name": "defaults", "string": "none"}]},
        FLAGS,
    ),
    "a sidecar that reads no config": (
        {**app(FILES), **REPOSITORY_CONFIG, **sidecar(", --isolated")},
        {"name": "vms"},
        (*FLAGS, "--isolated"),
    ),
}


def generated(folder: Path, plugin: dict[str, Any], flags: tuple[str, ...], environment: dict[str, str]) -> list[str]:
    """The objects that the plugin prints in the folder of the application; none where it fails."""
    variables = {
        "ARGOCD_APP_NAME": "shop",
        "ARGOCD_APP_NAMESPACE": "shop",
        "ARGOCD_APP_SOURCE_PATH": "app",
        "ARGOCD_APP_PARAMETERS": json.dumps(plugin.get("parameters", [])),
        **{f"ARGOCD_ENV_{each['name']}": each["value"] for each in plugin.get("env", [])},
    }
    words = ("kubevirt-render", "argocd", "generate", *flags)
    ran = call(*words, cwd=folder / "app", environment={**environment, **variables})
    return [] if ran.returncode else bare(list(yamlio.read_stream(ran.stdout.encode()).items))


@pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
@pytest.mark.parametrize("form", APPLICATIONS)
def test_what_leaves_an_application_is_what_the_plugin_prints(
    form: str, kustomize: str, tmp_path: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(kustomize).parent}:{os.environ['PATH']}")
    files, plugin, flags = APPLICATIONS[form]
    here = tree(tmp_path, {**files, **application(plugin)})
    git(here, "init", "-q", "-b", "main")
    path = f"{Path(kustomize).parent}:{environment['PATH']}"
    theirs = generated(here, plugin, flags, {**environment, "PATH": path})
    assert [each for each in leaving(here, monkeypatch) if "argoproj.io" not in each] == theirs


# ---- a step that comes and goes

KPTFILE = HEAD + "  mutators:\n" + CALL
DEEP = {"vms/a/vm.yaml": VM, "vms/b/size.yaml": SIZE, "vms/b/c/db.yaml": VM.replace("name: web", "name: db")}
COMING = {
    "a package": ({"vms/Kptfile": KPTFILE.removesuffix("pipeline:\n  mutators:\n" + CALL)}, {"vms/Kptfile": KPTFILE}),
    "a folder that becomes a package": ({}, {"vms/Kptfile": KPTFILE}),
    "an application": ({}, {"argocd/app.yaml": APP.replace("path: app", "path: vms").replace("PLUGIN", json.dumps(FIRST))}),
    "a pipeline": ({}, {".kubevirt-render.yaml": CONFIG + "{rendered: true}\n"}),
}


def changes(here: Path) -> list[tuple[str, str]]:
    code, out, err = run("diff", "--base", "HEAD", ".", "-o", "json", cwd=here)
    assert code in (0, 1), err
    return sorted((each["name"], each["change"]) for each in json.loads(out)["vms"])


@pytest.mark.parametrize("form", COMING)
def test_a_step_over_several_folders_changes_the_vms_that_are_there(form: str, tmp_path: Path) -> None:
    without, more = COMING[form]
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path, {**DEEP, **without})
    tree(tmp_path, more)
    assert changes(tmp_path) == [("db", "changed"), ("web", "changed")]
    commit(tmp_path, {})
    for name in more:
        (tmp_path / name).unlink()
    tree(tmp_path, without)
    assert changes(tmp_path) == [("db", "changed"), ("web", "changed")]


@pytest.mark.parametrize("form", COMING)
def test_an_edit_of_a_size_changes_what_leaves(form: str, tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    commit(tmp_path, {**DEEP, **COMING[form][1]})
    tree(tmp_path, {"vms/b/size.yaml": LARGE})
    assert changes(tmp_path) == [("db", "changed"), ("web", "changed")]
    assert "keeps" not in run("diff", "--base", "HEAD", ".", cwd=tmp_path)[1]


@pytest.mark.parametrize("form", ["kpt", "argocd"])
def test_a_config_outside_of_the_repository_is_not_read(tmp_path: Path, form: str) -> None:
    application = {
        "apiVersion": "argoproj.io/v1alpha1",
        "kind": "Application",
        "metadata": {"name": "vms"},
        "spec": {
            "source": {
                "path": "vms",
                "plugin": {"name": "kubevirt-render", "parameters": [{"name": "config", "string": "../../out.yaml"}]},
            }
        },
    }
    calls = {
        "kpt": {"vms/Kptfile": HEAD + "  mutators:\n" + CALL + "      configPath: ../../out.yaml\n"},
        "argocd": {"app.yaml": json.dumps(application)},
    }
    tree(tmp_path, {"out.yaml": CONFIG + "{mode: secret-of-the-machine}\n"})
    tree(tmp_path / "repository", {"vms/vm.yaml": VM, "vms/size.yaml": SIZE, ".git/HEAD": "", **calls[form]})
    code, out, err = run("check", ".", cwd=tmp_path / "repository")
    assert "secret-of-the-machine" not in out + err
    assert code == 0


def test_a_pipeline_takes_no_more_work_than_its_objects_allow(tmp_path: Path) -> None:
    for folder, number in (("few", 3), ("many", 30)):
        tree(tmp_path / folder, {**FILES, "Kptfile": f"{HEAD}  mutators:\n{CALL * number}"})
    _, _, err = run("check", "few", cwd=tmp_path)
    assert err == ""
    code, out, err = run("check", "many", cwd=tmp_path)
    why = "many: found 30 calls of this program for 2 objects, which take too much work; call it fewer times"
    assert (code, out, err) == (1, "", f"kubevirt-render: error: {why}\n")
