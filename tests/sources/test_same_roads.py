"""The function, `render` and `check` say the same of a list, whatever its objects look like, and none loses one."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import checking
import pytest
from functions import resource_list, vm
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from krm_fn import yamlio
from krm_fn.cli import run
from krm_fn.hosts import function

ODD: Any = st.sampled_from([0, 2, True, "", "x", [], {}, ["a"], {"a": 1}, 1.5])
VERSIONS: Any = st.sampled_from(["v1", "kubevirt.io/v1", "kubevirt.io/v9", "instancetype.kubevirt.io/v1beta1"])
KINDS: Any = st.sampled_from(["ConfigMap", "VirtualMachine", "VirtualMachin", "VirtualMachineInstancetype", "Secret"])
OBJECTS = st.builds(
    lambda about, **keys: {**keys, "metadata": about},
    st.one_of(ODD, st.fixed_dictionaries({"name": st.one_of(st.sampled_from("ab"), ODD)}, optional={"namespace": ODD})),
    apiVersion=st.one_of(VERSIONS, ODD.filter(bool)),
    kind=st.one_of(KINDS, ODD.filter(lambda value: value not in ("", [], {}))),
)
# What stands in a list and is no object: a null, a scalar, a map without apiVersion and kind, a List in a List.
OTHERS = st.one_of(st.none(), ODD, st.fixed_dictionaries({}, optional={"apiVersion": VERSIONS, "kind": KINDS, "a": ODD}))
LISTS: Any = st.recursive(
    st.one_of(OBJECTS, OTHERS, st.just(vm())),
    lambda below: st.builds(lambda items: {"apiVersion": "v1", "kind": "List", "items": items}, st.lists(below, max_size=3)),
    max_leaves=5,
)
ITEMS = st.lists(st.one_of(OBJECTS, st.just(vm())), min_size=1, max_size=4)


def captured(call: Callable[[], int], stdin: str = "") -> tuple[int, str, str]:
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), "utf-8"))
        code = call()
        out.flush()
    return code, out.buffer.getvalue().decode(), err.getvalue()


def hosted(items: list[Any], front: Any, **spec: Any) -> tuple[int, list[Any], list[str]]:
    """Exit code, items and rules of the function."""
    out = io.BytesIO()
    data = yamlio.dump(resource_list(*items, **{"catalogue": "builtin", **spec})).encode()
    code = front(data, out, io.StringIO())
    found = yamlio.read_value(out.getvalue().decode())
    return code, found["items"], sorted(each["tags"]["rule"] for each in found.get("results", ()))


def on_all_roads(items: list[Any], folder: Path, files: dict[str, str]) -> None:
    """The function, `render` and `check` of these files, and of stdin, say the same and lose nothing."""
    code, expected, rules = hosted(items, function.run)
    assert hosted(items, function.run_all) == (code, expected, rules)
    judged, _, found = hosted(items, function.run_all, mode="validate")
    for name, text in files.items():
        (folder / name).write_text(text)
        for path, stdin in ((name, ""), ("-", text)):
            done, out, _ = captured(lambda path=path: run(["render", path]), stdin)
            assert done == code
            if code == 0:  # otherwise it prints nothing
                printed = [item for item in yamlio.read_stream(out.encode()).items if out.strip()]
                assert printed == expected
            done, out, _ = captured(lambda path=path: run(["check", "-o", "json", path]), stdin)
            assert (done, sorted(each["tags"]["rule"] for each in json.loads(out)["results"])) == (judged, found)


law = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@law
@given(items=ITEMS)
def test_an_object_of_any_form_is_lost_on_no_road(items: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    listed = yamlio.dump(resource_list(*items, catalogue="builtin"))
    on_all_roads(items, tmp_path, {"all.yaml": "---\n".join(map(yamlio.dump, items)), "list.yaml": listed})


@law
@given(items=st.lists(LISTS, min_size=1, max_size=4))
def test_what_is_in_a_list_and_no_object_is_lost_on_no_road(
    items: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    items = [*items, vm()]  # where nothing at all is judged, the commands fail
    on_all_roads(items, tmp_path, {"list.yaml": yamlio.dump(resource_list(*items, catalogue="builtin"))})


TWICE = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {x: '1'}\ndata: {x: '2'}\n"


@pytest.mark.parametrize("text", [TWICE, f"{TWICE}---\n{yamlio.dump(vm())}", TWICE.replace("name: a", "name: a, name: b")])
def test_a_key_that_is_there_twice_is_refused_on_each_road(text: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(text)
    indented = "".join(f"  {line}" for line in text.partition("---\n")[0].splitlines(keepends=True))
    listed = f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- {indented[2:]}"
    for words, stdin in (([], listed), (["render", "a.yaml"], ""), (["render", "-"], text), (["render", "."], "")):
        code, out, err = checking.run(*words, cwd=tmp_path, stdin=stdin)
        assert (code, out, err.count("\n")) == (1, "", 1), (words, err)
        assert "set twice" in err
    for words, stdin in ((["check", "a.yaml"], ""), (["check", "-"], text), (["check", "."], "")):
        code, out, err = checking.run(*words, cwd=tmp_path, stdin=stdin)
        assert (code, "set twice" in out + err) == (1, True)


@pytest.mark.parametrize("kustomize", ["5.8.1"], indirect=True)
@pytest.mark.parametrize(
    ("wrong", "refused"),
    [
        ({}, False),
        ({"apiVersion": 2}, False),
        ({"kind": 0}, False),
        ({"apiVersion": "kubevirt.io/v9"}, False),
        ({"metadata": {}}, True),
    ],
)
def test_a_folder_and_a_kustomization_say_what_the_function_says(
    wrong: dict[str, Any], refused: bool, kustomize: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", kustomize.rpartition("/")[0], prepend=":")
    item = {**vm(), **wrong}
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "a.yaml").write_text(f"---\n# nothing\n---\n{yamlio.dump(item)}---\n")
    rendered, _, _ = hosted([item], function.run_all)
    _, _, found = hosted([item], function.run_all, mode="validate")
    for kustomization, expected in (("", found), ("resources: [a.yaml]\n", found + ["kustomization-not-built"] * refused)):
        if kustomization:
            (tmp_path / "here" / "kustomization.yaml").write_text(kustomization)
        code, out, _ = captured(lambda: run(["check", "-o", "json", "here"]))
        rules = sorted(each["tags"]["rule"] for each in json.loads(out)["results"])
        assert (code, rules) == (int(bool(expected)), sorted(expected))
        assert captured(lambda: run(["render", "here"]))[0] == max(rendered, bool(kustomization and refused))


@pytest.mark.parametrize("wrong", [{"apiVersion": 2}, {"kind": 0}, {"apiVersion": 2, "kind": 0}])
def test_an_object_whose_keys_have_wrong_types_leaves_as_it_came(wrong: dict[str, Any], tmp_path: Path) -> None:
    obj = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}} | wrong
    file = tmp_path / "a.yaml"
    file.write_text(yamlio.dump(obj))
    code, out, _ = captured(lambda: run(["render", str(file)]))
    assert (code, list(yamlio.read_stream(out.encode()).items)) == (0, [obj])


@pytest.mark.parametrize("kind", ["kind: 0", "x: 0"])
def test_an_object_of_kubevirt_without_a_kind_is_a_finding(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(f"apiVersion: kubevirt.io/v1\n{kind}\nmetadata: {{name: a}}\n")
    code, out, _ = captured(lambda: run(["check", "-o", "json", str(file)]))
    assert (code, [each["tags"]["rule"] for each in json.loads(out)["results"]]) == (1, ["unknown-kind"])
