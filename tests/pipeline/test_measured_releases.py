"""What was not measured of a release is refused, and not guessed."""

from __future__ import annotations

import pytest

import krm_fn
from krm_fn.base.errors import ConfigError


def resource_list(**spec):
    vm = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "vm"}}
    vm["spec"] = {"runStrategy": "Always", "template": {"spec": {"domain": {"devices": {}}}}}
    config = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "spec": spec}
    return {"items": [vm], "functionConfig": config}


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"instances": "include"}, "spec.instances: the instances of KubeVirt 1.3.1 are not known; "),
        ({"podSize": True}, "spec.podSize: the pods of KubeVirt 1.3.1 are not known; "),
    ],
)
def test_a_release_without_answers_is_refused(spec, message):
    with pytest.raises(ConfigError) as raised:
        krm_fn.process(resource_list(kubevirtVersion="1.3", **spec))
    assert str(raised.value) == message + "set kubevirtVersion to 1.4 or later"
    assert krm_fn.process(resource_list(kubevirtVersion="1.4", **spec))["items"]
