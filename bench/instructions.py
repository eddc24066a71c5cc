"""Instructions of whole runs, counted by valgrind, against the budgets in bench/instructions.json.

    python bench/instructions.py            exit code 1 if a run takes a tenth more than its budget, or if it has none
    python bench/instructions.py --write    writes today's counts as budgets

A clock is noisy; a count hardly differs between runs. It depends on Python's minor version, so budgets are for one of them. It
also depends on how Python was built, so a budget counts in relation to that of a run of Python alone.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from generate import bundle
from hands import CONFIG, HEAD, written

ROOT = Path(__file__).resolve().parents[1]
BUDGETS = ROOT / "bench" / "instructions.json"
MOST_TIMES = 1.1
VALGRIND = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"
VM = ROOT / "fixtures" / "hosts" / "bundle"

# What Python alone takes to fill a dict of lists.
ALONE = "found = {}\nfor n in range(100_000):\n    found.setdefault(f'k{n % 500}', []).append((n, n))"
YARDSTICK = "Python alone"

RUNS = {
    YARDSTICK: ([], b""),
    "20 resources": ([], bundle(20)),
    "items: []": ([], (HEAD.replace("items:\n", "items: []\n") + CONFIG).encode()),
    "100 resources of one template": ([], bundle(100)),
    "100 objects as people publish": ([], written(100)),
    "render of a folder": (["render", "--jobs", "1", str(VM)], b""),
    "check of a folder": (["check", "--no-cache", "--jobs", "1", str(VM)], b""),
}


def count(name: str, arguments: list[str], data: bytes) -> int:
    """The instructions of a run. The one before it compiles what is not compiled."""
    command = [sys.executable, *(["-S", "-c", ALONE] if name == YARDSTICK else ["-m", "krm_fn", *arguments])]
    with tempfile.TemporaryDirectory() as home:
        options = {"input": data, "cwd": ROOT, "env": {**ENVIRONMENT, "PYTHONHASHSEED": "0", "HOME": home}}
        subprocess.run(command, check=False, capture_output=True, **options)  # type: ignore[call-overload]
        ran = subprocess.run([*VALGRIND, *command], check=False, capture_output=True, **options)  # type: ignore[call-overload]
    found = re.search(rb"I\s+refs:\s+([\d,]+)", ran.stderr)
    if ran.returncode not in (0, 1) or not found:
        sys.exit(f"{' '.join(command)} failed with exit code {ran.returncode}")
    return int(found[1].replace(b",", b""))


def main() -> int:
    if not shutil.which("valgrind"):
        sys.exit("valgrind is not installed; install it with the system's package manager")
    counts = {name: count(name, *run) for name, run in RUNS.items()}
    known = json.loads(BUDGETS.read_text()) if BUDGETS.exists() else {}
    if "--write" in sys.argv:
        BUDGETS.write_text(json.dumps({**known, VERSION: counts}, indent=2) + "\n")
    budgets = counts if "--write" in sys.argv else known.get(VERSION, {})
    scale = counts[YARDSTICK] / budgets.get(YARDSTICK, counts[YARDSTICK])
    budgets = {name: round(budget * scale) for name, budget in budgets.items()}
    over = [name for name, found in counts.items() if found > MOST_TIMES * budgets.get(name, 0)]
    for name, found in counts.items():
        print(f"{name}: {found:,} instructions, budget {budgets.get(name, 0):,}{': TOO MANY' if name in over else ''}")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
