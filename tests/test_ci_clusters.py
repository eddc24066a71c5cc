"""What docs/ci.md and docs/check.md offer, run on a repository with two clusters: the scripts as they are written there."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from running import NEWEST_KUSTOMIZE, ROOT, passed, run
from test_ci import RECIPES, action_step, bare, git, given_to_the_action, installed, shell, steps
from trees import tree

from krm_fn import yamlio
from krm_fn.kubevirt.releases import parse

__all__ = ["installed", "shell"]

Environment = dict[str, str]

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
OVERLAY = "resources: [../../base]\nnamespace: shop\npatches: [{path: size.yaml}]\n"
SIZE = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata:\n  name: web\nspec:\n  instancetype:\n    name: u1.large\n"
CONFIG = """\
apiVersion: kubevirt-render.dev/v1alpha1
kind: RenderVirtualMachines
spec:
  clusters:
    - name: north
      targets: ["clusters/north"]
      kubevirtVersion: "1.5"
    - name: south
      targets: ["clusters/south"]
      kubevirtVersion: "1.9"
"""
LAYOUT = {
    ".kubevirt-render.yaml": CONFIG,
    "base/kustomization.yaml": "resources: [vm.yaml]\n",
    "base/vm.yaml": VM,
    **{f"clusters/{name}/kustomization.yaml": OVERLAY for name in ("north", "south")},
    **{f"clusters/{name}/size.yaml": SIZE for name in ("north", "south")},
}
# What only the newer release has: an error in the target of one cluster.
NEWER = SIZE + "  template:\n    spec:\n      domain:\n        rebootPolicy: Terminate\n"
AT = "clusters/north/size.yaml", 11
# What is wrong with the base is wrong in both clusters.
MISSPELT = {
    "clusters/south/kustomization.yaml": "resources: [../../base]\nnamespace: shop\n",
    "base/vm.yaml": VM.replace("small", "smalll"),
}


@pytest.fixture
def repository(tmp_path: Path, shell: Environment) -> Path:
    """A repository with two clusters that have different releases, and a base branch to compare with."""
    folder = tree(tmp_path / "work", LAYOUT)
    for command in (("init", "-q", "-b", "main"), ("add", "-A"), ("commit", "-q", "-m", "vms")):
        git(folder, shell, *command)
    git(folder, shell, "update-ref", "refs/remotes/origin/main", "HEAD")
    return folder


def wrong(repository: Path) -> Path:
    return tree(repository, {f"clusters/{name}/size.yaml": NEWER for name in ("north", "south")})


def action(repository: Path, runner: Environment, workflow: str, **more: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of the action's check as a workflow calls it."""
    given = given_to_the_action(workflow)
    arguments = given["arguments"].replace("${{ runner.temp }}", runner["RUNNER_TEMP"])
    script, env = action_step("Check", **{**given, "arguments": arguments, **more})
    ran = run("bash", "-e", "-o", "pipefail", "-c", script, cwd=repository, environment={**runner, **env})
    return ran.returncode, ran.stdout, ran.stderr


@pytest.fixture
def runner(installed: Environment, shell: Environment) -> Environment:
    return {**installed, "PATH": shell["PATH"]}


def section(file: str, title: str, language: str) -> str:
    """The first block of a language below a title of a document."""
    _, _, below = (ROOT / file).read_text().partition(f"# {title}\n")
    return re.split(r"^#+ ", below, maxsplit=1, flags=re.MULTILINE)[0].partition(f"```{language}\n")[2].partition("```")[0]


def test_the_script_for_strangers_uses_the_clusters_of_the_base_branch(repository: Path, shell: Environment) -> None:
    tree(wrong(repository), {".kubevirt-render.yaml": CONFIG.replace("1.5", "1.9")})
    script = section("docs/ci.md", "Pull requests from strangers", "sh")
    ran = run("bash", "-e", "-c", script, cwd=repository, environment={**shell, "RUNNER_TEMP": str(repository.parent)})
    assert (ran.returncode, ran.stdout.startswith(f"error: {AT[0]}:{AT[1]}:")) == (1, True), ran.stdout + ran.stderr
    tree(repository, LAYOUT)
    ran = run("bash", "-e", "-c", script, cwd=repository, environment={**shell, "RUNNER_TEMP": str(repository.parent)})
    assert (ran.returncode, ran.stdout) == (
        0,
        "0 errors, 0 warnings, 0 info in 2 objects of 1 file and 2 targets, KubeVirt 1.5.3, 1.9.0\n",
    )


@pytest.fixture
def kept(repository: Path, zipapp: Path) -> Path:
    """The repository with the programs that the recipes take from its folder `tools`."""
    (repository / "tools").mkdir()
    shutil.copy(zipapp, repository / "tools" / "kubevirt-render")
    shutil.copy(NEWEST_KUSTOMIZE / "kustomize", repository / "tools" / "kustomize")
    return repository


def test_gitlabs_job_builds_the_clusters_with_what_is_kept_in_the_repository(kept: Path, tmp_path: Path) -> None:
    job = yamlio.read_value((RECIPES / "gitlab-ci.yml").read_text())["kubevirt"]
    script = "\n".join([*job["before_script"], *job["script"]])
    runner = bare(tmp_path)
    ran = run("bash", "-e", "-c", script, cwd=kept, environment=runner)
    assert (ran.returncode, ran.stdout) == (0, f"{kept}/tools/kustomize\n"), ran.stdout + ran.stderr
    ran = run("bash", "-e", "-c", script, cwd=wrong(kept), environment=runner)
    assert (ran.returncode, f"\nerror: {AT[0]}:{AT[1]}:" in ran.stdout) == (1, True), ran.stdout + ran.stderr
    (finding,) = json.loads((kept / job["artifacts"]["reports"]["codequality"]).read_text())
    assert (finding["location"]["path"], finding["location"]["lines"]["begin"]) == AT
    assert len(list(ET.parse(kept / job["artifacts"]["reports"]["junit"]).iter("failure"))) == 1


def test_gitlabs_job_fails_where_nothing_can_build(kept: Path, tmp_path: Path) -> None:
    """A green pipeline that has checked nothing would be worse than none."""
    (kept / "tools" / "kustomize").unlink()
    job = yamlio.read_value((RECIPES / "gitlab-ci.yml").read_text())["kubevirt"]
    script = "\n".join([*job["before_script"], *job["script"]])
    ran = run("bash", "-e", "-c", script, cwd=kept, environment=bare(tmp_path))
    assert (ran.returncode, ran.stdout, (kept / "kubevirt.xml").exists()) == (1, "", False)


def hook_command() -> str:
    """What pre-commit runs of the hook that is offered, with the arguments of the configuration."""
    hooks = {hook["id"]: hook for hook in yamlio.read_value((ROOT / ".pre-commit-hooks.yaml").read_text())}
    ((configured,),) = [repo["hooks"] for repo in yamlio.read_value((RECIPES / "pre-commit-config.yaml").read_text())["repos"]]
    hook = {**hooks[configured["id"]], **configured}
    return f"{hook['entry']} {shlex.join(hook['args'])}"


def test_the_pre_commit_hook_checks_each_cluster_by_its_release(repository: Path, shell: Environment) -> None:
    assert passed(run("bash", "-e", "-c", hook_command(), cwd=repository, environment=shell)) == ""
    ran = run("bash", "-e", "-c", hook_command(), cwd=wrong(repository), environment=shell)
    assert (ran.returncode, ran.stdout.startswith(f"error: {AT[0]}:{AT[1]}:")) == (1, True), ran.stdout + ran.stderr


def test_the_hook_for_rendered_manifests_checks_what_the_script_renders(repository: Path, shell: Environment) -> None:
    shutil.copy(RECIPES / "render.sh", repository)
    hook = next(each for each in yamlio.read_value((ROOT / ".pre-commit-hooks.yaml").read_text()) if "expanded" in each["id"])
    ran = run("./render.sh", "clusters", "rendered", cwd=repository, environment=shell)
    assert (ran.returncode, "(unexpanded-vm)" in ran.stdout) == (1, True)  # no function is in these kustomizations
    rendered = passed(run("kubevirt-render", "render", "base/vm.yaml", cwd=repository, environment=shell))
    tree(repository, {"rendered/north/vms.yaml": rendered})
    assert passed(run("bash", "-c", f"{hook['entry']} rendered", cwd=repository, environment=shell)) == ""


ABOVE = {
    "clusters/north/apps/kustomization.yaml": "resources: [vm.yaml, kubevirt.yaml]\n",
    "clusters/north/apps/kubevirt.yaml": """\
apiVersion: kubevirt.io/v1
kind: KubeVirt
metadata: {name: kubevirt, namespace: kubevirt}
spec: {configuration: {developerConfiguration: {featureGates: [PortRangesSpec]}}}
""",
    "clusters/south/kustomization.yaml": "resources: [vm.yaml]\n",
    "infrastructure/instancetypes/kustomization.yaml": "resources: [small.yaml]\n",
    "infrastructure/instancetypes/small.yaml": """\
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineClusterInstancetype
metadata: {name: team.small}
spec: {cpu: {guest: 1}, memory: {guest: 1Gi}}
""",
    "pkg/testdata/vm.yaml": VM.replace("u1.small", "gone"),
}
FULL = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web
  namespace: shop
spec:
  runStrategy: Always
  instancetype:
    name: SIZE
  dataVolumeTemplates:
    - metadata: {name: root}
      spec:
        sourceRef: {kind: DataSource, name: fedora, namespace: openshift-virtualization-os-images}
        storage: {resources: {requests: {storage: 10Gi}}}
  template:
    spec:
      domain:
        devices:
          interfaces:
            - {name: lan, bridge: {}}
            - {name: pod, masquerade: {}, portRanges: [{start: 80, end: 90, protocol: TCP}]}
      networks: [{name: lan, multus: {networkName: lan}}, {name: pod, pod: {}}]
      volumes: [{name: root, dataVolume: {name: root}}]
"""


@pytest.fixture
def clusters(tmp_path: Path) -> Path:
    """A repository of the layout that the example in docs/check.md is for, with that config."""
    config = section("docs/check.md", "Several clusters", "yaml")
    files = {
        f"clusters/{name}/vm.yaml": FULL.replace("SIZE", size)
        for name, size in (("north/apps", "team.small"), ("south", "u1.small"))
    }
    folder = tree(tmp_path / "work", {**ABOVE, **files, ".kubevirt-render.yaml": config})
    (folder / ".git").mkdir()
    return folder


def found(folder: Path, shell: Environment) -> list[tuple[str, ...]]:
    ran = run("kubevirt-render", "check", "-o", "json", ".", cwd=folder, environment=shell)
    return sorted((each["tags"]["rule"], each["file"]["path"], *each["targets"]) for each in json.loads(ran.stdout)["results"])


def test_the_example_of_several_clusters_checks_two_releases_in_one_call(clusters: Path, shell: Environment) -> None:
    ran = run("kubevirt-render", "check", "--summary", ".", cwd=clusters, environment=shell)
    excluded = "kubevirt-render: note: not judged: 1 file that may have objects of KubeVirt: pkg/testdata/vm.yaml\n"
    assert (ran.returncode, ran.stderr) == (1, excluded)
    *lines, last = ran.stdout.splitlines()
    assert last.endswith(f"and 3 targets, KubeVirt {parse('1.8')}, {parse('1.9')}")
    # 1.8 lacks the field, and only the cluster in the north has a network outside of git
    assert found(clusters, shell) == [
        ("field-of-another-release", "clusters/south/vm.yaml", "clusters/south"),
        ("missing-object", "clusters/south/vm.yaml", "clusters/south"),
    ], lines


def test_a_cluster_does_not_use_what_another_one_has(clusters: Path, shell: Environment) -> None:
    tree(clusters, {"clusters/south/vm.yaml": VM.replace("u1.small", "team.small")})
    assert found(clusters, shell) == [("unresolved-instancetype", "clusters/south/vm.yaml", "clusters/south")]
    tree(clusters, {"clusters/south/vm.yaml": VM})
    assert passed(run("kubevirt-render", "check", ".", cwd=clusters, environment=shell)) == ""


def test_the_action_checks_each_cluster_by_its_release(repository: Path, runner: Environment) -> None:
    assert action(repository, runner, "check-workflow.yml") == (0, "", "")
    code, out, err = action(wrong(repository), runner, "check-workflow.yml", sarif="out.sarif")
    assert (code, err, out.count("::error ")) == (1, "", 1)
    assert out.startswith(f"::error file={AT[0]},line={AT[1]},"), out
    (result,) = json.loads((repository / "out.sarif").read_text())["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == AT[0]


def test_the_action_shows_a_mistake_in_the_base_once(repository: Path, runner: Environment) -> None:
    code, out, _ = action(tree(repository, MISSPELT), runner, "check-workflow.yml")
    assert (code, out.count("::error ")) == (1, 1)
    assert out.startswith("::error file=base/vm.yaml,line=8,"), out


def test_a_pull_request_from_a_stranger_is_checked_by_the_clusters_of_the_base_branch(
    repository: Path, runner: Environment
) -> None:
    tree(wrong(repository), {".kubevirt-render.yaml": CONFIG.replace("1.5", "1.9")})
    (step,) = steps("check-untrusted-workflow.yml", "kubevirt").values()
    passed(run("bash", "-e", "-o", "pipefail", "-c", step["run"], cwd=repository, environment={**runner, "BASE": "main"}))
    code, out, _ = action(repository, runner, "check-untrusted-workflow.yml")
    assert (code, out.startswith(f"::error file={AT[0]},line={AT[1]},")) == (1, True), out
    assert out.endswith("KubeVirt 1.5.3, 1.9.0\n")
