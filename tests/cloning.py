"""A clone of KubeVirt as the scripts read it, with sources of the test's own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from upstream import Source

SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"
ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith("GIT_")},
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    **{f"GIT_{who}_{what}": "test@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


def git(clone: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", str(clone), *arguments], env=ENVIRONMENT, check=True, capture_output=True)


def clone(folder: Path, releases: dict[str, dict[str, str]]) -> Source:
    """A clone whose tags, oldest first, have the files of a release: {tag: {path: text}}; files of the tag before stay."""
    git(folder, "init", "-q", "-b", "main")
    for tag, files in releases.items():
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(text, encoding="utf-8")
        git(folder, "add", "-A")
        git(folder, "commit", "-q", "--allow-empty", "-m", tag)
        git(folder, "tag", tag)
    return Source(folder)


def check(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """A run of a script that makes a table; it writes nothing."""
    command = [sys.executable, str(SCRIPTS / f"{script}.py"), "--check", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)
