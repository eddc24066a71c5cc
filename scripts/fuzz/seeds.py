"""The lists that mutants are made of: parity bundles as kustomize writes them, files of the project as kpt hands them over."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[2]
sys.path += [str(ROOT / "tests"), str(ROOT / "bench")]

from generate import bundle  # noqa: E402
from go_writer import entries  # noqa: E402
from hands import written  # noqa: E402
from measured import cases, documents, files  # noqa: E402

FOLDERS = ("kustomization-examples", "fixtures/rules", "fixtures/migrate", "fixtures/hosts", "fixtures/planted")
KINDS = ("admission", "fuzz", "inference", "matrix", "objects", "revisions")  # of measured cases
CASES = 40  # of each file
HANDS = 300  # lists in the manner of public manifests
LONGEST = 3_000  # characters of an item: mutants have to be many
DOCUMENTS = [document["yaml"] for document in documents()]
MODES = ("expand",) * 10 + ("annotate",) * 4 + ("snapshot", "validate")
CHOICES: dict[str, tuple[Any, ...]] = {
    "mode": MODES,
    "defaults": ("cluster", "cluster", "none", "pinned"),
    "provenance": (True, False),
    "podSize": (True, False),
    "instances": ("ignore", "ignore", "include"),
    "presets": ("instance", "fold", "ignore"),
    "catalogue": ("builtin", "none"),
    "failOn": ("error", "warning", "never"),
}
VM = "\n  kind: VirtualMachine\n"
HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"
WIRE = """\
    annotations:
      config.kubernetes.io/index: '{number}'
      config.kubernetes.io/path: vm.yaml
      internal.config.kubernetes.io/index: '{number}'
      internal.config.kubernetes.io/path: vm.yaml
"""


class Bundle(NamedTuple):
    """The items of a bundle, each a text from its dash on, and what the function config says of its cluster."""

    items: tuple[str, ...]
    spec: dict[str, Any]


class Seeds(NamedTuple):
    """Bundles to take items from, and lists that are mutated as they are."""

    bundles: list[Bundle]
    lists: list[str]

    def text(self, rng: Random) -> str:
        """A small list: in most cases a few items of one bundle, some of them several times under other names."""
        if rng.random() < 0.1:
            return rng.choice(self.lists)
        of = rng.choice(self.bundles)
        items = list(of.items) if len(of.items) < 3 or rng.random() < 0.1 else rng.sample(of.items, rng.randint(1, 3))
        if rng.random() < 0.3:
            items += _fleet(rng, next((item for item in items if VM in item), items[0]), of)
        if rng.random() < 0.1:
            items.append(rng.choice(rng.choice(self.bundles).items))
        if rng.random() < 0.3:
            rng.shuffle(items)
        parts = ["items:\n" + "".join(items[:6]), _config(rng, of.spec)]
        return HEAD + "".join(reversed(parts) if rng.random() < 0.1 else parts)


def load() -> Seeds:
    """All seeds, in an order that only the project's files decide."""
    bundles = [*_of_parity(), *_of_files(), _of_bench(bundle(20)), *(_of_bench(written(60, seed)) for seed in range(HANDS))]
    lists = [path.read_bytes().decode() for path in sorted(ROOT.glob("fixtures/yaml/splice/*/input"))]
    lists += [HEAD + "items:\n" + _entry(text) for text in DOCUMENTS]
    return Seeds([known for known in bundles if known.items], lists)


def _fleet(rng: Random, item: str, of: Bundle) -> list[str]:
    """More objects like one, as the VMs of a fleet are: they differ in their names, and some in a few values."""
    name = next((line.split(":", 1)[1].strip() for line in item.split("\n") if line.startswith("    name: ")), "")
    varied = [_varied(rng, item, of) for _ in range(rng.randint(1, 4))]
    return [each.replace(f"name: {name}\n", f"name: {name}-{rng.randint(0, 99)}\n") if name else each for each in varied]


def _varied(rng: Random, item: str, of: Bundle) -> str:
    """The object with values in place of a few that the same keys have elsewhere in the bundle."""
    lines = item.split("\n")
    for _ in range(rng.choice((0, 1, 1, 2))):
        at = rng.randrange(len(lines))
        head, colon, _ = lines[at].partition(": ")
        key = head.strip(" -")
        others = [
            line.partition(": ")[2] for text in of.items for line in text.split("\n") if line.strip(" -").startswith(f"{key}: ")
        ]
        if colon and others:
            lines[at] = f"{head}: {rng.choice([*others, 'x', '2'])}"
    return "\n".join(lines)


def _config(rng: Random, spec: dict[str, Any]) -> str:
    chosen = {key: rng.choice(values) for key, values in CHOICES.items() if rng.random() < 0.08}
    config = {
        "apiVersion": "kubevirt-render.dev/v1alpha1",
        "kind": "RenderVirtualMachines",
        "metadata": {"name": "render"},
        "spec": {"mode": rng.choice(MODES), **spec, **chosen},
    }
    return "".join(f"{line}\n" for line in entries({"functionConfig": config}, ""))


def _of_parity() -> Iterator[Bundle]:
    for name in files(*KINDS):
        for case in islice(cases(name), CASES):
            texts = ["".join(f"{line}\n" for line in entries([item], "")) for item in case["items"]]
            spec = {"kubevirtVersion": case["kubevirt"].removeprefix("v"), "configuration": case.get("config", {})}
            yield Bundle(tuple(text for text in texts if len(text) < LONGEST), spec)


def _of_files() -> Iterator[Bundle]:
    """A bundle of each folder: its documents with their comments, as kpt hands them over."""
    for folder in sorted({path.parent for name in FOLDERS for path in (ROOT / name).rglob("*.yaml")}):
        texts = [text for path in sorted(folder.glob("*.yaml")) for text in path.read_text().split("\n---\n")]
        items = [_entry(text) for text in texts if "\nkind:" in "\n" + text and len(text) < LONGEST]
        yield Bundle(tuple(_wired(number, item) for number, item in enumerate(items)), {})


def _entry(document: str) -> str:
    """A document as the entry of a list."""
    lines = [line for line in document.strip("\n").split("\n") if not line.startswith("---")] or ["{}"]
    return "\n  ".join(["- " + lines[0], *lines[1:]]).replace("\n  \n", "\n\n") + "\n"


def _wired(number: int, item: str) -> str:
    """The item with the annotations by which kpt finds its file again, in every second one that has no others."""
    if number % 2 or "annotations:" in item or "\n  metadata:\n" not in item:
        return item
    return item.replace("\n  metadata:\n", "\n  metadata:\n" + WIRE.format(number=number), 1)


def _of_bench(data: bytes) -> Bundle:
    text = data.decode().partition("\nitems:\n")[2].partition("\nfunctionConfig:")[0]
    return Bundle(tuple("- " + item.rstrip("\n") + "\n" for item in ("\n" + text).split("\n- ")[1:]), {})
