"""VMs that are alike get the record that each of them would get alone."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import krm_fn

Object = dict[str, Any]

TYPE = "VirtualMachineInstancetype"


def machine(name: str, shape: Object, own: Object) -> Object:
    """A VM of a shape with texts of its own."""
    disks = [{"name": "root", "disk": {}}, {"name": "init", "disk": {"bus": "virtio"}}]
    volumes = [
        {"name": "root", "persistentVolumeClaim": {"claimName": f"{name}-root"}},
        {"name": "init", "cloudInitNoCloud": {"userData": f"#cloud-config\nhostname: {name}"}},
    ]
    interface = {"name": "default", "masquerade": {}, **({"macAddress": own["mac"]} if own["mac"] else {})}
    domain = {"devices": {"disks": disks, "interfaces": [interface]}, **shape["domain"]}
    networks = [{"name": "default", "pod": {}}]
    template = {
        "metadata": {"labels": {"vm": name}},
        "spec": {"domain": domain, "networks": networks, "volumes": volumes},
    }
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": name, "namespace": own["namespace"], "labels": {"app": name}, "annotations": own["notes"]},
        "spec": {"runStrategy": shape["strategy"], **shape["matchers"], "template": template},
    }


def instancetype(namespace: str, spec: Object) -> Object:
    meta = {"name": "small", "namespace": namespace}
    return {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": TYPE, "metadata": meta, "spec": spec}


def preference(namespace: str, spec: Object) -> Object:
    meta = {"name": "fast", "namespace": namespace}
    kind = "VirtualMachinePreference"
    return {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": kind, "metadata": meta, "spec": spec}


SHAPE = st.fixed_dictionaries(
    {
        "domain": st.sampled_from([{}, {"ioThreadsPolicy": "auto"}, {"cpu": {"sockets": 2}}]),
        "strategy": st.sampled_from(["Always", "Halted"]),
        "matchers": st.sampled_from(
            [
                {},
                {"instancetype": {"name": "small", "kind": TYPE}},
                {
                    "instancetype": {"name": "small", "kind": TYPE},
                    "preference": {"name": "fast", "kind": "VirtualMachinePreference"},
                },
            ]
        ),
    }
)
OWN = st.fixed_dictionaries(
    {
        "mac": st.sampled_from(["", "02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:00"]),
        "namespace": st.sampled_from(["a", "b"]),
        "notes": st.sampled_from([{}, {"about": "x"}, {"kubevirt.io/skip-backup-hooks": "true"}]),
    }
)
FLEET = st.lists(st.tuples(SHAPE, OWN), min_size=1, max_size=6)
TYPES = st.fixed_dictionaries(
    {
        "cpu": st.fixed_dictionaries({"guest": st.sampled_from([1, 2, 4])}),
        "memory": st.fixed_dictionaries({"guest": st.sampled_from(["1Gi", "2Gi"])}),
    }
)
PREFERENCES = st.sampled_from(
    [
        {"devices": {"preferredDiskBus": "virtio"}},
        {"devices": {"preferredDiskBus": "sata", "preferredInterfaceModel": "e1000e"}},
        {"devices": {"preferredInterfaceModel": "virtio", "preferredInterfaceMasquerade": {}}},
        {"firmware": {"preferredEfi": {}}, "preferredTerminationGracePeriodSeconds": 3},
    ]
)
SETTINGS = st.sampled_from(
    [{}, {"cpuModel": "Haswell"}, {"instancetype": {"referencePolicy": "expand"}}, {"evictionStrategy": "LiveMigrate"}]
)


def answer(vms: list[Object], sides: list[list[Object]], *, new: bool) -> list[Object]:
    found: list[Object] = krm_fn.diff(*({"items": [*copy.deepcopy(vms), *side]} for side in sides), new=new)["vms"]
    return found


@pytest.mark.parametrize("new", [False, True])
@settings(max_examples=60)
@given(FLEET, st.tuples(TYPES, TYPES), st.tuples(PREFERENCES, PREFERENCES), st.tuples(SETTINGS, SETTINGS))
def test_each_vm_of_a_fleet_gets_the_record_that_it_gets_alone(
    new: bool, fleet: list[Any], types: Any, preferences: Any, clusters: Any
) -> None:
    vms = [machine(f"vm-{number}", shape, own) for number, (shape, own) in enumerate(fleet)]
    sides = [
        [
            {
                "apiVersion": "kubevirt.io/v1",
                "kind": "KubeVirt",
                "metadata": {"name": "kubevirt"},
                "spec": {"configuration": cluster},
            },
            *(part for space in ("a", "b") for part in (instancetype(space, size), preference(space, wish))),
        ]
        for size, wish, cluster in zip(types, preferences, clusters, strict=True)
    ]
    alone = [record for vm in vms for record in answer([vm], sides, new=new)]

    def place(record: Object) -> tuple[str, str]:
        return record["namespace"], record["name"]

    assert answer(vms, sides, new=new) == sorted(alone, key=place)
