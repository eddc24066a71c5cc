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
}

FUNCTION = """\
sys.path.insert(0, sys.argv.pop())
from krm_fn.main import run
run([])
"""


def loaded(code: str, source: bytes) -> set[str]:
    """The modules that are loaded when `code` has run, with `source` on stdin."""
    program = f"import sys\n{code}\nsys.stderr.write(' '.join(sys.modules))\n"
    ran = subprocess.run([sys.executable, "-I", "-c", program, str(ROOT)], input=source, capture_output=True, check=True)
    return set(ran.stderr.decode().split())


def test_rendering_what_kustomize_sends_loads_nothing_heavy_but_what_pyyaml_itself_loads() -> None:
    bundle = runpy.run_path(str(ROOT / "bench" / "generate.py"))["bundle"]
    assert (loaded(FUNCTION, bundle(20)) - loaded("import yaml", b"")) & HEAVY == set()


def test_importing_the_package_loads_nothing_of_it() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import krm_fn; print([name for name in sys.modules if 'krm_fn' in name])"
    )
    ran = subprocess.run([sys.executable, "-I", "-S", "-c", code, str(ROOT)], capture_output=True, text=True, check=True)
    assert ran.stdout == "['krm_fn']\n"
