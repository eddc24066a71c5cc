"""What docs/ci.md offers to pipelines, run as far as it runs without their servers."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from building import with_index
from running import NEWEST_KUSTOMIZE, ROOT, fetched, on_path, passed, run, tool

from krm_fn import __version__, yamlio

RECIPES = ROOT / "kustomization-examples" / "ci"
CLUSTERS = ROOT / "kustomization-examples" / "multi-cluster"
MISTAKE = ROOT / "kustomization-examples" / "quickstart" / "mistake" / "vm.yaml"
ONE_VM = ROOT / "kustomization-examples" / "one-vm" / "vm.yaml"

Environment = dict[str, str]


def git(folder: Path, environment: Environment, *arguments: str) -> str:
    return passed(run("git", *arguments, cwd=folder, environment=environment))


@pytest.fixture
def shell(environment: Environment) -> Environment:
    """The environment of a runner: the command and a kustomize on the PATH."""
    path = f"{environment['PATH']}:{NEWEST_KUSTOMIZE}"
    on_path("kustomize", path)
    return {**environment, "PATH": path}


@pytest.fixture
def repository(tmp_path: Path, shell: Environment) -> Path:
    """A repository with two clusters and the script, pushed to a separate remote."""
    folder = tmp_path / "work"
    shutil.copytree(CLUSTERS, folder)
    shutil.copy(RECIPES / "render.sh", folder)
    git(tmp_path, shell, "init", "-q", "--bare", "-b", "main", "remote.git")
    for command in (
        ("init", "-q", "-b", "main"),
        ("add", "-A"),
        ("commit", "-q", "-m", "vms"),
        ("remote", "add", "origin", str(tmp_path / "remote.git")),
        ("push", "-q", "-u", "origin", "main"),
    ):
        git(folder, shell, *command)
    return folder


def steps(workflow: str, job: str) -> dict[str, dict[str, Any]]:
    """The steps of a workflow that run something, by name."""
    found = yamlio.read_value((RECIPES / workflow).read_text())["jobs"][job]["steps"]
    return {step["name"]: step for step in found if "run" in step}


def test_rendered_manifests_are_written_for_every_cluster(repository: Path, shell: Environment) -> None:
    passed(run("./render.sh", "clusters", "rendered", cwd=repository, environment=shell))
    for name in ("north", "south"):
        assert (repository / "rendered" / name / "vms.yaml").read_text() == (CLUSTERS / f"expected-{name}.yaml").read_text()
    assert sorted(path.name for path in (repository / "rendered").rglob("*") if path.is_file()) == ["vms.yaml", "vms.yaml"]


def test_a_mistake_leaves_the_rendered_manifests_as_they_were(repository: Path, shell: Environment) -> None:
    passed(run("./render.sh", "clusters", "rendered", cwd=repository, environment=shell))
    before = (repository / "rendered" / "north" / "vms.yaml").read_text()
    (repository / "base" / "vm.yaml").write_text(MISTAKE.read_text())
    ran = run("./render.sh", "clusters", "rendered", cwd=repository, environment=shell)
    assert (ran.returncode != 0, "u1.smalll" in ran.stderr) == (True, True)
    assert (repository / "rendered" / "north" / "vms.yaml").read_text() == before


def test_a_function_that_was_left_out_is_found(repository: Path, shell: Environment) -> None:
    script = repository / "render.sh"
    script.write_text(script.read_text().replace(" --enable-exec", ""))
    ran = run("./render.sh", "clusters", "rendered", cwd=repository, environment=shell)
    assert (ran.returncode, "(unexpanded-vm)" in ran.stdout) == (1, True)
    assert not (repository / "rendered" / "north" / "vms.yaml").exists()


def test_fluxs_workflow_commits_what_changed_and_only_then(repository: Path, shell: Environment) -> None:
    todo = steps("render-workflow.yml", "render")
    for _ in range(2):
        for name in ("Render", "Commit"):
            passed(run("bash", "-e", "-o", "pipefail", "-c", todo[name]["run"], cwd=repository, environment=shell))
    log = git(repository, shell, "log", "--format=%s", "origin/main").splitlines()
    assert (len(log), re.fullmatch("rendered: [0-9a-f]+", log[0]) is not None) == (2, True)
    shown = git(repository, shell, "show", "--format=", "--name-only", "origin/main").split()
    assert shown == ["rendered/north/vms.yaml", "rendered/south/vms.yaml"]


def test_flux_applies_a_folder_that_the_workflow_writes(repository: Path, shell: Environment) -> None:
    passed(run("./render.sh", "clusters", "rendered", cwd=repository, environment=shell))
    documents = yamlio.read_stream((RECIPES / "flux.yaml").read_bytes()).items
    (applied,) = [document["spec"]["path"] for document in documents if document["kind"] == "Kustomization"]
    assert (repository / applied).is_dir()


@pytest.fixture
def vms(tmp_path: Path) -> Path:
    """A folder with a right VM and a wrong one."""
    folder = tmp_path / "vms"
    folder.mkdir()
    shutil.copy(ONE_VM, folder / "right.yaml")
    shutil.copy(MISTAKE, folder / "wrong.yaml")
    return folder


def test_gitlabs_job_writes_both_of_its_reports(vms: Path, environment: Environment) -> None:
    job = yamlio.read_value((RECIPES / "gitlab-ci.yml").read_text())["kubevirt"]
    ran = run("bash", "-e", "-c", "\n".join(job["script"]), cwd=vms, environment=environment)
    assert ran.returncode == 1
    (finding,) = json.loads((vms / job["artifacts"]["reports"]["codequality"]).read_text())
    assert (finding["location"]["path"], finding["location"]["lines"]["begin"]) == ("wrong.yaml", 10)
    junit = ET.parse(vms / job["artifacts"]["reports"]["junit"])
    assert len(list(junit.iter("failure"))) == 1


def test_the_recipe_for_a_cache_keeps_one_file_and_hides_no_fault(repository: Path, shell: Environment, tmp_path: Path) -> None:
    """The script is that of docs/ci.md, on runners that start anew, with and without the key."""
    (text,) = re.findall(r"## Cache\n.*?```yaml\n(.*?)```", (ROOT / "docs/ci.md").read_text(), re.DOTALL)
    job = yamlio.read_value(text)["kubevirt"]
    (folder,) = job["cache"]["paths"]
    words = ("bash", "-e", "-c", "\n".join(job["script"]).replace("check ", "check -v "))
    for number, key in enumerate(("k" * 40, "", "k" * 40, "x" * 40)):
        fresh = {**shell, "HOME": str(tmp_path / f"home-{number}"), "KUBEVIRT_RENDER_CACHE_KEY": key}
        fresh.pop("XDG_STATE_HOME", None)
        ran = run(*words, cwd=repository, environment=fresh)
        assert (ran.returncode, "is not used" in ran.stderr) == (0, False), ran.stderr
    assert [path.suffix for path in (repository / folder).iterdir()] == [".sqlite"]
    (repository / "base" / "vm.yaml").write_text(MISTAKE.read_text())
    assert run(*words, cwd=repository, environment=fresh).returncode == 1


@pytest.fixture
def kept(vms: Path, zipapp: Path) -> Path:
    """The folder with the VMs, and the programs where the recipes look for them."""
    (vms / "tools").mkdir()
    shutil.copy(zipapp, vms / "tools" / "kubevirt-render")
    shutil.copy(fetched(NEWEST_KUSTOMIZE.name), vms / "tools")
    return vms


def bare(home: Path) -> Environment:
    """The environment of a runner on which nothing is installed but Python."""
    return {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", "HOME": str(home), "GITHUB_PATH": str(home / "path")}


def test_gitlabs_job_runs_the_file_that_is_kept_in_the_repository(kept: Path, tmp_path: Path) -> None:
    job = yamlio.read_value((RECIPES / "gitlab-ci.yml").read_text())["kubevirt"]
    script = "\n".join([*job["before_script"], "command -v kubevirt-render", *job["script"]])
    ran = run("bash", "-e", "-c", script, cwd=kept, environment=bare(tmp_path))
    assert ran.stdout.splitlines()[:2] == [str(kept / "tools" / name) for name in ("kustomize", "kubevirt-render")]
    assert (ran.returncode, "u1.smalll" in ran.stdout) == (1, True)


def test_fluxs_workflow_puts_the_file_that_is_kept_in_the_repository_on_the_path(kept: Path, tmp_path: Path) -> None:
    runner = bare(tmp_path)
    script = steps("render-workflow.yml", "render")["Put the program on the PATH"]["run"]
    passed(run("bash", "-e", "-c", script, cwd=kept, environment=runner))
    (folder,) = (tmp_path / "path").read_text().splitlines()
    found = passed(run("bash", "-c", f"PATH={folder}:$PATH; kubevirt-render --version", cwd=tmp_path, environment=runner))
    assert found == f"kubevirt-render {__version__}\n"


def action_step(name: str, **inputs: str) -> tuple[str, Environment]:
    """A step of the action: its script, and the environment that the inputs become."""
    action = yamlio.read_value((ROOT / "action.yml").read_text())
    given = {key: inputs.get(key, row["default"]) for key, row in action["inputs"].items()}
    (step,) = [step for step in action["runs"]["steps"] if step.get("name") == name]
    filled = {
        key: re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda match: given[match[1]], text)
        for key, text in step.get("env", {}).items()
    }
    return step["run"], filled


# Modules that Python and pip import early. One that stands in a checkout leaves a file where it is imported.
CANARIES = (
    "venv/__init__",
    "venv",
    "pip",
    "ensurepip",
    "logging",
    "json",
    "sitecustomize",
    "usercustomize",
    "encodings",
    "typing",
)


def with_canaries(folder: Path, ran: Path) -> None:
    """Put modules into a folder that leave a file."""
    for name in CANARIES:
        file = folder / f"{name}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"open({str(ran)!r}, 'a').write(__file__ + '\\n')\n")
    (folder / "pip.conf").write_text("[global]\nindex-url = http://127.0.0.1:9/\n")
    (folder / "pyvenv.cfg").write_text("home = /nowhere\n")


@pytest.mark.parametrize("place", ["action.yml", "comment/action.yml"])
def test_no_step_of_an_action_imports_a_module_of_the_checkout(
    place: str, installed: Environment, tmp_path: Path, vms: Path
) -> None:
    """The install stops where it would ask the package index, which is not there: all before it has run."""
    ran = tmp_path / "ran"
    with_canaries(vms, ran)
    text = "<!-- kubevirt-render diff -->\n### x\n"
    (vms / "diff.md").write_text(text)
    git(vms, installed, "init", "-q", "-b", "main")
    git(vms, installed, "add", "-A")
    git(vms, installed, "commit", "-q", "-m", "x")
    here = {"RUNNER_TEMP": str(tmp_path / "temp"), "GITHUB_OUTPUT": str(tmp_path / "out")}
    (tmp_path / "temp").mkdir()
    runner = {**installed, **here, "GITHUB_ACTIONS": "true", "PIP_INDEX_URL": "http://127.0.0.1:9/", "PIP_RETRIES": "0"}
    runner["GITHUB_ACTION_PATH"] = str((ROOT / place).parent)
    for step in yamlio.read_value((ROOT / place).read_text())["runs"]["steps"]:
        if "run" in step:
            given = {"PATHS": ".", "ARGUMENTS": "", "SARIF": "", "BASE": "main", "FILE": "diff.md"}
            if step["name"] != "Install":
                runner["RUNNER_TEMP"] = installed["RUNNER_TEMP"]
            run("bash", "-e", "-o", "pipefail", "-c", step["run"], cwd=vms, environment={**runner, **given})
    assert not ran.exists(), ran.read_text()


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory, environment: Environment) -> Environment:
    """A runner on which the action's own step has installed the command."""
    folder = tmp_path_factory.mktemp("runner")
    runner = {**environment, "GITHUB_ACTION_PATH": str(ROOT), "RUNNER_TEMP": str(folder)}
    runner.pop("PYTHONPATH")
    script, _ = action_step("Install")
    ran = run("bash", "-e", "-o", "pipefail", "-c", script, cwd=folder, environment=runner)
    with_index(ran)
    return {**runner, "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}


def test_the_action_annotates_lines_and_fails(installed: Environment, vms: Path) -> None:
    script, env = action_step(
        "Check", arguments="--kubevirt-version=1.8\n--summary\n", sarif="out.sarif", paths="right.yaml\nwrong.yaml\n"
    )
    ran = run("bash", "-e", "-o", "pipefail", "-c", script, cwd=vms, environment={**installed, **env})
    assert ran.returncode == 1, ran.stderr
    assert ran.stdout.startswith("::error file=wrong.yaml,line=10,col=11,")
    assert "u1.smalll" in Path(installed["GITHUB_STEP_SUMMARY"]).read_text()
    assert json.loads((vms / "out.sarif").read_text())["runs"][0]["results"][0]["ruleId"] == "unresolved-instancetype"


def test_no_path_is_a_flag_for_the_action(installed: Environment, vms: Path) -> None:
    """The names of files that changed come from whoever opened the pull request."""
    script, env = action_step("Check", paths="wrong.yaml\n--fail-on=never\n")
    ran = run("bash", "-e", "-o", "pipefail", "-c", script, cwd=vms, environment={**installed, **env})
    assert (ran.returncode, ran.stderr) == (1, "kubevirt-render: error: --fail-on=never: No such file or directory\n")


def test_the_action_checks_everything_by_default(installed: Environment, vms: Path) -> None:
    (vms / "wrong.yaml").unlink()
    script, env = action_step("Check")
    ran = run("bash", "-e", "-o", "pipefail", "-c", script, cwd=vms, environment={**installed, **env})
    assert (ran.returncode, ran.stdout) == (0, "")


def given_to_the_action(workflow: str) -> dict[str, str]:
    """The inputs that a workflow gives to the action."""
    read = yamlio.read_value((RECIPES / workflow).read_text())
    (given,) = [step["with"] for step in read["jobs"]["kubevirt"]["steps"] if "kubevirt-render@" in step.get("uses", "")]
    return dict(given)


@pytest.mark.parametrize("workflow", ["check-workflow.yml", "check-untrusted-workflow.yml"])
def test_the_check_workflows_give_the_action_inputs_that_it_has(workflow: str) -> None:
    action = yamlio.read_value((ROOT / "action.yml").read_text())
    assert given_to_the_action(workflow).keys() <= action["inputs"].keys()


SILENCING = """\
apiVersion: kubevirt-render.dev/v1alpha1
kind: RenderVirtualMachines
metadata: {name: render}
spec: {failOn: never, severity: {unresolved-instancetype: "off"}}
"""
SILENCED = "    kubevirt-render.dev/ignore: 'unresolved-instancetype: trust me'\n"


@pytest.fixture
def pull_request(tmp_path: Path, environment: Environment) -> Path:
    """A clone whose base branch has a config. The pull request silences the faults of its VM in each possible way."""
    folder = tmp_path / "work"
    (folder / "clusters").mkdir(parents=True)
    (folder / ".kubevirt-render.yaml").write_text(SILENCING.replace("failOn: never, ", "").replace('"off"', "warning"))
    shutil.copy(ONE_VM, folder / "clusters" / "right.yaml")
    git(folder, environment, "init", "-q", "-b", "main")
    git(folder, environment, "add", "-A")
    git(folder, environment, "commit", "-q", "-m", "base")
    git(folder, environment, "update-ref", "refs/remotes/origin/main", "HEAD")
    (folder / ".kubevirt-render.yaml").write_text(SILENCING)
    (folder / "clusters" / ".kubevirt-render.yaml").write_text(SILENCING)
    indented = SILENCING.replace("\n", "\n  ")
    (folder / "clusters" / "list.yaml").write_text(f"kind: ResourceList\nitems: []\nfunctionConfig:\n  {indented}\n")
    wrong = MISTAKE.read_text().replace("metadata:\n", f"metadata:\n  annotations:\n{SILENCED}", 1)
    (folder / "clusters" / "wrong.yaml").write_text(wrong)
    return folder


def test_a_pull_request_silences_nothing_where_the_config_is_that_of_the_base_branch(
    installed: Environment, pull_request: Path
) -> None:
    runner = {**installed, "BASE": "main"}
    for name, step in steps("check-untrusted-workflow.yml", "kubevirt").items():
        assert name == "Config of the base branch"
        passed(run("bash", "-e", "-o", "pipefail", "-c", step["run"], cwd=pull_request, environment=runner))
    given = given_to_the_action("check-untrusted-workflow.yml")
    arguments = given["arguments"].replace("${{ runner.temp }}", installed["RUNNER_TEMP"])
    script, env = action_step("Check", arguments=arguments, paths=given["paths"])
    ran = run("bash", "-e", "-o", "pipefail", "-c", script, cwd=pull_request, environment={**runner, **env})
    assert ran.stdout.startswith("::warning file=clusters/wrong.yaml,line=12,col=11,title=unresolved-instancetype::"), (
        ran.stderr
    )
    assert ran.stdout.endswith("0 errors, 1 warning, 0 info in 2 objects of 2 files, KubeVirt 1.9.0\n")


def test_the_script_for_untrusted_pull_requests_works_as_it_is_printed(environment: Environment, pull_request: Path) -> None:
    (section,) = re.findall(
        r"## Pull requests from strangers\n.*?```sh\n(.*?)```", (ROOT / "docs/ci.md").read_text(), re.DOTALL
    )
    shell = {**environment, "RUNNER_TEMP": str(pull_request.parent)}
    ran = run("bash", "-e", "-c", section, cwd=pull_request, environment=shell)
    assert ran.stdout.startswith("warning: clusters/wrong.yaml:12:11: "), ran.stderr
    assert run("kubevirt-render", "check", "clusters", cwd=pull_request, environment=shell).stdout == ""


WORKFLOWS = ["render-workflow.yml", "check-workflow.yml", "check-untrusted-workflow.yml", "diff-workflow.yml"]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_zizmor_finds_nothing_in_the_workflows_that_are_offered(name: str, tmp_path: Path, environment: Environment) -> None:
    workflows = tmp_path / ".github" / "workflows"
    workflows.mkdir(parents=True)
    shutil.copy(RECIPES / name, workflows)
    # our own action is in a clone that only users know, and so is its commit
    text = re.sub(r"YOUR_ORGANISATION/(\S+)@COMMIT #.*", rf"example/\1@{'0' * 40} # v0.1.0", (RECIPES / name).read_text())
    (workflows / name).write_text(text)
    passed(run(tool("zizmor"), "--offline", "--no-progress", str(workflows / name), cwd=tmp_path, environment=environment))


@pytest.mark.parametrize(
    ("file", "schema"),
    [
        *((name, "github-workflows") for name in WORKFLOWS),
        ("gitlab-ci.yml", "gitlab-ci"),
        ("diff-gitlab-ci.yml", "gitlab-ci"),
    ],
)
def test_what_is_offered_is_of_its_servers_form(file: str, schema: str, environment: Environment) -> None:
    command = (tool("check-jsonschema"), "--builtin-schema", f"vendor.{schema}", file)
    passed(run(*command, cwd=RECIPES, environment=environment))


def test_pre_commit_takes_the_hooks_and_the_configuration(environment: Environment) -> None:
    pre_commit = tool("pre-commit")
    passed(run(pre_commit, "validate-manifest", ".pre-commit-hooks.yaml", cwd=ROOT, environment=environment))
    for config in ("pre-commit-config.yaml", "pre-push-config.yaml"):
        passed(run(pre_commit, "validate-config", config, cwd=RECIPES, environment=environment))


HOOKS = ("kubevirt-render-check", "kubevirt-render-expanded")


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory, environment: Environment) -> tuple[Path, Environment]:
    """A configuration with the hooks of a clone, and the environment of pre-commit, which installs what they need once."""
    folder = tmp_path_factory.mktemp("hooks")
    clone, config = folder / "clone", folder / "config.yaml"
    git(folder, environment, "clone", "-q", "--no-local", "--depth=1", f"file://{ROOT}", str(clone))
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", clone)  # as it stands, committed or not
    git(clone, environment, "add", "-A")
    git(clone, environment, "commit", "-q", "--allow-empty", "-m", "hooks")
    commit = git(clone, environment, "rev-parse", "HEAD").strip()
    repository = {"repo": f"file://{clone}", "rev": commit, "hooks": [{"id": hook} for hook in HOOKS]}
    config.write_text(json.dumps({"repos": [repository]}))
    home = {**environment, "PRE_COMMIT_HOME": str(folder / "home")}
    home.pop("PYTHONPATH")
    return config, home


@pytest.mark.parametrize("hook", HOOKS)
def test_pre_commit_runs_the_hooks_from_a_clone(
    hook: str, vms: Path, hooks: tuple[Path, Environment], environment: Environment
) -> None:
    config, home = hooks
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-q", "-m", "vms")):
        git(vms, environment, *words)
    command = (tool("pre-commit"), "run", hook, "--config", str(config), "--all-files", "--color", "never")
    wrong = run(*command, cwd=vms, environment=home)
    assert wrong.returncode == 1
    assert ("(unresolved-instancetype)" if hook.endswith("check") else "(unexpanded-vm)") in wrong.stdout
    (vms / "wrong.yaml").unlink()
    if hook.endswith("expanded"):
        rendered = passed(run("kubevirt-render", "render", "right.yaml", cwd=vms, environment=environment))
        (vms / "right.yaml").write_text(rendered)
    git(vms, environment, "add", "-A")
    right = run(*command, cwd=vms, environment=home)
    assert right.returncode == 0, right.stdout


def test_the_configuration_that_is_offered_names_hooks_that_there_are() -> None:
    hooks = {hook["id"] for hook in yamlio.read_value((ROOT / ".pre-commit-hooks.yaml").read_text())}
    (repo,) = yamlio.read_value((RECIPES / "pre-commit-config.yaml").read_text())["repos"]
    assert {hook["id"] for hook in repo["hooks"]} <= hooks
