"""What a release needs of the cluster, because it opens a feature gate: told of the machines that the gate concerns."""

from __future__ import annotations

import json
from functools import partial
from itertools import pairwise
from typing import Any

import checking
import jsonschema
import pytest
from diffing import Object, vm
from trees import tree

import krm_fn
from krm_fn.changes.schema import schema
from krm_fn.changes.summary import fails
from krm_fn.cli.changes_markdown import markdown_of
from krm_fn.cli.changes_text import text_of
from krm_fn.kubevirt.releases import parse

SRIOV = {
    "apiVersion": "k8s.cni.cncf.io/v1",
    "kind": "NetworkAttachmentDefinition",
    "metadata": {
        "name": "sriov",
        "namespace": "default",
        "annotations": {"k8s.v1.cni.cncf.io/resourceName": "intel.com/sriov"},
    },
    "spec": {"config": '{"cniVersion": "0.3.1", "name": "sriov", "type": "sriov"}'},
}
PLAIN = {**SRIOV, "metadata": {"name": "sriov", "namespace": "default"}}
INJECTOR = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "network-resources-injector"}, "spec": {}}


def answer(*items: Object, old: str = "1.8", new: str = "1.9", **developer: Any) -> Object:
    """What the upgrade does; `developer` is the configuration for developers of both sides."""

    def side(release: str) -> Object:
        spec = {"kubevirtVersion": release, "configuration": {"developerConfiguration": developer} if developer else {}}
        config = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "spec": spec}
        return {"items": list(items), "functionConfig": config}

    found: Object = krm_fn.diff(side(old), side(new))
    jsonschema.validate(found, schema(), cls=jsonschema.Draft202012Validator)
    return found


def gates(*items: Object, **more: Any) -> list[str]:
    return [each["gate"] for record in answer(*items, **more)["vms"] for each in record.get("gates", ())]


def networked() -> Object:
    made = vm()
    spec = made["spec"]["template"]["spec"]
    spec["domain"]["devices"]["interfaces"].append({"name": "fast", "sriov": {}})
    spec["networks"].append({"name": "fast", "multus": {"networkName": "sriov"}})
    return made


def imaged() -> Object:
    made = vm()
    spec = made["spec"]["template"]["spec"]
    spec["domain"]["devices"]["disks"] = [{"name": "root", "disk": {"bus": "virtio"}}]
    spec["volumes"] = [{"name": "root", "containerDisk": {"image": "example.org/os"}}]
    return made


def test_a_resource_of_a_network_needs_its_injector_once_kubevirt_leaves_it_to_that() -> None:
    found = answer(networked(), SRIOV)
    (record,) = found["vms"]
    assert record["effect"] == ["gateOpened"]
    assert record["gates"] == [
        {
            "gate": "ExternalNetResourceInjection",
            "release": "1.9.0",
            "needs": "the network-resources-injector: without it, the pod gets no intel.com/sriov, and the VM does not start",
        }
    ]
    assert (fails(found["vms"], "any"), fails(found["vms"], "live")) == (True, False)


def test_no_machine_needs_an_injector_that_is_there_or_a_network_without_a_resource() -> None:
    assert gates(networked(), SRIOV, INJECTOR) == []
    assert gates(networked(), PLAIN) == []
    assert gates(vm(), SRIOV) == []


def test_a_disk_of_an_image_needs_image_volumes() -> None:
    assert gates(imaged()) == ["ImageVolume"]
    kernel = vm()
    kernel["spec"]["template"]["spec"]["domain"]["firmware"] = {"kernelBoot": {"container": {"image": "a", "kernelPath": "/k"}}}
    assert gates(kernel) == ["ImageVolume"]
    assert gates(vm()) == []


@pytest.mark.parametrize("developer", [{"featureGates": ["ImageVolume"]}, {"disabledFeatureGates": ["ImageVolume"]}])
def test_a_gate_that_the_configuration_names_is_not_opened_by_the_release(developer: Object) -> None:
    assert gates(imaged(), **developer) == []


@pytest.mark.parametrize(("old", "new"), [("1.7", "1.8"), ("1.9", "1.9"), ("1.9", "1.8")])
def test_releases_that_open_no_gate_need_nothing(old: str, new: str) -> None:
    assert gates(imaged(), networked(), SRIOV, old=old, new=new) == []


@pytest.mark.parametrize("write", [partial(text_of, color=False), markdown_of])
def test_every_output_for_people_says_what_the_cluster_needs(write: Any) -> None:
    out = write(answer(imaged()))
    assert "image volumes for root: Kubernetes 1.35 and a container runtime that mounts them, or the VM does not start" in out
    assert "1 of 1 VM changes: 1 new needs of the cluster" in out


def test_the_step_that_opens_the_gate_says_so_once(tmp_path: Any) -> None:
    tree(tmp_path, {"vm.yaml": json.dumps({"apiVersion": "v1", "kind": "List", "items": [networked(), SRIOV]})})
    flags = ("--kubevirt-version", "1.7", "--to-kubevirt-version", "1.9")
    code, out, _ = checking.run("diff", "vm.yaml", *flags, cwd=tmp_path)
    steps = {block.split(": ")[0]: block for block in out.split("\n\n") if " → " in block.splitlines()[0]}
    said = "VirtualMachine default/web: needs something new of the cluster"
    assert code == 0
    passed = [str(parse(minor)) for minor in ("1.7", "1.8", "1.9")]
    assert [steps[f"KubeVirt {old} → {new}"].count(said) for old, new in pairwise(passed)] == [0, 1]
    assert out.count("network-resources-injector") == 1
