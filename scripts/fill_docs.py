"""Fills the blocks of README.md and docs that quote a file or a command's output, so that they tell the truth.

    python scripts/fill_docs.py

A block is a fence right below a comment that says what belongs in it:

    <!-- file: PATH -->        the file's text
    <!-- output: COMMAND -->   what `kubevirt-render …` prints on stdout, run in the project's folder
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BLOCK = re.compile(r"^(<!-- (file|output): (.+?) -->\n```\w*\n)(.*?)^```$", re.MULTILINE | re.DOTALL)


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
    start = "import sys; from krm_fn.__main__ import main; sys.argv[0] = 'kubevirt-render'; sys.exit(main())"
    ran = subprocess.run(
        [sys.executable, "-c", start, *arguments], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, check=False
    )
    if not ran.stdout:
        raise ValueError(f"{command} prints nothing: {ran.stderr.decode()}")
    return ran.stdout.decode()


def filled(text: str) -> str:
    """The page with every block as it should be."""

    def fill(match: re.Match[str]) -> str:
        head, kind, what = match.group(1, 2, 3)
        return head + ((ROOT / what).read_text() if kind == "file" else output(what)) + "```"

    return BLOCK.sub(fill, text)


if __name__ == "__main__":
    for path in documents():
        before = path.read_text()
        after = filled(before)
        if after != before:
            path.write_text(after)
            print(f"filled {path.relative_to(ROOT)}")
