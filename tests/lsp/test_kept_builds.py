"""Targets are built when a file of theirs has another text, each once, and no answer waits for that."""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from edited_files import OTHERS, POLICY, SIZE, VM, workspace_of
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
    return workspace_of(tmp_path, FILES, monkeypatch)


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


@pytest.mark.parametrize("named", ["rules", "rules/policy.yaml"])
def test_a_policy_that_the_config_names_counts_for_all_targets_at_once(folder: Path, named: str) -> None:
    (folder / "rules").mkdir()
    (folder / "rules/policy.yaml").write_text(POLICY)
    (folder / ".kubevirt-render.yaml").write_text(f"kind: RenderVirtualMachines\nspec: {{policies: [{named}]}}\n")
    session = Session()
    assert not any(session.begin().values())
    for text, expected in ((POLICY.replace("Always", "Halted"), ["policy/running"]), ("a: b\n", []), (POLICY, [])) * 2:
        session.take({"rules/policy.yaml": text})
        found = session.change(["rules/policy.yaml"])
        assert [each.rule for each in found.get("two/own.yaml", ())] == expected


def test_a_vm_shows_what_it_has_of_another_target(folder: Path) -> None:
    session = Session()
    session.begin()
    at = next(number for number, line in enumerate(LARGE.splitlines()) if "name: large" in line)
    assert [(each.line, each.text) for each in session.hints("two/own.yaml", 0, at)] == [(at, "2 vCPUs, 4 GiB")]
    name, size = session.hover("two/own.yaml", 3, 10), session.hover("two/own.yaml", at, 12)
    assert name
    assert name.text.startswith("**own** — 2 vCPUs, 4 GiB")  # kustomize gives it another namespace
    assert size
    assert size.text.endswith("2 vCPUs, 4 GiB")


def test_a_value_of_another_target_shows_its_file(folder: Path) -> None:
    (folder / "sizes/size.yaml").write_text(f"{FILES['sizes/size.yaml']}---\n{OTHERS}")
    (folder / "two/own.yaml").write_text(FILES["two/own.yaml"].replace("name: fedora", "name: fast"))
    session = Session()
    session.begin()
    at = next(number for number, line in enumerate(LARGE.splitlines()) if "bus" in line)
    found = session.hover("two/own.yaml", at, 22)
    assert found
    assert "- no say: the preference `fast` `spec.devices.preferredDiskBus` (`sizes/size.yaml`) wants `'sata'`" in found.text


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


class Client(LanguageClient):
    """A client of a server whose kustomize waits while the file `gate` is there."""

    def __init__(self, gate: Path) -> None:
        super().__init__("test", "1")
        self.gate, self.received = gate, asyncio.Queue[lsp.PublishDiagnosticsParams]()

        @self.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
        def receive(params: lsp.PublishDiagnosticsParams) -> None:
            self.received.put_nowait(params)

    async def published(self, uri: str, version: int) -> list[str]:
        while (found := await asyncio.wait_for(self.received.get(), 60)).uri != uri or found.version != version:
            pass
        return [str(each.code) for each in found.diagnostics]


@pytest_asyncio.fixture
async def client(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Client]:
    using = building.builder()
    assert using
    bin_, gate = tmp_path_factory.mktemp("bin"), tmp_path_factory.mktemp("gate") / "closed"
    program = using.program if using.words == ("build",) else f'{using.program} kustomize "$2"; exit; :'
    (bin_ / "kustomize").write_text(SLOW.format(gate=gate, program=program))
    (bin_ / "kustomize").chmod(0o755)
    client = Client(gate)
    path = f"{bin_}:{Path(sys.executable).parent}:/usr/bin:/bin"
    await client.start_io(sys.executable, "-m", "krm_fn", "lsp", env={"PATH": path})
    try:
        await client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities(), root_uri=folder.as_uri()))
        client.initialized(lsp.InitializedParams())
        yield client
    finally:
        gate.unlink(missing_ok=True)
        client.exit(None)
        await client.stop()


async def opened(client: Client, folder: Path) -> lsp.TextDocumentIdentifier:
    """The VM of the base, which is open and judged."""
    uri = (folder / "base/vm.yaml").as_uri()
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "yaml", 1, LARGE)))
    assert await client.published(uri, 1) == []
    return lsp.TextDocumentIdentifier(uri)


def changed(client: Client, uri: str) -> None:
    changes = [lsp.TextDocumentContentChangeWholeDocument(TYPED)]
    client.text_document_did_change(lsp.DidChangeTextDocumentParams(lsp.VersionedTextDocumentIdentifier(2, uri), changes))


async def completed(client: Client, document: lsp.TextDocumentIdentifier) -> list[str]:
    words = await client.text_document_completion_async(lsp.CompletionParams(document, position("Always")))
    return [each.label for each in words or ()]  # type: ignore[union-attr]


@pytest.mark.asyncio
async def test_answers_come_while_targets_are_built(folder: Path, client: Client) -> None:
    document = await opened(client, folder)
    client.gate.touch()
    changed(client, document.uri)
    hovered = asyncio.ensure_future(client.text_document_hover_async(lsp.HoverParams(document, position("bus"))))
    assert "Always" in await completed(client, document)
    assert (hovered.done(), client.received.empty()) == (False, True)  # these are about what is built
    client.gate.unlink()
    assert await client.published(document.uri, 2) == []
    assert await hovered


@pytest.mark.asyncio
async def test_answers_come_while_the_last_commit_is_built(folder: Path, client: Client) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(folder)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True)
    document = await opened(client, folder)
    changed(client, document.uri)
    assert await client.published(document.uri, 2) == []
    client.gate.touch()
    hovered = asyncio.ensure_future(client.text_document_hover_async(lsp.HoverParams(document, position("web"))))
    assert "Always" in await completed(client, document)
    await asyncio.sleep(1)
    assert "Always" in await completed(client, document)
    assert not hovered.done()
    client.gate.unlink()
    assert await hovered
