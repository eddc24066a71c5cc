"""The suite itself: what the quick subset holds, and that it doesn't matter how pytest was started."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable

import measured
import pytest
from running import ROOT

PYTEST = (sys.executable, "-m", "pytest", "-p", "no:cacheprovider")


def pytest_run(*arguments: str, first: Callable[[], object] | None = None) -> str:
    """What a run of pytest prints that passes; `first` is called in its process before it starts."""
    ran = subprocess.run([*PYTEST, *arguments], cwd=ROOT, capture_output=True, text=True, check=False, preexec_fn=first)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_programs_can_be_interrupted_where_pytest_runs_in_the_background() -> None:
    def in_background() -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)

    assert "1 passed" in pytest_run("tests/test_main.py", "-k", "signal_ends_it and 130", first=in_background)


@pytest.fixture(scope="module")
def quick() -> list[str]:
    """The names of the tests that `pytest --quick` runs."""
    return [line for line in pytest_run("--quick", "--collect-only").splitlines() if line.startswith("tests/")]


def test_the_quick_subset_has_a_test_of_every_module(quick: list[str]) -> None:
    modules = {str(path.relative_to(ROOT)) for path in (ROOT / "tests").rglob("test_*.py")}
    assert {name.partition("::")[0] for name in quick} == modules


def test_the_quick_subset_has_a_test_of_every_file_of_cases(quick: list[str]) -> None:
    names = [path.name.removesuffix(measured.CASES) for path in measured.PARITY.glob(f"*{measured.CASES}")]
    assert [name for name in names if not any(f"[{name}]" in test for test in quick)] == []
