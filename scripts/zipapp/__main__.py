"""The start of kubevirt-render.pyz: it runs from a folder in which it has unpacked itself, and which its user alone can change.

Old Pythons read this module too, to say that they are too old: no syntax newer than 3.6 here. It is part of every start:
nothing heavy is imported, and what only the first start needs is in `unpack`.
"""

import _imp  # knows how compiled modules are called here: what `importlib` and `sysconfig` say comes from there
import os
import stat
import sys

PROGRAM = "kubevirt-render"
FILES = "scripts/make_zipapp.py puts the SHA-256 of files.zip here"

if sys.version_info < (3, 11):  # noqa: UP036
    version = ".".join(map(str, sys.version_info[:2]))
    sys.stderr.write(f"{PROGRAM}: error: Python {version} runs this file; run it with Python 3.11 or newer\n")
    sys.exit(2)
if os.name != "posix":
    sys.stderr.write(f"{PROGRAM}: error: this file runs on Linux and macOS, and this is {sys.platform}; install from source\n")
    sys.exit(2)

SUFFIX = _imp.extension_suffixes()[0]  # such as .cpython-313-x86_64-linux-gnu.so
MACHINE = os.uname().machine
NAME = f"{FILES}-{MACHINE}{SUFFIX}"


def places() -> "list[str]":
    """The folders in which the file may unpack itself, the best one first."""
    cache, home, temporary = (os.environ.get(name, "") for name in ("XDG_CACHE_HOME", "HOME", "TMPDIR"))
    if not os.path.isabs(cache) and os.path.isabs(home) and os.path.isdir(home):
        cache = f"{home}/.cache"
    if not os.path.isabs(temporary):
        temporary = "/tmp"  # noqa: S108  a folder of the user's own is made there, and looked at before it is used
    found = [f"{temporary}/{PROGRAM}-{os.geteuid()}"]
    if os.path.isabs(cache):
        found.insert(0, f"{cache}/{PROGRAM}")
    return [os.path.realpath(place) for place in found]


def kept(folder: str) -> bool:
    """True where nobody but the user and root can put something else in the folder's place, or in that of one above it.

    The files of a git working tree come from whoever commits them. Raises: OSError where one above it is not there.
    """
    while folder != "/":
        folder = os.path.dirname(folder)
        about = os.lstat(folder)
        shared = about.st_mode & 0o022 and not about.st_mode & stat.S_ISVTX
        if shared or about.st_uid not in (0, os.geteuid()) or os.path.lexists(folder + "/.git"):
            return False
    return True


def own(folder: str) -> bool:
    """True where it is a folder that the user alone can change and look into.

    Raises: OSError where there is no such folder.
    """
    about = os.lstat(folder)
    private = stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid() and not about.st_mode & 0o077
    return private and kept(folder)


def unpacked() -> str:
    """The folder that holds what is in this file; made at the first start."""
    for place in places():
        folder = f"{place}/{NAME}"
        try:
            if own(folder):
                return folder
        except OSError:
            continue
    import unpack

    return unpack.unpacked()


if __name__ == "__main__":
    sys.path[0] = unpacked()
    from krm_fn.__main__ import main

    sys.exit(main())
