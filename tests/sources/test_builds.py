"""Kustomizations that commands build (`-k DIR`): what kustomize gets, how long it may take, and what remains of it."""

from __future__ import annotations

import signal
import subprocess
import time
from pathlib import Path

import pytest
from running import PROGRAM, own_environment

OBJECT = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: built\n"
RENDER = [*PROGRAM, "render", "-k", "."]
GENERATE = [*PROGRAM, "argocd", "generate"]


class Builder:
    """A folder with a kustomization, and a `kustomize` that is a shell script."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.tools, self.temporary = folder / "app", folder / "tools", folder / "temporary"
        for each in (self.folder, self.tools, self.temporary):
            each.mkdir()
        (self.folder / "kustomization.yaml").write_text("resources: []\n")
        self.notes = folder / "notes"

    def script(self, text: str) -> None:
        (self.tools / "kustomize").write_text(f"#!/bin/sh\nnotes={self.notes}\n{text}\n")
        (self.tools / "kustomize").chmod(0o755)

    def start(self, *command: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=own_environment(PATH=f"{self.tools}:/usr/bin:/bin", TMPDIR=str(self.temporary)),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        with self.start(*command) as process:
            out, err = process.communicate(timeout=60)
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def noted(self) -> list[str]:
        """What the script noted, once it has."""
        for _ in range(3000):
            if self.notes.exists() and self.notes.read_text().endswith("\n"):
                return self.notes.read_text().split()
            time.sleep(0.01)
        raise AssertionError("the build was not started")


def runs(process: str) -> bool:
    """True for a process that is no mere entry of the table, which its parent has not read yet."""
    try:
        return ") Z" not in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False


def ended(process: str) -> bool:
    """True once a process is gone; a signal takes a moment."""
    for _ in range(500):
        if not runs(process):
            return True
        time.sleep(0.01)
    return False


@pytest.fixture
def builder(tmp_path: Path) -> Builder:
    made = Builder(tmp_path)
    made.script(f'printf "%s\\n" "$@" >$notes; cat <<E\n{OBJECT}E')
    return made


@pytest.mark.parametrize(
    ("command", "word"),
    [
        *(("render", word) for word in ("--enable-exec", "--helm-command=x", "-o", "-", "--", "")),
        ("check", "--enable-exec"),
        ("migrate", "--enable-exec"),
    ],
)
def test_a_flag_does_not_reach_kustomize(builder: Builder, command: str, word: str) -> None:
    done = builder.run(*PROGRAM, command, "-k", word, ".")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith(f"kubevirt-render: error: -k: found {word!r}; expected ")
    assert not builder.notes.exists()


def test_a_folder_that_is_named_like_a_flag_is_built(builder: Builder) -> None:
    (builder.folder / "--enable-exec").mkdir()
    assert builder.run(*PROGRAM, "render", "-k", "--enable-exec").stdout == OBJECT
    assert builder.noted() == ["build", "./--enable-exec"]


@pytest.mark.parametrize(
    "place", [".", "overlays/prod", "https://example.com/org/repo//base?ref=v1", "git@example.com:org/repo"]
)
def test_folders_and_addresses_reach_kustomize_as_they_are(builder: Builder, place: str) -> None:
    assert builder.run(*PROGRAM, "render", "-k", place, "--network").stdout == OBJECT
    assert builder.noted() == ["build", place]


FIX = "; reduce what the build fetches, or raise --timeout"
OF_ARGO_CD = (
    ", because Argo CD waits for only 60 s; reduce what the build fetches, or raise --timeout and the timeout of Argo CD"
)
WAITS = "sleep 300 & echo $! >$notes; wait"
STUBBORN = "trap '' TERM; sleep 300 & echo $! >$notes; while :; do sleep 1; done"
LEAVES_ONE = "sleep 300 & echo $! >$notes"  # it ends itself, and what it started still holds stdout


@pytest.mark.parametrize(
    ("command", "script", "said"),
    [
        (RENDER, WAITS, f"`kustomize build .` was stopped after 2 s{FIX}"),
        (RENDER, LEAVES_ONE, f"`kustomize build .` was stopped after 2 s{FIX}"),
        (RENDER, STUBBORN, f"`kustomize build .` was stopped after 2 s{FIX}"),
        ([*PROGRAM, "check", "-k", "."], WAITS, f"`kustomize build .` was stopped after 2 s{FIX}"),
        ([*PROGRAM, "migrate", "-k", "."], WAITS, f"`kustomize build .` was stopped after 2 s{FIX}"),
        ([*PROGRAM, "argocd", "ignore-differences", "-k", "."], WAITS, f"`kustomize build .` was stopped after 2 s{FIX}"),
        (GENERATE, WAITS, f"`kustomize build` was stopped after 2 s{OF_ARGO_CD}"),
        (GENERATE, LEAVES_ONE, f"`kustomize build` was stopped after 2 s{OF_ARGO_CD}"),
    ],
)
def test_a_build_that_takes_too_long_is_ended_with_all_it_started(
    builder: Builder, command: list[str], script: str, said: str
) -> None:
    builder.script(script)
    done = builder.run(*command, "--timeout", "2")
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"kubevirt-render: error: {said}\n")
    assert ended(builder.noted()[0])
    assert list(builder.temporary.iterdir()) == []


def test_nothing_of_a_build_that_is_done_goes_on(builder: Builder) -> None:
    builder.script(f"sleep 300 >/dev/null 2>&1 </dev/null & echo $! >$notes; cat <<E\n{OBJECT}E")
    assert builder.run(*RENDER).stdout == OBJECT
    assert ended(builder.noted()[0])


@pytest.mark.parametrize("command", [RENDER, GENERATE])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_the_build_and_what_it_wrote(builder: Builder, command: list[str], number: signal.Signals) -> None:
    builder.script('touch "$TMPDIR/cloned"; echo $$ >$notes; exec sleep 300')
    with builder.start(*command) as process:
        child = builder.noted()[0]
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err.strip()) == (128 + number, "", "")
    assert ended(child)
    assert list(builder.temporary.iterdir()) == []


@pytest.mark.parametrize("command", [RENDER, GENERATE])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_ends_a_build_that_has_just_started(builder: Builder, command: list[str], number: signal.Signals) -> None:
    """A handler that raised before the child was known would leave it running."""
    builder.script(f"echo $$ >$notes; kill -{number.value} $PPID; exec sleep 300")
    with builder.start(*command) as process:
        process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert ended(builder.noted()[0])


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "1e9", "x", ""])
@pytest.mark.parametrize("command", [RENDER, GENERATE])
def test_a_time_is_a_number_of_seconds(builder: Builder, command: list[str], seconds: str) -> None:
    done = builder.run(*command, "--timeout", seconds)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "'--timeout'" in done.stderr
    assert not builder.notes.exists()


def test_a_build_may_take_as_long_as_argo_cd_gives_one(builder: Builder) -> None:
    assert "[default: 90" in builder.run(*PROGRAM, "render", "--help").stdout.replace("\n", " ")


def test_a_build_has_neither_stdin_nor_terminal(builder: Builder) -> None:
    """A program that asks for a password must fail, not wait."""
    builder.script("cat; (exec </dev/tty) 2>/dev/null && exit 3; cat <<E\n" + OBJECT + "E")
    done = builder.run("sh", "-c", 'echo "a: b" | "$@"', "sh", *RENDER)
    assert (done.returncode, done.stdout) == (0, OBJECT)
