"""The function, `render` and `check` say the same of a list, whatever its objects look like, and none loses one."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any

import pytest
from functions import resource_list, vm
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from krm_fn import yamlio
from krm_fn.cli import run
from krm_fn.hosts import full_list, function

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ODD: Any = st.sampled_from([0, 2, True, "", "x", [], {}, ["a"], {"a": 1}, 1.5])
VERSIONS: Any = st.sampled_from(["v1", "kubevirt.io/v1", "kubevirt.io/v9", "instancetype.kubevirt.io/v1beta1"])
KINDS: Any = st.sampled_from(["ConfigMap", "VirtualMachine", "VirtualMachin", "VirtualMachineInstancetype", "Secret"])
OBJECTS = st.builds(
    lambda about, **keys: {**keys, "metadata": about},
    st.one_of(ODD, st.fixed_dictionaries({"name": st.one_of(st.sampled_from("ab"), ODD)}, optional={"namespace": ODD})),
    apiVersion=st.one_of(VERSIONS, ODD.filter(bool)),
    kind=st.one_of(KINDS, ODD.filter(lambda value: value not in ("", [], {}))),
)
ITEMS = st.lists(st.one_of(OBJECTS, st.just(vm())), min_size=1, max_size=4)


def captured(call: Callable[[], int]) -> tuple[int, str, str]:
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
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


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(items=ITEMS)
def test_an_object_of_any_form_is_lost_on_no_road(items: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "all.yaml").write_text("---\n".join(map(yamlio.dump, items)))
    (tmp_path / "list.yaml").write_text(yamlio.dump(resource_list(*items, catalogue="builtin")))
    code, expected, rules = hosted(items, function.run)
    assert hosted(items, full_list.run) == (code, expected, rules)
    judged, _, found = hosted(items, full_list.run, mode="validate")
    for path in ("all.yaml", "list.yaml"):
        done, out, _ = captured(lambda path=path: run(["render", path]))
        assert done == code
        if code == 0:  # otherwise it prints nothing
            assert list(yamlio.read_stream(out.encode()).items) == expected
        done, out, _ = captured(lambda path=path: run(["check", "-o", "json", path]))
        assert (done, sorted(each["tags"]["rule"] for each in json.loads(out)["results"])) == (judged, found)


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
