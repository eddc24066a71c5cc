"""Makes kubevirt-render.pyz: the program and what it needs in one file, for each Python and platform below.

usage: python scripts/make_zipapp.py [FILE] [--platform PLATFORM]...

The file starts as scripts/zipapp/__main__.py says. It holds `files.zip`: the wheel, the locked packages, and their libyaml
for each Python and platform. Python loads no compiled module from an archive, so the file unpacks itself into a folder of the
user. shiv and pex make such files too, but don't check who else may write to that folder, and have no one-line error for
another platform; a file of shiv serves one version of Python. The same sources give the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import re
import sys
import tempfile
import zipfile
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

from make_wheel import ROOT, pip, wheel

PYTHONS = ("3.11", "3.12", "3.13", "3.14")
PLATFORMS = {  # as messages name them: what pip calls the wheels
    "x86_64 Linux": "manylinux2014_x86_64",
    "aarch64 Linux": "manylinux2014_aarch64",
    "arm64 macOS": "macosx_11_0_arm64",
    "x86_64 macOS": "macosx_10_15_x86_64",
}
START = ROOT / "scripts" / "zipapp"
DATE = (2020, 2, 2, 0, 0, 0)  # hatchling's date of files in wheels
MODULE = 0o100644 << 16  # a plain file, as zip archives say it
FIRST = b'#!/bin/sh\nexec python3 -I -S "$0" "$@"\n'  # -I -S: all that is needed is in the file; a third less to start
UNUSED = ("RECORD", "WHEEL", "INSTALLER")  # say what pip installed, and for which Python
# What the config's `schemaPolicies` need: one of them is compiled for each Python, and the file carries only libyaml so.
LEFT_OUT = ("attrs", "jsonschema", "jsonschema-specifications", "referencing", "rpds-py", "typing-extensions")
SPEEDUPS = "markupsafe/_speedups"  # compiled for each Python, too, but the package works without it

Files = dict[str, bytes]


def contents(wheel: Path) -> Files:
    """The files of a wheel that are needed at run time, by name."""
    with zipfile.ZipFile(wheel) as archive:
        return {name: archive.read(name) for name in archive.namelist() if _is_needed(name)}


def _is_needed(name: str) -> bool:
    """False for what only installers, type checkers and commands of other packages read."""
    top, last = name.partition("/")[0], name.rpartition("/")[2]
    if name.startswith(SPEEDUPS):
        return False
    return not (top.endswith(("-stubs", ".data", "_cli.py")) or (top.endswith(".dist-info") and last in UNUSED))


def core(lock: str) -> str:
    """The lock without what `schemaPolicies` need."""
    blocks = re.split(r"\n(?=[^\s#])", lock)
    return "\n".join(block for block in blocks if block.partition("==")[0] not in LEFT_OUT)


def dependencies(python: str, tag: str) -> Files:
    """The files of the locked packages for a Python and a platform."""
    with tempfile.TemporaryDirectory() as folder:
        target = (
            f"--python-version={python}",
            "--implementation=cp",
            f"--abi=cp{python.replace('.', '')}",
            f"--platform={tag}",
        )
        lock = Path(folder, "lock.txt")
        lock.write_text(core((ROOT / "image" / "requirements.txt").read_text()))
        pip("download", "--no-deps", "--dest", folder, "-r", lock, *target)
        lock.unlink()
        return {name: data for file in Path(folder).iterdir() for name, data in contents(file).items()}


def packages(platforms: list[str]) -> Files:
    """The files of the locked packages: their modules, and libyaml for each Python in a folder of the machine's name."""
    targets = list(product(PYTHONS, platforms))
    with ThreadPoolExecutor(4) as threads:  # they wait for the index
        found = list(threads.map(lambda target: dependencies(target[0], PLATFORMS[target[1]]), targets))
    modules: Files = {}
    libraries: Files = {}
    for (_, platform), files in zip(targets, found, strict=True):
        for name, data in files.items():
            if name.endswith(".so"):
                libraries[f"libyaml/{platform.split()[0]}/{Path(name).name}"] = data
            elif modules.setdefault(name, data) != data:
                sys.exit(f"{name} differs between the wheels of the platforms: one file can't hold them all")
    return modules | libraries


def archive(files: Files, first: bytes = b"") -> bytes:
    """A zip archive behind some first bytes, the same for the same files."""
    data = io.BytesIO()
    data.write(first)
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as made:
        for name, content in sorted(files.items()):
            info = zipfile.ZipInfo(name, DATE)
            info.external_attr, info.compress_type, info.create_system = MODULE, zipfile.ZIP_DEFLATED, 3
            made.writestr(info, content)
    return data.getvalue()


def start(name: str, **filled: str) -> bytes:
    """A module of the start, with the values of these constants."""
    lines = (START / name).read_text().splitlines(keepends=True)
    for constant, value in filled.items():
        (place,) = [number for number, line in enumerate(lines) if line.startswith(f"{constant} = ")]
        lines[place] = f"{constant} = {value!r}\n"
    return "".join(lines).encode()


def zipapp(platforms: list[str]) -> bytes:
    """The whole file."""
    with tempfile.TemporaryDirectory() as folder:
        program = contents(wheel(Path(folder)))
    files = archive(program | packages(platforms))
    holds = f"CPython {', '.join(PYTHONS)} on {', '.join(platforms)}"
    outer = {
        "__main__.py": start("__main__.py", FILES=hashlib.sha256(files).hexdigest()),
        "unpack.py": start("unpack.py", HOLDS=holds),
        "files.zip": files,
    }
    return archive(outer, FIRST)


def main() -> None:
    parser = argparse.ArgumentParser(description="Makes kubevirt-render.pyz")
    parser.add_argument("file", nargs="?", type=Path, default=ROOT / "dist" / "kubevirt-render.pyz")
    parser.add_argument("--platform", action="append", choices=PLATFORMS, help="a platform to run on; all of them without this")
    given = parser.parse_args()
    given.file.parent.mkdir(parents=True, exist_ok=True)
    given.file.write_bytes(zipapp(given.platform or list(PLATFORMS)))
    given.file.chmod(0o755)
    print(given.file)


if __name__ == "__main__":
    main()
