"""The wheel: the same bytes from the same sources, and all that the command needs."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from building import copied, made, once, with_index
from running import ROOT, passed, run

from krm_fn import __version__

BUNDLE = ROOT / "kustomization-examples" / "quickstart" / "bundle"


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return once(tmp_path_factory, "wheel", "make_wheel.py")


def test_it_holds_only_the_package(wheel: Path) -> None:
    files = {path.relative_to(ROOT) for path in (ROOT / "krm_fn").rglob("*") if path.is_file()}
    held = {str(file) for file in files if "__pycache__" not in file.parts}
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    about = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE")
    assert names == held | {f"kubevirt_render-{__version__}.dist-info/{name}" for name in about}


def test_it_runs_the_quickstart_with_the_locked_packages(wheel: Path, tmp_path: Path, environment: dict[str, str]) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    alone = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
    pip = (sys.executable, "-m", "pip", "--python", str(tmp_path / "venv" / "bin" / "python"), "install", "--quiet")
    lock = str(ROOT / "image" / "requirements.txt")
    with_index(run(*pip, "--require-hashes", "--only-binary", ":all:", "-r", lock, cwd=tmp_path, environment=alone))
    passed(run(*pip, "--no-index", "--no-deps", str(wheel), cwd=tmp_path, environment=alone))
    installed = str(tmp_path / "venv" / "bin" / "kubevirt-render")
    assert passed(run(installed, "render", str(BUNDLE), cwd=tmp_path, environment=alone)) == passed(
        run("kubevirt-render", "render", str(BUNDLE), cwd=tmp_path, environment=environment)
    )


def test_what_the_readme_installs_has_all_that_its_commands_need(tmp_path: Path, environment: dict[str, str]) -> None:
    alone = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    python, program = (str(tmp_path / "venv" / "bin" / name) for name in ("python", "kubevirt-render"))
    with_index(run(python, "-m", "pip", "install", "-q", ".", cwd=copied(tmp_path / "clone"), environment=alone))
    table = (ROOT / "README.md").read_text().partition("## Commands")[2].partition("\n## ")[0]
    commands = sorted(set(re.findall(r"^\| `kubevirt-render ([a-z-]+)", table, re.MULTILINE)))
    assert {"render", "check", "report", "lsp"} <= set(commands)
    for command in commands:
        passed(run(program, command, "--help", cwd=tmp_path, environment=alone))
    for command in ("render", "check", "capacity", "explain"):
        passed(run(program, command, str(BUNDLE), cwd=tmp_path, environment=alone))
    passed(run(program, "report", "-o", "page.html", str(BUNDLE), cwd=tmp_path, environment=alone))
    policy = "[{name: a, schema: {properties: {kind: {const: Nothing}}}}]"
    judged = run(program, "check", "--schema-policies", policy, str(BUNDLE), cwd=tmp_path, environment=alone)
    assert (judged.returncode, "policy/a" in judged.stdout + judged.stderr) == (1, True)
    done = run(program, "lsp", cwd=tmp_path, environment=alone)
    assert (done.returncode, "run `pip install '.[lsp]'` in a clone" in done.stderr) == (2, True)


def test_the_locked_installation_of_the_page_works(tmp_path: Path, environment: dict[str, str]) -> None:
    text = (ROOT / "docs" / "install.md").read_text()
    (commands,) = [block for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) if "--require-hashes" in block]
    clone = copied(tmp_path / "clone")
    alone = {name: value for name, value in environment.items() if name != "PYTHONPATH"}
    with_index(run("sh", "-e", "-c", commands, cwd=clone, environment=alone))
    said = passed(run(str(clone / ".venv" / "bin" / "kubevirt-render"), "--version", cwd=tmp_path, environment=alone))
    assert said == f"kubevirt-render {__version__}\n"


def test_made_again_elsewhere_it_has_the_same_bytes(wheel: Path, tmp_path: Path) -> None:
    again = made("make_wheel.py", tmp_path / "again", root=copied(tmp_path / "copy"), umask=0o077)
    assert again.name == wheel.name
    assert hashlib.sha256(again.read_bytes()).hexdigest() == hashlib.sha256(wheel.read_bytes()).hexdigest()
