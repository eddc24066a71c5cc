"""What a release is made of: locked packages, a bill of materials, the workflow that builds and signs."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version
from running import tool

from krm_fn import __version__, yamlio

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PINNED = re.compile(r"^([a-z0-9-]+)==(\S+)", re.MULTILINE)
LOCKS = {
    "requirements.txt": PROJECT["project"]["dependencies"],
    "build.txt": [*PROJECT["dependency-groups"]["build"], *PROJECT["build-system"]["requires"]],
}
WORKFLOWS = [*sorted((ROOT / ".github" / "workflows").glob("*.yml")), ROOT / "action.yml"]


@pytest.fixture(params=LOCKS)
def lock(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def text(lock: str) -> str:
    return (ROOT / "image" / lock).read_text()


def test_every_dependency_is_locked_to_a_version_it_allows(lock: str) -> None:
    pinned = {name: Version(version) for name, version in PINNED.findall(text(lock))}
    for wanted in map(Requirement, LOCKS[lock]):
        assert pinned[wanted.name.lower()] in wanted.specifier


def test_every_locked_package_has_hashes_and_is_there_for_another(lock: str) -> None:
    for block in re.split(r"\n(?=\S)", text(lock))[2:]:
        assert PINNED.match(block)
        assert "--hash=sha256:" in block
        wanted_by = re.findall(r"^    #(?: via)? +(?!via$)(\S+)", block, re.MULTILINE)
        assert wanted_by
        assert set(wanted_by) <= {"kubevirt-render", *(name for name, _ in PINNED.findall(text(lock)))}


def test_a_lock_names_no_host(lock: str) -> None:
    assert re.findall(r"https?:|file:|--(?:extra-)?index|--find-links", text(lock)) == []


def test_locking_again_gives_the_same(tmp_path: Path) -> None:
    environment = {**os.environ, "PATH": f"{Path(tool('uv')).parent}:{os.environ['PATH']}", "UV_SYSTEM_CERTS": "1"}
    for lock in LOCKS:
        (tmp_path / lock).write_text(text(lock))
    ran = subprocess.run([ROOT / "image" / "lock", tmp_path], env=environment, capture_output=True, text=True, check=False)
    if ran.returncode and re.search("error sending request|Failed to fetch|dns error", ran.stderr):
        pytest.skip("the package index can't be reached")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert {lock: (tmp_path / lock).read_text() for lock in LOCKS} == {lock: text(lock) for lock in LOCKS}


def test_the_dockerfiles_version_is_the_packages() -> None:
    assert f"\nARG VERSION={__version__}\n" in (ROOT / "Dockerfile").read_text()


def bill(folder: Path) -> dict[str, Any]:
    """The bill of materials, made by the very command of the release workflow."""
    steps = yamlio.read_value((ROOT / ".github/workflows/release.yml").read_text())["jobs"]["image"]["steps"]
    (command,) = [step["run"] for step in steps if "cyclonedx-py requirements" in step.get("run", "")]
    file = folder / "sbom.cdx.json"
    making = next(line for line in command.splitlines() if line.startswith("cyclonedx-py ")).replace("sbom.cdx.json", str(file))
    subprocess.run([tool("cyclonedx-py"), *making.split()[1:]], cwd=ROOT, check=True, capture_output=True)
    return dict(json.loads(file.read_text()))


def test_the_bill_of_materials_names_the_program_and_all_locked_packages(tmp_path: Path) -> None:
    found = bill(tmp_path)
    assert (found["bomFormat"], found["metadata"]["component"]["name"]) == ("CycloneDX", "kubevirt-render")
    assert found["metadata"]["component"]["version"] == __version__
    assert sorted((one["name"], one["version"]) for one in found["components"]) == sorted(
        PINNED.findall(text("requirements.txt"))
    )
    assert all(one["purl"].startswith("pkg:pypi/") for one in found["components"])


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_use_actions_pinned_to_a_commit(path: Path) -> None:
    used = re.findall(r"^\s*(?:- )?uses: (\S+)(.*)$", path.read_text(), re.MULTILINE)
    assert used
    for action, comment in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+(\.\d+)*", comment), action


def test_zizmor_finds_nothing_in_the_workflows_and_the_action() -> None:
    command = [tool("zizmor"), "--offline", "--no-progress", "--persona", "pedantic", *WORKFLOWS]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_and_the_action_are_of_githubs_form(path: Path) -> None:
    schema = "vendor.github-actions" if path.name == "action.yml" else "vendor.github-workflows"
    ran = subprocess.run(
        [tool("check-jsonschema"), "--builtin-schema", schema, path], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def release() -> dict[str, Any]:
    return dict(yamlio.read_value((ROOT / ".github/workflows/release.yml").read_text()))


def test_the_release_builds_for_both_architectures_with_provenance_and_bills() -> None:
    (build,) = [step["with"] for step in release()["jobs"]["image"]["steps"] if "build-push-action@" in step.get("uses", "")]
    assert build["platforms"] == "linux/amd64,linux/arm64"
    assert (build["provenance"], build["sbom"], build["push"]) == ("mode=max", True, True)


def test_the_release_signs_the_digest_it_pushed_and_no_tag() -> None:
    runs = "\n".join(step.get("run", "") for step in release()["jobs"]["image"]["steps"])
    assert 'cosign sign --yes "$IMAGE@$DIGEST"' in runs
    assert re.search(r'cosign attest --yes --type cyclonedx --predicate sbom\.cdx\.json "\$IMAGE@\$DIGEST"', runs)


def test_the_release_may_do_only_what_it_needs() -> None:
    found = release()
    assert found["permissions"] == {}
    assert found["jobs"]["image"]["permissions"] == {
        "contents": "read",
        "packages": "write",
        "id-token": "write",
    }


def test_the_release_starts_by_a_version_tag_alone() -> None:
    # YAML 1.1, and Go with it, reads the key `on` so
    assert release()["true"] == {"push": {"tags": ["v*"]}}
