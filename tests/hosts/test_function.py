"""The KRM function's bytes where its config is wrong."""

import io
import json
import textwrap

import pytest

from krm_fn import yamlio
from krm_fn.hosts import function

WRONG = """\
apiVersion: config.kubernetes.io/v1
kind: ResourceList
items:
- apiVersion: v1
  kind: ConfigMap
  metadata: {name: a} # kept
functionConfig:
  apiVersion: kubevirt-render.dev/v1alpha1
  kind: RenderVirtualMachines
  spec:
    mode: expnad
"""


def test_a_wrong_config_leaves_the_items_and_is_one_result_and_one_line():
    out, err = io.BytesIO(), io.StringIO()
    assert function.run(WRONG.encode(), out, err) == 2
    assert out.getvalue().decode().startswith(WRONG)
    (result,) = yamlio.read_resource_list(out.getvalue()).head["results"]
    assert (result["severity"], result["tags"]) == ("error", {"rule": "invalid-config"})
    assert result["message"].startswith("functionConfig spec.mode: ")
    assert err.getvalue().startswith("kubevirt-render: error: stdin:11:5: functionConfig spec.mode: ")
    assert err.getvalue().count("\n") == 1


@pytest.mark.parametrize("earlier", ["1", "{a: b}", "text", "null", "[]"])
def test_a_wrong_config_is_the_only_result_where_the_earlier_ones_are_no_list(earlier):
    out = io.BytesIO()
    assert function.run(f"{WRONG}results: {earlier}\n".encode(), out, io.StringIO()) == 2
    (result,) = yamlio.read_resource_list(out.getvalue()).head["results"]
    assert result["tags"] == {"rule": "invalid-config"}


@pytest.mark.parametrize(
    ("change", "place"),
    [
        (lambda text: text.replace("\n", "\r\n"), "stdin:11:5"),
        (lambda text: text.replace("functionConfig:", "functionConfig: &it").replace("spec:", "spec: &inner"), "stdin:11:5"),
        (lambda text: textwrap.indent(text, "   "), "stdin:11:8"),
        (lambda text: json.dumps(yamlio.read_value(text)), "stdin:1:255"),
        (lambda text: json.dumps(yamlio.read_value(text), indent=1), "stdin:17:4"),
        (lambda text: text.replace("  spec:\n", "  spec: {\n") + "  }\n", "stdin:11:5"),
        (lambda text: text.replace("    mode: expnad\n", "    - mode\n"), "stdin:10:3"),
        (lambda text: text.replace("    mode: expnad\n", "    <<: {mode: expnad}\n"), "stdin:11:5"),
    ],
)
def test_a_wrong_config_is_reported_with_the_place_in_the_list(change, place):
    err = io.StringIO()
    assert function.run(change(WRONG).encode(), io.BytesIO(), err) == 2
    assert err.getvalue().startswith(f"kubevirt-render: error: {place}: functionConfig spec")
    assert err.getvalue().count("\n") == 1


def test_a_wrong_config_is_reported_with_its_file_if_the_host_names_it():
    origin = "metadata:\n    annotations:\n      config.kubernetes.io/origin: |\n        path: fn/render.yaml\n  spec:"
    out, err = io.BytesIO(), io.StringIO()
    assert function.run(WRONG.replace("spec:", origin).encode(), out, err) == 2
    assert err.getvalue().startswith("kubevirt-render: error: fn/render.yaml: functionConfig spec.mode: found ")
    (result,) = yamlio.read_resource_list(out.getvalue()).head["results"]
    assert result["file"] == {"path": "fn/render.yaml", "index": 0}
