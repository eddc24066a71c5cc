"""The language server as a client sees it: each feature once, over the real protocol."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import pytest_lsp
from edited_files import LARGER, OTHERS, SIZE, VM, WRONG
from lsprotocol import types as lsp
from pygls.protocol import default_converter
from pytest_lsp import ClientServerConfig, LanguageClient

from krm_fn.kubevirt.releases import UNMEASURED


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "size.yaml").write_text(SIZE)
    (tmp_path / "vm.yaml").write_text(VM)
    (tmp_path / "others.yaml").write_text(OTHERS)
    return tmp_path


class Client(LanguageClient):
    """A client that keeps all diagnostics and messages that it was sent."""

    def __init__(self) -> None:
        super().__init__(converter_factory=default_converter)
        self.received: list[lsp.PublishDiagnosticsParams] = []
        self.said: list[str] = []


def make_client() -> Client:
    made = Client()

    @made.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def receive(params: lsp.PublishDiagnosticsParams) -> None:
        made.received.append(params)

    @made.feature(lsp.WINDOW_SHOW_MESSAGE)
    def say(params: lsp.ShowMessageParams) -> None:
        made.said.append(params.message)

    return made


@pytest_lsp.fixture(
    config=ClientServerConfig(client_factory=make_client, server_command=[sys.executable, "-m", "krm_fn", "lsp"])
)
async def client(lsp_client: LanguageClient, folder: Path) -> Any:
    await lsp_client.initialize_session(
        lsp.InitializeParams(
            capabilities=lsp.ClientCapabilities(
                text_document=lsp.TextDocumentClientCapabilities(publish_diagnostics=lsp.PublishDiagnosticsClientCapabilities())
            ),
            workspace_folders=[lsp.WorkspaceFolder(uri=folder.as_uri(), name="repository")],
            root_uri=folder.as_uri(),
        )
    )
    yield lsp_client
    await lsp_client.shutdown_session()


def document(folder: Path) -> lsp.TextDocumentIdentifier:
    return lsp.TextDocumentIdentifier(uri=(folder / "vm.yaml").as_uri())


def position(text: str, word: str, offset: int = 0) -> lsp.Position:
    """The position of a word in a text."""
    before = text[: text.index(word) + offset]
    return lsp.Position(before.count("\n"), len(before) - before.rfind("\n") - 1)


async def opened(client: LanguageClient, folder: Path, text: str = VM) -> list[lsp.Diagnostic]:
    """Open the VM with this text, and wait for its diagnostics."""
    uri = document(folder).uri
    client.text_document_did_open(
        lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri=uri, language_id="yaml", version=1, text=text))
    )
    return await published(client, uri, 1)


async def changed(client: LanguageClient, folder: Path, text: str, version: int = 2) -> list[lsp.Diagnostic]:
    """Replace the text, and wait for its diagnostics."""
    uri = document(folder).uri
    client.text_document_did_change(
        lsp.DidChangeTextDocumentParams(
            lsp.VersionedTextDocumentIdentifier(uri=uri, version=version),
            [lsp.TextDocumentContentChangeWholeDocument(text=text)],
        )
    )
    return await published(client, uri, version)


async def published(client: LanguageClient, uri: str, version: int) -> list[lsp.Diagnostic]:
    """The diagnostics of a version of a text."""
    assert isinstance(client, Client)
    for _ in range(1500):
        if found := next((each for each in client.received if (each.uri, each.version) == (uri, version)), None):
            return list(found.diagnostics)
        await asyncio.sleep(0.02)
    raise AssertionError(f"no diagnostics of version {version}")


@pytest.mark.asyncio
async def test_diagnostics_come_while_the_user_types(client: LanguageClient, folder: Path) -> None:
    assert await opened(client, folder) == []
    (found,) = await changed(client, folder, WRONG)
    assert (found.code, found.severity) == ("refused-run-strategy", lsp.DiagnosticSeverity.Error)
    assert found.range == lsp.Range(position(WRONG, "always"), position(WRONG, "always", 6))
    assert await changed(client, folder, VM, 3) == []


@pytest.mark.asyncio
async def test_a_quick_fix_writes_the_proposed_value(client: LanguageClient, folder: Path) -> None:
    found = await opened(client, folder, WRONG)
    asked = lsp.CodeActionParams(document(folder), found[0].range, lsp.CodeActionContext(diagnostics=found))
    (action,) = await client.text_document_code_action_async(asked) or ()
    assert isinstance(action, lsp.CodeAction)
    assert list(action.diagnostics or ()) == found
    ((edit,),) = action.edit.changes.values()
    lines = WRONG.splitlines(keepends=True)
    lines[edit.range.start.line : edit.range.end.line] = [edit.new_text]
    assert "".join(lines) == VM


async def hover(client: LanguageClient, folder: Path, at: lsp.Position) -> str:
    found = await client.text_document_hover_async(lsp.HoverParams(document(folder), at))
    return found.contents.value if found else ""


@pytest.mark.asyncio
async def test_hovers_tell_sizes_names_and_types(client: LanguageClient, folder: Path) -> None:
    await opened(client, folder)
    of_machine = await hover(client, folder, position(VM, "web"))
    assert "2 vCPUs, 4 GiB" in of_machine
    assert "Live migration: yes" in of_machine
    assert "in `size.yaml`" in await hover(client, folder, position(VM, "small"))
    assert "of the catalogue of KubeVirt" in await hover(client, folder, position(VM, "fedora"))
    assert "a string" in await hover(client, folder, position(VM, "runStrategy"))
    assert await hover(client, folder, lsp.Position(500, 3)) == ""


@pytest.mark.asyncio
async def test_a_hover_tells_what_a_field_means_and_who_gives_its_value(client: LanguageClient, folder: Path) -> None:
    text = VM.replace("        devices:\n", "        memory: {}\n        devices:\n").replace("{bus: virtio}", "{}")
    await opened(client, folder, text.replace("              disk: {}", "              disk:\n                bus: scsi"))
    text = text.replace("              disk: {}", "              disk:\n                bus: scsi")
    found = await hover(client, folder, position(text, "bus"))
    assert "How the disk is attached" in found
    assert "Value: `'scsi'`, from the VM itself" in found
    assert "- no say: the preference `fedora` `spec.devices.preferredDiskBus` of the catalogue of KubeVirt 1.9" in found
    assert "wants `'virtio'`" in found
    assert "Always restarts it" in await hover(client, folder, position(text, "runStrategy"))


@pytest.mark.asyncio
async def test_a_hover_tells_which_release_removes_a_name(client: LanguageClient, folder: Path) -> None:
    old = VM.replace("name: fedora", "name: centos.7")
    config = folder / ".kubevirt-render.yaml"
    config.write_text("kind: RenderVirtualMachines\nspec: {kubevirtVersion: '1.2'}\n")
    client.workspace_did_change_watched_files(
        lsp.DidChangeWatchedFilesParams([lsp.FileEvent(config.as_uri(), lsp.FileChangeType.Created)])
    )
    await opened(client, folder, old)
    found = await hover(client, folder, position(old, "centos.7"))
    assert "VirtualMachineClusterPreference of the catalogue of KubeVirt 1.2" in found
    assert "Gone since KubeVirt 1." in found


@pytest.mark.asyncio
async def test_a_vm_that_is_refused_shows_why_and_what_its_instancetype_gives(client: LanguageClient, folder: Path) -> None:
    await opened(client, folder, WRONG)
    found = await hover(client, folder, position(WRONG, "web"))
    assert found.startswith("**web** — refused: runStrategy 'always' is not supported")
    assert "The instancetype `small` gives 2 vCPUs, 4 GiB" in found
    asked = lsp.InlayHintParams(document(folder), lsp.Range(lsp.Position(0, 0), lsp.Position(99, 0)))
    assert [each.label for each in await client.text_document_inlay_hint_async(asked) or ()] == ["2 vCPUs, 4 GiB"]


# By name: what is replaced, by what, with `|` where the cursor is, and some of the words that fit there.
COMPLETED = {
    "instancetype": ("name: small", "name: |", {"small"}),
    "preference": ("name: fedora", "name: rhel|", {"rhel.9", "windows.11"}),
    "own preference": ("name: fedora", "name: fa|", {"fast"}),
    "revision": ("    name: small", "    name: small\n    revisionName: |", {"small-1"}),
    "claim": ("containerDisk: {image: example.com/fedora}", "persistentVolumeClaim:\n            claimName: |", {"data"}),
    "definition of a network": ("pod: {}", "multus:\n            networkName: |", {"lan"}),
    "kind of a matcher": ("kind: VirtualMachineInstancetype", "kind: |", {"VirtualMachineClusterInstancetype"}),
    "value": ("runStrategy: Always", "runStrategy: |", {"Always", "Halted", "RerunOnFailure"}),
    "bus": ("{bus: virtio}", "\n                bus: |", {"scsi", "sata", "usb", "virtio"}),
    "volume": ("- name: root\n          containerDisk", "- name: |\n          containerDisk", {"root"}),
    "network": ("- name: default\n              masq", "- name: |\n              masq", {"default"}),
    "field": ("runStrategy: Always", "runStrategy: Always\n  dat|", {"dataVolumeTemplates"}),
    "nested field": ("disk: {bus: virtio}", "disk: {bus: virtio}\n              boot|", {"bootOrder"}),
}


@pytest.mark.parametrize("name", COMPLETED)
@pytest.mark.asyncio
async def test_words_are_completed(client: LanguageClient, folder: Path, name: str) -> None:
    before, typed, wanted = COMPLETED[name]
    assert VM.count(before) == 1
    marked = VM.replace(before, typed)
    text, at = marked.replace("|", ""), position(marked, "|")
    await opened(client, folder)
    await changed(client, folder, text)
    found = await client.text_document_completion_async(lsp.CompletionParams(document(folder), at))
    assert isinstance(found, Sequence)
    assert wanted <= {each.label for each in found}


@pytest.mark.asyncio
async def test_definitions_and_references_lead_from_file_to_file(client: LanguageClient, folder: Path) -> None:
    await opened(client, folder)
    size = (folder / "size.yaml").as_uri()
    (found,) = await client.text_document_definition_async(lsp.DefinitionParams(document(folder), position(VM, "small"))) or ()
    assert (found.uri, found.range.start.line) == (size, 2)
    context = lsp.ReferenceContext(include_declaration=False)
    asked = lsp.ReferenceParams(context, lsp.TextDocumentIdentifier(uri=size), position(SIZE, "small"))
    (used,) = await client.text_document_references_async(asked) or ()
    assert (used.uri, used.range.start) == (document(folder).uri, position(VM, "small"))


# The word in the VM, and the file and line (from 0) of its definition.
DEFINED = {
    "instancetype": ("name: small\n", "size.yaml", 2),
    "preference": ("name: fast", "others.yaml", 2),
    "revision": ("revisionName: small-1", "others.yaml", 7),
    "claim": ("claimName: data", "others.yaml", 12),
    "DataSource": ("DataSource, name: images", "others.yaml", 17),
    "network": ("networkName: lan", "others.yaml", 22),
}


@pytest.mark.parametrize("sort", DEFINED)
@pytest.mark.asyncio
async def test_each_sort_of_name_leads_to_its_definition_and_back(client: LanguageClient, folder: Path, sort: str) -> None:
    word, file, line = DEFINED[sort]
    (folder / "vm.yaml").write_text(LARGER)
    await opened(client, folder, LARGER)
    at = position(LARGER, word, len(word.rstrip()) - 2)
    (found,) = await client.text_document_definition_async(lsp.DefinitionParams(document(folder), at)) or ()
    assert (Path(found.uri).name, found.range.start.line) == (file, line)
    context = lsp.ReferenceContext(include_declaration=False)
    asked = lsp.ReferenceParams(context, lsp.TextDocumentIdentifier(uri=found.uri), found.range.start)
    used = await client.text_document_references_async(asked) or ()
    assert (document(folder).uri, at.line) in [(each.uri, each.range.start.line) for each in used]


@pytest.mark.asyncio
async def test_symbols_are_the_objects_with_their_parts(client: LanguageClient, folder: Path) -> None:
    await opened(client, folder)
    (vm,) = await client.text_document_document_symbol_async(lsp.DocumentSymbolParams(document(folder))) or ()
    assert isinstance(vm, lsp.DocumentSymbol)
    assert (vm.name, vm.detail) == ("web", "VirtualMachine")
    parts = [(each.name, each.detail) for each in vm.children or ()]
    assert parts == [("root", "disk"), ("default", "interface"), ("root", "volume"), ("default", "network")]


@pytest.mark.asyncio
async def test_hints_show_effective_sizes_unless_they_are_turned_off(client: LanguageClient, folder: Path) -> None:
    await opened(client, folder)
    asked = lsp.InlayHintParams(document(folder), lsp.Range(lsp.Position(0, 0), lsp.Position(99, 0)))
    found = await client.text_document_inlay_hint_async(asked) or ()
    assert [(each.position.line, each.label) for each in found] == [(9, "2 vCPUs, 4 GiB"), (11, "2 sockets, 1 core, 1 thread")]
    client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams({"kubevirtRender": {"inlayHints": False}}))
    assert not await client.text_document_inlay_hint_async(asked)


@pytest.mark.asyncio
async def test_broken_text_gives_what_can_be_given(client: LanguageClient, folder: Path) -> None:
    broken = VM.replace("runStrategy: Always", 'runStrategy: "Alw')
    (found,) = await opened(client, folder, broken)
    assert found.code == "unreadable-document"
    assert "2 vCPUs, 4 GiB" in await hover(client, folder, position(broken, "small"))


@pytest.mark.asyncio
async def test_a_base_is_judged_as_its_overlays_make_it(client: LanguageClient, folder: Path) -> None:
    (folder / "kustomization.yaml").write_text("resources: [size.yaml, vm.yaml]\nnamespace: other\n")
    client.workspace_did_change_watched_files(
        lsp.DidChangeWatchedFilesParams([lsp.FileEvent((folder / "kustomization.yaml").as_uri(), lsp.FileChangeType.Created)])
    )
    (found,) = await opened(client, folder, WRONG)
    assert found.range.start == position(WRONG, "always")
    assert await changed(client, folder, VM) == []
    assert "Value: `'virtio'`, from the VM itself (`vm.yaml:19`)" in await hover(client, folder, position(VM, "bus"))


@pytest.mark.asyncio
async def test_a_name_shows_what_changed_since_the_last_commit(client: LanguageClient, folder: Path) -> None:
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com", "-C", str(folder)]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run([*git, *words], check=True)
    larger = VM.replace("kind: VirtualMachineInstancetype\n    name: small", "name: u1.large")
    await opened(client, folder, larger)
    assert "Against the last commit: **" in await hover(client, folder, position(larger, "web"))


@pytest.mark.asyncio
async def test_characters_count_as_the_client_counts(client: LanguageClient, folder: Path) -> None:
    wide = WRONG.replace("runStrategy: always", "runStrategy: 'a😀lways'")
    (found,) = await opened(client, folder, wide)
    line = found.range.start.line
    assert (found.range.start, found.range.end) == (lsp.Position(line, 15), lsp.Position(line, 25))


@pytest.mark.asyncio
async def test_a_release_that_is_not_measured_is_said_once(client: LanguageClient, folder: Path) -> None:
    release = max(UNMEASURED)
    config = 'apiVersion: kubevirt-render.dev/v1alpha1\nkind: RenderVirtualMachines\nspec:\n  kubevirtVersion: "{}"\n'
    (folder / ".kubevirt-render.yaml").write_text(config.format(".".join(map(str, release))))
    client.workspace_did_change_watched_files(
        lsp.DidChangeWatchedFilesParams(
            [lsp.FileEvent((folder / ".kubevirt-render.yaml").as_uri(), lsp.FileChangeType.Created)]
        )
    )
    await opened(client, folder)
    await changed(client, folder, WRONG)
    await changed(client, folder, VM, 3)
    assert isinstance(client, Client)
    assert [message.partition(":")[0] for message in client.said] == [
        f"KubeVirt {'.'.join(map(str, release))} is a preview, made of commit {UNMEASURED[release]}"
    ]
