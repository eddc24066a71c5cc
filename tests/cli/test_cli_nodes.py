"""`kubevirt-render capacity --nodes FILE` in each format, and what it refuses."""

from __future__ import annotations

import json

import jsonschema
import pytest
import yaml
from functions import vm
from markdown_it import MarkdownIt

from krm_fn.base.errors import InputError, UsageError
from krm_fn.cli import run
from krm_fn.sizing.schema import schema


def machine(name, cores, **spec):
    found = vm(name, namespace="shop")
    found["spec"]["template"]["spec"]["domain"] |= {"cpu": {"cores": cores}, "memory": {"guest": "4Gi"}}
    found["spec"]["template"]["spec"] |= spec
    return found


@pytest.fixture
def files(tmp_path):
    bundle, nodes = tmp_path / "bundle.yaml", tmp_path / "nodes.yaml"
    bundle.write_text(yaml.safe_dump_all([machine("plain", 2), machine("zoned", 2, nodeSelector={"zone": "a-b"})]))
    nodes.write_text(
        yaml.safe_dump(
            [
                {"name": "small", "count": 1, "allocatable": {"cpu": 1, "memory": "2Gi"}},
                {"name": "large", "allocatable": {"cpu": 2, "memory": "8Gi"}},
            ]
        )
    )
    return str(bundle), "--nodes", str(nodes)


def answer(capfd, *arguments):
    assert run(["capacity", *arguments]) == 0
    out, err = capfd.readouterr()
    assert err == ""
    return out


def test_the_table_says_what_is_needed_and_that_it_is_an_estimate(capfd, files) -> None:
    assert (
        answer(capfd, *files).partition("\n\n")[2]
        == """\
NODES  COUNT  NEEDED  VMS  CPU LEFT  MEMORY LEFT
small      1       0    0
large    any       1    1     1.795        3.7Gi

shop/zoned fits on no node: label zone=a-b is missing (2 of 2); needs 4.3Gi of memory (1 of 2)
An estimate: first fit, beside other pods of the file. Not counted: pod affinity, topology spread, zones of volumes.
"""
    )


def test_json_matches_the_schema(capfd, files) -> None:
    found = json.loads(answer(capfd, *files, "-o", "json"))
    jsonschema.validate(found, schema())
    assert [(shape["name"], shape["needed"]) for shape in found["nodes"]["shapes"]] == [("small", 0), ("large", 1)]
    assert "nodes" not in found["nodes"]["shapes"][1]
    assert [each["name"] for each in found["nodes"]["fitNowhere"]] == ["zoned"]


def test_markdown_is_read_back_as_tables_and_a_list(capfd, files) -> None:
    tokens = MarkdownIt("commonmark").enable("table").parse(answer(capfd, *files, "-o", "markdown"))
    assert [token.type for token in tokens].count("table_open") == 2
    assert [token.type for token in tokens].count("list_item_open") == 1


def test_what_the_loss_of_a_node_leaves_without_room_is_named(capfd, files, tmp_path) -> None:
    shape = "{allocatable: {cpu: 9, memory: 90Gi}, labels: {zone: a-b}, name: NAME, count: 1}"
    (tmp_path / "nodes.yaml").write_text(f"[{shape.replace('NAME', 'a')}]")
    gone = "with any one node gone, room is lacking for up to 2 VMs: shop/plain and shop/zoned (a is the worst)\n"
    assert gone in answer(capfd, *files)
    (tmp_path / "nodes.yaml").write_text(f"[{shape.replace('NAME', 'a')}, {shape.replace('NAME', 'b')}]")
    assert "with any one node gone, all VMs find room on the others\n" in answer(capfd, *files)
    assert json.loads(answer(capfd, *files, "-o", "json"))["nodes"]["loss"] == {"node": "", "withoutRoom": []}


def test_a_full_cluster_leaves_machines_without_room(capfd, files, tmp_path) -> None:
    (tmp_path / "nodes.yaml").write_text("[{name: a, count: 0, allocatable: {cpu: 9, memory: 90Gi}, labels: {zone: a-b}}]")
    assert "shop/plain finds no room: the nodes on which it fits are full\n" in answer(capfd, *files)


@pytest.mark.parametrize("extra", [("-o", "csv"), ("--matrix",)])
def test_forms_that_cannot_show_it_are_refused(capfd, files, extra) -> None:
    with pytest.raises(UsageError, match="--nodes does not go with"):
        run(["capacity", *files, *extra])
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize("content", [b"[{", b"\xff\xfe\x00", b"kind: Pod\n", b"- a\n---\n- b\n"])
def test_a_wrong_file_is_one_line(capfd, files, tmp_path, content) -> None:
    (tmp_path / "nodes.yaml").write_bytes(content)
    with pytest.raises(InputError) as error:
        run(["capacity", *files])
    assert (capfd.readouterr().out, error.value.file) == ("", str(tmp_path / "nodes.yaml"))


def test_a_file_that_is_not_there(files, tmp_path) -> None:
    (tmp_path / "nodes.yaml").unlink()
    with pytest.raises(InputError, match=r"nodes\.yaml: No such file"):
        run(["capacity", *files])
