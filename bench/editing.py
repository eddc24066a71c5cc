"""Measures how long an editor waits for diagnostics after a keystroke: a file with many VMs, over the real protocol.

    python bench/editing.py --vms 300 --keys 30 [--input list] [--afresh]
    python bench/editing.py --vms 4 --targets 30 [--input base]

The server keeps what it has read and judged of documents and VMs that do not change. `--afresh` turns that off. Inputs:

    different  each VM has another form than all others, and few have findings
    broken     the same, and a key in two leaves a document that can't be read
    list       the same VMs in one document, `kind: List`: it has to be read again as a whole
    refused    the same VMs, each with a finding: what is not sound is judged again
    size       the keys are typed into an instancetype that all VMs use: all of them have to be judged again

With `--targets N`, N kustomizations use a base, and each has a file of its own. Base and own file have so many VMs each, whose
instancetypes are in another target. The keys are typed into the file of one of the N, or, with `--input base`, into the base,
so that all N are built again.

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


def text_of(count: int, sort: str = "different") -> str:
    """A file with so many VMs, no two of the same form."""
    found = yaml.load(bundle(count * 2, 1, "", count), Loader=yaml.CSafeLoader)["items"]
    machines = [item for item in found if item["kind"] == "VirtualMachine"][:count]
    items = [item for item in found if item["kind"] != "VirtualMachine"] + machines
    for machine in machines if sort == "refused" else ():
        machine["spec"].pop("running", None)
        machine["spec"]["runStrategy"] = "always"
    if sort == "size":
        for machine in machines:
            machine["spec"]["instancetype"] = {"kind": SIZE["kind"], "name": SIZE["metadata"]["name"]}
        items.insert(len(items) // 2, SIZE)
    if sort == "list":
        items = [{"apiVersion": "v1", "kind": "List", "items": items}]
    return "---\n".join(yaml.safe_dump(item, sort_keys=False) for item in items)


SIZE = {
    "apiVersion": "instancetype.kubevirt.io/v1beta1",
    "kind": "VirtualMachineClusterInstancetype",
    "metadata": {"name": "typed"},
    "spec": {"cpu": {"guest": 1}, "memory": {"guest": "2Gi"}},
}


def typed(sort: str, text: str) -> list[tuple[int, str]]:
    """Two lines that keys insert, in turn: their numbers and texts."""
    lines = text.split("\n")
    mark = lines.index("---", len(lines) // 2) if sort != "list" else len(lines) // 2
    if sort == "size":
        at = lines.index("  name: typed") + 2  # below `spec:`
        return [(at, f"  ioThreadsPolicy: {policy}\n") for policy in ("auto", "shared")]
    middle = next(at for at in range(mark + 1, len(lines)) if lines[at].startswith("metadata:" if sort != "list" else "- "))
    return [(0, "# typed\n"), (middle, 'typed: "\n' if sort == "broken" else "# typed\n")]


def written(folder: Path, text: str, targets: int, sort: str) -> Path:
    """Writes the files of a workspace; gives the one into which the keys are typed."""
    if not targets:
        return write(folder / FILE, text)
    items = text.split("---\n")
    machines = "---\n".join(item for item in items if "\nkind: VirtualMachine\n" in item)
    others = "---\n".join(item for item in items if "\nkind: VirtualMachine\n" not in item)
    files = [write(folder / name / FILE, found) for name, found in (("base", machines), ("sizes", others))]
    for file in files:
        write(file.parent / "kustomization.yaml", f"resources: [{FILE}]\n")
    for number in range(targets):
        target = folder / "targets" / str(number)
        write(target / "kustomization.yaml", f"resources: [../../base, {FILE}]\nnamePrefix: n{number}-\n")
        files.append(write(target / FILE, machines.replace("\n  name: ", "\n  name: own-")))
    return files[0 if sort == "base" else 2]


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


async def waits(folder: Path, file: Path, keys: int, sort: str, *options: str) -> list[float]:
    """The seconds from a change to its diagnostics. Every other key removes the line that the one before it has inserted."""
    client, uri, text = LanguageClient("bench", "1"), file.as_uri(), file.read_text()
    received: asyncio.Queue[int | None] = asyncio.Queue()

    @client.feature(lsp.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
    def receive(params: lsp.PublishDiagnosticsParams) -> None:
        if params.uri == uri:
            received.put_nowait(params.version)

    await client.start_io(sys.executable, "-m", "krm_fn", "lsp", *options)
    await client.initialize_async(lsp.InitializeParams(capabilities=lsp.ClientCapabilities(), root_uri=folder.as_uri()))
    client.initialized(lsp.InitializedParams())
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(lsp.TextDocumentItem(uri, "yaml", 0, text)))
    while await received.get() != 0:
        pass
    found, places = [], typed(sort, text)
    for version in range(1, keys + 1):
        inserts, (at, line) = version % 2, places[(version - 1) // 2 % 2]
        start, end = lsp.Position(at, 0), lsp.Position(at if inserts else at + 1, 0)
        change = lsp.TextDocumentContentChangePartial(lsp.Range(start, end), line if inserts else "")
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
    parser.add_argument("--keys", type=int, default=40)
    parser.add_argument("--input", default="different", choices=("different", "broken", "list", "refused", "size", "base"))
    parser.add_argument("--targets", type=int, default=0)
    parser.add_argument("--afresh", action="store_true")
    arguments = parser.parse_args()
    text, options = text_of(arguments.vms, arguments.input), ["--afresh"] * arguments.afresh
    with tempfile.TemporaryDirectory() as name:
        file = written(Path(name), text, arguments.targets, arguments.input)
        waited = asyncio.run(waits(Path(name), file, arguments.keys, arguments.input, *options))
        found = sorted(each * 1000 for each in waited[2:])
    started = time.perf_counter()
    subprocess.run([sys.executable, "-c", "pass"], check=True)
    start = (time.perf_counter() - started) * 1000
    machine = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
    print(f"{arguments.input}{' afresh' * arguments.afresh}: {arguments.vms} VMs, {len(text)} characters, {machine}")
    print(f"median {median(found):.0f} ms, from {found[0]:.0f} to {found[-1]:.0f} ms; python -c pass: {start:.0f} ms")


if __name__ == "__main__":
    main()
