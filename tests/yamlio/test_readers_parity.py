"""The measured bundles, written as kustomize writes them, through both readers and the function: all lead to the same."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

import measured
import pytest
from go_writer import entries
from test_parity import resource_list
from test_yamlio_safety import HEAD, SIZE

from krm_fn import config
from krm_fn.findings import results
from krm_fn.hosts import function
from krm_fn.pipeline import stages
from krm_fn.yamlio import ListText, write_resource_list
from krm_fn.yamlio.compare import same
from krm_fn.yamlio.documents import read_list
from krm_fn.yamlio.plain.text import ODD, PlainList, read_plain_list

PRESETS = "presets"
EVERY = 3  # case is rendered as well: what readers may take differently is in many of them
FILES = (*measured.files("admission", "fuzz", "inference", "matrix", "objects", "revisions"), PRESETS)

# A conflict that an annotation silences, which an escape writes in other letters.
IGNORED = (
    HEAD
    + SIZE
    + """\
- apiVersion: kubevirt.io/v1
  kind: VirtualMachine
  metadata:
    name: web
    annotations:
      "kubevirt-render.dev\\x2fignore": "instancetype-conflict: goes with #12"
  spec:
    instancetype:
      kind: VirtualMachineInstancetype
      name: small
    runStrategy: Always
    template:
      spec:
        domain:
          cpu:
            cores: 4
          devices: {}
"""
)


def bundles_of_presets() -> Iterator[dict[str, Any]]:
    """The cases about presets, which have another form; their releases include some that are not supported."""
    for case in measured.preset_cases():
        vm = case["vm"]
        template = {
            "metadata": {"labels": vm["labels"], "annotations": vm.get("annotations", {})},
            "spec": {"domain": vm["domain"]},
        }
        machine = {
            "apiVersion": "kubevirt.io/v1alpha3",
            "kind": "VirtualMachine",
            "metadata": {"name": "vm"},
            "spec": {"running": True, "template": template},
        }
        items = [*map(measured.preset_of, case["presets"]), machine]
        yield {"id": case["case"], "kubevirt": "1.9", "items": items}


def kustomized(case: dict[str, Any]) -> bytes:
    """The bundle of a case as kustomize hands it to a function."""
    head = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList"}
    return "".join(f"{line}\n" for line in entries({**head, **resource_list(case)}, "")).encode()


def outcome_of(text: ListText) -> tuple[list[Any], Any, bytes]:
    """The items and findings that a text leads to, and the bytes that are written of it."""
    outcome = stages.render(text.items, config.read(text.head["functionConfig"]))
    said = results.merge(None, outcome.findings) if outcome.findings else []
    return outcome.items, outcome.findings, write_resource_list(text, outcome.items, said)


def differing(case: dict[str, Any], plain: ListText, data: bytes) -> Iterator[str]:
    """In what libyaml's reading, or the function, differs from the plain one."""
    whole, with_carriage_returns = read_list(data), read_list(data.replace(b"\n", b"\r\n"))
    if not same(plain.items, case["items"]):
        yield "plain values"
    for text, name in ((whole, "whole"), (with_carriage_returns, "CRLF")):
        if repr(text.items) != repr(plain.items) or repr(text.head) != repr(plain.head):
            yield f"{name} values"
    items, findings, written = outcome_of(plain)
    out = io.BytesIO()
    function.run(data, out, io.StringIO())
    if out.getvalue() != written:
        yield "the function's bytes"
    said = results.merge(None, findings) if findings else []
    if write_resource_list(whole, items, said) != written:
        yield "bytes"
    if write_resource_list(with_carriage_returns, items, said) != written.replace(b"\n", b"\r\n"):
        yield "CRLF bytes"


@pytest.mark.parametrize("name", FILES)
def test_both_readers_lead_to_the_same(name: str, cases: measured.Cases, record_property: Any) -> None:
    wrong: list[tuple[str, list[str]]] = []
    count = left = 0
    for number, case in enumerate(bundles_of_presets() if name == PRESETS else cases(name)):
        data = kustomized(case)
        plain = read_plain_list(data, "")
        assert isinstance(plain, PlainList), case["id"]
        count += len(plain.items)
        left += plain.layouts.count(ODD)
        found = list(differing(case, plain, data)) if number % EVERY == 0 else []
        wrong += [(case["id"], found)] if found else []
    assert not wrong
    record_property("figure", f"{name}: the plain reader takes {count - left} of {count} items")
    assert left <= max(count / 30, 1)  # a sample may have fewer than 30 items


def test_what_escapes_hide_is_seen_on_every_path() -> None:
    data = IGNORED.encode()
    out, others = io.BytesIO(), io.BytesIO()
    codes = function.run(data, out, io.StringIO()), function.run(data.replace(b"\n", b"\r\n"), others, io.StringIO())
    assert (codes, out.getvalue(), others.getvalue().replace(b"\r", b"")) == ((0, 0), data, data)
