"""Items that are written before others of a text."""

import json

import pytest

from krm_fn.yamlio import read_resource_list, read_stream, write_resource_list, write_stream
from krm_fn.yamlio.order import in_order

NEW = {"new": 1}


def test_added_items_stand_before_the_items_of_these_numbers():
    assert in_order(["a", "b", "x", "y", "z"], (1, 0, 1)) == ["y", "a", "x", "z", "b"]


@pytest.mark.parametrize(
    ("text", "number", "written"),
    [
        ("a: 1\n---\nb: 2\n", 1, "a: 1\n---\nnew: 1\n---\nb: 2\n"),
        ("a: 1\n---\nb: 2\n", 0, "new: 1\n---\na: 1\n---\nb: 2\n"),
        ("---\na: 1\n", 0, "new: 1\n---\na: 1\n"),
        ("# license\n\n---\na: 1\n", 0, "# license\n\n---\nnew: 1\n---\na: 1\n"),
        ("# about a\na: 1\n", 0, "new: 1\n---\n# about a\na: 1\n"),
        ("a: 1\n--- # about b\nb: 2\n", 1, "a: 1\n---\nnew: 1\n--- # about b\nb: 2\n"),
        ("a: 1\r\n---\r\nb: 2\r\n", 1, "a: 1\r\n---\r\nnew: 1\r\n---\r\nb: 2\r\n"),
        ('{"a": 1}\n', 0, 'new: 1\n---\n{"a": 1}\n'),
        ("%YAML 1.1\n---\na: 1\n", 0, "%YAML 1.1\n---\na: 1\n---\nnew: 1\n"),
        ("a: 1\n...\n%YAML 1.1\n---\nb: 2\n", 1, "a: 1\n...\n%YAML 1.1\n---\nb: 2\n---\nnew: 1\n"),
    ],
)
def test_a_document_is_put_before_another_one_where_no_directive_is_in_the_way(text, number, written):
    stream = read_stream(text.encode())
    assert write_stream(stream, [*stream.items, NEW], (number,)).decode() == written
    values = [item for item in read_stream(written.encode()).items if item is not None]
    assert sorted(values, key=str) == sorted([*stream.items, NEW], key=str)


@pytest.mark.parametrize(
    ("text", "number", "written"),
    [
        ("kind: ResourceList\nitems:\n- a: 1\n- b: 2\n", 1, "kind: ResourceList\nitems:\n- a: 1\n- new: 1\n- b: 2\n"),
        ("kind: ResourceList\nitems:\n- a: 1\n# end\n", 0, "kind: ResourceList\nitems:\n- new: 1\n- a: 1\n# end\n"),
        (
            "kind: ResourceList\nitems:\n  - a: 1\n  - {b: 2}\n",
            1,
            "kind: ResourceList\nitems:\n  - a: 1\n  - new: 1\n  - {b: 2}\n",
        ),
        ("kind: ResourceList\nitems: [a: 1, {b: 2}]\n", 1, "kind: ResourceList\nitems: [a: 1, {new: 1}, {b: 2}]\n"),
        ('{"kind": "ResourceList", "items": [{"a": 1}]}\n', 0, '{"kind": "ResourceList", "items": [{"new": 1}, {"a": 1}]}\n'),
    ],
)
def test_an_item_is_put_before_another_one_of_a_list(text, number, written):
    listing = read_resource_list(text.encode())
    assert write_resource_list(listing, [*listing.items, NEW], before=(number,)).decode() == written


def test_pretty_json_stays_pretty():
    text = json.dumps({"kind": "ResourceList", "items": [{"a": 1}, {"b": 2}]}, indent=2) + "\n"
    listing = read_resource_list(text.encode())
    wanted = json.dumps({"kind": "ResourceList", "items": [{"a": 1}, {"new": 1}, {"b": 2}]}, indent=2) + "\n"
    assert write_resource_list(listing, [*listing.items, NEW], before=(1,)).decode() == wanted


def test_items_that_change_or_go_take_nothing_along():
    listing = read_resource_list(b"kind: ResourceList\nitems:\n- a: 1 # one\n- null\n- b: 2\n")
    left = write_resource_list(listing, [{"a": 3}, None, {"b": 2}, NEW, {"m": 1}], [{"message": "m"}], (0, 2))
    assert left == b"kind: ResourceList\nitems:\n- new: 1\n- a: 3 # one\n- m: 1\n- b: 2\nresults:\n- message: m\n"


def test_a_list_that_is_rewritten_completely_has_the_item_in_its_place():
    text = b"? kind\n: ResourceList\nitems:\n- a: 1 # one\n- b: 2 # two\n"
    listing = read_resource_list(text)
    written = write_resource_list(listing, [*listing.items, NEW], before=(1,))
    assert read_resource_list(written).items == [{"a": 1}, NEW, {"b": 2}]
    assert written.index(b"# one") < written.index(b"new: 1") < written.index(b"# two")


def test_a_list_behind_a_merge_has_the_item_in_its_place():
    listing = read_resource_list(b"kind: ResourceList\n<<: {items: [{a: 1}, {b: 2}]}\n")
    assert read_resource_list(write_resource_list(listing, [*listing.items, NEW], before=(0,))).items == [
        NEW,
        {"a": 1},
        {"b": 2},
    ]
