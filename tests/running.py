"""Programs run as a user would run them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


def run(*command: str, cwd: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def passed(ran: subprocess.CompletedProcess[str]) -> str:
    """What a command that must succeed printed."""
    assert ran.returncode == 0, ran.stderr + ran.stdout
    return ran.stdout


def tool(name: str) -> str:
    """A program of the group `release`; the test skips where it isn't installed."""
    found = shutil.which(name, path=f"{ROOT / '.hosts/tools/bin'}:{os.environ['PATH']}")
    if not found:
        pytest.skip(f"no {name}: .ci/hosts installs the group `release`")
    return found
