"""Manifests of what runs: applying them changes nothing, and nothing of the cluster's own is in them."""

from __future__ import annotations

import json
from itertools import count
from typing import Any

import measured
import pytest
from living import FLUX, OWN, cluster_of, drifted, live_vm
from test_parity import change_side

from krm_fn import config
from krm_fn.changes.owners import key_of
from krm_fn.changes.sides import Side, side
from krm_fn.kubevirt.updates.admission import written
from krm_fn.kubevirt.updates.machine import Machine
from krm_fn.kubevirt.updates.stored_form import stored
from krm_fn.live import adopting, dumps
from krm_fn.live.overlaying import Manner

Object = dict[str, Any]

ARGOCD = Manner(manner="server-side", manager="argocd-controller", migrate="argocd", force=True)
WAYS = (OWN["apply"], FLUX, ARGOCD)


def adopted(live: list[Object], cluster: Side, revisions: str = adopting.KEEP) -> adopting.Adoption:
    def expand(obj: Object) -> Object | None:
        key = key_of(obj)
        return None if key in cluster.assumed else cluster.rendered(cluster.holders[key])

    def admit(vm: Object) -> Object:
        machine = Machine(vm=stored(vm))
        return written(machine, cluster.world(machine.namespace, str(vm["apiVersion"])))

    return adopting.adopted(live, admit, revisions=revisions, expand=expand)


def manifests(found: adopting.Adoption) -> list[Object]:
    return [obj for path, obj in found.files.items() if not path.endswith("kustomization.yaml")]


@pytest.mark.parametrize("name", measured.files("changes", "stored", "pods"))
def test_applying_what_is_adopted_changes_nothing(name: str, cases: measured.Cases) -> None:
    """In every manner: kubectl's, Flux's and Argo CD's. A VM that fails without any apply, too, fails as before.

    Where the manifests name the stored revisions, KubeVirt looks at the VM again, and refuses one that it would not take today.
    """
    number = count()
    for case in cases(name, every=2):
        bundle = change_side(case, case.get("old") or case["items"])
        settings, _ = config.of_list(bundle)
        live = [*{dumps.key_of(each): each for each in cluster_of(bundle)}.values()]
        base = side(live, settings)
        turn = next(number)
        names = turn // len(WAYS) % 2 == 1
        git = manifests(adopted(live, base, adopting.NAME if names else adopting.KEEP))
        found = drifted(live, git, settings, settings, WAYS[turn % len(WAYS)])
        may_be = [["nothing"], ["refused"]] if names else []
        assert [each for each in found["vms"] if "asBefore" not in each and each["effect"] not in may_be] == [], case["id"]
        assert (found["summary"]["changed"] if not names else 0, found["unmanaged"]) == (0, []), case["id"]
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


def small() -> tuple[list[Object], Side]:
    """A VM with an instancetype that has changed since it was stored, and the cluster around it."""
    spec = {"runStrategy": "Always", "instancetype": {"name": "small"}, "template": {"spec": {"domain": {"devices": {}}}}}
    size: Object = {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineClusterInstancetype",
        "metadata": {"name": "small", "uid": "4"},
        "spec": {"cpu": {"guest": 2}, "memory": {"guest": "2Gi"}},
    }
    live = cluster_of({"items": [{**VM, "spec": spec}, size]})
    today = {**size, "spec": {"cpu": {"guest": 4}, "memory": {"guest": "8Gi"}}}
    live = [today if each["metadata"].get("uid") == "4" else each for each in live]
    settings, _ = config.of_list({"items": live})
    return live, side(live, settings)


def test_vms_name_their_revisions_and_the_manifests_have_them() -> None:
    live, of_cluster = small()
    (revision,) = [each for each in live if each["kind"] == "ControllerRevision"]
    found = adopted(live, of_cluster, adopting.NAME).files
    name = revision["metadata"]["name"]
    assert found["shop/virtualmachine-web.yaml"]["spec"]["instancetype"]["revisionName"] == name
    (stored_one,) = [obj for obj in found.values() if obj["kind"] == "ControllerRevision"]
    assert (stored_one["data"], stored_one["metadata"].keys()) == (revision["data"], {"name", "namespace", "labels"})


def test_a_revision_that_a_vm_names_itself_is_the_one_that_counts() -> None:
    """upstream: pkg/instancetype/find/revision.go:Find"""
    live, of_cluster = small()
    for each in live:
        if each["kind"] == "VirtualMachine":
            each["spec"]["instancetype"]["revisionName"] = "mine"
    found = adopted(live, of_cluster, adopting.NAME).files["shop/virtualmachine-web.yaml"]["spec"]
    assert found["instancetype"]["revisionName"] == "mine"


def test_vms_have_their_revisions_written_into_them_and_not_the_objects_of_today() -> None:
    found = adopted(*small(), adopting.EXPAND).files["shop/virtualmachine-web.yaml"]["spec"]
    domain = found["template"]["spec"]["domain"]
    assert ("instancetype" in found, domain["cpu"]["sockets"], domain["memory"]["guest"]) == (False, 2, "2Gi")


@pytest.mark.parametrize("revisions", [adopting.NAME, adopting.EXPAND])
def test_a_revision_that_the_dump_lacks_is_named_and_nothing_is_made_up(revisions: str) -> None:
    live = [each for each in small()[0] if each["kind"] != "ControllerRevision"]
    settings, _ = config.of_list({"items": live})
    found = adopted(live, side(live, settings), revisions)
    spec = found.files["shop/virtualmachine-web.yaml"]["spec"]
    assert ("memory" in spec["template"]["spec"]["domain"], "revisionName" in spec["instancetype"]) == (
        False,
        revisions == "name",
    )
    name = "shop/web" if revisions == adopting.EXPAND else f"shop/{spec['instancetype'].get('revisionName')}"
    assert [note for note in found.notes if note.startswith("the dump lacks the revisions") and f" {name};" in note]


PROTECTED = {"argocd.argoproj.io/sync-options": "Prune=false,Delete=false", "kustomize.toolkit.fluxcd.io/prune": "disabled"}


def disk(kind: str, name: str, phase: str, **about: Any) -> Object:
    version = "v1" if kind == "PersistentVolumeClaim" else "cdi.kubevirt.io/v1beta1"
    named = {"name": name, "namespace": "shop", "uid": name, **about}
    return {"apiVersion": version, "kind": kind, "metadata": named, "spec": {"a": "b"}, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("obj", "taken"),
    [
        (disk("DataVolume", "one", "Succeeded"), True),
        (disk("DataVolume", "one", "ImportInProgress"), False),  # CDI would begin anew in another cluster
        (disk("DataVolume", "one", "Succeeded", deletionTimestamp="2026-01-01T00:00:00Z"), False),
        (disk("DataVolume", "one", "Succeeded", ownerReferences=[{"kind": "VirtualMachine", "name": "x"}]), False),
        (disk("DataVolume", "template", "Succeeded"), False),  # the VM makes it
        (disk("DataVolume", "unused", "Succeeded"), False),
        (disk("PersistentVolumeClaim", "two", "Bound"), True),
        (disk("PersistentVolumeClaim", "one", "Bound"), True),  # KubeVirt takes the claim of a DataVolume that is gone
        (disk("PersistentVolumeClaim", "two", "Pending"), False),
        (disk("PersistentVolumeClaim", "two", "Bound", ownerReferences=[{"kind": "DataVolume", "name": "two"}]), False),
    ],
)
def test_a_disk_that_a_vm_uses_and_nothing_makes_is_adopted_where_an_apply_changes_nothing(obj: Object, taken: bool) -> None:
    """upstream: containerized-data-importer pkg/apiserver/webhooks/datavolume-validate.go:Admit"""
    spec = json.loads(json.dumps(VM["spec"]))
    spec["dataVolumeTemplates"] = [{"metadata": {"name": "template"}, "spec": {"source": {"blank": {}}}}]
    sources = [
        {"dataVolume": {"name": "template"}},
        {"dataVolume": {"name": "one"}},
        {"persistentVolumeClaim": {"claimName": "two"}},
    ]
    spec["template"]["spec"]["volumes"] = [{"name": f"v{number}", **each} for number, each in enumerate(sources)]
    live = [{**VM, "metadata": {"name": "web", "namespace": "shop", "uid": "w"}, "spec": spec}, obj]
    settings, _ = config.of_list({"items": live})
    found = adopted(live, side(live, settings))
    kinds = [each for each in found.files.values() if each["kind"] == obj["kind"]]
    assert [each["metadata"].get("annotations") for each in kinds] == ([PROTECTED] if taken else [])
    left = [note for note in found.notes if note.startswith("disks that are not ready")]
    owned = "ownerReferences" in obj["metadata"]
    assert (f"shop/{obj['metadata']['name']}" in left[0].partition(": ")[2].split(" and ")) == (
        not (taken or owned) and obj["metadata"]["name"] in ("one", "two")
    )


def test_a_claim_keeps_the_name_of_its_volume_only_where_nothing_else_leads_to_it() -> None:
    """A volume of a class is made anew in another cluster; a claim without a class would wait for ever."""
    made = {name: disk("PersistentVolumeClaim", "two", "Bound") for name in ("fast", "")}
    for name, obj in made.items():
        obj["spec"] = {"volumeName": "pv", "storageClassName": name}

    def admit(vm: Object) -> Object:
        return vm

    assert [adopting.clean(obj, admit)["spec"] for obj in made.values()] == [
        {"storageClassName": "fast"},
        {"storageClassName": "", "volumeName": "pv"},
    ]
