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
    "sbom.txt": PROJECT["dependency-groups"]["sbom"],
}
WORKFLOWS = [*sorted((ROOT / ".github" / "workflows").glob("*.yml")), ROOT / "action.yml", ROOT / "comment" / "action.yml"]
USING = WORKFLOWS[:-1]  # the last one uses no other action
OFFERED = sorted((ROOT / "kustomization-examples" / "ci").glob("*-workflow.yml"))
USED = re.compile(r"^\s*(?:- )?uses: (\S+)(.*)$", re.MULTILINE)


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
    (command,) = [step["run"] for step in steps("build") if "cyclonedx-py requirements" in step.get("run", "")]
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


@pytest.mark.parametrize("path", USING, ids=lambda path: path.name)
def test_workflows_use_actions_pinned_to_a_commit(path: Path) -> None:
    used = USED.findall(path.read_text())
    assert used
    for action, comment in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+(\.\d+)*", comment), action


def test_an_action_is_pinned_to_one_commit_everywhere() -> None:
    pins: dict[str, set[str]] = {}
    for path in (*WORKFLOWS, *OFFERED):
        for action, comment in USED.findall(path.read_text()):
            name, _, commit = action.partition("@")
            pins.setdefault(name, set()).add(commit + comment)
    assert {name: found for name, found in pins.items() if len(found) > 1} == {}


def test_zizmor_finds_nothing_in_the_workflows_and_the_action() -> None:
    actions = [ROOT / "action.yml", ROOT / "comment" / "action.yml"]
    command = [tool("zizmor"), "--offline", "--no-progress", "--persona", "pedantic", ROOT / ".github", *actions]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_and_the_action_are_of_githubs_form(path: Path) -> None:
    schema = "vendor.github-actions" if path.name == "action.yml" else "vendor.github-workflows"
    ran = subprocess.run(
        [tool("check-jsonschema"), "--builtin-schema", schema, path], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_what_keeps_the_actions_up_to_date_is_of_its_form() -> None:
    command = [tool("check-jsonschema"), "--builtin-schema", "vendor.dependabot", ROOT / ".github" / "dependabot.yml"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def release() -> dict[str, Any]:
    return dict(yamlio.read_value((ROOT / ".github/workflows/release.yml").read_text()))


def steps(job: str) -> list[dict[str, Any]]:
    return list(release()["jobs"][job]["steps"])


# What differs between the two images that are built.
IMAGES = dict.fromkeys(("platforms", "tags", "target"))


def using(job: str, action: str) -> dict[str, Any]:
    """What the first step of a job that uses an action gives it; further ones give it the same, but for what `IMAGES` says."""
    given, *others = [step.get("with", {}) for step in steps(job) if step.get("uses", "").startswith(f"{action}@")]
    assert all({**other, **IMAGES} == {**given, **IMAGES} for other in others)
    return dict(given)


def writers() -> list[str]:
    """The jobs that may write anything, or speak for the project."""
    return [name for name, job in release()["jobs"].items() if "write" in job["permissions"].values()]


def before(job: str) -> set[str]:
    """The jobs that must have passed before a job starts."""
    needed = release()["jobs"][job].get("needs", [])
    direct = {needed} if isinstance(needed, str) else set(needed)
    return direct.union(*map(before, direct))


def test_the_release_starts_by_a_version_tag_alone() -> None:
    # YAML 1.1, and Go with it, reads the key `on` so
    assert release()["true"] == {"push": {"tags": ["v*"]}}


def test_the_release_may_do_only_what_it_needs() -> None:
    found = release()
    assert found["permissions"] == {}
    assert {name: job["permissions"] for name, job in found["jobs"].items()} == {
        "tests": {"contents": "read"},
        "build": {"contents": "read"},
        "image": {"contents": "read", "packages": "write", "id-token": "write"},
        "index": {"id-token": "write"},
        "page": {"contents": "write", "id-token": "write", "attestations": "write"},
    }


def test_nothing_is_pushed_before_all_checks_have_passed() -> None:
    assert writers() == ["image", "index", "page"]
    assert [job for job in writers() if "tests" not in before(job)] == []
    assert [step["run"] for step in steps("tests") if "run" in step][-1] == ".ci/run"


# What brings foreign programs onto a runner.
INSTALLING = re.compile(r"\b(pip3?|pipx|uvx?|npm|npx|apt|apt-get|curl|wget|docker (?:run|pull)|go install)\b")


@pytest.mark.parametrize("job", ["image", "index", "page"])
def test_a_job_that_may_write_installs_nothing_by_command(job: str) -> None:
    assert [step["run"] for step in steps(job) if INSTALLING.search(step.get("run", ""))] == []


@pytest.mark.parametrize(
    ("action", "key"),
    [
        ("docker/setup-qemu-action", "image"),
        ("docker/setup-buildx-action", "driver-opts"),
        ("docker/build-push-action", "sbom"),
    ],
)
def test_the_programs_that_build_the_image_are_pinned_by_digest(action: str, key: str) -> None:
    assert re.search(r"[\w/-]+:[\w.-]+@sha256:[0-9a-f]{64}$", using("image", action)[key])


def commands(text: str) -> list[str]:
    """The commands in a text that install with pip, each on one line, with what a shell variable in them stands for."""
    text = re.sub(r"\\\n\s*", " ", text)
    for name, value in re.findall(r"^\s*(\w+)=\((.+)\)$", text, re.MULTILINE):
        text = text.replace(f'"${{{name}[@]}}"', value)
    found = [command for line in text.splitlines() for command in line.split(" && ")]
    return [command for command in found if re.search(r"\bpip\S* install\b", command) and "=(" not in command]


@pytest.mark.parametrize("name", ["Dockerfile", "action.yml", ".github/workflows/release.yml"])
def test_all_that_is_installed_is_locked_by_hash_or_here_already(name: str) -> None:
    found = commands((ROOT / name).read_text())
    assert found
    for command in found:
        locked = {"--require-hashes", "--only-binary"}
        here = {"--no-index", "--no-deps", "--no-build-isolation"}
        assert locked <= set(command.split()) or here <= set(command.split()), command


def test_the_release_builds_for_both_architectures_with_provenance_and_bills() -> None:
    build = using("image", "docker/build-push-action")
    assert build["platforms"] == "linux/amd64,linux/arm64"
    assert build["provenance"] == "mode=max"
    assert build["sbom"].startswith("generator=")
    (pipelines,) = [step["with"] for step in steps("image") if step.get("with", {}).get("target")]
    assert [pipelines[key] for key in IMAGES] == ["linux/amd64", "${{ env.IMAGE }}:${{ github.ref_name }}-ci", "ci"]


def test_the_release_dates_the_images_files_as_the_commit() -> None:
    assert using("image", "docker/build-push-action")["outputs"] == "type=registry,rewrite-timestamp=true"
    environments = [step["env"] for step in steps("image") if "build-push-action@" in step.get("uses", "")]
    assert environments == [{"SOURCE_DATE_EPOCH": "${{ steps.commit.outputs.date }}"}] * 2


def test_the_release_signs_the_digests_it_pushed_and_no_tag() -> None:
    (signing,) = [step for step in steps("image") if "cosign sign" in step.get("run", "")]
    built = [step["id"] for step in steps("image") if "build-push-action@" in step.get("uses", "")]
    assert signing["env"]["DIGESTS"] == " ".join(f"${{{{ steps.{name}.outputs.digest }}}}" for name in built)
    assert 'for digest in $DIGESTS; do\n  cosign sign --yes "$IMAGE@$digest"\n' in signing["run"]
    assert 'cosign attest --yes --type cyclonedx --predicate sbom.cdx.json "$IMAGE@$digest"' in signing["run"]


def test_the_release_publishes_without_a_password() -> None:
    assert using("index", "pypa/gh-action-pypi-publish") == {"packages-dir": "wheel"}
    assert release()["jobs"]["index"]["environment"]["name"] == "pypi"
    assert "secrets." not in str(steps("index"))


def test_the_release_makes_its_files_twice_and_compares_them(tmp_path: Path) -> None:
    (making,) = [step["run"] for step in steps("build") if "make_wheel.py" in step.get("run", "")]
    (tmp_path / "scripts").mkdir()
    for script in ("make_wheel.py", "make_zipapp.py"):  # in their place: what differs the second time, where it is asked for
        (tmp_path / "scripts" / script).write_text(
            "import os, pathlib, sys; path = pathlib.Path(sys.argv[1]); path = path if path.suffix else path / 'a.whl';"
            "path.parent.mkdir(exist_ok=True); path.write_text(os.environ.get('DIFFERS', '') and str(path))"
        )
    for differs, code in (("", 0), ("1", 1)):
        ran = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", making],
            cwd=tmp_path,
            env={**os.environ, "DIFFERS": differs},
            capture_output=True,
            check=False,
        )
        assert ran.returncode == code, ran.stderr
    assert (tmp_path / "dist" / "SHA256SUMS").exists()
