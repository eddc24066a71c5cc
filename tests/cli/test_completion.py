"""Shell completion: in real shells, and as shells ask for it."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from running import on_path, own_environment, passed, run

NEWEST = "1.9"


@pytest.fixture
def environment(tmp_path):
    """An environment whose PATH starts with a `kubevirt-render` of this very code."""
    program = tmp_path / "bin" / "kubevirt-render"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m krm_fn.__main__ "$@"\n')
    program.chmod(0o755)
    return own_environment(PATH=f"{program.parent}:{os.environ['PATH']}", HOME=str(tmp_path))


def complete(shell, line, environment):
    """What the program answers a shell about the last word of a line; its stdin is no terminal."""
    words = line.split(" ")
    typed = words[-1] if shell == "fish" else str(len(words) - 1)
    more = {"_KUBEVIRT_RENDER_COMPLETE": f"{shell}_complete", "COMP_WORDS": line, "COMP_CWORD": typed}
    command = ["kubevirt-render"]
    done = subprocess.run(command, env=environment | more, input="", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_is_what_the_environment_variable_asks_for(shell, tmp_path, environment):
    script = passed(run("kubevirt-render", "completion", shell, cwd=tmp_path, environment=environment))
    assert "kubevirt-render" in script
    by_variable = environment | {"_KUBEVIRT_RENDER_COMPLETE": f"{shell}_source"}
    assert passed(run("kubevirt-render", cwd=tmp_path, environment=by_variable)) == script


COMPLETED = [
    ("rend", ["render"]),
    ("catalogue ", ["list", "show"]),
    ("argocd gen", ["generate"]),
    ("render --defaults cl", ["cluster"]),
    ("catalogue show u1.sm", ["u1.small"]),
    ("catalogue list --satisfies fedora.arm", ["fedora.arm64"]),
    ("rules unknown-k", ["unknown-kind"]),
    ("check -o sar", ["sarif"]),
    (f"render --kubevirt-version {NEWEST}", [NEWEST]),
    ("completion z", ["zsh"]),
]


@pytest.mark.parametrize(("line", "expected"), COMPLETED)
def test_bash_completes(line, expected, tmp_path, environment):
    words = " ".join(f"'{word}'" for word in ["kubevirt-render", *line.split(" ")])
    script = f"""
        eval "$(kubevirt-render completion bash)"
        COMP_WORDS=({words}) COMP_CWORD={len(line.split(" "))}
        $(complete -p kubevirt-render | sed 's/.*-F \\([^ ]*\\) .*/\\1/') kubevirt-render
        printf '%s\\n' "${{COMPREPLY[@]}}"
    """
    done = run(on_path("bash"), "--norc", "-c", script, cwd=tmp_path, environment=environment)
    assert (passed(done).split(), done.stderr) == (expected, "")


@pytest.mark.parametrize(("line", "expected"), COMPLETED)
def test_fish_completes(line, expected, tmp_path, environment):
    script = f"kubevirt-render completion fish | source; complete --do-complete 'kubevirt-render {line}'"
    done = run(on_path("fish"), "--no-config", "-c", script, cwd=tmp_path, environment=environment)
    assert [each.partition("\t")[0] for each in passed(done).splitlines()] == expected


def test_zsh_takes_the_script_for_the_command(tmp_path, environment):
    script = 'autoload -U compinit && compinit -D && eval "$(kubevirt-render completion zsh)" && print $_comps[kubevirt-render]'
    done = run(on_path("zsh"), "-f", "-c", script, cwd=tmp_path, environment=environment)
    assert (passed(done), done.stderr) == ("_kubevirt_render_completion\n", "")


@pytest.mark.parametrize(
    "line",
    ["render v", "check --config v", "check --baseline v", "migrate v", "render --configuration v"],
)
def test_names_of_files_are_left_to_the_shell(line, environment):
    assert complete("bash", f"kubevirt-render {line}", environment) == ["file,v"]


@pytest.mark.parametrize("line", ["render -k d", "check --schemas d", "install-plugin d"])
def test_names_of_folders_are_left_to_the_shell(line, environment):
    assert complete("bash", f"kubevirt-render {line}", environment) == ["dir,d"]


@pytest.mark.parametrize("line", ["nosuch --", "--doc --hel", "render --mode nosuch --"])
def test_a_line_that_would_be_refused_gives_no_error(line, environment):
    complete("zsh", f"kubevirt-render {line}", environment)


def test_a_list_is_no_answer_to_a_question_that_is_none(tmp_path, environment):
    environment["_KUBEVIRT_RENDER_COMPLETE"] = "tcsh_source"
    done = run("kubevirt-render", cwd=tmp_path, environment=environment)
    assert (done.returncode, done.stdout) == (1, "")
