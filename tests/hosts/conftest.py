"""Real hosts: kustomize from `.hosts` (see `.ci/hosts`) or the PATH, kpt from the PATH. A test whose host is absent skips."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from running import ROOT

BUNDLE = ROOT / "kustomization-examples" / "quickstart" / "bundle"

# The oldest supported release and the two newest that Debian ships; and what the machine has, where it has one.
KUSTOMIZE = ("4.5.4", "5.6.0", "5.8.1", *(["on the PATH"] if shutil.which("kustomize") else []))

FUNCTION = f"""\
#!/bin/sh
exec {sys.executable} -c 'import sys; from krm_fn.main import main; sys.exit(main())' "$@"
"""


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment of a user who has installed this very code: `kubevirt-render` is on the PATH."""
    folder = tmp_path_factory.mktemp("bin")
    script = folder / "kubevirt-render"
    script.write_text(FUNCTION)
    script.chmod(0o755)
    git = {
        "GIT_AUTHOR_NAME": "a",
        "GIT_AUTHOR_EMAIL": "a@example.com",
        "GIT_COMMITTER_NAME": "a",
        "GIT_COMMITTER_EMAIL": "a@example.com",
    }
    return {**os.environ, **git, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}


@pytest.fixture(params=KUSTOMIZE)
def kustomize(request: pytest.FixtureRequest) -> str:
    """The kustomize binary of one release."""
    release = request.param
    fetched = ROOT / ".hosts" / release / "kustomize"
    found = str(fetched) if fetched.exists() else shutil.which("kustomize") if release == "on the PATH" else None
    if not found:
        pytest.skip(f"no kustomize {release}: .ci/hosts fetches the releases that are tested")
    return found


@pytest.fixture
def kpt() -> str:
    """The kpt binary."""
    found = shutil.which("kpt")
    if not found:
        pytest.skip("no kpt on the PATH")
    return found


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    """A copy of the quickstart bundle."""
    return Path(shutil.copytree(BUNDLE, tmp_path / "bundle"))
