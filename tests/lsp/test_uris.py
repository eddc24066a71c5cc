"""Addresses of texts that are no files of the workspace: the server answers nothing about them, and goes on."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from pathlib import Path
from typing import Any

from edited_files import SIZE, VM
from running import PROGRAM, own_environment

ADDRESSES = (
    *(
        "file:///a%00b.yaml",
        "untitled:Untitled-1",
        "git:/a.yaml?ref=HEAD",
        "vscode-notebook-cell:/a.ipynb#x",
        "file:///a%0Ab.yaml",
    ),
    *(
        "file://host/share/a.yaml",
        "file:///" + "a" * 5000,
        "file:///%ff%fe.yaml",
        "file:///%ED%A0%80.yaml",
        "",
        "x",
        "file:",
        "%00",
    ),
)
ASKED = ("hover", "definition", "references", "completion", "documentSymbol", "inlayHint", "codeAction")

CONTEXTS = {"references": {"context": {"includeDeclaration": True}}, "codeAction": {"context": {"diagnostics": []}}}


def framed(message: dict[str, Any]) -> bytes:
    data = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n" % len(data) + data


def about(uri: str, text: str, number: int) -> bytes:
    """What an editor sends of a text: it opens, changes and saves it, asks all that it can, and closes it."""
    document, place = {"uri": uri}, {"line": 0, "character": 0}
    whole = {"start": place, "end": place}
    asked = {"textDocument": document, "position": place, "range": whole}
    parts = [
        {
            "method": "textDocument/didOpen",
            "params": {"textDocument": {**document, "languageId": "yaml", "version": 1, "text": text}},
        }
    ]
    parts += [
        {"id": number + n, "method": f"textDocument/{name}", "params": {**asked, **CONTEXTS.get(name, {})}}
        for n, name in enumerate(ASKED)
    ]
    parts += [{"method": f"textDocument/{name}", "params": {"textDocument": document}} for name in ("didSave", "didClose")]
    parts += [{"method": "workspace/didChangeWatchedFiles", "params": {"changes": [{"uri": uri, "type": 2}]}}]
    return b"".join(map(framed, parts))


def answered(sent: bytes, count: int) -> tuple[dict[int, Any], bytes]:
    """So many answers of a server by their numbers, or those that came before it ended, and its stderr.

    It is told to shut down and to end after that, as editors do: a shutdown cancels what it has not answered yet.
    """
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*PROGRAM, "lsp"], env=own_environment(), **pipes) as server:
        assert server.stdin
        assert server.stdout
        stuck = threading.Timer(120, server.kill)
        stuck.start()
        threading.Thread(target=server.stdin.write, args=(sent,)).start()
        out, found = b"", dict[int, Any]()
        while len(found) < count and (part := os.read(server.stdout.fileno(), 1 << 16)):
            out += part
            parts = [each.partition(b"\r\n\r\n") for each in out.split(b"Content-Length: ")[1:]]
            whole = (body for head, _, body in parts if len(body) >= int(head.split(b"\r\n")[0]))
            answers = [each for each in map(json.loads, whole) if "id" in each and "method" not in each]
            found = {each["id"]: each for each in answers}
        stuck.cancel()
        return found, server.communicate(framed({"id": 3, "method": "shutdown"}) + framed({"method": "exit"}))[1]


def test_an_address_that_is_no_file_of_the_workspace_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "size.yaml").write_text(SIZE)
    (tmp_path / "vm.yaml").write_text(VM)
    start = {"processId": None, "capabilities": {}, "rootUri": tmp_path.as_uri()}
    sent = framed({"id": 1, "method": "initialize", "params": start}) + framed({"method": "initialized", "params": {}})
    for number, uri in enumerate(ADDRESSES, 1):
        sent += about(uri, VM, 100 * number)
    asked = {"textDocument": {"uri": (tmp_path / "vm.yaml").as_uri()}}
    sent += framed({"id": 2, "method": "textDocument/documentSymbol", "params": asked})
    by_id, errors = answered(sent, 2 + len(ADDRESSES) * len(ASKED))
    assert b"Traceback" not in errors, errors.decode()
    assert [each for each in by_id.values() if "error" in each] == []
    assert len(by_id) == 2 + len(ADDRESSES) * len(ASKED)
    assert "VirtualMachine" in json.dumps(by_id[2]["result"])
