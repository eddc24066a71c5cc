"""Every command reads a repository alike: the same VMs and the same problems, whatever the layout."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from checking import run
from committing import commit, git
from layouts import SHAPES
from pages import machines_in
from trees import tree

from krm_fn.lsp.session import Session

pytestmark = pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)

VM = "VirtualMachine"
# What is not judged, or not as a whole. Each command says so.
PROBLEM = re.compile(
    r"\((kustomization-not-built|unreadable-document|unreadable-file|chart-not-built|unrendered-template)\)$", re.MULTILINE
)
# The VM in a template is judged; no sum has it, and nothing renders it.
IN_TEMPLATES = {name for name in SHAPES if "template" in name}
CHARTS = {name for name in SHAPES if "chart" in name}
UNREAD = {"unreadable-document", "unreadable-file"}
# A VM that no kustomization lists, and a part of one: `check` alone judges it, and nothing counts it.
UNLISTED = {"file beside a kustomization": Counter(["vms/db"]), "patch that nothing uses": Counter(["default/any"])}
# A kustomization lists a file that is not there. No migration may miss it, so `migrate` fails as for one that can't be read.
ABSENT = {"kustomization not built", "not built without VMs"}
# An object for tools only, which Argo CD would apply: `render` keeps it, and the plugin leaves it out.
FOR_TOOLS = {"local-config": Counter(["vms/db"])}
# Its own step gives no VM: `diff` compares what leaves for the cluster, the others say what is written.
REFUSED = "step refuses"


@pytest.fixture(params=SHAPES)
def shape(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def here(shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kustomize: str, environment: dict[str, str]) -> Path:
    monkeypatch.setenv("PATH", f"{Path(kustomize).parent}:{environment['PATH']}")
    (tmp_path / "none").mkdir()
    return tree(tmp_path / "repository", SHAPES[shape])


def answer(here: Path, *words: str) -> dict[str, Any]:
    out = run(*words, "-o", "json", cwd=here)[1]
    return json.loads(out) if out else {"vms": []}


def names(vms: list[dict[str, Any]]) -> Counter[str]:
    return Counter(f"{vm.get('namespace') or 'default'}/{vm['name']}" for vm in vms if vm["kind"] == VM)


def checked(here: Path) -> Counter[str]:
    """The VMs that `check` judges. It lists a file once, however many targets use it."""
    found = re.findall(rf'<testcase name="(?:[a-z-]+: )?{VM} ([^" :]+)', run("check", ".", "-o", "junit", cwd=here)[1])
    return Counter({name if "/" in name else f"default/{name}": 1 for name in found})


def rendered(here: Path) -> Counter[str] | None:
    """The VMs that `render` prints, None where it prints nothing because a part of the repository is wrong."""
    code, out, _ = run("render", ".", cwd=here)
    documents = [each for each in yaml.safe_load_all(out) if each]
    every = [item for each in documents for item in (each.get("items") or [each])]
    return None if code else names([{"kind": each["kind"], **each["metadata"]} for each in every])


def reported(here: Path) -> Counter[str]:
    out = run("report", ".", "-o", "-", cwd=here)[1]
    return names(machines_in(out)) if out else Counter()


def test_every_command_has_the_same_vms(here: Path, shape: str) -> None:
    explained = names(answer(here, "explain", ".")["vms"])
    assert checked(here) - UNLISTED.get(shape, Counter()) == Counter(dict.fromkeys(explained, 1))
    assert reported(here) == explained
    if shape in IN_TEMPLATES:
        return
    assert names(answer(here, "capacity", ".")["vms"]) == explained
    assert rendered(here) in (explained, None)
    compared, added = answer(here, "diff", ".", "."), answer(here, "diff", "../none", ".")
    if "uncompared" not in added:
        assert set(names(added["vms"])) == set(explained)
        figures = compared.get("summary", {"total": 0})
        assert figures["total"] - figures.get("others", 0) == names(added["vms"]).total()


def test_every_command_tells_the_same_problems(here: Path, shape: str) -> None:
    found = {each["tags"]["rule"] for each in answer(here, "check", ".").get("results", ())}
    expected = {rule for rule in found if PROBLEM.search(f"({rule})")}
    ran = [run(command, ".", cwd=here) for command in ("capacity", "explain")]
    assert [set(PROBLEM.findall(told)) for _, _, told in ran] == [expected] * 2
    if shape != REFUSED:
        assert run("diff", "../none", ".", "--fail-on", "never", cwd=here)[0] == ran[0][0]


def test_the_language_server_has_the_findings_of_check(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(here)
    found = {(file, each.rule) for file, told in Session().begin().items() for each in told}
    results = answer(here, "check", ".").get("results", ())
    told = {(each["file"]["path"], each["tags"]["rule"]) for each in results}
    assert found == {(file, rule) for file, rule in told if rule != "chart-not-built"}  # an editor's server reads no chart


def printed(out: str) -> Counter[str]:
    """The VMs in a stream of documents."""
    documents = [each for each in yaml.safe_load_all(out) if each]
    every = [item for each in documents for item in (each.get("items") or [each])]
    return names([{"kind": each["kind"], **each["metadata"]} for each in every if each.get("kind") == VM])


def rules(here: Path) -> set[str]:
    return {each["tags"]["rule"] for each in answer(here, "check", ".").get("results", ())}


def test_migrate_reads_the_files_that_have_these_vms(here: Path, shape: str) -> None:
    if shape in (*IN_TEMPLATES, *CHARTS):
        return
    code, out, err = run("migrate", ".", cwd=here)
    told = rules(here)
    nothing = run("check", ".", cwd=here)[0] == 1 and not told
    assert code == int(nothing or shape in ABSENT or bool(told & UNREAD))
    assert ("unrendered-template" in told) == (": this is a template" in err)
    files = {each["file"] for each in answer(here, "explain", ".")["vms"] if each["kind"] == VM}
    written = [printed((here / file).read_text()) for file in files] if not code else []
    assert not sum(written, Counter()) - printed(out)


def test_what_is_not_known_is_not_known_to_diff_and_capacity(here: Path, shape: str) -> None:
    sized, new = answer(here, "capacity", "."), answer(here, "diff", "../none", ".")
    if shape != REFUSED and "uncompared" not in new:
        unknown = [each for each in sized["vms"] if "unknown" in each]
        assert names(unknown) == names([each for each in new["vms"] if "unknown" in each])


def test_the_plugin_prints_the_vms_that_render_prints(here: Path, shape: str) -> None:
    below = [file for file in here.rglob("*") if file.name.lower().startswith("kustomization") or file.name == "Chart.yaml"]
    if any(file.parent != here for file in below) or not {*SHAPES[shape]}.isdisjoint((".kubevirt-render.yaml", "Kptfile")):
        return  # an application is one folder, with the settings of its sidecar
    # kustomize runs a step of its own only where the administrator lets it run programs
    has_step = any("config.kubernetes.io/function" in text for text in SHAPES[shape].values())
    flags = ["--build-option=--enable-alpha-plugins", "--build-option=--enable-exec"] if has_step else []
    code, out, err = run("argocd", "generate", "--allow-empty", *flags, cwd=here)
    if code:  # it prints all or nothing: Argo CD deletes what is missing
        assert (out, err.count("error: ")) == ("", err.count("error: ") or 1)
        unread = "bad.yaml" in err or rules(here) & {*UNREAD, "unrendered-template"}
        # an application is for one cluster, which has one object of a name; folders may be for several
        assert rendered(here) is None or unread or "(duplicate-object)" in err
    elif (expected := rendered(here)) is not None:
        assert printed(out) == expected - FOR_TOOLS.get(shape, Counter())


def test_a_commit_has_what_the_folder_has(here: Path, shape: str) -> None:
    git(here, "init", "-q", "-b", "main")
    commit(here, {})
    code, out, _ = run("diff", ".", ".", "-o", "json", cwd=here)
    of_commit, compared, err = run("diff", "--base", "HEAD", ".", "-o", "json", cwd=here)
    assert of_commit == code, err
    found, same = ({"vms": [], **json.loads(each or "{}")} for each in (compared, out))
    assert found["vms"] == same["vms"] == []
    assert ("uncompared" in found) == ("uncompared" in same)
    if shape != "link out of the repository":  # no copy of a commit has it
        assert answer(here, "check", "--base", "HEAD", ".").get("results", []) == []


def test_unsaved_texts_are_judged_as_saved_ones(here: Path, shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if shape == "link to a base":  # kustomize refuses the link, and gets a copy without it
        return
    monkeypatch.chdir(here)
    saved = {(file, each.rule) for file, told in Session().begin().items() for each in told}
    files = [file for file in here.rglob("*.y*ml") if file.is_file() and not file.is_symlink()]
    texts = {file: file.read_bytes().decode() for file in files if not file.name.startswith((".", "kustomization"))}
    for file in texts:
        file.write_text("")
    session = Session()
    session.take({str(file.relative_to(here)): text for file, text in texts.items()})
    assert {(file, each.rule) for file, told in session.begin().items() for each in told} == saved
