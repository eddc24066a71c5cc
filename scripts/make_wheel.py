"""Makes the wheel, with the locked packages that build it: `python scripts/make_wheel.py [FOLDER]`, by default `dist`.

The same sources give the same bytes: hatchling sorts the files and dates them alike.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def run(*command: str | Path, **environment: str) -> None:
    """Run a command, which prints nothing. Ends the program with what it had to say where it fails."""
    ran = subprocess.run(command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False)
    if ran.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{ran.stdout}{ran.stderr}")


def pip(*arguments: str | Path) -> None:
    """Run pip, for locked wheels alone: what is not in the lock, and what would have to be built, is refused."""
    call, *others = arguments
    locked = ("--quiet", "--require-hashes", "--only-binary=:all:")
    run(sys.executable, "-m", "pip", "--disable-pip-version-check", call, *locked, *others)


def wheel(folder: Path) -> Path:
    """The wheel, made in the folder."""
    with tempfile.TemporaryDirectory() as tools, tempfile.TemporaryDirectory() as new:
        pip("install", "--target", tools, "-r", ROOT / "image" / "build.txt")
        run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", new, PYTHONPATH=tools)
        (made,) = Path(new).iterdir()
        folder.mkdir(parents=True, exist_ok=True)
        return Path(shutil.copyfile(made, folder / made.name))


if __name__ == "__main__":
    print(wheel(Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "dist")))
