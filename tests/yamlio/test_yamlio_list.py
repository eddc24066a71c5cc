"""What writing a list promises beside splices: which keys leave, which items, and where values stand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from krm_fn.yamlio import read_resource_list, read_stream, write_resource_list, write_stream
from krm_fn.yamlio.documents import read_list
from krm_fn.yamlio.plain.text import read_plain_list

LIST = b"""kind: ResourceList
items:
- a: 1 # one
  b:
  - x
  - {c: 'd'}
- e: &e {f: 1}
  g: *e
# end
"""


def test_an_equal_copy_keeps_the_bytes_of_the_input() -> None:
    text = read_resource_list(LIST)
    assert write_resource_list(text, [{"a": 1, "b": ["x", {"c": "d"}]}, {"g": {"f": 1}, "e": {"f": 1}}]) == LIST


def test_true_and_one_are_different_values() -> None:
    text = read_resource_list(b"kind: ResourceList\nitems:\n- a: 1\n  b: true\n  c: [1]\n")
    assert write_resource_list(text, [{"a": True, "b": 1, "c": [1.0]}]).decode().splitlines()[2:] == [
        "- a: true",
        "  b: 1",
        "  c: [1]",
    ]


def test_none_leaves_an_item_out() -> None:
    text = read_resource_list(LIST)
    assert write_resource_list(text, [None, text.items[1]]) == b"kind: ResourceList\nitems:\n- e: &e {f: 1}\n  g: *e\n# end\n"
    assert (
        write_resource_list(text, [text.items[0]])
        == b"kind: ResourceList\nitems:\n- a: 1 # one\n  b:\n  - x\n  - {c: 'd'}\n# end\n"
    )
    assert read_resource_list(write_resource_list(text, [None, None])).items == []
    assert read_resource_list(write_resource_list(text, [None, None, {"z": 1}])).items == [{"z": 1}]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_nulls_that_follow_one_another_go_and_the_comments_behind_them_stay(newline: str) -> None:
    nulls = [
        "- null",
        "-",
        "-",
        "  # a",
        "- null # gone",
        "",
        "# b",
        "- ~",
        "-",
        "  null",
        "- # gone",
        "- a: 1",
        "-",
        "- !!null",
    ]
    lines = ["kind: ResourceList", "items:", *nulls, "# c"]
    text = read_resource_list("".join(line + newline for line in lines).encode())
    assert text.items == [None] * 7 + [{"a": 1}, None, None]
    left = ["kind: ResourceList", "items:", "  # a", "", "# b", "- a: 1", "# c"]
    assert write_resource_list(text, text.items).decode().split(newline) == [*left, ""]


def test_a_block_of_text_that_goes_takes_what_looks_like_comments_along() -> None:
    text = read_resource_list(b"kind: ResourceList\nitems:\n- |\n  # text\n# comment\n- >-\n  # text\n- a: 1\n")
    assert write_resource_list(text, [None, None, text.items[2]]) == b"kind: ResourceList\nitems:\n# comment\n- a: 1\n"


def test_a_list_behind_an_alias_is_rewritten_only_when_it_changes() -> None:
    data = b"x: &x [{a: 1}] # x\nkind: ResourceList\nitems: *x\n"
    text = read_resource_list(data)
    assert write_resource_list(text, text.items) == data
    changed = read_resource_list(write_resource_list(text, [{"a": 2}], [{"message": "m"}]))
    assert (changed.items, changed.head) == (
        [{"a": 2}],
        {"x": [{"a": 1}], "kind": "ResourceList", "results": [{"message": "m"}]},
    )


@pytest.mark.parametrize(
    "data",
    [
        b"kind: ResourceList\nitems:\n- &a {x: 1}\n- y: *a\nfunctionConfig: *a\n",
        b"kind: ResourceList\nresults: &r [{x: 1}]\nitems:\n- x: {x: 1}\n- y: *r\n",
        b"kind: ResourceList\nitems:\n- &a {x: 1}\n- y: {<<: *a, z: 1}\n",
        b"kind: ResourceList\nitems:\n- &a {x: 1}\n- y: &b {z: *a}\n- *b\n",
        b"kind: ResourceList\nitems: &a # none\nfunctionConfig: {a: *a}\n",
        b"kind: ResourceList\nfunctionConfig: {a: &a null}\nitems: *a\n",
    ],
)
def test_an_alias_keeps_its_value_when_its_anchor_changes(data: bytes) -> None:
    text = read_resource_list(data)
    items = [{"x": 2}, *text.items[1:]]
    back = read_resource_list(write_resource_list(text, items, [{"message": "m"}]))
    assert back.items == items
    assert back.head == {**text.head, "results": [{"message": "m"}]}


@pytest.mark.parametrize(
    ("item", "path", "place"),
    [
        (0, (), (3, 3)),
        (0, ("a",), (3, 6)),
        (0, ("b",), (5, 3)),
        (0, ("b", 1), (6, 5)),
        (0, ("b", 1, "c"), (6, 9)),
        (0, ("b", 1, "absent", 3), (6, 5)),
        (0, ("b", 7), (5, 3)),
        (0, ("a", "b"), (3, 6)),
        (1, ("e", "f"), (7, 13)),
        (1, ("g", "f"), (8, 6)),
        (2, (), (0, 0)),
    ],
)
def test_a_place_is_that_of_the_value_or_of_what_is_around_it(item: int, path: tuple, place: tuple[int, int]) -> None:
    assert read_resource_list(LIST).place(item, path) == place
    assert read_resource_list(b"\xef\xbb\xbf" + LIST.replace(b"\n", b"\r\n")).place(item, path) == place


def test_a_block_that_keeps_its_breaks_takes_none_of_a_value_that_goes() -> None:
    text = read_list(b"kind: ResourceList\nitems:\n- a: |+\n    x\n  b: |\n    y\n\n  c: 1\n")
    left = {"a": "x\n", "c": 1}
    assert read_list(write_resource_list(text, [left])).items == [left]


@pytest.mark.parametrize(
    ("path", "place"),
    [(("b", 0), (5, 5)), (("b", 1, "c"), (6, 8)), (("b", 2), (5, 3)), (("b", -1), (5, 3)), (("a", 0), (3, 6))],
)
def test_a_place_in_plain_text_is_found_as_in_any_other(path: tuple, place: tuple[int, int]) -> None:
    data = b"kind: ResourceList\nitems:\n- a: 1\n  b:\n  - x\n  - c: d\n"
    plain = read_plain_list(data, "")
    assert plain is not None
    assert plain.place(0, path) == read_list(data).place(0, path) == place


def test_places_in_json_and_in_later_documents() -> None:
    text = read_resource_list('{"kind": "ResourceList", "é": 1, "items": [{"a": 1}, {\n  "b": [2]}]}'.encode())
    assert [text.place(0, ("a",)), text.place(1, ()), text.place(1, ("b", 0))] == [(1, 50), (1, 54), (2, 9)]
    stream = read_stream("# c\na: 1\n---\n# d\n- é\n- b: 2\n".encode())
    assert [stream.place(0, ("a",)), stream.place(1, (1, "b")), stream.place(1, (0,))] == [(2, 4), (6, 6), (5, 3)]


def test_places_count_lines_as_editors_do() -> None:
    text = read_resource_list("kind: ResourceList\nitems: # of\u2028\n- a: 1 # x\x85  b: 2\n  c: 3\n- d: 4\n".encode())
    assert [text.place(0, ()), text.place(0, ("c",)), text.place(1, ("d",))] == [(3, 3), (4, 6), (5, 6)]


def test_documents_are_changed_left_out_and_added() -> None:
    text = read_stream(b"# head\na: 1 # one\n---\n# nothing\n---\nb: 2\n--- {c: 3}\n")
    items = [{"a": 2}, None, None, {"c": 3, "d": "x"}, {"e": [1]}]
    assert write_stream(text, items) == b"# head\na: 2 # one\n---\n# nothing\n--- {c: 3, d: x}\n---\ne:\n- 1\n"


def test_documents_of_an_empty_stream_are_added() -> None:
    assert write_stream(read_stream(b""), [{"a": 1}, {"b": 2}]) == b"a: 1\n---\nb: 2\n"


def test_importing_the_package_loads_neither_pyyaml_nor_heavy_modules() -> None:
    root = str(Path(__file__).resolve().parents[2])
    program = f"""
import sys
sys.path.insert(0, {root!r})
import krm_fn.yamlio
print([name for name in ("yaml", "re", "typing", "json", "enum") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", program], capture_output=True, check=True)
    assert done.stdout == b"[]\n"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    ("header", "kept"), [("|", "|-"), ("|2", "|-2"), ("|+", "|-"), (">- # a-b+c", ">- # a-b+c"), ("| # a-b", "|- # a-b")]
)
def test_a_block_of_text_at_the_end_loses_nothing_but_a_break_that_it_never_had(newline: str, header: str, kept: str) -> None:
    lines = ["kind: ResourceList", "items:", f"- b: {header}", "    c  -+ d"]
    text = read_resource_list(newline.join(lines).encode())
    written = write_resource_list(text, [*text.items, {"z": 1}]).decode()
    assert written == newline.join([*lines[:2], f"- b: {kept}", lines[3], "- z: 1", ""])
    assert read_resource_list(written.encode()).items == [*text.items, {"z": 1}]


@pytest.mark.parametrize("first", ['? "kind"\n  : "ResourceList"', '? "kind" : "ResourceList"', '"kind": "ResourceList"'])
def test_a_list_in_brackets_keeps_its_items_where_a_question_mark_stands_before_a_key(first: str) -> None:
    text = "{\n  " + first + ',\n  "items": [\n    {\n      "metadata": {\n      }\n    }\n  ]'
    listing = read_resource_list(f"{text}\n}}\n".encode())
    wanted = text + ',\n  "results": [\n    {\n      "message": "m"\n    }\n  ]\n}\n'
    assert write_resource_list(listing, listing.items, [{"message": "m"}]).decode() == wanted
