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

from krm_fn.base.errors import ConfigError
from krm_fn.kubevirt import api_versions, catalogue
from krm_fn.kubevirt.admission import gates
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.schema import strange_names, table

UNMADE = Release(version=(1, 10, 0))
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
    assert "(1, 9): 0}" in text
    file.write_text(text.replace("(1, 9): 0}", "(1, 9): 0, (1, 10): 0}"))
    objects = (vm(instancetype="small"), instancetype())
    (home / "all.yaml").write_text("\n---\n".join(json.dumps(each) for each in objects))
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
    for named in (("--kubevirt-version", "1.10"), ()):  # it is the newest, too
        code, out, err = ran(home, *command, *named, "all.yaml")
        said = f"kubevirt-render: error: the types of KubeVirt 1.10.0 are not known: its table has not been made; {FIX}\n"
        assert (code, out, err) == (2, "", said)


@pytest.mark.parametrize("copies", [1, 60], ids=["one VM", "many VMs"])
def test_the_function_says_so_in_its_result_and_changes_nothing(home: Path, copies: int) -> None:
    vms = [vm(f"web-{number}", instancetype="small") for number in range(copies)]
    given = resource_list(*vms, instancetype(), kubevirtVersion="1.10")
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
    assert str(caught.value) == f"the {what} of KubeVirt 1.10.0 are not known: its table has not been made; {FIX}"
