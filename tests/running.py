"""Programs run as a user would run them."""

from __future__ import annotations

import array
import fcntl
import os
import shutil
import subprocess
import sys
import termios
import time
from pathlib import Path
from typing import NoReturn

import pytest

ROOT = Path(__file__).resolve().parents[1]
HOSTS = ROOT / ".hosts"  # what .ci/hosts fetches
NEWEST_KUSTOMIZE = HOSTS / "5.8.1"  # the folder of the newest kustomize
CHROMIUM = "chromium with chromedriver"
PODMAN = "podman that .ci/hosts has set up for this user"
HOW_TO_GET = {
    "kpt": "put it on the PATH, see https://kpt.dev/installation",
    "kubectl": "put it on the PATH, see https://kubernetes.io/docs/tasks/tools",
    CHROMIUM: "run .ci/hosts as root on Debian",
    PODMAN: "run .ci/hosts as root on Debian",
}
# The command of this very code, to be started with `own_environment`.
PROGRAM = [sys.executable, "-m", "krm_fn"]


def own_environment(**more: str) -> dict[str, str]:
    """The environment in which PROGRAM finds this code. It writes no compiled files: a limit of file sizes would cut them."""
    return {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", **more}


def run(*command: str, cwd: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def passed(ran: subprocess.CompletedProcess[str]) -> str:
    """What a command that must succeed printed."""
    assert ran.returncode == 0, ran.stderr + ran.stdout
    return ran.stdout


def open_to_all(folder: Path) -> Path:
    """The folder, which every user may read now with all that is in it, whatever the umask was."""
    for path in (folder, *folder.rglob("*")):
        path.chmod(path.stat().st_mode | (0o755 if path.is_dir() else 0o644))
    return folder


def wait_until_it_reads(process: subprocess.Popen[bytes]) -> None:
    """Return once the program has taken the first byte of stdin, and so waits for the rest."""
    assert process.stdin is not None
    process.stdin.write(b" ")
    process.stdin.flush()
    unread = array.array("i", [1])
    for _ in range(6000):
        fcntl.ioctl(process.stdin, termios.FIONREAD, unread)
        if not unread[0]:
            return
        time.sleep(0.01)
    raise AssertionError("the program reads nothing")


def absent(program: str) -> NoReturn:
    """Skips the test for want of a program, and says how to get it."""
    pytest.skip(f"no {program}: {HOW_TO_GET.get(program, 'run .ci/hosts')}")


def on_path(program: str, path: str | None = None) -> str:
    """Where a program is on the PATH, or on another path; the test skips where it is absent."""
    return shutil.which(program, path=path) or absent(program)


def fetched(release: str) -> str:
    """The kustomize of a release; the test skips where it is absent."""
    return shutil.which("kustomize", path=HOSTS / release) or absent(f"kustomize {release}")


def helm() -> str:
    """The helm that .ci/hosts has fetched, else the one on the PATH; the test skips where both are absent."""
    return on_path("helm", f"{HOSTS / 'helm'}:{os.environ['PATH']}")


def tool(name: str) -> str:
    """A program of the group `release`; the test skips where it is absent."""
    return on_path(name, f"{HOSTS / 'tools' / 'bin'}:{os.environ['PATH']}")
