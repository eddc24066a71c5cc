"""The fast path can be turned off and deleted: the same bytes leave."""

import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "krm_fn" / "fast_path"
BUNDLE = runpy.run_path(str(ROOT / "bench" / "generate.py"))["bundle"]
TROUBLED = BUNDLE(60, shapes=3).replace(b"name: size-1\n", b"name: nowhere\n")
CONFIG = b"  spec:\n    mode: %s\n"
LISTS = {
    "uniform": BUNDLE(60),
    "several shapes": BUNDLE(100, shapes=4),
    "every VM another shape": BUNDLE(60, shapes=42),
    "a reference that leads nowhere": TROUBLED,
    "annotate": BUNDLE(60) + CONFIG % b"annotate",
    "validate": BUNDLE(60) + CONFIG % b"validate",
    "snapshot": BUNDLE(60) + CONFIG % b"snapshot",
    "no plain form": BUNDLE(20).replace(b"\n", b"\r\n"),
    "no list": b"kind: ConfigMap\n",
}
PROGRAM = "import sys; sys.path.insert(0, sys.argv.pop(1)); from krm_fn.__main__ import main; sys.exit(main())"


def ran(home: Path, data: bytes, **variables: str) -> tuple[int, bytes, bytes]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("KUBEVIRT_RENDER_")}
    command = [sys.executable, "-I", "-c", PROGRAM, str(home)]
    done = subprocess.run(command, check=False, input=data, capture_output=True, env={**environment, **variables})
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def without(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package, but for the fast path."""
    home = tmp_path_factory.mktemp("without")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "krm_fn", home / "krm_fn", ignore=ignored)
    shutil.rmtree(home / "krm_fn" / FOLDER.name)
    return home


@pytest.mark.parametrize("data", LISTS.values(), ids=LISTS)
def test_the_package_gives_the_same_without_the_fast_path(data: bytes, without: Path) -> None:
    assert ran(without, data) == ran(ROOT, data)


@pytest.mark.parametrize("data", LISTS.values(), ids=LISTS)
def test_the_package_gives_the_same_with_the_fast_path_turned_off(data: bytes) -> None:
    assert ran(ROOT, data, KUBEVIRT_RENDER_FAST_PATH="off") == ran(ROOT, data)


def path_of(home: Path, data: bytes, **variables: str) -> bytes:
    """What the function says of the path that it took."""
    return ran(home, data, KUBEVIRT_RENDER_VERBOSE="1", **variables)[2].partition(b"\n")[0]


def test_the_function_says_which_path_it_took(without: Path) -> None:
    fast, full = (b"kubevirt-render: info: rendered on the %s path" % path for path in (b"fast", b"full"))
    assert path_of(ROOT, LISTS["uniform"]) == fast
    assert path_of(ROOT, LISTS["validate"]) == full
    assert path_of(ROOT, LISTS["uniform"], KUBEVIRT_RENDER_FAST_PATH="off") == full
    assert path_of(without, LISTS["uniform"]) == full
