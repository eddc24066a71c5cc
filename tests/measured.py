"""What KubeVirt and Go themselves answered, and what the releases hold: the files of fixtures/ that were measured, not written.

The folders' READMEs say what a case holds and how it was measured.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import yaml

Cases = Callable[..., Iterator[dict[str, Any]]]  # the fixture `cases`
FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
PARITY = FIXTURES / "parity"
CASES = ".jsonl.gz"
SAMPLE = 40  # of so many cases a sample has one


def files(*kinds: str) -> tuple[str, ...]:
    """The names of all files of these kinds, one a release: `fuzz-v1.9.0` is of the kind `fuzz`."""
    names = sorted(path.name.removesuffix(CASES) for path in PARITY.glob(f"*{CASES}"))
    return tuple(name for name in names if name.rpartition("-v")[0] in kinds)


def cases(name: str, *, every: int = 1) -> Iterator[dict[str, Any]]:
    """The cases of a file; with `every=40` the first, the 41st, and so on."""
    with gzip.open(PARITY / f"{name}{CASES}", "rt", encoding="utf-8") as lines:
        yield from map(json.loads, islice(lines, 0, None, every))


def preset_cases() -> list[dict[str, Any]]:
    """The cases about presets, which have a form of their own."""
    read: list[dict[str, Any]] = yaml.safe_load((PARITY / "presets.yaml").read_text(encoding="utf-8"))
    return read


def documents() -> list[dict[str, str]]:
    """YAML documents, each with its name and what Go's two readers make of it."""
    return _read(PARITY / "yaml.json")["documents"]


def fields() -> dict[str, Any]:
    """The types and fields of the API, by release."""
    return _read(FIXTURES / "api" / "fields.json")


def catalogue() -> dict[str, Any]:
    """The instancetypes and preferences that each release deploys."""
    return _read(FIXTURES / "catalogue" / "facts.json")


def _read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def preset_of(one: dict[str, Any]) -> dict[str, Any]:
    """The VirtualMachineInstancePreset of one entry in `presets` of such a case."""
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstancePreset",
        "metadata": {"name": one["name"]},
        "spec": {"selector": one["selector"], "domain": one["domain"]},
    }
