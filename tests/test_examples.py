"""The bundles in kustomization-examples render to what stands beside them.

A README's fence below `<!-- run: FILE -->` is run in its folder and prints that file; `<!-- run: FILE, exit 1 -->` if it fails.
`UPDATE_EXAMPLES=1` writes the files instead of comparing them.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from running import NEWEST_KUSTOMIZE, ROOT, on_path, run

EXAMPLES = ROOT / "kustomization-examples"
QUICKSTART = EXAMPLES / "quickstart"
FENCE = re.compile(r"^<!-- run: (\S+?)(?:, exit (\d))? -->\n```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUNS = [
    pytest.param(readme.parent, *match, id=f"{readme.parent.name}: {match[0]}, {match[2].split()[0]}")
    for readme in sorted(EXAMPLES.glob("*/README.md"))
    for match in FENCE.findall(readme.read_text())
]
START = "import sys; from krm_fn.__main__ import main; sys.argv[0] = 'kubevirt-render'; sys.exit(main())"


def kubevirt_render(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", START, *arguments], cwd=ROOT, input=stdin, capture_output=True, text=True, check=False
    )


BUNDLE = "kustomization-examples/quickstart/bundle"


def test_the_quickstart_renders_to_what_stands_beside_it() -> None:
    ran = kubevirt_render("render", f"{BUNDLE}/lab/", f"{BUNDLE}/shop/", f"{BUNDLE}/sizes.yaml")
    assert (ran.stdout, ran.stderr, ran.returncode) == ((QUICKSTART / "expected.yaml").read_text(), "", 0)


def test_what_is_rendered_renders_to_itself() -> None:
    text = (QUICKSTART / "expected.yaml").read_text()
    assert kubevirt_render("render", "-", stdin=text).stdout == text


def test_nothing_is_wrong_with_what_is_rendered() -> None:
    ran = kubevirt_render("check", "kustomization-examples/quickstart/expected.yaml", "kustomization-examples/one-vm")
    assert (ran.stdout, ran.stderr, ran.returncode) == ("", "", 0)


def test_only_the_comment_on_a_reference_goes_with_it() -> None:
    rendered = (QUICKSTART / "expected.yaml").read_text()
    sources = (QUICKSTART / "bundle" / name for name in ("shop/web.yaml", "shop/db.yaml", "lab/builder.yaml"))
    comments = [line.partition("# ")[2] for source in sources for line in source.read_text().splitlines() if "# " in line]
    assert len(comments) == 7
    assert [comment for comment in comments if f"# {comment}" not in rendered] == ["the team's own, shop/sizes.yaml"]


def test_the_mistake_is_named_with_what_was_meant() -> None:
    ran = kubevirt_render("check", "kustomization-examples/quickstart/mistake")
    assert (ran.stdout, ran.returncode) == ((QUICKSTART / "mistake" / "expected.txt").read_text(), 1)


def test_the_mistaken_vm_is_not_printed_half_done() -> None:
    ran = kubevirt_render("render", "kustomization-examples/quickstart/mistake")
    assert (ran.stdout, ran.returncode) == ("", 1)


CHANGES = sorted(path.parent for path in (EXAMPLES / "change").glob("*/edit.diff"))


def sides(folder: Path) -> list[dict[str, str]]:
    """The files of both sides of a change, by their names as the edit has them."""
    found = [sorted([*folder.glob(f"{side}.yaml"), *folder.glob(f"{side}/*.yaml")]) for side in ("before", "after")]
    return [{str(path.relative_to(folder)): path.read_text() for path in paths} for paths in found]


@pytest.mark.parametrize("folder", CHANGES, ids=lambda path: path.name)
def test_the_edit_of_a_change_is_the_difference_of_its_files(folder: Path) -> None:
    before, after = sides(folder)
    pairs = zip(before.items(), after.items(), strict=True)
    edits = (
        difflib.unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), was, now, n=1)
        for (was, old), (now, new) in pairs
    )
    assert "".join(line for edit in edits for line in edit) == (folder / "edit.diff").read_text()


@pytest.mark.parametrize(
    ("name", "effect"),
    [("live", "live"), ("migration", "migration:nobody"), ("restart", "restartRequired"), ("pinned", "nothing")],
)
def test_each_change_is_of_the_case_that_it_is_named_for(name: str, effect: str) -> None:
    files = [f"kustomization-examples/change/{name}/{side}.yaml" for side in ("before", "after")]
    (record,) = json.loads(kubevirt_render("diff", "-o", "json", *files).stdout)["vms"]
    assert effect in record["effect"]


@pytest.fixture
def hosts(request: pytest.FixtureRequest, environment: dict[str, str]) -> dict[str, str]:
    """The environment with the newest kustomize, and with podman where the example runs the image."""
    folder, _, _, script = (request.node.callspec.params[name] for name in ("folder", "file", "code", "script"))
    found = environment
    if folder.name == "container":
        request.getfixturevalue("image")
        found = request.getfixturevalue("podman")
    path = f"{NEWEST_KUSTOMIZE}:{found['PATH']}"
    scripts = " ".join([script, *(file.read_text() for file in folder.glob("*.sh") if file.name in script)])
    for program in ("kustomize", "kubectl"):
        if program in scripts:
            on_path(program, path)
    return {**found, "PATH": path}


@pytest.mark.parametrize(("folder", "file", "code", "script"), RUNS)
def test_what_a_readme_runs_prints_what_stands_beside_it(
    *, folder: Path, file: str, code: str, script: str, tmp_path: Path, hosts: dict[str, str]
) -> None:
    copied = Path(shutil.copytree(EXAMPLES, tmp_path / "examples")) / folder.name
    ran = run("bash", "-euo", "pipefail", "-c", script, cwd=copied, environment=hosts)
    assert ran.returncode == int(code or 0), ran.stderr + ran.stdout
    if os.environ.get("UPDATE_EXAMPLES"):
        (folder / file).write_text(ran.stdout)
    assert ran.stdout == (folder / file).read_text()


def test_every_example_says_what_it_shows_and_is_run() -> None:
    # tests/hosts: test_argocd.py plays a sidecar, test_checklist.py runs kpt, test_health_checks.py runs Lua
    elsewhere = {"argocd", "health-checks", "kpt"}
    folders = {path.name for path in EXAMPLES.iterdir() if path.is_dir()} - {"quickstart", "one-vm"}
    assert {param.values[0].name for param in RUNS} == folders - elsewhere
    for name in sorted(folders):
        lines = (EXAMPLES / name / "README.md").read_text().splitlines()
        assert (lines[0].startswith("# "), len(lines) < 40) == (True, True)


def test_the_two_clusters_get_different_vms() -> None:
    folder = EXAMPLES / "multi-cluster"
    assert (folder / "expected-north.yaml").read_text() != (folder / "expected-south.yaml").read_text()
