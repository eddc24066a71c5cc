"""The function starts anew for every build: what it imports is paid each time."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# What costs more to import than rendering a small bundle does, and what only the command may load.
HEAVY = {
    "argparse",
    "ast",
    "click",
    "collections",
    "copy",
    "dataclasses",
    "datetime",
    "difflib",
    "enum",
    "functools",
    "inspect",
    "json",
    "jsonpatch",
    "jsonschema",
    "logging",
    "pathlib",
    "re",
    "subprocess",
    "tempfile",
    "typing",
    "yaml",
}

FUNCTION = """\
import sys
sys.path.insert(0, sys.argv.pop())
from krm_fn.main import main
code = main()
sys.stderr.write("\\n".join(sys.modules))
sys.exit(code)
"""


def loaded(source: bytes) -> set[str]:
    """The modules that the function has loaded when it has rendered `source`."""
    command = [sys.executable, "-I", "-S", "-c", FUNCTION, str(ROOT)]
    ran = subprocess.run(command, input=source, capture_output=True, check=True)
    return set(ran.stderr.decode().split())


def test_rendering_what_kustomize_sends_loads_nothing_heavy() -> None:
    bundle = runpy.run_path(str(ROOT / "bench" / "generate.py"))["bundle"]
    assert loaded(bundle(20)) & HEAVY == set()


def test_importing_the_package_loads_nothing_of_it() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import krm_fn; print([name for name in sys.modules if 'krm_fn' in name])"
    )
    ran = subprocess.run([sys.executable, "-I", "-S", "-c", code, str(ROOT)], capture_output=True, text=True, check=True)
    assert ran.stdout == "['krm_fn']\n"
