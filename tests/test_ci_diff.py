"""What docs/diff-in-pipelines.md offers to pipelines: comments, notes, previews and hooks, run as they are written there."""

from __future__ import annotations

import json
import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from commenting import GITHUB, GITLAB, TOKEN, UPDATES, Comments, running
from running import NEWEST_KUSTOMIZE, ROOT, helm, passed, run, tool
from test_ci import RECIPES, action_step, bare, git, installed, shell
from trees import tree

from krm_fn import yamlio

__all__ = ["installed", "shell"]

Environment = dict[str, str]

MARK = "<!-- kubevirt-render diff -->"
VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: web
spec:
  runStrategy: Always
  template:
    spec:
      domain:
        cpu: {cores: 1}
        memory: {guest: 2Gi}
        devices: {}
"""
LARGER = VM.replace("cores: 1", "cores: 2")
WRONG = VM.replace("Always", "Sometimes")
OVERLAY = "resources: [../../base]\nnamespace: shop\n"
LAYOUT = {
    "base/kustomization.yaml": "resources: [vm.yaml]\n",
    "base/vm.yaml": VM,
    **{f"clusters/{name}/kustomization.yaml": OVERLAY for name in ("north", "south")},
}


@pytest.fixture
def repository(tmp_path: Path, shell: Environment) -> Path:
    """A repository with two clusters, pushed to a remote; a branch changes the VM of both."""
    folder = tree(tmp_path / "work", LAYOUT)
    git(tmp_path, shell, "init", "-q", "--bare", "-b", "main", "remote.git")
    for command in (
        ("init", "-q", "-b", "main"),
        ("add", "-A"),
        ("commit", "-q", "-m", "vms"),
        ("remote", "add", "origin", str(tmp_path / "remote.git")),
        ("push", "-q", "-u", "origin", "main"),
        ("switch", "-q", "-c", "larger"),
    ):
        git(folder, shell, *command)
    commit(folder, shell, {"base/vm.yaml": LARGER})
    return folder


def commit(folder: Path, shell: Environment, files: dict[str, str]) -> None:
    git(tree(folder, files), shell, "add", "-A")
    git(folder, shell, "commit", "-q", "-m", "change")


@pytest.fixture
def server() -> Iterator[Comments]:
    with running() as found:
        yield found


# The action


def diffed(repository: Path, runner: Environment, **inputs: str) -> tuple[int, str]:
    """Exit code and Markdown of the action's step as the workflow calls it."""
    job = yamlio.read_value((RECIPES / "diff-workflow.yml").read_text())["jobs"]["diff"]
    (given,) = [step["with"] for step in job["steps"] if "kubevirt-render@" in step.get("uses", "")]
    base = given["diff-base"].replace("${{ github.base_ref }}", "main")
    script, env = action_step("Diff", **{**given, "diff-base": base, **inputs})
    ran = run("bash", "-e", "-o", "pipefail", "-c", script, cwd=repository, environment={**runner, **env})
    return ran.returncode, Path(runner["RUNNER_TEMP"], "kubevirt-render-diff.md").read_text()


@pytest.fixture
def runner(installed: Environment, shell: Environment, tmp_path: Path) -> Environment:
    files = {name: str(tmp_path / name) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    return {**installed, **files, "PATH": shell["PATH"]}


def test_the_workflow_gives_the_actions_inputs_that_they_have() -> None:
    jobs = yamlio.read_value((RECIPES / "diff-workflow.yml").read_text())["jobs"]
    for job, file in (("diff", "action.yml"), ("comment", "comment/action.yml")):
        (given,) = [step["with"] for step in jobs[job]["steps"] if "YOUR_ORGANISATION" in step.get("uses", "")]
        action = yamlio.read_value((ROOT / file).read_text())
        assert given.keys() <= action["inputs"].keys()
        assert {name for name, row in action["inputs"].items() if row.get("required")} <= given.keys()
    file = next(step["with"]["file"] for step in jobs["comment"]["steps"] if "YOUR_ORGANISATION" in step["uses"])
    assert f"RUNNER_TEMP/{file}" in action_step("Diff")[0]


def test_no_job_has_a_token_that_can_write_and_files_of_a_stranger() -> None:
    """A job that reads the files of a pull request cannot write, and the job that comments reads none of them."""
    workflow = yamlio.read_value((RECIPES / "diff-workflow.yml").read_text())
    # YAML reads the key `on` as true
    assert (workflow["true"], workflow["permissions"]) == ("pull_request", {})
    assert workflow["jobs"]["diff"]["permissions"] == {"contents": "read"}
    comment = workflow["jobs"]["comment"]
    assert comment["permissions"] == {"pull-requests": "write"}
    assert not any("checkout" in step["uses"] for step in comment["steps"])
    assert "head.repo.full_name == github.repository" in comment["if"]


# Comments and notes

SERVERS = {
    GITHUB: lambda server, folder: {
        "GITHUB_ACTIONS": "true",
        "GITHUB_API_URL": server.address,
        "GITHUB_REPOSITORY": "team/vms",
        "GITHUB_EVENT_PATH": str(folder / "event.json"),
        "GITHUB_TOKEN": TOKEN,
    },
    GITLAB: lambda server, _: {
        "CI_API_V4_URL": server.address,
        "CI_MERGE_REQUEST_PROJECT_ID": "3",
        "CI_MERGE_REQUEST_IID": "7",
        "KUBEVIRT_RENDER_TOKEN": TOKEN,
    },
}


class Pipeline:
    """comment.py with the variables of a pipeline."""

    def __init__(self, kind: str, server: Comments, folder: Path) -> None:
        (folder / "event.json").write_text(json.dumps({"pull_request": {"number": 7}}))
        self.kind, self.server, self.folder = kind, server, folder
        self.variables = {"PATH": os.environ["PATH"], **SERVERS[kind](server, folder)}

    def comment(self, text: str | None) -> tuple[int, str, str]:
        if text is not None:
            (self.folder / "diff.md").write_text(text)
        script = str(ROOT / "comment" / "comment.py")
        ran = run(sys.executable, script, "diff.md", cwd=self.folder, environment=self.variables)
        return ran.returncode, ran.stdout, ran.stderr


@pytest.fixture(params=SERVERS, ids=["GitHub", "GitLab"])
def pipeline(request: pytest.FixtureRequest, server: Comments, tmp_path: Path) -> Pipeline:
    return Pipeline(request.param, server, tmp_path)


def body(text: str) -> str:
    return f"{MARK}\n### kubevirt-render: {text}\n\n- more\n"


def test_the_first_run_comments_and_later_runs_update_the_comment(pipeline: Pipeline) -> None:
    server = pipeline.server
    server.add("a review", "somebody", 9)
    assert pipeline.comment(body("1 restart")) == (0, "wrote a comment\n", "")
    assert pipeline.comment(body("2 restart")) == (0, "updated the comment\n", "")
    assert pipeline.comment(body("2 restart")) == (0, "the comment is up to date\n", "")
    assert server.bodies == ["a review", body("2 restart")]
    assert [request.partition(" ")[0] for request in server.requests] == ["POST", UPDATES[pipeline.kind]]


def test_the_comment_is_found_behind_many_others(pipeline: Pipeline) -> None:
    for number in range(230):
        pipeline.server.add(f"review {number}", "somebody", 9)
    own = pipeline.server.add(body("old"))
    for number in range(150):
        pipeline.server.add(f"later review {number}", "somebody", 9)
    pipeline.comment(body("new"))
    assert (len(pipeline.server.kept), pipeline.server.kept[own]["body"]) == (381, body("new"))


def test_a_comment_of_somebody_else_is_never_changed(pipeline: Pipeline) -> None:
    """Its author could edit what the comment says later."""
    theirs = pipeline.server.add(body("all is well"), "mallory", 9)
    pipeline.comment(body("1 refused"))
    assert pipeline.server.kept[theirs]["body"] == body("all is well")
    assert pipeline.server.bodies[1:] == [body("1 refused")]


def test_a_comment_that_only_quotes_the_mark_is_another_one(pipeline: Pipeline) -> None:
    pipeline.server.add(f"see {MARK}\n{MARK}\n")
    pipeline.comment(body("1 restart"))
    assert len(pipeline.server.kept) == 2


def test_a_change_that_reaches_no_vm_makes_no_comment_but_updates_the_one_there_is(pipeline: Pipeline) -> None:
    nothing = f"{MARK}\n### kubevirt-render: none of 2 VMs change\n"
    assert pipeline.comment(nothing) == (0, "nothing to comment on\n", "")
    assert pipeline.server.kept == {}
    pipeline.comment(body("1 restart"))
    pipeline.comment(nothing)
    assert pipeline.server.bodies == [nothing]


def test_a_text_without_a_mark_of_ours_takes_no_comment_of_another_program(pipeline: Pipeline) -> None:
    """The job that made the text read a stranger's files, and other programs comment with the same account."""
    theirs = "<!-- another program -->\n### all is well\n\n"
    pipeline.server.add(theirs)
    code, out, err = pipeline.comment(f"{theirs}- forged\n")
    said = "diff.md does not begin with '<!-- kubevirt-render '; expected what `kubevirt-render diff -o markdown` prints"
    assert (code, out, err) == (1, "", f"comment.py: error: {said}\n")
    assert pipeline.server.bodies == [theirs]


@pytest.mark.parametrize("text", ["", None])
def test_a_comparison_that_failed_leaves_no_older_state(pipeline: Pipeline, text: str | None) -> None:
    pipeline.server.add(body("1 restart"))
    assert pipeline.comment(text)[0] == 0
    assert pipeline.server.bodies == [f"{MARK}\n### kubevirt-render: the comparison failed; the log of the job says why\n"]


def test_without_a_token_the_text_is_in_the_log(pipeline: Pipeline) -> None:
    for name in ("GITHUB_TOKEN", "KUBEVIRT_RENDER_TOKEN"):
        pipeline.variables.pop(name, None)
    code, out, err = pipeline.comment(body("1 restart"))
    assert (code, out, err) == (0, f"no token, so there is no comment\n\n{body('1 restart')}\n", "")
    assert pipeline.server.requests == []


def test_a_token_that_may_not_write_is_an_error_in_one_line_without_the_token(pipeline: Pipeline) -> None:
    pipeline.server.status = 403
    code, out, err = pipeline.comment(body("1 restart"))
    assert (code, out, err.count("\n"), TOKEN in err) == (1, "", 1, False)
    assert "HTTP 403; the token needs `pull-requests: write` (GitHub) or the scope api (GitLab)" in err


def test_no_other_server_gets_the_token(pipeline: Pipeline) -> None:
    pipeline.server.status = 302
    code, _, err = pipeline.comment(body("1 restart"))
    assert (code, "HTTP 302" in err) == (1, True)


def test_outside_of_a_pull_request_the_missing_variable_is_named(pipeline: Pipeline) -> None:
    for name in ("GITHUB_EVENT_PATH", "CI_MERGE_REQUEST_IID"):
        pipeline.variables.pop(name, None)
    code, _, err = pipeline.comment(body("1 restart"))
    assert (code, "is missing; run this in a pipeline of a pull request or a merge request" in err) == (1, True)


def test_the_action_runs_the_script(server: Comments, tmp_path: Path) -> None:
    pipeline = Pipeline(GITHUB, server, tmp_path)
    (tmp_path / "diff.md").write_text(body("1 restart"))
    action = yamlio.read_value((ROOT / "comment" / "action.yml").read_text())
    (step,) = action["runs"]["steps"]
    inputs = {"file": "diff.md", "token": TOKEN, "author": action["inputs"]["author"]["default"]}
    env = {key: inputs[value.removeprefix("${{ inputs.").removesuffix(" }}")] for key, value in step["env"].items()}
    variables = {**pipeline.variables, **env, "GITHUB_ACTION_PATH": str(ROOT / "comment")}
    passed(run("bash", "-e", "-c", step["run"], cwd=tmp_path, environment=variables))
    assert server.bodies == [body("1 restart")]


def test_gitlabs_job_writes_a_note_with_what_is_kept_in_the_repository(
    repository: Path, server: Comments, zipapp: Path, shell: Environment, tmp_path: Path
) -> None:
    tools = repository / "tools"
    tools.mkdir()
    shutil.copy(zipapp, tools / "kubevirt-render")
    for program in (NEWEST_KUSTOMIZE / "kustomize", ROOT / "comment" / "comment.py"):
        shutil.copy(program, tools)
    job = yamlio.read_value((RECIPES / "diff-gitlab-ci.yml").read_text())["kubevirt-diff"]
    base = git(repository, shell, "merge-base", "origin/main", "HEAD").strip()
    variables = {**bare(tmp_path), **SERVERS[GITLAB](server, tmp_path), "CI_MERGE_REQUEST_DIFF_BASE_SHA": base}
    script = "\n".join([*job["before_script"], *job["script"]])
    ran = run("bash", "-e", "-c", script, cwd=repository, environment=variables)
    assert (ran.returncode, "wrote a comment" in ran.stdout) == (0, True), ran.stdout + ran.stderr
    assert server.bodies[0].splitlines()[:2] == [MARK, "### kubevirt-render: 2 of 2 VMs change: 2 restart"]
    commit(repository, shell, {"base/vm.yaml": WRONG})
    ran = run("bash", "-e", "-c", script, cwd=repository, environment=variables)
    assert (ran.returncode, "updated the comment" in ran.stdout) == (1, True), ran.stdout + ran.stderr
    assert "2 refused" in server.bodies[0]


# Previews


def preview(repository: Path, shell: Environment, *words: str, folder: str = ".", **more: str) -> str:
    script = str(RECIPES / "preview.sh")
    return passed(run(script, "main", *words, cwd=repository / folder, environment={**shell, **more}))


def test_a_preview_builds_both_sides_with_the_given_command(repository: Path, shell: Environment) -> None:
    out = preview(repository, shell, "kustomize", "build", "clusters/north")
    assert out.startswith("VirtualMachine shop/web: needs a restart\n")
    assert out.endswith("\n1 of 1 VM changes: 1 restart\n")
    assert preview(repository, shell, "kustomize", "build", "north", folder="clusters") == out
    assert git(repository, shell, "worktree", "list").count("\n") == 1


def test_a_preview_takes_flags_of_diff(repository: Path, shell: Environment) -> None:
    out = preview(repository, shell, "kustomize", "build", "clusters/north", DIFF="-o markdown --kubevirt-version=1.8")
    assert out.startswith(f"{MARK}\n### kubevirt-render: 1 of 1 VM changes: 1 restart\n")


def test_a_preview_of_a_command_that_fails_leaves_no_worktree(repository: Path, shell: Environment) -> None:
    ran = run(str(RECIPES / "preview.sh"), "main", "kustomize", "build", "nowhere", cwd=repository, environment=shell)
    assert (ran.returncode != 0, ran.stdout) == (True, "")
    assert git(repository, shell, "worktree", "list").count("\n") == 1


CHART = {
    "chart/Chart.yaml": "apiVersion: v2\nname: vms\nversion: 0.1.0\n",
    "chart/values.yaml": "cores: 1\n",
    "chart/templates/vm.yaml": VM.replace("{cores: 1}", "{cores: {{ .Values.cores }}}"),
}


def test_a_preview_shows_what_values_of_a_chart_do(repository: Path, shell: Environment) -> None:
    """Argo CD and Flux build charts with `helm template`, too."""
    git(repository, shell, "switch", "-q", "main")
    commit(repository, shell, CHART)
    git(repository, shell, "switch", "-q", "-c", "values")
    commit(repository, shell, {"chart/values.yaml": "cores: 2\n"})
    out = preview(repository, shell, helm(), "template", "vms", "chart")
    assert out.startswith("VirtualMachine default/web: needs a restart\n")


def paths(kind: str) -> list[str]:
    """The folders that objects of a kind apply, with the patterns of generators filled in by what is in the repository."""
    file = "flux-clusters.yaml" if kind == "Kustomization" else "argocd.yaml"
    found = []
    for each in yamlio.read_stream((RECIPES / file).read_bytes()).items:
        if each["kind"] != kind:
            continue
        spec = each["spec"]
        found += [spec["path"]] if kind == "Kustomization" else [spec["source"]["path"]] if "source" in spec else []
        found += [row["path"] for generator in spec.get("generators", ()) for row in generator["git"]["directories"]]
    return found


@pytest.mark.parametrize("kind", ["Application", "ApplicationSet", "Kustomization"])
def test_diff_compares_the_folders_that_argo_cd_and_flux_apply(kind: str, repository: Path, shell: Environment) -> None:
    applied = {str(path.relative_to(repository)) for each in paths(kind) for path in repository.glob(each.removeprefix("./"))}
    assert applied
    ran = run("kubevirt-render", "diff", "--base", "main", "-o", "json", "clusters", cwd=repository, environment=shell)
    assert applied <= {vm["target"] for vm in json.loads(ran.stdout)["vms"]} == {"clusters/north", "clusters/south"}
    one = min(applied)
    ran = run("kubevirt-render", "diff", "--base", "main", "-o", "json", one, cwd=repository, environment=shell)
    assert {vm["target"] for vm in json.loads(ran.stdout)["vms"]} == {one}


# Hooks


def test_the_hook_of_git_says_what_a_push_does_and_stops_one_that_is_refused(repository: Path, shell: Environment) -> None:
    hook = repository / ".git" / "hooks" / "pre-push"
    shutil.copy(RECIPES / "pre-push", hook)
    hook.chmod(hook.stat().st_mode | stat.S_IXUSR)
    pushed = run("git", "push", "-q", "origin", "larger", cwd=repository, environment=shell)
    assert (pushed.returncode, "2 of 2 VMs change: 2 restart" in pushed.stdout) == (0, True), pushed.stderr
    commit(repository, shell, {"base/vm.yaml": WRONG})
    stopped = run("git", "push", "-q", "origin", "larger", cwd=repository, environment=shell)
    assert (stopped.returncode, "2 of 2 VMs change: 2 refused" in stopped.stdout) == (1, True), stopped.stderr
    passed(run("git", "push", "-q", "--no-verify", "origin", "larger", cwd=repository, environment=shell))
    assert run("git", "push", "-q", "origin", ":larger", cwd=repository, environment=shell).stdout == ""


def test_pre_commit_runs_the_hook_at_a_push(repository: Path, shell: Environment, tmp_path: Path) -> None:
    pre_commit = tool("pre-commit")
    clone = tmp_path / "clone"
    git(tmp_path, shell, "clone", "-q", "--no-local", "--depth=1", f"file://{ROOT}", str(clone))
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", clone)  # as it stands, committed or not
    git(clone, shell, "add", "-A")
    git(clone, shell, "commit", "-q", "--allow-empty", "-m", "hooks")
    config = (RECIPES / "pre-push-config.yaml").read_text()
    config = re.sub(r"repo: \S+", f"repo: file://{clone}", config)
    config = config.replace("COMMIT", git(clone, shell, "rev-parse", "HEAD").strip())
    commit(repository, shell, {".pre-commit-config.yaml": config})
    home = {**shell, "PRE_COMMIT_HOME": str(tmp_path.parent / "pre-commit")}
    home.pop("PYTHONPATH")
    passed(run(pre_commit, "install", "--hook-type", "pre-push", cwd=repository, environment=home))
    stopped = run("git", "push", "-q", "origin", "larger", cwd=repository, environment=home)
    assert (stopped.returncode, "2 of 2 VMs change: 2 restart" in stopped.stdout) == (1, True), stopped.stdout + stopped.stderr
    commit(repository, shell, {"base/vm.yaml": VM.replace("metadata:", "metadata:\n  labels: {tier: web}")})
    pushed = run("git", "push", "-q", "origin", "larger", cwd=repository, environment=home)
    assert (pushed.returncode, "2 VMs" in pushed.stdout) == (0, True), pushed.stdout + pushed.stderr


def test_the_action_says_what_a_branch_does_to_the_vms(repository: Path, runner: Environment) -> None:
    code, markdown = diffed(repository, runner)
    assert (code, markdown.splitlines()[:2]) == (0, [MARK, "### kubevirt-render: 2 of 2 VMs change: 2 restart"])
    assert Path(runner["GITHUB_STEP_SUMMARY"]).read_text() == markdown
    file = Path(runner["RUNNER_TEMP"], "kubevirt-render-diff.md")
    assert Path(runner["GITHUB_OUTPUT"]).read_text() == f"diff={file}\n"


def test_the_action_fails_at_the_level_of_its_arguments_and_still_says_why(repository: Path, runner: Environment) -> None:
    code, markdown = diffed(repository, runner, **{"diff-arguments": "--fail-on=restart\n"})
    assert (code, "2 restart" in markdown) == (1, True)
    assert Path(runner["GITHUB_STEP_SUMMARY"]).read_text() == markdown


def test_the_action_leaves_an_empty_file_if_it_cannot_compare(repository: Path, runner: Environment) -> None:
    assert diffed(repository, runner, **{"diff-base": "nowhere"}) == (2, "")
