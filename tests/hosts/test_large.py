"""VMs are rendered one after the other, which leads to the same bytes, messages and exit codes as all at once."""

from __future__ import annotations

import io
import runpy
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mangling import mangled

from krm_fn.base.errors import InputError
from krm_fn.hosts import function
from krm_fn.yamlio.documents import read_list
from krm_fn.yamlio.plain import text as plain
from krm_fn.yamlio.plain.text import read_item

Run = Callable[[bytes, io.BytesIO, io.StringIO], int]

ROOT = Path(__file__).resolve().parents[2]
bundle = runpy.run_path(str(ROOT / "bench" / "generate.py"))["bundle"]
written = runpy.run_path(str(ROOT / "bench" / "hands.py"))["written"]
BENCH = bundle(20).decode()
HEAD, _, REST = BENCH.partition("items:\n")
ITEMS = REST.partition("functionConfig:")[0]
CONFIG = "functionConfig:" + REST.partition("functionConfig:")[2]
A_LIST = """\
- apiVersion: v1
  kind: List
  items:
  - apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata:
      name: inside
      namespace: bench
    spec:
      instancetype:
        name: size-0
      template:
        spec:
          domain:
            devices: {}
"""
VM = "- apiVersion: kubevirt.io/v1\n  kind: VirtualMachine\n  metadata:\n    name: odd\n    namespace: bench\n"
SPEC = "  spec:\n    instancetype:\n      name: size-0\n    template:\n      spec:\n        domain:\n          devices: {}\n"
NO_LIST = "- apiVersion: example.com/v1\n  kind: AllowList\n  metadata:\n    name: x\n  items: all\n"
ODD = {
    "an object in a List": A_LIST,
    "a kind that only sounds like a List": NO_LIST,
    "a name that leads nowhere": (VM + SPEC).replace("size-0", "size-00"),
    "text that folds, and an empty line behind it": VM + "  spec:\n    preference:\n          folded\n\n",
    "a brace and a space that is none, and blanks behind": (VM + SPEC).replace("size-0", "size-00").replace("{}", "{\u00a0}")
    + "  \n",
    "the builtin catalogue": (VM + SPEC).replace("size-0", "u1.medium"),
    "a conflict": VM + SPEC.replace("devices: {}", "cpu:\n            cores: 2"),
    "comments": VM + SPEC.replace("devices: {}", "devices: {} # none"),
    "comments between lines": VM + SPEC.replace("      spec:", "      # above\n      spec:"),
    "flow style": VM + SPEC.replace("devices: {}", "devices: {disks: []}"),
    "no domain": VM + SPEC.replace("domain:\n          devices: {}", "networks: []"),
    "no domain, twice": 2 * (VM + SPEC.replace("domain:\n          devices: {}", "networks: []")).replace("size-0", "size-1"),
    "a removed field": VM + SPEC.replace("devices: {}", "os: {}"),
    "a field of another release": VM + SPEC.replace("devices: {}", "rebootPolicy: Terminate"),
    "the same object twice": VM + SPEC + VM + SPEC.replace("{}", "{a: 1}"),
    "a key twice": VM + SPEC + SPEC,
    "broken YAML": VM + SPEC + "  a: 'b\n",
    "an anchor": VM + SPEC.replace("{}", "&x {}") + "  a: *x\n",
    "null": "- null\n",
    "text": "- text\n",
    "no name": "- apiVersion: kubevirt.io/v1\n  kind: VirtualMachine\n  metadata:\n    labels:\n      a: b\n" + SPEC,
    "a name in the spec only": "- apiVersion: kubevirt.io/v1\n  kind: VirtualMachine\n  metadata:\n  status:\n    name: x\n"
    + SPEC,
    "an ignore": (VM + SPEC).replace("name: odd", "name: odd\n    annotations:\n      kubevirt-render.dev/ignore: 'a: b'"),
    "a preset": "- apiVersion: kubevirt.io/v1\n  kind: VirtualMachineInstancePreset\n  metadata:\n    name: p\n",
    "a KubeVirt object": "- apiVersion: kubevirt.io/v1\n  kind: KubeVirt\n  metadata:\n    name: k\n  spec:\n"
    "    imageTag: v1.5.0\n",
    "a HyperConverged object": "- apiVersion: hco.kubevirt.io/v1beta1\n  kind: HyperConverged\n  metadata:\n    name: h\n",
    "a pool": VM.replace("VirtualMachine", "VirtualMachinePool").replace("kubevirt.io/v1", "pool.kubevirt.io/v1beta1")
    + "  spec:\n    virtualMachineTemplate:\n  "
    + SPEC.replace("\n", "\n    ").rstrip()
    + "\n",
}
CONFIGS = {
    "expand": "",
    "annotate": "  spec:\n    mode: annotate\n",
    "validate": "  spec:\n    mode: validate\n",
    "an old release": "  spec:\n    kubevirtVersion: '1.4'\n",
    "a release whose catalogue needs a gate": "  spec:\n    kubevirtVersion: '1.2'\n",
    "provenance": "  spec:\n    provenance: true\n",
    "pod sizes": "  spec:\n    podSize: true\n",
    "no defaults": "  spec:\n    defaults: none\n",
    "the cluster's defaults": "  spec:\n    defaults: cluster\n",
    "a configuration": "  spec:\n    configuration:\n      evictionStrategy: LiveMigrate\n",
    "pinned defaults": "  spec:\n    defaults: pinned\n",
    "a silent rule": "  spec:\n    severity:\n      unresolved-instancetype: 'off'\n",
    "wrong": "  spec:\n    mode: none\n",
}


def ran(run: Run, data: bytes) -> tuple[int, bytes, str]:
    out, err = io.BytesIO(), io.StringIO()
    try:
        return run(data, out, err), out.getvalue(), err.getvalue()
    except InputError as error:
        return -1, out.getvalue(), str(error)


def agree(data: bytes) -> None:
    """A list is rendered as all at once, also if libyaml reads it."""
    assert ran(function.run, data) == ran(function.run_all, data)
    assert ran(function.run, data) == ran(with_libyaml, data)


def with_libyaml(data: bytes, out: io.BytesIO, err: io.StringIO) -> int:
    return function.run_all(data, out, err, read=read_list)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_object_after_object_is_rendered_as_all_at_once(odd: str, config: str) -> None:
    agree((HEAD + "items:\n" + odd + ITEMS + CONFIG + config).encode())
    agree((HEAD + CONFIG + config + "items:\n" + ITEMS + odd).encode())


def test_results_of_earlier_functions_stay() -> None:
    results = "results:\n- message: earlier\n  severity: info\n"
    for odd in ("", ODD["a name that leads nowhere"]):
        agree((HEAD + "items:\n" + odd + ITEMS + CONFIG + results).encode())
        agree((HEAD + results + "items:\n" + odd + ITEMS + CONFIG).encode())


def test_what_kustomize_writes_is_rendered_object_after_object(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(function, "run_all")
    out = io.BytesIO()
    data = BENCH.replace("items:\n", "items:\n" + NO_LIST, 1)
    assert function.run(data.encode(), out, io.StringIO()) == 0
    assert len(out.getvalue()) > len(data)


SCALARS = (
    "5",
    "'5'",
    '"x y"',
    "a: b",
    "null",
    "~",
    "yes",
    "web-1",
    "x #y",
    "'it''s'",
    "[]",
    "{}",
    "|",
    "é",
    "a b",
    "x:",
    "1Gi",
    "\\",
)


def fleet(rng: Random, vm: str) -> str:
    """VMs of which each differs from the first in the values of some lines, and in the length of its texts."""
    made = []
    for _ in range(rng.randint(2, 8)):
        lines = []
        for line in vm.splitlines():
            key, colon, _ = line.partition(": ")
            if colon and rng.random() < 0.03:
                lines.append(f"{key}: {rng.choice(SCALARS)}")
            elif line.startswith(" " * 14) and not colon and rng.random() < 0.1:
                lines += [line, rng.choice(["", " " * 14 + "more", " " * 12 + "less", " " * 16 + "deeper ", line])]
            elif rng.random() < 0.001:
                lines.append(mangled(rng, line))
            else:
                lines.append(line)
        made.append("\n".join(lines) + "\n")
    return "".join(made)


VMS = ["- apiVersion: kubevirt.io/v1\n" + text for text in ITEMS.split("- apiVersion: kubevirt.io/v1\n")[1:]]


@settings(max_examples=400, deadline=None)
@given(st.integers(0, 2**32), st.sampled_from(list(CONFIGS)))
def test_vms_that_are_like_another_are_rendered_as_by_themselves(seed: int, config: str) -> None:
    rng = Random(seed)
    vms = "".join(fleet(rng, vm) for vm in rng.sample(VMS, 3))
    agree((HEAD + "items:\n" + ITEMS + vms + CONFIG + CONFIGS[config]).encode())


def test_each_item_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def counted(text: str) -> object:
        read.append(text)
        return read_item(text)

    monkeypatch.setattr(plain, "read_item", counted)
    for data, number in ((bundle(300), 300), (written(300), 300)):
        read.clear()
        assert function.run(data, io.BytesIO(), io.StringIO()) == 0
        assert len(read) == number


@pytest.mark.parametrize("seed", range(12))
def test_lists_of_many_hands_are_rendered_as_all_at_once(seed: int) -> None:
    agree(written(120, seed))


@pytest.mark.parametrize("seed", range(6))
def test_items_that_do_not_change_keep_their_bytes(seed: int) -> None:
    data, out = written(120, seed), io.BytesIO()
    assert function.run(data, out, io.StringIO()) == 0
    before, after = (text.split(b"\n- ") for text in (data, out.getvalue()))
    assert len(before) == len(after)
    changed = [old for old, new in zip(before, after, strict=True) if old != new]
    assert all(b"VirtualMachine" in item for item in changed)
    assert 20 < len(changed) < 70


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 2**32))
def test_mangled_lists_are_rendered_in_the_same_way(seed: int) -> None:
    agree(mangled(Random(seed), BENCH).encode("utf-8", "surrogatepass"))
