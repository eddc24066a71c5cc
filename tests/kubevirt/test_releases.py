"""Releases, and what happens where a release is in the table of releases and in no other one."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from functions import instancetype, resource_list, vm
from running import ROOT, own_environment

from krm_fn.base.bundle import Bundle
from krm_fn.base.errors import ConfigError
from krm_fn.kubevirt import api_versions, catalogue, releases
from krm_fn.kubevirt.admission import gates
from krm_fn.kubevirt.configuration import release_of
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.schema import strange_names, table
from krm_fn.kubevirt.settings import Config

MADE = max({*releases.NEWEST_PATCH, *(version[:2] for version in releases.UNMEASURED)})
UNMADE = Release(version=(MADE[0], MADE[1] + 1, 0))
MINOR = f"{MADE[0]}.{MADE[1] + 1}"
FIX = "make it as CONTRIBUTING.md says under 'Adding a KubeVirt release', or choose another kubevirtVersion"
COMMANDS = {
    "render": ("render",),
    "check": ("check",),
    "capacity": ("capacity",),
    "explain": ("explain",),
    "migrate": ("migrate",),
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package with one release more, which has no tables, and an input."""
    home = tmp_path_factory.mktemp("home")
    shutil.copytree(ROOT / "krm_fn", home / "krm_fn", ignore=shutil.ignore_patterns("__pycache__"))
    file = home / "krm_fn" / "kubevirt" / "releases.py"
    text = file.read_text()
    table = "NEWEST_PATCH = {"
    assert table in text
    file.write_text(text.replace(table, f"{table}{UNMADE.version[:2]}: 0, "))
    objects = (vm(instancetype="small"), instancetype())
    (home / "all.yaml").write_text("\n---\n".join(json.dumps(each) for each in objects))
    live = vm("live", instancetype="small")
    (home / "live.yaml").write_text(json.dumps({**live, "metadata": {**live["metadata"], "uid": "u", "resourceVersion": "1"}}))
    return home


def ran(home: Path, *arguments: str, data: str = "") -> tuple[int, str, str]:
    command = [sys.executable, "-m", "krm_fn", *arguments]
    environment = own_environment(PYTHONPATH=str(home))
    done = subprocess.run(
        command, input=data, cwd=home, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_release_without_tables_is_a_wrong_config(home: Path, command: tuple[str, ...]) -> None:
    for named in (("--kubevirt-version", MINOR), ()):  # it is the newest, too
        code, out, err = ran(home, *command, *named, "all.yaml")
        said = f"kubevirt-render: error: the types of KubeVirt {UNMADE} are not known: its table has not been made; {FIX}\n"
        assert (code, out, err) == (2, "", said)


@pytest.mark.parametrize("copies", [1, 60], ids=["one VM", "many VMs"])
def test_the_function_says_so_in_its_result_and_changes_nothing(home: Path, copies: int) -> None:
    vms = [vm(f"web-{number}", instancetype="small") for number in range(copies)]
    given = resource_list(*vms, instancetype(), kubevirtVersion=MINOR)
    code, out, _ = ran(home, data=json.dumps(given))
    found = json.loads(out)
    assert (code, found["items"], len(found["results"])) == (2, given["items"], 1)
    assert FIX in found["results"][0]["message"]


TABLES: dict[str, Callable[[], object]] = {
    "types": lambda: table.of(UNMADE),
    "types, without loading them": lambda: strange_names(UNMADE),
    "instancetypes": lambda: catalogue.of(UNMADE),
    "feature gates": lambda: gates.state("Root", UNMADE),
    "API versions": lambda: api_versions.is_served(vm(), UNMADE),
}


@pytest.mark.parametrize("name", TABLES)
def test_each_table_that_lacks_a_release_says_that_it_does(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        TABLES[name]()
    what = name.partition(",")[0]
    assert str(caught.value) == f"the {what} of KubeVirt {UNMADE} are not known: its table has not been made; {FIX}"


# Releases that are not measured

PREVIEWS = [Release(version=version) for version in releases.UNMEASURED]
NOTE = (
    "kubevirt-render: note: KubeVirt {0} is a preview, made of commit {1}: it is not measured, and its answers may be wrong\n"
)


def note(release: Release) -> str:
    return NOTE.format(release, releases.UNMEASURED[release.version])


@pytest.mark.parametrize("release", PREVIEWS, ids=str)
@pytest.mark.parametrize(
    "command",
    [
        *COMMANDS.values(),
        ("check", "-o", "json"),
        ("diff", "all.yaml"),
        ("report", "-o", "page.html"),
        ("deliveries",),
        ("suggest",),
        ("convert", "--check"),
        ("drift", "live.yaml"),
        ("plan", "live.yaml"),
        ("adopt", "live.yaml", "--output-dir"),
        ("catalogue", "list"),
        ("schema", "--editor"),
        ("argocd", "generate"),
        ("argocd", "parameters"),
    ],
    ids=" ".join,
)
def test_each_command_says_once_that_a_release_is_not_measured(
    command: tuple[str, ...], release: Release, home: Path, tmp_path: Path
) -> None:
    files = {"adopt": (str(tmp_path / "adopted"),), "argocd": (), "catalogue": (), "schema": ()}.get(command[0], ("all.yaml",))
    code, _, err = ran(home, *command, *files, "--kubevirt-version", str(release))
    assert (code, err.count(note(release))) == (0, 1), err


@pytest.mark.parametrize("release", PREVIEWS, ids=str)
@pytest.mark.parametrize("copies", [1, 60], ids=["short list", "long list"])
def test_the_function_says_once_that_a_release_is_not_measured(copies: int, release: Release, home: Path) -> None:
    vms = [vm(f"web-{number}", instancetype="small") for number in range(copies)]
    given = resource_list(*vms, instancetype(), kubevirtVersion=str(release))
    assert ran(home, data=json.dumps(given))[::2] == (0, note(release))


def test_releases_that_are_not_measured_are_no_default_and_no_newest_patch() -> None:
    assert releases.NEWEST.is_measured
    for release in PREVIEWS:
        assert not releases.parse(str(release)).is_measured
        minor = release.version[:2]
        if minor in releases.NEWEST_PATCH:
            assert releases.parse(f"{minor[0]}.{minor[1]}").is_measured


@pytest.mark.parametrize("release", PREVIEWS, ids=str)
def test_an_object_that_names_a_release_does_not_choose_one_that_is_not_measured(release: Release) -> None:
    kubevirt = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "k"},
        "spec": {"imageTag": f"v{release}"},
    }
    assert release_of(Bundle([kubevirt]), Config()).is_measured


@pytest.mark.parametrize(
    ("version", "has"),
    [((1, 8, 4), False), ((1, 8, 5), True), ((1, 8, 6), True), ((1, 9, 0), True), ((1, 7, 9), False), ((2, 0, 0), True)],
)
def test_a_row_may_begin_in_several_series(version: tuple[int, int, int], has: bool) -> None:
    release, bound = Release(version=version), ((1, 8, 5), (1, 9))
    assert (release.within(since=bound), release.within(until=bound)) == (has, not has)
