"""Write into krm_fn/startup.py which modules rendering loads, and in which order.

python scripts/make_startup.py
"""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "krm_fn" / "startup.py"
START, END = 'MODULES = """\n', '\n""".split()'

# Says which modules of the package are loaded with the function and its usual mode, each when its code has run.
PROGRAM = """
import sys
sys.path.insert(0, sys.argv[1])
from importlib.machinery import SourceFileLoader
import krm_fn.__main__
run = SourceFileLoader.exec_module
def noted(self, module):
    run(self, module)
    print(module.__name__.removeprefix("krm_fn."))
SourceFileLoader.exec_module = noted
import krm_fn.hosts.function, krm_fn.pipeline.stages, krm_fn.pipeline.modes.expand
import krm_fn.yamlio.plain.text, krm_fn.yamlio.writing
"""


def modules() -> list[str]:
    """The modules, without the package's name."""
    ran = subprocess.run([sys.executable, "-I", "-c", PROGRAM, str(ROOT)], capture_output=True, text=True, check=True)
    return [name for name in ran.stdout.split() if name != "__future__"]


def written(source: str) -> str:
    """The source of the target with the modules of today."""
    before, _, rest = source.partition(START)
    lines = textwrap.wrap(" ".join(modules()), 124, break_long_words=False, break_on_hyphens=False)
    return before + START + textwrap.indent("\n".join(lines), "    ") + END + rest.partition(END)[2]


if __name__ == "__main__":
    TARGET.write_text(written(TARGET.read_text(encoding="utf-8")), encoding="utf-8")
