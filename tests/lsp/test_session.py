"""Random edits: the server never fails, and knows afterwards what a fresh one knows."""

from __future__ import annotations

import json
import os
import random
import shutil
from pathlib import Path

import pytest

from krm_fn.lsp.session import Session
from tests.growing import WAYS, files_of
from tests.measuring import calls
from tests.trees import tree

ROOT = Path(__file__).resolve().parents[2]
BUNDLE = ROOT / "kustomization-examples" / "quickstart" / "bundle"
PIECES = (
    "",
    " ",
    "\n",
    ": ",
    "- ",
    "  name: x\n",
    "{",
    "}",
    '"',
    "'",
    "#",
    "---\n",
    "kind: VirtualMachine\n",
    "|",
    "\t",
    "é😀",
    "&a",
    "*a",
)
EDITS = int(os.environ.get("LSP_EDITS", "300"))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(BUNDLE, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def edited(text: str, rng: random.Random) -> str:
    start = rng.randrange(len(text) + 1)
    end = min(len(text), start + rng.choice((0, 0, 1, 5, 40)))
    return text[:start] + rng.choice(PIECES) + text[end:]


def test_random_edits_leave_no_failure_and_no_stale_state(folder: Path) -> None:
    rng = random.Random(5)
    files = sorted(file.name for file in folder.glob("*.yaml"))
    first = {file: (folder / file).read_text() for file in files}
    session, texts = Session(), {}
    session.begin()
    for number in range(EDITS):
        file = rng.choice(files)
        texts[file] = edited(texts.get(file, first[file]), rng) if rng.random() < 0.97 else first[file]
        session.take(texts)
        found = session.change([file])
        at = file, rng.randrange(60), rng.randrange(40)
        session.hover(*at), session.completions(*at), session.definitions(*at)
        session.symbols(file), session.actions(file, 0, 99), session.hints(file, 0, 99)
        if number % 50 == 0:
            fresh = Session()
            fresh.take(texts)
            assert {name: each for name, each in fresh.begin().items() if each} == {
                name: each for name, each in found.items() if each
            }


def test_what_is_closed_counts_as_it_is_on_the_disk(folder: Path) -> None:
    session = Session()
    before = session.begin()
    session.take({"sizes.yaml": "a: 1\nkind: ["})
    found = session.change(["sizes.yaml"])
    assert [(each.rule, each.span.line) for each in found["sizes.yaml"]] == [("unreadable-document", 1)]
    assert [each.rule for each in found["kustomization.yaml"]] == ["kustomization-not-built"]
    session.take({})
    found = session.change(["sizes.yaml"])
    assert [found.get(file, []) for file in ("sizes.yaml", "kustomization.yaml")] == [[], []]
    assert before == {}


def test_a_config_that_is_wrong_stops_nothing(folder: Path) -> None:
    (folder / ".kubevirt-render.yaml").write_text("kind: Wrong\n")
    session = Session()
    assert session.begin() == {}
    assert session.workspace.error is not None
    (folder / ".kubevirt-render.yaml").unlink()
    session.change([".kubevirt-render.yaml"])
    assert session.workspace.error is None


def answer(session: Session, text: str) -> None:
    """Take a text that is being edited, and answer what an editor asks about it."""
    session.take({"sizes.yaml": text})
    session.change(["sizes.yaml"])
    session.hover("sizes.yaml", 0, 1)
    session.completions("sizes.yaml", 0, 3)


def deep(depth: int) -> str:
    return "\n".join(" " * number + "a:" for number in range(depth))


@pytest.mark.parametrize(
    ("small", "large"),
    [
        ("a: " + "[" * 25_000, "a: " + "[" * 100_000),
        ("a" * 250_000, "a" * 1_000_000),
        (deep(750), deep(3_000)),
        ("{" * 1_250, "{" * 5_000),
    ],
    ids=["brackets", "a long line", "deep", "braces"],
)
def test_four_times_as_much_of_long_lines_and_deep_text_is_at_most_five_times_the_work(
    folder: Path, small: str, large: str
) -> None:
    session = Session()
    session.begin()
    answer(session, "a: 1")
    assert calls(lambda: answer(session, large)) <= 5 * calls(lambda: answer(session, small))


def on_one_line(count: int) -> str:
    """VMs with two findings each."""
    vm = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "spec": {"runStrategi": "Always", "template": {"spec": {}}}}
    items = [{**vm, "metadata": {"name": f"vm-{number}"}} for number in range(count)]
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": items})


def test_four_times_as_many_findings_on_one_line_are_at_most_five_times_the_work(folder: Path) -> None:
    session = Session(afresh=True)
    session.begin()
    answer(session, on_one_line(1))  # loads what it needs
    small, large = (calls(lambda text=text: answer(session, text)) for text in map(on_one_line, (25, 100)))
    assert large <= 5 * small


def test_a_file_that_becomes_a_link_out_of_the_folder_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outside.yaml").write_text("kind: ConfigMap\napiVersion: v1\nmetadata: {name: hidden}\n")
    tree = tmp_path / "tree"
    shutil.copytree(BUNDLE, tree)
    (tree / ".git").mkdir()
    file = "sizes.yaml"
    monkeypatch.chdir(tree)
    session = Session()
    session.begin()
    (tree / file).unlink()
    (tree / file).symlink_to("../outside.yaml")
    session.change([file])
    assert file not in session.workspace.files()


def test_the_quick_fixes_of_a_whole_file_take_work_that_grows_with_the_file(folder: Path) -> None:
    def work(size: int) -> int:
        (text,) = files_of("missing-claims-of-one", WAYS["check"], size).values()
        (folder / "bundle.yaml").write_text(text)
        session = Session()
        session.begin()
        session.actions("bundle.yaml", 0, 0)  # finds what can be fixed
        return calls(lambda: session.actions("bundle.yaml", 0, text.count("\n")))

    assert work(80_000) <= 5 * work(20_000)


APPLICATION = """\
apiVersion: argoproj.io/v1alpha1
kind: Application
metadata: {name: vms, namespace: argocd}
spec:
  source: {repoURL: "https://git.example.com/fleet.git", path: vms}
  destination: {server: "https://kubernetes.default.svc", namespace: shop}
"""
IGNORED = "  ignoreDifferences: [{group: kubevirt.io, kind: VirtualMachine, jsonPointers: [/spec]}]\n"
SPELT = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web}
spec:
  runStrategy: Always
  template: {spec: {domain: {memory: {guest: 2048Mi}, devices: {}}}}
"""
KUSTOMIZATION = """\
apiVersion: kustomize.toolkit.fluxcd.io/v1
kind: Kustomization
metadata: {name: vms, namespace: flux-system}
spec:
  path: ./vms
  prune: true
  sourceRef: {kind: GitRepository, name: flux-system}
  postBuild: {substituteFrom: [{kind: ConfigMap, name: sizes}]}
"""
SIZES = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: sizes, namespace: flux-system}\ndata: {TYPE: none}\n"
STATED = "apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nmetadata: {name: a}\nspec: {mode: validate}\n"
PACKAGE = """\
apiVersion: kpt.dev/v1
kind: Kptfile
metadata: {name: a}
pipeline:
  mutators: [{image: kubevirt-render, configPath: a.yaml}]
"""
TYPED = SPELT.replace("spec:\n", "spec:\n  instancetype: {name: '${TYPE}'}\n", 1).replace("memory: {guest: 2048Mi}, ", "")
# The files of a workspace, and the one that changes: what an editor shows afterwards is what it shows of the whole anew.
DECIDING = {
    "an Application": ({"vms/vm.yaml": SPELT, "apps.yaml": APPLICATION}, "apps.yaml", APPLICATION + IGNORED),
    "what was no Application": ({"vms/vm.yaml": SPELT, "apps.yaml": "a: b\n"}, "apps.yaml", APPLICATION),
    "values of Flux": (
        {"vms/vm.yaml": TYPED, "flux.yaml": KUSTOMIZATION, "sizes.yaml": SIZES},
        "sizes.yaml",
        SIZES.replace("none", "u1.small"),
    ),
    "the config of a step": (
        {"vms/vm.yaml": SPELT, "vms/Kptfile": PACKAGE, "vms/a.yaml": STATED},
        "vms/a.yaml",
        STATED.replace("mode: validate", "patches: [{patch: [{op: add, path: /spec/runStrategy, value: Never}]}]"),
    ),
}


@pytest.mark.parametrize(("files", "file", "text"), DECIDING.values(), ids=[*DECIDING])
@pytest.mark.parametrize("is_saved", [True, False])
def test_what_decides_how_vms_are_applied_counts_at_once(
    *, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, files: dict[str, str], file: str, text: str, is_saved: bool
) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tree(tmp_path, files))
    session = Session()
    before = session.begin()
    if is_saved:
        (tmp_path / file).write_text(text)
    else:
        session.take({file: text})
    after = {name: found for name, found in session.change([file]).items() if found}
    (tmp_path / file).write_text(text)
    assert after == Session().begin()
    assert after != before


def test_a_folder_without_a_kustomization_is_built_as_flux_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tree(tmp_path, {"vms/vm.yaml": SPELT, "flux.yaml": KUSTOMIZATION}))
    session = Session()
    session.change(["."])
    builds = [build for file in session.workspace.files() for build in session.workspace.builds_for(file)]
    assert builds
    for build in builds:
        build()
