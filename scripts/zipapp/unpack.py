"""The first start of kubevirt-render.pyz: what is in the file is unpacked and compiled, all of it or nothing."""

from __future__ import annotations

import compileall
import hashlib
import io
import os
import shutil
import signal
import site
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from py_compile import PycInvalidationMode

from __main__ import FILES, MACHINE, NAME, PROGRAM, SUFFIX, kept, own, places

HOLDS = "scripts/make_zipapp.py puts the Pythons and platforms here whose libyaml is in the file"
LIBYAML = f"libyaml/{MACHINE}/_yaml{SUFFIX}"
NEW, DAY = ".new-", 86_400  # how the names of folders begin that are not complete, and seconds
NO_PROGRAMS = getattr(os, "ST_NOEXEC", 0)  # macOS has no such flag


def unpacked() -> str:
    """The folder that holds what is in the file, in the first place that can have it.

    Ends the program where no place can, where the file is damaged, and where there is no libyaml for this Python.
    """
    archive = files()
    complete = LIBYAML in archive.namelist()
    if not complete and not installed():
        here = f"{SUFFIX.split('.')[1]} on {MACHINE}"
        fail(f"the file has libyaml for {HOLDS}, not for {here}; use one of these, or install PyYAML for {sys.executable}")
    problems = []
    for place in map(Path, places()):
        try:
            return str(unpack(archive, place / (NAME if complete else f"{NAME}-without-libyaml")))
        except OSError as error:
            problems.append(f"{place}: {error.strerror or error}")
    fail(f"there is no folder to unpack into; {'; '.join(problems)}; set XDG_CACHE_HOME to a folder of yours for programs")
    return ""


def fail(message: str) -> None:
    """End the program with one line."""
    sys.stderr.write(f"{PROGRAM}: error: {message}\n")
    sys.exit(2)


def files() -> zipfile.ZipFile:
    """The archive in this file that has all to be unpacked."""
    data = __loader__.get_data("files.zip")
    if hashlib.sha256(data).hexdigest() != FILES:
        fail("the file is damaged: its content is not what it was made with; get it again")
    return zipfile.ZipFile(io.BytesIO(data))


def installed() -> bool:
    """True where this Python has a PyYAML of its own, with libyaml."""
    if sys.flags.no_site:  # as in the first line of the file
        site.main()
    try:
        return find_spec("yaml._yaml") is not None
    except ImportError:
        return False


def unpack(archive: zipfile.ZipFile, folder: Path) -> Path:
    """The folder with the files, which are unpacked unless they are there.

    Raises: OSError where it can't be there, or others could change what is in it.
    """
    make(folder.parent)
    if not own(str(folder.parent)):
        raise PermissionError("others may change it, or look into it")
    if os.statvfs(folder.parent).f_flag & NO_PROGRAMS:
        raise PermissionError("it is mounted noexec")
    if not os.path.lexists(folder):
        with temporary(folder.parent) as new:
            extract(archive, new)
            compiled(new, folder)
            move(new, folder)
    if not own(str(folder)):
        raise PermissionError(f"others may change {folder.name} in it")
    return folder


def make(folder: Path) -> None:
    """Make the folder, and those above it, for the user alone, unless they are there.

    Raises: OSError where that can't be, or others may change what it would be in.
    """
    if not os.path.lexists(folder):
        make(folder.parent)
        if not kept(str(folder)):
            raise PermissionError("others may change the folder above it")
        folder.mkdir(mode=0o700, exist_ok=True)  # another start may have been quicker


def extract(archive: zipfile.ZipFile, folder: Path) -> None:
    """Write the files into the folder: with the libyaml for this Python, or without PyYAML where there is none for it."""
    names = archive.namelist()
    left_out = ("libyaml/",) if LIBYAML in names else ("libyaml/", "yaml/", "_yaml/")
    archive.extractall(folder, [name for name in names if not name.startswith(left_out)])
    if LIBYAML in names:
        (folder / "yaml" / f"_yaml{SUFFIX}").write_bytes(archive.read(LIBYAML))


def compiled(folder: Path, later: Path) -> None:
    """Compile the modules, which will be in the folder `later`. Nothing compares them with their sources at start."""
    sys.pycache_prefix = None  # they belong beside their sources, whatever is set for others
    mode = PycInvalidationMode.UNCHECKED_HASH
    compileall.compile_dir(folder, quiet=2, stripdir=folder, prependdir=later, invalidation_mode=mode, optimize=0)


def move(new: Path, folder: Path) -> None:
    """Give the new folder its name, unless another start has been quicker."""
    try:
        new.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise


@contextmanager
def temporary(place: Path) -> Iterator[Path]:
    """A new folder for the user alone, which is gone at the end, however that comes, unless it has been moved."""
    for left in place.glob(f"{NEW}*"):  # a start that was killed has left it
        if left.lstat().st_mtime < time.time() - DAY:
            shutil.rmtree(left, ignore_errors=True)
    with interruptible():
        folder = tempfile.mkdtemp(prefix=NEW, dir=place)
        try:
            yield Path(folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def interruptible() -> Iterator[None]:
    """Ctrl-C and SIGTERM end the program as an exception would, unless they are ignored."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
