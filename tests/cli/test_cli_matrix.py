"""`kubevirt-render capacity --matrix`: every pair of an instancetype and a preference."""

from __future__ import annotations

import csv
import io
import json

import jsonschema
import pytest
import yaml

from krm_fn.base.errors import UsageError
from krm_fn.cli import run
from krm_fn.sizing.schema import schema

API = "instancetype.kubevirt.io/v1beta1"


def size(name, memory):
    return {
        "apiVersion": API,
        "kind": "VirtualMachineClusterInstancetype",
        "metadata": {"name": name},
        "spec": {"cpu": {"guest": 1}, "memory": {"guest": memory}},
    }


def preference(name, **spec):
    return {"apiVersion": API, "kind": "VirtualMachineClusterPreference", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def sizes(tmp_path):
    needy = preference("needy", requirements={"memory": {"guest": "2Gi"}})
    file = tmp_path / "sizes.yaml"
    file.write_text(
        yaml.safe_dump_all([size("small", "1Gi"), size("large", "4Gi"), preference("plain"), preference("other"), needy])
    )
    return [str(file), "--catalogue", "none"]


def told(capfd, *arguments):
    assert run(["capacity", "--matrix", *arguments]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    return out


def test_preferences_with_which_an_instancetype_needs_the_same_share_a_row(capfd, sizes) -> None:
    assert (
        told(capfd, *sizes)
        == """\
INSTANCETYPE  VCPUS  GUEST    CPU  MEMORY  DEVICES  PREFERENCES
large             1    4Gi  0.105  4.29Gi           needy, other, plain
small                                               refused: needy
small             1    1Gi  0.105  1.29Gi           other, plain

6 pairs, 1 refused
"""
    )


def test_csv_has_a_line_for_each_pair(capfd, sizes) -> None:
    rows = list(csv.DictReader(io.StringIO(told(capfd, *sizes, "-o", "csv"))))
    assert [(row["instancetype"], row["preference"], row["guest_bytes"]) for row in rows[:2]] == [
        ("large", "needy", str(4 << 30)),
        ("large", "other", str(4 << 30)),
    ]
    assert "requires 2Gi of memory" in rows[3]["refused"]


def test_json_is_of_the_schema(capfd, sizes) -> None:
    found = json.loads(told(capfd, *sizes, "-o", "json"))
    jsonschema.validate(found, schema())
    assert [record["name"] for record in found["vms"][:2]] == ["large+needy", "large+other"]


def test_markdown_is_a_table(capfd, sizes) -> None:
    lines = told(capfd, *sizes, "-o", "markdown").splitlines()
    assert lines[2:] == [
        "| `large` | 1 | 4Gi | 0.105 | 4.29Gi |  | `needy, other, plain` |",
        "| `small` |  |  |  |  |  | `refused: needy` |",
        "| `small` | 1 | 1Gi | 0.105 | 1.29Gi |  | `other, plain` |",
    ]


def test_without_pairs_there_is_an_empty_table(capfd) -> None:
    assert told(capfd, "--catalogue", "none").endswith("\n\n0 pairs, 0 refused\n")


def test_several_bundles_have_no_common_matrix(tmp_path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "kustomization.yaml").write_text("resources: [size.yaml]\n")
        (tmp_path / name / "size.yaml").write_text(yaml.safe_dump(size(name, "1Gi")))
    with pytest.raises(UsageError, match="takes one bundle"):
        run(["capacity", "--matrix", str(tmp_path)])


def test_of_the_catalogue_of_1_9_as_many_pairs_are_refused_as_kubevirt_refuses(capfd) -> None:
    assert told(capfd, "--kubevirt-version", "1.9").endswith("\n\n3510 pairs, 419 refused\n")
