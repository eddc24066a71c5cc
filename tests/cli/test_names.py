"""Whatever files and objects are called, every format is well-formed, and nothing in it is a command, markup or a link.

Each format is read by a reader that is not ours.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import jsonschema
import pytest
import xmlschema
import yaml
from checking import run
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from sarif_pydantic import Sarif

from krm_fn.cli.formats import FORMATS
from krm_fn.sources import reading

ROOT = Path(__file__).resolve().parents[2]
SCHEMAS = ROOT / "tests" / "schemas"
JUNIT = ROOT / ".hosts" / "junit-10.xsd"
LEVELS = "error|warning|notice"
GITHUB = re.compile(rf"::({LEVELS}) (?:file=([^,:]+)(?:,line=\d+)?(?:,col=\d+)?,)?title=[a-z-]+::[^\r\n]+")
POINT = re.compile(r"(not ok|ok) (\d+) - ((?:[^#\\]|\\.)*)( # SKIP ((?:[^#\\]|\\.)*))?")

FRAGMENTS = (
    *(
        "::error ::x",
        "::set-output name=a::b",
        "##[group]",
        "##vso[task.x]",
        "\x1b[31m",
        "\x1b]8;;http://e.x\x07",
        "\u202e",
        "\u2066",
    ),
    *(
        "\n",
        "\r\n",
        "\n1..0",
        "\nok 1 - x",
        "\nBail out!",
        " # SKIP x",
        " # TODO",
        "\n  ---\n",
        "\t",
        "\x00".replace("\0", "\x01"),
    ),
    *(
        "]]>",
        "&#1;",
        "&amp;",
        "<img src=x>",
        "<!--",
        "-->",
        "<b>",
        "[a](http://e.x)",
        "![a](http://e.x/i.png)",
        "](",
        "</details>",
    ),
    *(
        "|",
        "`",
        "``",
        "\\",
        "\\|",
        "*a*",
        "__a__",
        "~~a~~",
        "@team",
        "a@e.x",
        "#12",
        "!12",
        "GH-12",
        "http://e.x",
        "www.e.x",
        ":x:",
    ),
    *(
        "\x7f",
        "\x85",
        "\u2028",
        "\ufeff",
        "\ufffe",
        "\U000e0001",
        "%0A",
        "%",
        ",",
        ":",
        "?",
        "#",
        " ",
        "  ",
        "é",
        "日本",
        '"',
        "'",
        "{0}",
    ),
    *("$(id)", "${x}", "{{ x }}", "deadbeef", "CVE-2024-1", "=cmd", "-", "--", "f.yaml"),
)
texts = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), max_size=5).map("".join)
file_names = (
    st.one_of(texts.map(lambda text: text.encode("utf-8", "replace")), st.binary(max_size=30))
    .map(lambda data: data.replace(b"\0", b"\1").replace(b"/", b"\2")[:200])
    .map(lambda data: (b"f" if data[:1] in (b"", b".") else b"") + data)
)


def bundle(name: str, namespace: str, key: str, value: str) -> str:
    """Objects with findings of all sorts about these words: a conflict, a silenced one, unknown fields, wrong labels."""
    meta = {"name": name, "namespace": namespace, "labels": {key: value}}
    domain = {"cpu": {"cores": 4}, "devices": {}, key: value}
    size = {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": "VirtualMachineInstancetype", "metadata": meta}
    size["spec"] = {"cpu": {"guest": 2}, "memory": {"guest": "2Gi"}, key: {key: value}}
    vm: dict[str, Any] = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": meta}
    vm["spec"] = {"runStrategy": value, "instancetype": {"kind": "VirtualMachineInstancetype", "name": name}}
    vm["spec"]["template"] = {"spec": {"domain": domain}}
    lost = {**vm, "metadata": {"name": f"{name}2", "annotations": {"kubevirt-render.dev/ignore": f"unknown-field: {value}"}}}
    lost["spec"] = {**vm["spec"], "instancetype": {"name": value}}
    return "---\n".join(json.dumps(each) + "\n" for each in (size, vm, lost))


def policy(name: str, message: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A policy that refuses every object, and its binding."""
    group = "admissionregistration.k8s.io/v1"
    rules = [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]
    spec = {"matchConstraints": {"resourceRules": rules}, "validations": [{"expression": "false", "message": message}]}
    bound = {"policyName": name, "validationActions": ["Deny"]}
    return (
        {"apiVersion": group, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec},
        {"apiVersion": group, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "b"}, "spec": bound},
    )


def checked(files: dict[bytes, str], *arguments: str) -> Iterator[tuple[dict[str, str], str]]:
    """What every format says of these files, by path, and what goes to stderr."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as out:
        for path, text in files.items():
            place = Path(folder) / os.fsdecode(path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        wanted = [word for name in FORMATS for word in ("-o", f"{name}={out}/{name}")]
        code, stdout, err = run("check", *wanted, "--summary", *(arguments or ["."]), cwd=folder)
        # a template that can't be read, which anybody may put into a folder, does not fail the run
        template = any(reading.TEMPLATE.search(text.encode(errors="replace")) for text in files.values())
        assert stdout == "", err
        assert code == 1 or (code == 0 and template), err
        yield {name: (Path(out) / name).read_bytes().decode() for name in FORMATS}, err


def is_inert(text: str) -> None:
    assert text.replace("\n", "").isprintable()
    assert "##[" not in text
    assert "##vso[" not in text


def of_json(out: dict[str, str], paths: set[str]) -> int:
    """The number of findings; paths are exact."""
    found = json.loads(out["json"])
    named = {result["file"]["path"] for result in found["results"]}
    assert named <= paths
    gitlab = json.loads(out["gitlab"])
    jsonschema.validate(gitlab, json.loads((SCHEMAS / "gitlab.json").read_text()), cls=jsonschema.Draft202012Validator)
    assert {issue["location"]["path"] for issue in gitlab} <= paths
    assert len(gitlab) == len(found["results"])
    return len(found["results"])


def of_sarif(text: str, paths: set[bytes], count: int) -> None:
    jsonschema.validate(json.loads(text), json.loads((SCHEMAS / "sarif.json").read_text()), cls=jsonschema.Draft202012Validator)
    log = Sarif.model_validate_json(text)
    results = log.runs[0].results
    places = [result.locations[0].physical_location.artifact_location for result in results if result.locations]
    assert {urllib.parse.unquote_to_bytes(str(place.uri)) for place in places} <= paths
    assert all(re.fullmatch(r"[\w.~/%-]+", str(place.uri), re.ASCII) for place in places)
    assert not any(re.search(r"(?<!\\)\]\(", result.message.text) for result in results)
    counting = [result for result in json.loads(text)["runs"][0]["results"] if not result.get("suppressions")]
    assert len(counting) == count


def of_junit(text: str, count: int) -> None:
    root = ET.fromstring(text)
    if JUNIT.exists():
        xmlschema.XMLSchema(JUNIT).validate(root)
    assert len(root.findall(".//failure")) + len(root.findall(".//system-out")) == count


def of_tap(text: str, count: int) -> None:
    lines = text.splitlines()
    assert lines == text.split("\n")[:-1]
    assert lines[0] == "TAP version 14"
    points, at = [], 2
    while at < len(lines) - 1:
        found = POINT.fullmatch(lines[at])
        assert found, lines[at]
        points.append((found[1], int(found[2]), bool(found[4])))
        at += 1
        if lines[at] == "  ---":
            end = lines.index("  ...", at)
            assert {"message", "severity"} <= yaml.safe_load("\n".join(lines[at + 1 : end])).keys()
            at = end + 1
    assert lines[1] == f"1..{len(points)}"
    assert [number for _, number, _ in points] == list(range(1, len(points) + 1))
    assert lines[-1].startswith("# ")
    assert len([point for point in points if not point[2]]) >= count


def of_github(text: str, paths: set[str], count: int) -> None:
    *lines, figures = text.split("\n")[:-1]
    assert len(lines) == count
    assert not figures.lstrip().startswith("::")
    for line in lines:
        found = GITHUB.fullmatch(line)
        assert found, line
        assert urllib.parse.unquote(found[2]) in paths


def of_markdown(text: str, count: int) -> None:
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    rows = [token for token in tokens if token.type == "tr_open"]
    cells = [token for token in tokens if token.type in ("td_open", "th_open")]
    suppressed = text.count("<details>")
    assert len(rows) <= count + 2 + 2 * suppressed
    assert len(cells) == 4 * (count + 1) + suppressed * 5 * (len(rows) - count - 1)
    blocks = [token.content.strip() for token in tokens if token.type == "html_block"]
    assert all(
        re.fullmatch(r"<!-- kubevirt-render check -->|<details><summary>\d+ suppressed</summary>|</details>", each)
        for each in blocks
    )
    for inline in (token for token in tokens if token.type == "inline"):
        for token in inline.children:
            assert token.type in ("text", "code_inline"), token
            said = "" if token.type == "code_inline" else token.content.removeprefix(":x:").removeprefix(":warning:")
            said = said.removeprefix(":information_source:")
            assert not re.search(r"[@<>\[\]|`*_~!#&$]|//|www\.|:\w+:|[0-9a-f]{7}|GH-\d", said), said


def of_text(text: str, count: int) -> None:
    lines = text.split("\n")[:-1]
    assert len(lines) == count + 1
    assert all(re.match(r"(error|warning|info): ", line) for line in lines[:-1])


def hold(files: dict[bytes, str], *arguments: str) -> None:
    """AssertionError where a format says of the files what no reader takes, or anything that is not inert."""
    for out, err in checked(files, *arguments):
        exact = {os.fsdecode(path) for path in files}
        shown = {path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace") for path in exact}
        for text in (*out.values(), err):
            is_inert(text)
        assert not any(
            line.lstrip().startswith("::") for name, text in out.items() if name != "github" for line in text.split("\n")
        )
        count = of_json(out, shown)
        assert count
        of_sarif(out["sarif"], set(files), count)
        of_junit(out["junit"], count)
        of_tap(out["tap"], count)
        of_github(out["github"], {printable(path) for path in exact}, count)
        of_markdown(out["markdown"], count)
        of_text(out["text"], count)


def printable(path: str) -> str:
    """The path with escapes for what is not printable, as GitHub gets it."""
    escaped = path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    short = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}

    def letter(one: str) -> str:
        code = ord(one)
        return short.get(one) or (rf"\x{code:02x}" if code < 0x80 else rf"\u{code:04x}" if code <= 0xFFFF else rf"\U{code:08x}")

    text = "".join(one if one.isprintable() else letter(one) for one in escaped)
    return (text.replace("::", r":\x3a", 1) if text.lstrip().startswith("::") else text).replace("##", r"#\x23")


PLAIN = bundle("web", "shop", "tier", "blue")


@pytest.mark.parametrize("fragment", FRAGMENTS)
def test_every_format_takes_each_of_these(fragment: str) -> None:
    file = fragment.encode().replace(b"/", b"_")
    hold(
        {b"f" + file + b".yaml": bundle(*[fragment] * 4), file + b"f/" + file + b".yaml": PLAIN}
        if file[:1] != b"."
        else {b"f": PLAIN}
    )


@settings(max_examples=60, deadline=None)
@given(file_names, file_names)
def test_every_format_takes_every_file_name(folder: bytes, file: bytes) -> None:
    path = folder + b"/" + file + b".yaml"
    hold({path: PLAIN, b"other.yaml": PLAIN})


@settings(max_examples=60, deadline=None)
@given(texts, texts, texts, texts)
@example(name="", namespace="", key="$(id)", value="")  # a key like a directive of a patch
def test_every_format_takes_every_word_of_an_object(name: str, namespace: str, key: str, value: str) -> None:
    hold({b"vm.yaml": bundle(name, namespace, key, value)})


def test_a_name_that_is_no_utf_8_is_a_uri_of_its_bytes_and_escapes_for_people() -> None:
    for out, _ in checked({b"a\xff b.yaml": PLAIN}):
        assert '"uri": "a%FF%20b.yaml"' in out["sarif"]
        assert '"path": "a\\\\xff b.yaml"' in out["json"]
        assert '"path": "a\\\\xff b.yaml"' in out["gitlab"]
        assert r'error: "a\xff b.yaml":' in out["text"]
        assert r"file=a\xff b.yaml," in out["github"]


def test_a_name_with_a_line_break_stays_recognisable() -> None:
    for out, _ in checked({b"a\nb\x1b.yaml": PLAIN}):
        assert json.loads(out["json"])["results"][0]["file"]["path"] == "a\nb\x1b.yaml"
        assert r'error: "a\nb\x1b.yaml":' in out["text"]
        assert r'`"a\nb\x1b.yaml":' in out["markdown"]
        assert r"""at: "\"a\\nb\\x1b.yaml\":""" in out["tap"]
        assert r'classname="&quot;a\nb\x1b.yaml&quot;"' in out["junit"]


@settings(max_examples=60, deadline=None)
@given(file_names)
def test_other_commands_say_every_file_name_on_one_line(file: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        name = os.fsdecode(file + b".yaml")
        (Path(folder) / name).write_text(PLAIN)
        _, out, err = run("argocd", "discover", cwd=folder)
        is_inert(out + err)
        assert (out.count("\n"), out.lstrip().startswith("::")) == (1, False)
        _, out, err = run("render", "--verbose", "-o", "resourcelist", ".", cwd=folder)
        is_inert(err)
        assert yaml.safe_load(out)["results"][0]["file"]["path"]
        code, _, err = run("render", f"./{name}x", cwd=folder)
        is_inert(err)
        assert (code, err.count("\n")) == (1, 1)


COMMANDS = (
    "a\n::error::b",
    "a\x1b[31m",
    "a\r::stop-commands::b",
    "::warning::a",
    "##[group]a",
    "<img src=x>",
    "[a](http://e.x)",
)


@pytest.mark.parametrize("name", COMMANDS)
def test_no_format_says_the_name_of_a_policy_as_it_is(name: str) -> None:
    objects = json.loads(bundle("web", "shop", "tier", "blue").split("---\n")[1]), *policy(name, "no")
    for out, err in checked({b"a.yaml": "---\n".join(json.dumps(each) + "\n" for each in objects)}):
        assert "policy/" in out["json"]
        for text in (*out.values(), err):
            is_inert(text)
            assert f"policy/{name}" not in text


@pytest.mark.parametrize("name", COMMANDS[:5])
def test_deliveries_say_every_name_on_one_line(name: str, tmp_path: Path) -> None:
    applied = {"apiVersion": "kustomize.toolkit.fluxcd.io/v1", "kind": "Kustomization", "metadata": {"name": name}}
    applied["spec"] = {"path": "./app", "targetNamespace": name, "sourceRef": {"kind": "GitRepository", "name": "a"}}
    (tmp_path / "app").mkdir()
    (tmp_path / "app" / "vm.yaml").write_text(PLAIN)
    (tmp_path / "flux.yaml").write_text(json.dumps(applied))
    _, out, _ = run("deliveries", ".", cwd=tmp_path)
    is_inert(out)
    assert (out.count("\n"), out.count("\n::"), out.count("##[")) == (2, 0, 0)
