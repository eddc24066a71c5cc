"""What `render` prints of several texts is one stream, and one that kubectl and kustomize read."""

import json
import re

import pytest
import yaml
from checking import run

VM = """\
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: web} # ours
spec:
  runStrategy: Always
  instancetype: {name: u1.nano}
  template:
    spec:
      domain: {devices: {}}
"""
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: NAME} # kept\n"


def of(name):
    return MAP.replace("NAME", name)


def read(stream):
    """What kubectl makes of a stream: it is JSON, or is cut at its marks, and each part is one document."""
    if stream.lstrip().startswith("{"):
        return [json.loads(stream)]
    assert not re.search(r"^---[ \t]+[^#\s]", stream, re.MULTILINE)
    parts = re.split(r"^---.*\n", stream, flags=re.MULTILINE)
    assert not any(line.startswith("%") for part in parts for line in part.splitlines())
    return list(filter(None, map(yaml.safe_load, parts)))


def rendered(folder, *texts):
    """(stdout, the names of the objects that kubectl finds in it)."""
    for number, text in enumerate(texts):
        (folder / f"{number}.yaml").write_bytes(text.encode())
    code, out, err = run("render", *(f"{number}.yaml" for number in range(len(texts))), cwd=folder)
    assert (code, err) == (0, "")
    return out, [item["metadata"]["name"] for item in read(out)]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ((of("a"), of("b")), f"{of('a')}---\n{of('b')}"),
        ((of("a"), f"%YAML 1.1\n---\n{of('b')}"), f"{of('a')}---\n{of('b')}"),
        ((f"%YAML 1.2\r\n---\r\n{of('a')}", of("b")), f"{of('a')}---\n{of('b')}"),
        (
            (f"# c\n%YAML 1.1\n# d\n--- # e\n{of('a')}...\n%YAML 1.1\n---\n{of('b')}",),
            f"--- # e\n# c\n# d\n{of('a')}---\n{of('b')}",
        ),
        ((of("a"), f"--- # e\n{of('b')}"), f"{of('a')}--- # e\n{of('b')}"),
        ((of("a"), f"--- # e\n{of('b')}... # f\n---\n{of('c')}"), f"{of('a')}--- # e\n{of('b')}# f\n---\n{of('c')}"),
        ((f"{of('a')}...\n", of("b").removesuffix("\n")), f"{of('a')}---\n{of('b')}"),
        (("\ufeff" + of("a"), f"\ufeff%YAML 1.1\n---\n{of('b')}"), f"{of('a')}---\n{of('b')}"),
        ((f"--- !!map\n{of('a')}--- &b\n{of('b')}",), f"!!map\n{of('a')}---\n&b\n{of('b')}"),
    ],
)
def test_texts_are_joined_with_nothing_but_their_marks_changed(tmp_path, texts, expected):
    out, names = rendered(tmp_path, *texts)
    assert out == expected
    assert names == [*"abc"][: len(names)]
    assert len(names) == expected.count("kind:")


def test_json_is_followed_by_more(tmp_path):
    text = json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}) + "\n"
    assert rendered(tmp_path, text) == (text, ["a"])
    assert rendered(tmp_path, text, of("b")) == (f"---\n{text}---\n{of('b')}", ["a", "b"])
    assert rendered(tmp_path, of("b"), text) == (f"{of('b')}---\n{text}", ["b", "a"])


def test_tags_that_a_directive_explains_are_written_out(tmp_path):
    tagged = f"%TAG !e! tag:yaml.org,2002:\n---\n{of('a')}data: {{port: !e!str 80}}\n"
    out, names = rendered(tmp_path, tagged, of("b"))
    assert names == ["a", "b"]
    assert read(out)[0]["data"] == {"port": "80"}


def test_what_looks_like_a_mark_inside_a_text_is_none(tmp_path):
    text = f"%YAML 1.1\n---\n{of('a')}data:\n  a: |\n    ...\n    --- b\n    %YAML\n"
    out, names = rendered(tmp_path, text)
    assert (out, names) == (text.removeprefix("%YAML 1.1\n---\n"), ["a"])


def test_a_rendered_object_keeps_its_comments_where_a_directive_goes(tmp_path):
    out, names = rendered(tmp_path, of("a"), f"# ours\n%YAML 1.1\n---\n{VM}")
    assert names == ["a", "web"]
    assert out.startswith(
        f"{of('a')}---\n# ours\napiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {{name: web}} # ours\n"
    )
    assert "instancetype" not in out


def test_in_place_a_directive_stays(tmp_path):
    (tmp_path / "vm.yaml").write_text(f"%YAML 1.1\n---\n{VM}")
    assert run("render", "--in-place", "vm.yaml", cwd=tmp_path) == (0, "", "kubevirt-render: note: vm.yaml: written\n")
    assert (tmp_path / "vm.yaml").read_text().startswith("%YAML 1.1\n---\napiVersion: kubevirt.io/v1\n")
