"""Folders that several processes read and write come out as one process makes them: bytes, messages, files and exit codes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mangling import mangled

from krm_fn import __main__ as main
from krm_fn.base import workers
from krm_fn.cli import outputs, run
from krm_fn.sources import reading

# From Python 3.12 on, `fork` warns where pytest-xdist has threads; the program has none.
pytestmark = pytest.mark.filterwarnings("ignore:This process .*multi-threaded:DeprecationWarning")

ROOT = Path(__file__).resolve().parents[2]
SIZE = "apiVersion: instancetype.kubevirt.io/v1beta1\nkind: VirtualMachineClusterInstancetype\nmetadata: {name: small}\n"
SPEC = "spec: {cpu: {guest: 2}, memory: {guest: 4Gi}} # sized\n"
VM = """\
# %s
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: %s
  namespace: shop
spec:
  runStrategy: Always
  instancetype:
    name: small
  template:
    spec:
      domain:
        devices: {}
"""
FLOW = VM.replace("devices: {}", "devices: {autoattachPodInterface: false}")
TODAY = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: other}   # mine\n"
FLAVOR = SIZE.replace("instancetype.kubevirt.io/v1beta1", "flavor.kubevirt.io/v1alpha1").replace("Instancetype", "Flavor")


def vm(name: str, text: str = VM) -> str:
    return text % (f"the machine {name}", name)


FOLDER = {
    "a/size.yaml": SIZE + SPEC,
    "a/one.yaml": vm("one"),
    "a/two.yml": vm("two", FLOW) + "---\n" + vm("three") + "---\n# nothing\n",
    "anchors.yaml": "a: &x [1]\nb: *x\n---\n" + vm("anchored"),
    "bom.yaml": "\ufeff" + vm("bom"),
    "crlf.yaml": vm("crlf").replace("\n", "\r\n"),
    "empty.yaml": "",
    "flavor.yaml": FLAVOR + "spec: {cpu: {guest: 1}}\n",
    "list.yaml": "apiVersion: v1\nkind: List\nitems:\n- "
    + vm("listed").partition("\n")[2].replace("\n", "\n  ").rstrip()
    + "\n",
    "open.yaml": vm("open").rstrip("\n"),
    "other.json": '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "json"}}',
    "today.yaml": TODAY,
    "values.yaml": "replicas: 3\n",
    "z.yaml": vm("last", FLOW),
}
MISTAKES = {
    "b.yaml": vm("lost").replace("small", "smal"),
    "c.yaml": vm("clash").replace("devices: {}", "cpu: {cores: 3}"),
    "y.yaml": vm("again") + "---\n" + vm("again", FLOW),
}
BROKEN = "kind: [\n---\n" + vm("behind") + "---\na: 'b\n"
RESOURCE_LIST = "kind: ResourceList\nitems:\n- " + vm("inside").replace("\n", "\n  ").rstrip() + "\n"
FOLDERS = {
    "all is well": FOLDER,
    "one file": {"a.yaml": vm("one")},
    "no object": {"values.yaml": "a: 1\n", "more.yaml": "b: 1\n"},
    "findings": FOLDER | MISTAKES,
    "the first can't be read": FOLDER | {"a.yaml": BROKEN},
    "one in the middle can't be read": FOLDER | MISTAKES | {"bc.yaml": BROKEN},
    "the last can't be read": FOLDER | {"zz.yaml": BROKEN},
    "several can't be read": FOLDER | {f"{name}.yaml": BROKEN for name in ("0", "bd", "p", "zz")},
    "no UTF-8": FOLDER | {"q.yaml": "a: \udcff\n"},
    "a ResourceList": FOLDER | {"r.yaml": RESOURCE_LIST},
    "presets": FOLDER
    | {"p.yaml": "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstancePreset\nmetadata: {name: p}\nspec: {selector: {}}\n"},
}
CALLS = [
    ["render"],
    ["render", "-v", "--fail-on", "never"],
    *(["render", "-o", output, "--fail-on", "never"] for output in outputs.OUTPUTS),
    ["render", "-o", "resourcelist"],
    ["render", "--mode", "snapshot", "--fail-on", "never"],
    ["render", "--mode", "annotate", "--provenance"],
    ["render", "--in-place", "-v"],
    ["render", "--in-place", "--mode", "snapshot", "-v"],
    ["check", "-v"],
    ["check", "-o", "json", "--summary", "--fail-on", "never"],
    ["migrate", "-v"],
    ["migrate", "--in-place", "-v", "--fail-on", "never"],
]


def laid_out(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode(errors="surrogateescape"))


def tree(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in sorted(folder.rglob("*")) if file.is_file()}


@pytest.fixture
def outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Iterator[object]:
    """What a command led to in a folder of these files when so many processes shared the work."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reading, "LEAST_SHARED", 0)
    monkeypatch.setattr(outputs, "LEAST_SHARED", 0)

    def call(arguments: list[str], files: dict[str, str], count: int) -> tuple[int, bytes, bytes, dict[str, bytes]]:
        monkeypatch.setattr(workers, "processes", lambda: count)
        folder = tmp_path / "folder"
        shutil.rmtree(folder, ignore_errors=True)
        laid_out(folder, files)
        code = main.guarded(lambda: run([arguments[0], "folder", *arguments[1:]]))
        out, err = capfdbinary.readouterr()
        return code, out, err, tree(folder)

    return call


@pytest.mark.parametrize("files", FOLDERS.values(), ids=FOLDERS)
@pytest.mark.parametrize("arguments", CALLS, ids=" ".join)
def test_it_does_not_matter_how_many_processes_share_the_work(outcome, files, arguments):
    alone = outcome(arguments, files, 1)
    assert outcome(arguments, files, 3) == alone


def test_these_folders_show_what_they_are_for(outcome):
    assert outcome(["render"], FOLDERS["all is well"], 2)[0] == 0
    assert outcome(["render"], FOLDERS["findings"], 2)[2].count(b"kubevirt-render: error: ") > 2
    assert b"error: bc.yaml" not in outcome(["render"], FOLDERS["one in the middle can't be read"], 2)[2]
    assert b"kubevirt-render: error: folder/bc.yaml:2" in outcome(["render"], FOLDERS["one in the middle can't be read"], 2)[2]
    changed = outcome(["render", "--in-place"], FOLDERS["findings"], 2)[3]
    assert sum(changed[name] != text.encode() for name, text in FOLDERS["findings"].items()) > 5


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**32))
def test_random_folders_are_read_alike(outcome, seed):
    rng = Random(seed)
    texts = [text for files in (FOLDER, MISTAKES) for text in files.values() if text]
    files = {
        f"{number}.yaml": mangled(rng, text) if rng.random() < 0.3 else text
        for number, text in enumerate(rng.choices(texts, k=rng.randint(1, 8)))
    }
    arguments = rng.choice(CALLS)
    assert outcome(arguments, files, rng.randint(2, 4)) == outcome(arguments, files, 1)
