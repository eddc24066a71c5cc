"""What a release is made of, built once for all workers of a run."""

from __future__ import annotations

import fcntl
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from running import ROOT, passed, run

SYSTEMS = {"Linux": "Linux", "Darwin": "macOS"}
HERE = f"{platform.machine()} {SYSTEMS.get(platform.system())}"  # as scripts/make_zipapp.py names platforms

BASE = "python:3.13-slim"  # a digest is found in registries alone

UNREACHABLE = re.compile(r"NewConnectionError|Temporary failure|\(from versions: none\)")


def with_index(ran: subprocess.CompletedProcess[str]) -> str:
    """What a command printed that takes packages from the index; the test skips where that can't be reached."""
    if ran.returncode and UNREACHABLE.search(ran.stderr):
        pytest.skip("the package index can't be reached")
    return passed(ran)


def made(script: str, *arguments: str | Path, root: Path = ROOT, umask: int = 0o022) -> Path:
    """The file that a script makes."""
    command = [sys.executable, root / "scripts" / script, *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, umask=umask, cwd="/")
    return Path(with_index(ran).strip())


def once(factory: pytest.TempPathFactory, name: str, script: str, *arguments: str) -> Path:
    """The file that a script makes in a folder of this name. The first worker that needs it makes it."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with (folder.parent / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            new = folder.with_name(f"{name}.new")
            shutil.rmtree(new, ignore_errors=True)
            new.mkdir()
            made(script, *arguments, str(new / "kubevirt-render.pyz") if "zipapp" in script else str(new))
            new.rename(folder)
    (file,) = folder.iterdir()
    return file


def copied(folder: Path) -> Path:
    """The sources as another has them: with other dates and modes."""
    shutil.copytree(ROOT / "krm_fn", folder / "krm_fn", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("scripts", "image"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore", "Dockerfile", ".dockerignore"):
        shutil.copy(ROOT / name, folder)
    for number, path in enumerate(sorted(folder.rglob("*"))):
        path.chmod(path.stat().st_mode & 0o700)
        os.utime(path, (1e9 + number, 1e9 + number))
    return folder


def image_of(folder: Path, podman: dict[str, str], *flags: str) -> str:
    """The id of the image that a folder's Dockerfile makes, on the base image in the store, without a registry."""
    authorities = "/etc/ssl/certs/ca-certificates.crt"
    trusting = ("-v", f"{authorities}:{authorities}:ro") if Path(authorities).exists() else ()
    given = ("--build-arg", f"BASE={BASE}", "--timestamp", "1580601600", *flags)
    command = ("podman", "build", "--quiet", "--pull=never", "--network", "host", *trusting, *given, ".")
    return passed(run(*command, cwd=folder, environment=podman)).strip()
