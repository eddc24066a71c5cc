"""The KRM function's bytes where its config is wrong."""

import io

from krm_fn import function, yamlio

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
    assert err.getvalue().startswith("kubevirt-render: error: spec.mode: ")
    assert err.getvalue().count("\n") == 1
