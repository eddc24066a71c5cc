"""Every build starts the function again, so its imports take time in each build."""

from __future__ import annotations

import ast
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

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

# Parts of the renderer that a small, sound bundle of today's kinds does without.
UNNEEDED = {
    "krm_fn.pipeline.ignores",
    "krm_fn.findings.results",
    "krm_fn.rules.registry",
    "krm_fn.yamlio.plain.scalars",
    "krm_fn.kubevirt.presets",
    "krm_fn.kubevirt.resolve.alpha",
    "krm_fn.kubevirt.resolve.infer",
    "krm_fn.rules.vm",
    "krm_fn.kubevirt.schema.table",
    "krm_fn.base.workers",
    "krm_fn.yamlio.edits",
    "krm_fn.yamlio.listedit",
    "krm_fn.yamlio.plain.tree",
    "krm_fn.yamlio.reader",
    "krm_fn.yamlio.splice",
}

FUNCTION = """\
sys.path.insert(0, sys.argv.pop())
from krm_fn.__main__ import run
run([])
"""


def loaded(code: str, source: bytes) -> set[str]:
    """The modules that are loaded when `code` has run, with `source` on stdin."""
    program = f"import sys\n{code}\nsys.stderr.write(' '.join(sys.modules))\n"
    ran = subprocess.run([sys.executable, "-I", "-c", program, str(ROOT)], input=source, capture_output=True, check=True)
    return set(ran.stderr.decode().split())


def holds_code(module: str) -> bool:
    """False for a package that only describes its content."""
    init = ROOT / module.replace(".", "/") / "__init__.py"
    return not init.exists() or len(ast.parse(init.read_text()).body) > 1


def bundle(count: int) -> bytes:
    made: bytes = runpy.run_path(str(ROOT / "bench" / "generate.py"))["bundle"](count)
    return made


def test_rendering_what_kustomize_sends_loads_nothing_but_the_renderer_itself() -> None:
    needed = loaded(FUNCTION, bundle(20)) - loaded("", b"")
    assert {name for name in needed if not name.startswith("krm_fn")} <= {"__future__", "_operator", "gc", "itertools"}
    assert needed & UNNEEDED == set()
    assert len([name for name in needed if holds_code(name)]) < 68


def test_what_libyaml_has_to_read_loads_nothing_heavy_but_what_pyyaml_itself_loads() -> None:
    read_by_libyaml = bundle(20).replace(b"\n", b"\r\n")
    assert (loaded(FUNCTION, read_by_libyaml) - loaded("import yaml", b"")) & HEAVY == set()


@pytest.mark.parametrize("words", [["render"], ["check", "--no-cache"]])
def test_a_command_that_starts_no_program_loads_nothing_that_starts_one(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "vm.yaml").write_text("apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: vm}\n")
    run = f"run({[*words, '--jobs', '1', str(tmp_path)]!r})"
    assert loaded(FUNCTION.replace("run([])", run), b"") & {"subprocess", "tempfile", "difflib"} == set()


def test_importing_the_package_loads_nothing_of_it() -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import krm_fn; print([name for name in sys.modules if 'krm_fn' in name])"
    )
    ran = subprocess.run([sys.executable, "-I", "-S", "-c", code, str(ROOT)], capture_output=True, text=True, check=True)
    assert ran.stdout == "['krm_fn']\n"
