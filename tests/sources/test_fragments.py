"""Which objects in files of folders are taken for parts of objects."""

from __future__ import annotations

import json

import pytest
from checking import check
from trees import tree

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {{name: web, labels: {{{label}: a}}}}
spec: {{runStrategy: Always, template: {{spec: {{domain: {{memory: {{guest: 1Gi}}, devices: {{{device}}}}}}}}}}}
"""


PATCH = "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: web}\nspec: {runStrategy: Halted}\n"


def rules(tmp_path, text, file="vm.yaml", path=".", **others):
    _, out, _ = check(path, "-o", "json", cwd=tree(tmp_path, {file: text, **others}))
    return [each["tags"]["rule"] for each in json.loads(out)["results"]]


@pytest.mark.parametrize("directive", ["$patch", "$retainKeys", "$setElementOrder/disks", "$deleteFromPrimitiveList/disks"])
def test_a_directive_shows_a_patch(tmp_path, directive):
    assert rules(tmp_path, VM.format(label="tier", device=f"{directive}: x")) == ["unused-patch"]


def test_a_directive_hides_nothing_else_of_a_whole_object(tmp_path):
    whole = VM.format(label="tier", device="$patch: x").replace(
        "runStrategy: Always", "runStrategy: Always, instancetype: {name: u1.smal}"
    )
    assert rules(tmp_path, whole) == ["unresolved-instancetype", "unused-patch"]


def test_a_machine_without_memory_is_a_patch_where_its_path_says_so(tmp_path):
    small = VM.format(label="tier", device="").replace("memory: {guest: 1Gi}, ", "")
    assert rules(tmp_path / "a", small) == ["never-starts"]
    assert rules(tmp_path / "b", small, "patches/vm.yaml") == ["unused-patch"]


@pytest.mark.parametrize("key", ["$(id)", "$x", "$patches", "$"])
def test_another_key_with_a_dollar_is_a_mistake(tmp_path, key):
    assert "unused-patch" not in rules(tmp_path, VM.format(label=f'"{key}"', device=""))
    assert rules(tmp_path, VM.format(label="tier", device=f'"{key}": x')) == ["unknown-field"]


def test_what_an_entry_of_a_list_lacks_is_a_mistake_in_a_patch_too(tmp_path):
    assert rules(tmp_path, VM.format(label="tier", device="disks: [{disk: {}}]"), file="overlays/vm.yaml") == ["missing-field"]
    patch = PATCH.replace("{runStrategy: Halted}", "{template: {spec: {volumes: [{containerDisk: {image: a}}]}}}")
    assert rules(tmp_path, patch, file="overlays/vm.yaml") == ["missing-field", "unused-patch"]


def test_an_entry_with_a_directive_lacks_nothing(tmp_path):
    assert rules(tmp_path, VM.format(label="tier", device="disks: [{$patch: replace}, {name: a}]")) == ["unused-patch"]


def test_a_machine_without_a_name_whose_template_is_there_is_no_patch(tmp_path):
    machine = VM.format(label="tier", device="").replace("name: web, ", "").replace("devices: {}", "")
    assert rules(tmp_path, machine) == ["invalid-name", "missing-field"]


@pytest.mark.parametrize(
    ("whole", "part", "expected"),
    [
        ("north", "south", "missing-field"),
        ("north", "north", "unused-patch"),
        ("north", "", "unused-patch"),
        ("", "south", "unused-patch"),
    ],
)
def test_a_namesake_in_another_namespace_shows_nothing(tmp_path, whole, part, expected):
    machine = VM.format(label="tier", device="").replace("name: web", f"name: web, namespace: '{whole}'")
    patch = PATCH.replace("name: web", f"name: web, namespace: '{part}'")
    assert rules(tmp_path, patch, file="2.yaml", **{"1.yaml": machine}) == [expected]


@pytest.mark.parametrize("path", [".", "ABSOLUTE"])
def test_where_a_git_tree_is_shows_nothing_of_its_files(tmp_path, path):
    root = tmp_path / "patches"
    (root / ".git").mkdir(parents=True)
    assert rules(root, PATCH, path=str(root) if path == "ABSOLUTE" else path) == ["missing-field"]
