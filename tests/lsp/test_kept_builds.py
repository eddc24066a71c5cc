"""Targets are built when a file of theirs has another text, each once, and no answer waits for that."""

from __future__ import annotations

import asyncio
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from edited_files import SIZE, VM
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

from krm_fn.lsp.session import Session
from krm_fn.repositories import building

LARGE = VM.replace("kind: VirtualMachineInstancetype\n    name: small", "name: large")
FILES = {
    "sizes/kustomization.yaml": "resources: [size.yaml]\n",
    "sizes/size.yaml": SIZE.replace("VirtualMachineInstancetype", "VirtualMachineClusterInstancetype").replace(
        "small", "large"
    ),
    "base/kustomization.yaml": "resources: [vm.yaml]\n",
    "base/vm.yaml": LARGE,
    "one/kustomization.yaml": "resources: [../base]\nnamespace: one\n",
    "two/kustomization.yaml": "resources: [../base, own.yaml]\nnamespace: two\n",
    "two/own.yaml": LARGE.replace("name: web", "name: own"),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    if building.builder() is None:
        pytest.skip("neither kustomize nor kubectl is on the PATH")
    for file, text in FILES.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the targets that were built so far."""
    names: list[str] = []
    build = building.build

    def noted(target: Any, *given: Any, **named: Any) -> Any:
        names.append(target.name)
        return build(target, *given, **named)

    monkeypatch.setattr(building, "build", noted)
    return names


def taken(names: list[str]) -> list[str]:
    found = sorted(names)
    names.clear()
    return found


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("two/own.yaml", ["two"]),
        ("base/vm.yaml", ["one", "two"]),
        ("two/kustomization.yaml", ["two"]),
        ("sizes/size.yaml", ["sizes"]),  # the VMs of the others are judged with it
        ("loose.yaml", []),
    ],
)
def test_only_targets_of_a_changed_file_are_built_again(folder: Path, built: list[str], file: str, expected: list[str]) -> None:
    session = Session()
    assert not any(session.begin().values())
    assert taken(built) == ["one", "sizes", "two"]
    (folder / "loose.yaml").write_text("a: b\n")
    text = (folder / file).read_text()
    for now, builds in ((text, []), (f"# typed\n{text}", expected), (f"# typed\n{text}", [])):
        session.take({file: now})
        assert not any(session.change([file]).values())
        session.hints(file, 0, 99), session.hover(file, 12, 12)
        assert taken(built) == builds


def test_a_size_that_goes_is_missed_at_once_and_found_again(folder: Path) -> None:
    session = Session()
    session.begin()
    for _ in range(2):
        session.take({"sizes/size.yaml": FILES["sizes/size.yaml"].replace("name: large", "name: larger")})
        found = session.change(["sizes/size.yaml"])
        assert [each.rule for each in found["base/vm.yaml"]] == ["unresolved-instancetype"]
        session.take({})
        assert not any(session.change(["sizes/size.yaml"]).values())


def test_a_failed_build_is_tried_again(folder: Path, built: list[str]) -> None:
    session = Session()
    session.begin()
    taken(built)
    (folder / "two/own.yaml").unlink()
    assert [each.rule for each in session.change(["two/own.yaml"])["two/kustomization.yaml"]] == ["kustomization-not-built"]
    session.hints("two/own.yaml", 0, 99), session.hover("two/own.yaml", 3, 12)
    assert taken(built) == ["two"]
    session.change(["two/own.yaml"])
    assert taken(built) == ["two"]
    (folder / "two/own.yaml").write_text(FILES["two/own.yaml"])
    assert not any(session.change(["two/own.yaml"]).values())


def test_a_new_file_is_found_beside_one_that_is_known(folder: Path) -> None:
    session = Session()
    session.begin()
    (folder / "new.yaml").write_text(VM.replace("runStrategy: Always", "runStrategy: always"))
    found = session.change(["new.yaml", "two/own.yaml"])
    assert "refused-run-strategy" in [each.rule for each in found["new.yaml"]]
    (folder / "new.yaml").unlink()
    assert session.change(["new.yaml", "two/own.yaml"])["new.yaml"] == []


def test_what_is_kept_of_builds_gives_the_findings_of_a_fresh_start(folder: Path) -> None:
    rng, session, texts = random.Random(7), Session(), dict[str, str]()
    changes = (("large", "larger"), ("Always", "always"), ("namespace: two", "namespace: three"), (", own.yaml", ""))
    session.begin()
    for _ in range(8):
        file = rng.choice(list(FILES))
        text = FILES[file]
        for old, new in changes:
            text = text.replace(old, new) if rng.random() < 0.5 else text
        if rng.random() < 0.3:
            (folder / file).write_text(text)
            texts.pop(file, None)
        else:
            texts[file] = text
        session.take(texts)
        found, fresh = session.change([file]), Session(afresh=True)
        fresh.take(texts)
        assert {name: each for name, each in found.items() if each} == {
            name: each for name, each in fresh.begin().items() if each
        }


TYPED = f"# typed\n{LARGE}"
SLOW = """\
#!/bin/sh
if [ "$1" = build ]; then while [ -e "{gate}" ]; do sleep 0.05; done; fi
exec {program} "$@"
"""


def position(word: str) -> lsp.Position:
    """Where a word begins in the text that was typed."""
    before = TYPED[: TYPED.index(word)]
    return lsp.Position(before.count("\n"), len(before) - before.rfind("\n") - 1)


@pytest.mark.asyncio
async def test_answers_come_while_targets_are_built(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    using = building.builder()
    assert using
    bin_, gate = tmp_path_factory.mktemp("bin"), tmp_path_factory.mktemp("gate") / "closed"
    program = using.program if using.words == ("build",) else f'{using.program} kustomize "$2"; exit; :'
    (bin_ / "kustomize").write_text(SLOW.format(gate=gate, program=program))
    (bin_ / "kustomize").chmod(0o755)
    client, received = LanguageClient("test", "1"), asyncio.Queue[lsp.PublishDiagnosticsParams]()

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def receive(params: lsp.PublishDiagnosticsParams) -> None:
        received.put_nowait(params)

    path = f"{bin_}:{Path(sys.executable).parent}:/usr/bin:/bin"
    await client.start_io(sys.executable, "-m", "krm_fn", "lsp", env={"PATH": path})
    await client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities(), root_uri=folder.as_uri()))
    client.initialized(lsp.InitializedParams())
    uri = (folder / "base/vm.yaml").as_uri()
    document = lsp.TextDocumentIdentifier(uri)

    async def published(version: int) -> list[str]:
        while (found := await asyncio.wait_for(received.get(), 60)).uri != uri or found.version != version:
            pass
        return [str(each.code) for each in found.diagnostics]

    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "yaml", 1, LARGE)))
    assert await published(1) == []
    gate.touch()
    changes = [lsp.TextDocumentContentChangeWholeDocument(TYPED)]
    client.text_document_did_change(lsp.DidChangeTextDocumentParams(lsp.VersionedTextDocumentIdentifier(2, uri), changes))
    hovered = asyncio.ensure_future(client.text_document_hover_async(lsp.HoverParams(document, position("bus"))))
    words = await client.text_document_completion_async(lsp.CompletionParams(document, position("Always")))
    assert "Always" in [each.label for each in words or ()]  # type: ignore[union-attr]
    assert (hovered.done(), received.empty()) == (False, True)  # these are about what is built
    gate.unlink()
    assert await published(2) == []
    assert await hovered
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
