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
spec: {{runStrategy: Always, template: {{spec: {{domain: {{devices: {{{device}}}}}}}}}}}
"""


def rules(tmp_path, text):
    _, out, _ = check(".", "-o", "json", cwd=tree(tmp_path, {"vm.yaml": text}))
    return [each["tags"]["rule"] for each in json.loads(out)["results"]]


@pytest.mark.parametrize("directive", ["$patch", "$retainKeys", "$setElementOrder/disks", "$deleteFromPrimitiveList/disks"])
def test_a_directive_shows_a_patch(tmp_path, directive):
    assert rules(tmp_path, VM.format(label="tier", device=f"{directive}: x")) == ["unused-patch"]


@pytest.mark.parametrize("key", ["$(id)", "$x", "$patches", "$"])
def test_another_key_with_a_dollar_is_a_mistake(tmp_path, key):
    assert "unused-patch" not in rules(tmp_path, VM.format(label=f'"{key}"', device=""))
    assert rules(tmp_path, VM.format(label="tier", device=f'"{key}": x')) == ["unknown-field"]
