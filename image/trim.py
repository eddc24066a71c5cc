"""Takes out of the base what installs packages, and compiles the standard library where the base did not. Run as root, once."""

import compileall
import shutil
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
compileall.compile_dir(library, quiet=1, invalidation_mode=PycInvalidationMode.UNCHECKED_HASH)
