"""Fills the blocks of README.md and docs that quote a file or a command's output, so that they tell the truth.

    python scripts/fill_docs.py

A block is a fence right below a comment that says what belongs in it:

    <!-- file: PATH -->        the file's text
    <!-- output: COMMAND -->   what `kubevirt-render …` prints on stdout, run in the project's folder

A page can also be a walk, which starts in an empty folder and goes from block to block:

    <!-- save: PATH -->        the text is written to this file
    <!-- run -->               the commands are run there, by `bash`
    <!-- printed -->           what the commands above printed on stdout

In the middle of a line:

    <!-- releases -->          in a line, before "1.0 to 1.9": the oldest and the newest measured release
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from krm_fn.kubevirt.releases import MINORS

ROOT = Path(__file__).resolve().parents[1]
RELEASES = re.compile(r"(?<=<!-- releases -->)\d+\.\d+ to \d+\.\d+")
BLOCK = re.compile(r"^(<!-- (file|output): (.+?) -->\n```\w*\n)(.*?)^```$", re.MULTILINE | re.DOTALL)
STEP = re.compile(r"^(<!-- (save|run|printed)(?:: (.+?))? -->\n```\w*\n)(.*?)^```$", re.MULTILINE | re.DOTALL)
START = "import sys; from krm_fn.__main__ import main; sys.argv[0] = 'kubevirt-render'; sys.exit(main())"
# What git takes from no user's settings.
GIT = {f"GIT_{who}_{what}": "you@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def documents() -> list[Path]:
    """All pages that people write."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("*.md"))]


def output(command: str) -> str:
    """What the command prints on stdout; it may fail, as `check` does where there is something to say.

    Raises: ValueError for another program, and where nothing was printed.
    """
    program, *arguments = shlex.split(command)
    if program != "kubevirt-render":
        raise ValueError(f"only kubevirt-render is run, not {program}")
    ran = subprocess.run(
        [sys.executable, "-c", START, *arguments], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if not ran.stdout:
        raise ValueError(f"{command} prints nothing: {ran.stderr.decode()}")
    return ran.stdout.decode()


def filled(text: str) -> str:
    """The page with every block as it should be."""

    def fill(match: re.Match[str]) -> str:
        head, kind, what = match.group(1, 2, 3)
        return head + ((ROOT / what).read_text() if kind == "file" else output(what)) + "```"

    text = RELEASES.sub(f"{MINORS[0]} to {MINORS[-1]}", text)
    with TemporaryDirectory() as folder:
        return STEP.sub(_walking(Path(folder)), BLOCK.sub(fill, text))


def _walking(folder: Path) -> Callable[[re.Match[str]], str]:
    """What goes one step of a walk, in the folder `walk` below this one, and gives the block as it should be."""
    here, programs = folder / "walk", folder / "bin"
    here.mkdir()
    programs.mkdir()
    program = programs / "kubevirt-render"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -c "{START}" "$@"\n')
    program.chmod(0o755)
    environment = {**os.environ, **GIT, "GIT_CONFIG_GLOBAL": os.devnull, "PATH": f"{programs}:{os.environ['PATH']}"}
    environment |= {"XDG_CACHE_HOME": str(folder), "XDG_STATE_HOME": str(folder), "PYTHONPATH": str(ROOT)}
    printed, errors = "", ""

    def go(match: re.Match[str]) -> str:
        nonlocal printed, errors
        head, kind, what, body = match.groups()
        if kind == "save":
            (here / what).parent.mkdir(parents=True, exist_ok=True)
            (here / what).write_text(body)
        elif kind == "run":
            ran = subprocess.run(
                ["/bin/bash", "-c", body], cwd=here, env=environment, capture_output=True, text=True, check=False
            )
            printed, errors = ran.stdout, ran.stderr
        elif not printed:
            raise ValueError(f"nothing is printed before {head}: {errors}")
        return head + (printed if kind == "printed" else body) + "```"

    return go


if __name__ == "__main__":
    for path in documents():
        before = path.read_text()
        after = filled(before)
        if after != before:
            path.write_text(after)
            print(f"filled {path.relative_to(ROOT)}")
