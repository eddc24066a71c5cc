"""Manifests of what runs: applying them changes nothing, and nothing of the cluster's own is in them."""

from __future__ import annotations

from itertools import count
from typing import Any

import measured
import pytest
from living import FLUX, OWN, cluster_of, drifted, live_vm
from test_parity import change_side

from krm_fn import config
from krm_fn.changes.sides import Side, side
from krm_fn.kubevirt.updates.admission import written
from krm_fn.kubevirt.updates.machine import Machine
from krm_fn.kubevirt.updates.stored_form import stored
from krm_fn.live import adopting, dumps
from krm_fn.live.overlaying import Manner

Object = dict[str, Any]

ARGOCD = Manner(manner="server-side", manager="argocd-controller", migrate="argocd", force=True)
WAYS = (OWN["apply"], FLUX, ARGOCD)


def adopted(live: list[Object], cluster: Side) -> adopting.Adoption:
    def admit(vm: Object) -> Object:
        machine = Machine(vm=stored(vm))
        return written(machine, cluster.world(machine.namespace, str(vm["apiVersion"])))

    return adopting.adopted(live, admit)


def manifests(found: adopting.Adoption) -> list[Object]:
    return [obj for path, obj in found.files.items() if not path.endswith("kustomization.yaml")]


@pytest.mark.parametrize("name", measured.files("changes", "stored", "pods"))
def test_applying_what_is_adopted_changes_nothing(name: str, cases: measured.Cases) -> None:
    """In every manner: kubectl's, Flux's and Argo CD's. A VM that fails without any apply, too, fails as before."""
    number = count()
    for case in cases(name, every=2):
        bundle = change_side(case, case.get("old") or case["items"])
        settings, _ = config.of_list(bundle)
        live = cluster_of(bundle)
        base = side(live, settings)
        found = drifted(live, manifests(adopted(live, base)), settings, settings, WAYS[next(number) % len(WAYS)])
        assert [record for record in found["vms"] if "asBefore" not in record] == [], case["id"]
        assert (found["summary"]["changed"], found["unmanaged"]) == (0, []), case["id"]
    assert next(number)


VM = {
    "apiVersion": "kubevirt.io/v1",
    "kind": "VirtualMachine",
    "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "web"}},
    "spec": {
        "runStrategy": "Always",
        "template": {
            "metadata": {"creationTimestamp": None},
            "spec": {
                "domain": {
                    "devices": {"interfaces": [{"name": "default", "masquerade": {}, "macAddress": "02:00:00:00:00:01"}]},
                    "firmware": {"uuid": "5d307ca9-b3ef-428c-8861-06e72d69f223", "serial": "abc"},
                    "memory": {"guest": "1Gi"},
                },
                "networks": [{"name": "default", "pod": {}}],
            },
        },
    },
}


def cluster(*objects: Object) -> tuple[list[Object], Side]:
    settings, _ = config.of_list({"items": [*objects]})
    of_vm = side([*objects], settings)
    live = live_vm(VM, of_vm, 0, migratable=True)
    live[0]["metadata"] |= {
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "finalizers": ["kubevirt.io/virtualMachineControllerFinalize", "example.com/keep"],
    }
    live[0]["metadata"]["annotations"] |= {"kubevirt.io/latest-observed-api-version": "v1", "note": "mine"}
    return [*live, *objects], side([*live, *objects], settings)


def test_a_manifest_has_what_makes_the_machine_and_nothing_that_the_cluster_writes_again() -> None:
    live, of_cluster = cluster()
    domain = live[0]["spec"]["template"]["spec"]["domain"]
    assert (live[0]["spec"]["template"]["spec"]["architecture"], domain["machine"]) == ("amd64", {"type": "q35"})
    assert adopted(live, of_cluster).files["shop/virtualmachine-web.yaml"] == {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {
            "name": "web",
            "namespace": "shop",
            "labels": {"app": "web"},
            "annotations": {"note": "mine"},
        },
        "spec": {
            "runStrategy": "Always",
            "template": {
                "metadata": {"annotations": {"kubevirt.io/pci-topology-version": "v3"}},
                "spec": {
                    "domain": {
                        "devices": {"interfaces": [{"name": "default", "masquerade": {}, "macAddress": "02:00:00:00:00:01"}]},
                        "firmware": {"uuid": "5d307ca9-b3ef-428c-8861-06e72d69f223", "serial": "abc"},
                        "memory": {"guest": "1Gi"},
                    },
                    "networks": [{"name": "default", "pod": {}}],
                },
            },
        },
    }


def test_a_value_that_the_cluster_would_not_write_again_stays() -> None:
    live, of_cluster = cluster()
    live[0]["spec"]["template"]["spec"]["domain"]["machine"] = {"type": "pc-q35-rhel9.4.0"}
    found = adopted(live, of_cluster).files["shop/virtualmachine-web.yaml"]
    assert found["spec"]["template"]["spec"]["domain"]["machine"] == {"type": "pc-q35-rhel9.4.0"}


def test_secrets_and_instances_of_vms_are_never_adopted() -> None:
    owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "web", "uid": "1"}
    instance = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "web", "namespace": "shop", "uid": "2", "ownerReferences": [owner]},
        "spec": {"domain": {"devices": {}}},
    }
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key", "uid": "3"}, "data": {"a": "aHVudGVyMg=="}}
    found = adopted(*cluster(instance, secret))
    assert [*found.files] == ["shop/virtualmachine-web.yaml", "shop/kustomization.yaml", "kustomization.yaml"]
    assert "1 Secrets are not adopted; keep them where they are" in found.notes


def test_an_instancetype_that_a_vm_names_is_adopted_and_one_that_kubevirt_deploys_is_not() -> None:
    def size(name: str, labels: Object) -> Object:
        return {
            "apiVersion": "instancetype.kubevirt.io/v1beta1",
            "kind": "VirtualMachineClusterInstancetype",
            "metadata": {"name": name, "uid": "4", "labels": labels},
            "spec": {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}},
        }

    sizes = [size("own", {}), size("unused", {}), size("u1.small", {"app.kubernetes.io/managed-by": "virt-operator"})]
    vms = [
        {
            **VM,
            "metadata": {"name": name, "namespace": "shop", "uid": name},
            "spec": {**VM["spec"], "instancetype": {"name": name}},
        }
        for name in ("own", "u1.small")
    ]
    settings, _ = config.of_list({"items": []})
    live = [*vms, *sizes]
    found = adopted(live, side(live, settings))
    assert [path for path in found.files if path.startswith("_cluster/")] == [
        "_cluster/virtualmachineclusterinstancetype-own.yaml",
        "_cluster/kustomization.yaml",
    ]
    assert dumps.is_live(vms[0])
