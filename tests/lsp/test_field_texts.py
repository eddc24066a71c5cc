"""The texts about fields: each field exists in some release, each text is one short line, and nothing common is left out."""

from __future__ import annotations

import pytest

from krm_fn.kubevirt import releases
from krm_fn.lsp.api import field_at, fields_at
from krm_fn.lsp.hovers import table, text_of

GROUPS = {"VirtualMachine": "kubevirt.io/v1", "VirtualMachineInstance": "kubevirt.io/v1"}
INSTANCETYPES = ("instancetype.kubevirt.io/v1beta1", "instancetype.kubevirt.io/v1alpha2", "instancetype.kubevirt.io/v1alpha1")
RELEASES = [releases.parse(minor) for minor in ("1.0", "1.2", "1.4", "1.6", "1.9")]


def steps(path: str) -> tuple[str | int, ...]:
    return tuple(part for each in path.split(".") for part in ((each[:-2], 0) if each.endswith("[]") else (each,)))


def exists(kind: str, path: str) -> bool:
    versions = (GROUPS[kind],) if kind in GROUPS else INSTANCETYPES
    found = (field_at(version, kind, steps(path), release) for version in versions for release in RELEASES)
    return any(each and each.type for each in found)


def test_each_field_exists_in_a_release() -> None:
    assert [row for row in table() if not exists(*row)] == []
    assert not exists("VirtualMachine", "spec.runStrategies")


def test_a_text_is_one_short_line() -> None:
    assert [text for text in table().values() if text != text.strip() or not text.endswith(".") or len(text) > 260] == []


PARTS = [
    ("kubevirt.io/v1", "VirtualMachine", "spec"),
    *(("kubevirt.io/v1", "VirtualMachine", f"spec.template.spec{below}") for below in ("", ".domain", ".domain.cpu")),
    *(("kubevirt.io/v1", "VirtualMachineInstance", f"spec.domain.{below}") for below in ("memory", "firmware", "features")),
    ("instancetype.kubevirt.io/v1beta1", "VirtualMachineClusterInstancetype", "spec"),
    ("instancetype.kubevirt.io/v1beta1", "VirtualMachineClusterPreference", "spec"),
    ("instancetype.kubevirt.io/v1beta1", "VirtualMachinePreference", "spec.devices"),
    ("instancetype.kubevirt.io/v1beta1", "VirtualMachinePreference", "spec.firmware"),
]
# What few users meet.
WITHOUT = {"utilityVolumes", "rebootPolicy", "reservedOverhead"}


@pytest.mark.parametrize(("version", "kind", "path"), PARTS)
def test_all_fields_of_common_parts_have_a_text(version: str, kind: str, path: str) -> None:
    group = version.partition("/")[0]
    names = [each.name for each in fields_at(version, kind, steps(path), releases.NEWEST)]
    assert names
    assert {name for name in names if not text_of(group, kind, (*steps(path), name))} <= WITHOUT
