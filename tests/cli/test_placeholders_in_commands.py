"""A placeholder means the same in every command: its default counts; without one, what depends on it is not known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from checking import run
from trees import tree

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web, namespace: vms}
spec:
  runStrategy: Always
  template:
    spec:
      domain:
        cpu: {cores: 2}
        memory: {guest: 2Gi}
        devices: {disks: [{name: root, disk: {bus: virtio}}], interfaces: [{name: default, masquerade: {}}]}
      networks: [{name: default, pod: {}}]
      volumes: [{name: root, containerDisk: {image: a}}]
"""
SIZED = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web, namespace: vms}
spec:
  runStrategy: Always
  instancetype: {name: house, kind: VirtualMachineInstancetype}
  template: {spec: {domain: {devices: {}}}}
---
apiVersion: instancetype.kubevirt.io/v1beta1
kind: VirtualMachineInstancetype
metadata: {name: house, namespace: vms}
spec: {cpu: {guest: 2}, memory: {guest: 2Gi}}
"""
# What stands for 4Gi of memory.
DEFAULTS = [
    "${MEM:=4Gi}",
    "${MEM:-4Gi}",
    "${N:=4}Gi",
    '{{ mem | default("4Gi") }}',
    "{{ default '4Gi' .Values.mem }}",
    "{{ mem|d(4) }}Gi",
]
# Of what nothing is known: the form, what it replaces in the VM, and what is said of it.
OPEN = {
    "${MEM}": ("2Gi", "spec.template.spec.domain.memory.guest is ${MEM}"),
    "{{ cores }}": ("cores: 2", "spec.template.spec.domain.cpu.cores is {{ cores }}"),
    "$(RUN)": ("Always", "spec.runStrategy is $(RUN)"),
    "<% cores %>": ("cores: 2", "spec.template.spec.domain.cpu.cores is <% cores %>"),
    "__MEM__": ("2Gi", "spec.template.spec.domain.memory.guest is __MEM__"),
}
# Places in which a refusal would rest on the placeholder.
PLACES = {
    "a bus": ("bus: virtio", 'bus: "${X}"'),
    "the name of a disk": ("{name: root, disk", '{name: "${X}", disk'),
    "the name of a volume": ("{name: root, container", '{name: "${X}", container'),
    "the kind of a volume": ("containerDisk:", '"${X}":'),
    "a binding": ("masquerade: {}", '"${X}": {}'),
    "a field": ("runStrategy:", '"${X}": 1\n  runStrategy:'),
    "all disks": ("[{name: root, disk: {bus: virtio}}]", '"${X}"'),
    "all volumes": ("[{name: root, containerDisk: {image: a}}]", '"${X}"'),
    "the cores": ("cores: 2", 'cores: "${X}"'),
    "the key of the cores": ("cores: 2", '"${X}": 2'),
}


def here(folder: Path, text: str) -> Path:
    return tree(folder, {"base/vm.yaml": VM, "head/vm.yaml": text})


def answer(root: Path, *words: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(*words, "-o", "json", cwd=root)[1])
    return found


@pytest.mark.parametrize("form", DEFAULTS)
def test_the_default_of_a_placeholder_counts(tmp_path: Path, form: str) -> None:
    root = here(tmp_path, VM.replace("2Gi", f'"{form}"' if "'" in form or "{{" not in form else f"'{form}'"))
    (record,) = answer(root, "capacity", "head")["vms"]
    assert (record["memory"], "unknown" in record) == ("4Gi", False)
    (changed,) = answer(root, "diff", "base", "head")["vms"]
    assert changed["guest"] == {"memory": {"old": "2Gi", "new": "4Gi"}}
    results = answer(root, "check", "head")["results"]
    assert [each["tags"]["rule"] for each in results] == ["unfilled-placeholder"]
    assert "guest: 4Gi" in run("explain", "head", "--all", cwd=root)[1]


def test_the_default_of_a_name_is_found_and_compared(tmp_path: Path) -> None:
    tree(tmp_path, {"base/vm.yaml": SIZED, "head/vm.yaml": SIZED.replace("name: house, kind", 'name: "${SIZE:=house}", kind')})
    assert answer(tmp_path, "capacity", "head")["vms"][0]["vcpus"] == 2
    assert answer(tmp_path, "diff", "base", "head")["vms"] == []


@pytest.mark.parametrize("form", OPEN)
def test_what_has_no_default_is_not_known_and_not_counted(tmp_path: Path, form: str) -> None:
    written, said = OPEN[form]
    key, colon, _ = written.rpartition(": ")
    root = here(tmp_path, VM.replace(written, f'{key}{colon}"{form}"'))
    found = answer(root, "capacity", "head")
    assert found["vms"][0]["unknown"] == [f"its needs are not known: {said}, and another step replaces that"]
    assert found["totals"]["pods"] == 0
    (record,) = answer(root, "diff", "base", "head")["vms"]
    assert record["unknown"]["values"] == [said]
    assert "pod" not in record
    (root / "none").mkdir()
    (new,) = answer(root, "diff", "none", "head")["vms"]
    assert (new["unknown"], "pod" in new) == ({"values": [said]}, False)


@pytest.mark.parametrize("place", PLACES)
def test_no_refusal_rests_on_a_placeholder(tmp_path: Path, place: str) -> None:
    root = here(tmp_path, VM.replace(*PLACES[place]))
    results = answer(root, "check", "head")["results"]
    assert {each["severity"] for each in results} == {"info"}
    for words in (("diff", "base", "head"), ("diff", "head", "base")):
        assert "refused" not in run(*words, cwd=root)[1]
    assert not any("refused" in each for each in answer(root, "capacity", "head")["vms"])
    assert run("render", "head", cwd=root)[0] == run("migrate", "head", cwd=root)[0] == 0


@pytest.mark.parametrize(
    ("written", "open", "said"),
    [
        ("name: house, kind", 'name: "${SIZE}", kind', "the name is the placeholder '${SIZE}'"),
        ("kind: VirtualMachineInstancetype}", 'kind: "${KIND}"}', "the kind is the placeholder '${KIND}'"),
        ("guest: 2}", 'guest: "${CPU}"}', "spec.cpu.guest of VirtualMachineInstancetype vms/house is the placeholder '${CPU}'"),
    ],
)
def test_a_vm_whose_size_is_not_known_is_not_rendered(tmp_path: Path, written: str, open: str, said: str) -> None:  # noqa: A002
    text = SIZED.replace(written, open)
    tree(tmp_path, {"vm.yaml": text})
    code, out, err = run("render", "vm.yaml", cwd=tmp_path)
    assert (code, out) == (0, text)
    assert f"{said}; render the VM after the step that replaces this (unresolved-instancetype)" in err
    assert [each["tags"]["rule"] for each in answer(tmp_path, "check", "vm.yaml")["results"]] == ["unfilled-placeholder"]
    assert answer(tmp_path, "capacity", "vm.yaml")["totals"]["vcpus"] == 0


def test_what_is_printed_keeps_its_placeholders(tmp_path: Path) -> None:
    text = VM.replace("2Gi", '"${MEM:=4Gi}"')
    tree(tmp_path, {"vm.yaml": text})
    assert run("render", "vm.yaml", cwd=tmp_path)[1].count("${MEM:=4Gi}") == 1
    assert run("migrate", "vm.yaml", cwd=tmp_path)[1] == text
