"""Programs run as a user would run them."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(*command: str, cwd: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def passed(ran: subprocess.CompletedProcess[str]) -> str:
    """What a command that must succeed printed."""
    assert ran.returncode == 0, ran.stderr + ran.stdout
    return ran.stdout
