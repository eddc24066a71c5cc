"""Documents read as sigs.k8s.io/yaml reads them, and what can't be read is refused with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import measured
import pytest

from krm_fn.base.errors import InputError
from krm_fn.yamlio import read_resource_list, read_stream, read_value, write_resource_list, write_stream

ROOT = Path(__file__).resolve().parents[2]
LIST = "kind: ResourceList\nitems:\n- "

# Where this reader differs from Go's on purpose or by libyaml.
DIFFERENT = {
    "scalar '\"a\\\\x41\\\\u00e9\\\\/\\\\e\"'": "libyaml knows JSON's escape \\/, Go's reader does not",
    "directive 1.2": "libyaml reads a document that asks for YAML 1.2, Go's reader refuses it",
}
# sigs.k8s.io/yaml lets the last of two equal keys win, unless strict; kustomize refuses them, and so does this reader.
REFUSED = {"dup keys", "dup nested"}


def first(text: str) -> Any:
    """The value of the first document, as Go's reader gives it."""
    items = read_stream(text.encode()).items
    return items[0] if items else None


def agrees(document: dict[str, str]) -> bool:
    if document["name"] in REFUSED or not document["sigs"].startswith(("{", "null")):
        try:
            first(document["yaml"])
        except InputError:
            return True
        return False
    wanted = json.loads(document["sigs"])
    found = first(document["yaml"])
    return json.dumps(found, sort_keys=True) == json.dumps(wanted, sort_keys=True)


@pytest.mark.parametrize("document", measured.documents(), ids=lambda document: document["name"])
def test_a_document_reads_as_go_reads_it_but_for_two(document: dict[str, str]) -> None:
    assert agrees(document) is (document["name"] not in DIFFERENT)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0x_1F", 31),
        ("-0x1F", -31),
        ("+0b11", 3),
        ("0B11", 3),
        ("0777", 511),
        ("-017", -15),
        ("1_", 1),
        ("-_1", -1),
        ("+", "+"),
        (".", "."),
        (".5e1", 5),
        (".5_5", 0.55),
        ("._5", "._5"),
        (".5_", ".5_"),
        ("1e", "1e"),
        ("1e+", "1e+"),
        ("1.5E-3", 0.0015),
        ("1e-400", 0),
        ("1e20", 100000000000000000000),
        ("1e21", 1e21),
        ("-9223372036854775808", -9223372036854775808),
        ("-9223372036854775809", -9223372036854776000),
        ("+9223372036854775808", 9223372036854776000),
        ("0x1FFFFFFFFFFFFFFFFF", "0x1FFFFFFFFFFFFFFFFF"),
        ("00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000017", 15),
        ("infinity", "infinity"),
        ("nan", "nan"),
        ("!!int 0x10", 16),
        ("!!str", ""),
        ("!!str ~", "~"),
        ("!!null ~", None),
        ("!!timestamp 2024-01-01", "2024-01-01"),
        ("!<tag:example.com,2000:x> 12", "12"),
        ("!!binary aGVs bG8=", "hello"),
        ("!!binary /w==", "\ufffd"),
    ],
)
def test_a_scalar_reads_as_go_reads_it(text: str, value: object) -> None:
    found = read_value(f"a: {text}\n")["a"]
    assert (found, type(found)) == (value, type(value)) or (found == value and not isinstance(found, bool))


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("1e3", "1000"),
        ("1e6", "1e+06"),
        ("1.5", "1.5"),
        ("0.1", "0.1"),
        ("1e-7", "1e-07"),
        ("123456.75", "123456.75"),
        ("16777217.0", "1.6777216e+07"),
        ("-0x10", "-16"),
        (".inf", ".inf"),
        ("-.inf", "-.inf"),
        (".nan", ".nan"),
        ("1e300", ".inf"),
        ("n", "false"),
        ("'n'", "n"),
        ("!!str 1", "1"),
        ("2024-01-01", "2024-01-01"),
        ('""', ""),
    ],
)
def test_a_key_is_the_text_that_go_makes_of_it(key: str, text: str) -> None:
    assert read_value(f"{key}: x\n") == {text: "x"}


def test_aliases_and_merges_are_resolved() -> None:
    text = "a: &a {x: 1, z: 2}\nb: &b {z: 3}\nc: *a\nd: {<<: [*a, *b], q: 4}\ne: {<<: *b, z: 5}\n"
    assert read_value(text) == {
        "a": {"x": 1, "z": 2},
        "b": {"z": 3},
        "c": {"x": 1, "z": 2},
        "d": {"x": 1, "z": 2, "q": 4},
        "e": {"z": 5},
    }


def test_a_merge_may_have_its_tag() -> None:
    assert read_value("a: &a {x: 1}\nb:\n  !!merge <<: *a\nc: {!!str <<: 1}\n") == {
        "a": {"x": 1},
        "b": {"x": 1},
        "c": {"<<": 1},
    }


def test_an_alias_may_be_a_key() -> None:
    assert read_value("a: &x name\n*x : 1\n") == {"a": "name", "name": 1}


def test_an_anchor_of_another_item_and_one_that_is_defined_again_are_found() -> None:
    text = read_resource_list(b"kind: ResourceList\nitems:\n- &x a\n- *x\n- &x b\n- *x\n")
    assert text.items == ["a", "a", "b", "b"]


@pytest.mark.parametrize(
    "data",
    [
        b"kind: ResourceList\nitems:\n- a: 1\n- b\n",
        b"kind: ResourceList\nitems:\n  - a: 1\n  - b\n",
        b"items:\n- a: 1\n- b\nkind: ResourceList\n",
        b"# c\n---\n# d\nkind: ResourceList\nitems:\n- a: 1\n- b\n...\n",
        b"kind: ResourceList\nitems:\n- a: 1\n- b\n---\n",
        b"kind: ResourceList\nitems:\n- a: 1\n- b\n--- # nothing\n...\n---\n",
        b'{"kind": "ResourceList", "items": [{"a": 1}, "b"]}',
        b"kind: ResourceList\nitems: [{a: 1}, b]\n",
        b"\xef\xbb\xbfkind: ResourceList\r\nitems:\r\n- a: 1\r\n- b\r\n",
        b"kind: ResourceList\ritems:\r- a: 1\r- b\r",
        b"  kind: ResourceList\n  items:\n  -\n    a: 1\n  - # c\n    b\n",
        b"kind: ResourceList\nx: &x [{a: 1}, b]\nitems: *x\n",
        b"<<: {items: [{a: 1}, b]}\nkind: ResourceList\n",
        b"? kind\n: ResourceList\n? items\n: - a: 1\n  - b\n",
        b"%YAML 1.1\n---\nkind: ResourceList\nitems: &i\n- a: 1\n- b\n",
    ],
)
def test_a_resource_list_is_found_in_every_legal_layout(data: bytes) -> None:
    text = read_resource_list(data)
    assert text.items == [{"a": 1}, "b"]
    assert text.head["kind"] == "ResourceList"
    assert "items" not in text.head


@pytest.mark.parametrize("data", [b"", b" ", b" \n\n", b"# only a comment\n", b"---\n", b"---\n# c\n...\n", b"\xef\xbb\xbf"])
def test_empty_input_is_an_empty_list(data: bytes) -> None:
    text = read_resource_list(data)
    assert (text.head, text.items) == ({}, [])
    written = read_resource_list(write_resource_list(text, []))
    assert b"..." not in write_resource_list(text, [])
    assert written.head == {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList"}


def test_a_stream_gives_one_value_a_document() -> None:
    text = read_stream(b"a: 1\n---\n# nothing\n---\n- &x 2\n...\n--- 3\n---\n")
    assert text.items == [{"a": 1}, None, [2], 3, None]


def test_a_byte_order_mark_before_each_document_is_no_part_of_it() -> None:
    text = read_stream("\ufeffa: 1\n---\n\ufeffb: 2 # kept\n--- # c\r\n\ufeffc: '\ufeff'\n".encode())
    assert text.items == [{"a": 1}, {"b": 2}, {"c": "\ufeff"}]
    assert (
        write_stream(text, [{"a": 1}, {"b": 3}, {"c": "\ufeff"}]).decode() == "a: 1\n---\nb: 3 # kept\n--- # c\r\nc: '\ufeff'\n"
    )


def test_read_value_takes_one_document() -> None:
    assert read_value("") is None
    assert read_value("# c\n") is None
    assert read_value("{a: [1]}") == {"a": [1]}
    with pytest.raises(InputError, match="there is a second document"):
        read_value("a\n---\nb\n")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            b"a: 1\n",
            "f.yaml:1:1: the input has no kind; expected a ResourceList (plain manifests go to `kubevirt-render render -`)",
        ),
        (
            b"kind: List\nitems: []\n",
            "f.yaml:1:7: the input has kind 'List'; expected a ResourceList (plain manifests go to `kubevirt-render render -`)",
        ),
        (
            b"kind: [1]\n",
            (
                "f.yaml:1:7: the input has a kind that is not a string; expected a ResourceList "
                "(plain manifests go to `kubevirt-render render -`)"
            ),
        ),
        (b"- a\n", "f.yaml:1:1: the input is a list; expected one ResourceList"),
        (b"# c\nhello\n", "f.yaml:2:1: the input is no map; expected one ResourceList"),
        (b"kind: ResourceList\nitems: {a: 1}\n", "f.yaml:2:8: items is no list"),
        (b"kind: ResourceList\n---\na: 1\n", "f.yaml:3:1: there is a second document; expected only one ResourceList"),
        (b"kind: ResourceList\nkind: x\n", "f.yaml:2:1: the key 'kind' is set twice in one map"),
        (f"{LIST}a: 1\n  b: 2\n  a: 3\n".encode(), "f.yaml:5:3: the key 'a' is set twice in one map"),
        (f"{LIST}on: 1\n  y: 3\n".encode(), "f.yaml:4:3: the key 'true' (written y) is set twice in one map"),
        (f"{LIST}<<: {{a: 1}}\n  <<: {{b: 1}}\n".encode(), "f.yaml:4:3: the key '<<' is set twice in one map"),
        (f"{LIST}<<: 1\n".encode(), "f.yaml:3:7: the value of << must be a map or a list of maps"),
        (f"{LIST}~: 1\n".encode(), "f.yaml:3:3: null cannot be a key; expected a string"),
        (f"{LIST}? [a]\n  : 1\n".encode(), "f.yaml:3:5: a map or list cannot be a key; expected a string"),
        (f"{LIST}a: &x [1]\n  *x : 1\n".encode(), "f.yaml:4:3: a map or list cannot be a key; expected a string"),
        (
            f"{LIST}18446744073709551615: 1\n".encode(),
            "f.yaml:3:3: a number with more than 64 bits cannot be a key; put it in quotes",
        ),
        (f"{LIST}a: .inf\n".encode(), "f.yaml:3:6: infinity and NaN can't be expressed in JSON"),
        (f"{LIST}a: !!int x\n".encode(), "f.yaml:3:6: this value is not a valid !!int"),
        (f"{LIST}a: !!binary x\n".encode(), "f.yaml:3:6: the value of !!binary is not base64"),
        (f"{LIST}a: *x\n".encode(), "f.yaml:3:6: this alias has no anchor before it"),
        (f"{LIST}a: &x [*x]\n".encode(), "f.yaml:3:10: this alias is inside its own anchor"),
        (f"{LIST}é: \x01\n".encode(), "f.yaml:3:6: the character U+0001 is not allowed in YAML; remove it"),
        (b"kind: ResourceList\nitems: \xc3\xa9\xff\n", "f.yaml:2:9: the byte 0xFF is not valid UTF-8"),
        ("kind: x".encode("utf-16"), "f.yaml:1:1: the text is encoded in UTF-16; expected UTF-8"),
        (b"kind: ResourceList\nitems:\n\t- a\n", "f.yaml:3:1: a tab is used for indentation; indent with spaces"),
        (f"{LIST}a: @x\n".encode(), "f.yaml:3:6: this character can't start a value; put the value in quotes"),
        (
            f"{LIST}a: b: c\n".encode(),
            "f.yaml:3:7: a ':' is not allowed here; check the indentation, or put the value in quotes",
        ),
        (f'{LIST}a: "x\n'.encode(), "f.yaml:4:1: the text ends inside a quoted string"),
        (f"{LIST}a: [b\n".encode(), "f.yaml:4:1: a ',' or a closing bracket is missing here"),
        (
            f"{LIST}a: 1\n b: 2\n".encode(),
            "f.yaml:4:2: this line belongs to neither the map nor the list around it; check the indentation",
        ),
        (
            f"{LIST}a: 1\n\ufeff  b: 2\n".encode(),
            "f.yaml:4:1: this line starts with a byte order mark (U+FEFF); remove it",
        ),
        (
            f"---\n\ufeff{LIST}a: 1\n".encode(),
            "f.yaml:2:1: this line starts with a byte order mark (U+FEFF); remove it",
        ),
        (f"{LIST}a: 1\u2028  b: 2\x85\n  a: 3\n".encode(), "f.yaml:4:3: the key 'a' is set twice in one map"),
        (f"{LIST}a: 1\u2028  a: 3\n".encode(), "f.yaml:3:10: the key 'a' is set twice in one map"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_place(data: bytes, message: str) -> None:
    with pytest.raises(InputError) as caught:
        read_resource_list(data, file="f.yaml")
    assert str(caught.value) == message
