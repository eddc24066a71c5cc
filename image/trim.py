"""Takes out of the base what installs packages or raises privileges, and compiles the standard library. Run as root, once."""

import compileall
import shutil
import stat
import sys
import sysconfig
from pathlib import Path
from py_compile import PycInvalidationMode

INSTALLERS = ("pip", "setuptools", "wheel", "ensurepip", "pkg_resources", "_distutils_hack")
UNUSED = ("idlelib", "lib2to3", "pydoc_data", "test", "tkinter", "turtledemo", "venv")

library = Path(sysconfig.get_path("stdlib"))
folders = {library, *(Path(place) for place in sys.path if place.endswith("-packages"))}
for folder in folders:
    for name in (*INSTALLERS, *UNUSED):
        for found in (folder / name, *folder.glob(f"{name}-*-info")):
            shutil.rmtree(found, ignore_errors=True)
for folder in ("/usr/local/bin", "/usr/bin"):
    for found in Path(folder).glob("pip*"):
        found.unlink()
for found in Path("/usr").rglob("*"):
    mode = found.lstat().st_mode
    if stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID):
        found.chmod(stat.S_IMODE(mode) & ~(stat.S_ISUID | stat.S_ISGID))
compileall.compile_dir(library, quiet=1, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
