"""Measures how long an editor waits for diagnostics after a keystroke: a file with many VMs, over the real protocol.

    python bench/editing.py --vms 300 --keys 30

Prints the median, the shortest and the longest wait in milliseconds, and the time that `python -c pass` takes beside it: the
figures mean nothing without a machine.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import yaml
from generate import bundle
from lsprotocol import types as lsp
from pygls.lsp.client import LanguageClient

FILE = "vms.yaml"


def text_of(count: int) -> str:
    """A file with so many VMs, no two of the same form."""
    found = yaml.load(bundle(count * 2, 1, "", count), Loader=yaml.CSafeLoader)["items"]
    machines = [item for item in found if item["kind"] == "VirtualMachine"]
    items = [item for item in found if item not in machines[count:]]
    return "---\n".join(yaml.safe_dump(item, sort_keys=False) for item in items)


async def waits(folder: Path, text: str, keys: int) -> list[float]:
    """The seconds from a change to its diagnostics."""
    client, uri = LanguageClient("bench", "1"), (folder / FILE).as_uri()
    received: asyncio.Queue[int | None] = asyncio.Queue()

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def receive(params: lsp.PublishDiagnosticsParams) -> None:
        if params.uri == uri:
            received.put_nowait(params.version)

    await client.start_io(sys.executable, "-m", "krm_fn", "lsp")
    await client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities(), root_uri=folder.as_uri()))
    client.initialized(lsp.InitializedParams())
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "yaml", 0, text)))
    while await received.get() != 0:
        pass
    found = []
    for version in range(1, keys + 1):
        change = lsp.TextDocumentContentChangePartial(lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0)), "# typed\n")
        started = time.perf_counter()
        client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(lsp.VersionedTextDocumentIdentifier(uri=uri, version=version), [change])
        )
        while await received.get() != version:
            pass
        found.append(time.perf_counter() - started)
    await client.shutdown_async(None)
    client.exit(None)
    await client.stop()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vms", type=int, default=300)
    parser.add_argument("--keys", type=int, default=30)
    arguments = parser.parse_args()
    text = text_of(arguments.vms)
    with tempfile.TemporaryDirectory() as name:
        (Path(name) / FILE).write_text(text)
        found = sorted(each * 1000 for each in asyncio.run(waits(Path(name), text, arguments.keys))[2:])
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    start = (time.perf_counter() - started) * 1000
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    print(f"{arguments.vms} VMs, {len(text)} characters, {machine}")
    print(f"median {median(found):.0f} ms, from {found[0]:.0f} to {found[-1]:.0f} ms; python -c pass: {start:.0f} ms")


if __name__ == "__main__":
    main()
