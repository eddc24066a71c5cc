"""Expansion of a complete VM: the order of fields, what is removed, and what prevents it."""

from __future__ import annotations

import pytest

from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.expand import expand
from krm_fn.kubevirt.releases import parse

TYPE = {"cpu": {"guest": 2}, "memory": {"guest": "2Gi"}}
BRIDGE = [{"name": "default", "bridge": {}}]
POD = [{"name": "default", "pod": {}}]


def vm(spec=None, **fields):
    template = {"metadata": {}, "spec": spec or {"domain": {"devices": {}, "resources": {}}}}
    return {"metadata": {"name": "web"}, "spec": {"instancetype": {"name": "t"}, "template": template, **fields}}


def expanded(machine, *, instancetype=TYPE, preference=None, configuration=None, release="1.9", defaults=True):
    return expand(
        machine,
        instancetype=instancetype,
        preference=preference,
        cluster=Cluster(configuration=configuration or {}),
        release=parse(release),
        defaults=defaults,
    )


def test_a_vm_leaves_with_everything_that_expand_spec_writes() -> None:
    volumes = [{"name": "root", "containerDisk": {"image": "fedora:42"}}]
    given = {
        **vm({"domain": {"devices": {}, "resources": {}}, "volumes": volumes}, preference={"name": "p"}, running=True),
        "status": {"instancetypeRef": {}, "preferenceRef": {}, "ready": True},
    }
    assert expanded(given, preference={"devices": {"preferredDiskBus": "virtio"}}).vm == {
        "metadata": {"name": "web"},
        "spec": {
            "running": True,
            "template": {
                "metadata": {},
                "spec": {
                    "architecture": "amd64",
                    "evictionStrategy": "None",
                    "networks": POD,
                    "domain": {
                        "cpu": {"sockets": 2, "cores": 1, "threads": 1},
                        "memory": {"guest": "2Gi"},
                        "machine": {"type": "q35"},
                        "devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}], "interfaces": BRIDGE},
                        "resources": {},
                    },
                    "volumes": [{"name": "root", "containerDisk": {"image": "fedora:42", "imagePullPolicy": "IfNotPresent"}}],
                },
            },
        },
        "status": {"ready": True},
    }


def test_without_defaults_only_disks_network_and_the_two_specs_are_written() -> None:
    made = expanded(vm(), defaults=False).vm
    assert made["spec"]["template"]["spec"] == {
        "domain": {
            "cpu": {"sockets": 2, "cores": 1, "threads": 1},
            "memory": {"guest": "2Gi"},
            "devices": {"interfaces": BRIDGE},
            "resources": {},
        },
        "networks": POD,
    }


def test_structures_that_go_always_writes_are_not_added_to_the_users() -> None:
    spec = {"domain": {"devices": {"autoattachPodInterface": False}}}
    made = expanded(vm(spec), defaults=False).vm["spec"]["template"]["spec"]
    assert sorted(made["domain"]) == ["cpu", "devices", "memory"]


def test_the_network_is_added_before_the_preference_could_decline_it() -> None:
    made = expanded(vm(), preference={"devices": {"preferredAutoattachPodInterface": False}}).vm
    assert made["spec"]["template"]["spec"]["networks"] == POD


def test_a_conflict_leaves_no_vm() -> None:
    found = expanded(vm({"domain": {"cpu": {"cores": 1}}}))
    assert (found.vm, len(found.conflicts)) == (None, 1)


@pytest.mark.parametrize(
    ("network", "refusal"),
    [
        ({"permitBridgeInterfaceOnPodNetwork": False}, "bridge-forbidden"),
        ({"defaultNetworkInterface": "slirp"}, "slirp-removed"),
    ],
)
def test_a_forbidden_default_network_leaves_no_vm(network, refusal) -> None:
    found = expanded(vm(), configuration={"network": network})
    assert (found.vm, found.refusals) == (None, (refusal,))


def test_a_forbidden_default_network_hides_no_conflict() -> None:
    network = {"permitBridgeInterfaceOnPodNetwork": False}
    found = expanded(vm({"domain": {"cpu": {"cores": 1}}}), configuration={"network": network})
    assert (len(found.conflicts), found.refusals) == (1, ("bridge-forbidden",))


@pytest.mark.parametrize("template", [None, "text", [], {"spec": "text"}, {"spec": [1]}])
def test_a_vm_without_a_template_is_refused(template) -> None:
    found = expanded({"spec": {"instancetype": {"name": "t"}, "template": template}})
    assert (found.vm, found.refusals) == (None, ("no-template",))


@pytest.mark.parametrize("given", [{}, {"spec": None}, {"spec": "text"}])
def test_a_vm_without_a_spec_is_refused(given) -> None:
    assert expanded(given).refusals == ("no-template",)


def test_an_empty_template_is_made_as_go_makes_it() -> None:
    made = expanded({"spec": {"template": {}}}, defaults=False).vm
    assert made["spec"]["template"]["spec"]["domain"]["resources"] == {}


def test_what_the_user_wrote_wrong_stays_and_stops_nothing() -> None:
    spec = {"domain": {"cpu": "four", "devices": {"disks": ["a", None, {"name": "b"}], "interfaces": "none"}}, "volumes": 7}
    made = expanded(vm(spec)).vm["spec"]["template"]["spec"]
    assert made["domain"]["cpu"] == "four"
    assert made["domain"]["devices"] == spec["domain"]["devices"]
    assert made["domain"]["memory"] == {"guest": "2Gi"}
