"""What a change does to the data of machines: disks, and the ConfigMaps and Secrets that guests read."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import jsonschema
import pytest
from diffing import Object, vm

import krm_fn
from krm_fn.changes.schema import schema
from krm_fn.changes.summary import fails
from krm_fn.cli.changes_markdown import markdown_of
from krm_fn.cli.changes_text import text_of


def answer(base: list[Object], head: list[Object], **more: Any) -> Object:
    before = copy.deepcopy((base, head))
    found: Object = krm_fn.diff({"items": base}, {"items": head}, **more)
    jsonschema.validate(found, schema(), cls=jsonschema.Draft202012Validator)
    assert (base, head) == before
    return found


def data(base: list[Object], head: list[Object]) -> list[Object]:
    """The entries about the data of the only record."""
    (record,) = answer(base, head)["vms"]
    found: list[Object] = record.get("data", [])
    return found


def effects(base: list[Object], head: list[Object]) -> list[tuple[str, str, str]]:
    """Kind, name and effect of the data of the only record; nothing without one."""
    records = answer(base, head)["vms"]
    return [(each["kind"], each["name"], each["effect"]) for record in records for each in record.get("data", ())]


def requests(size: str) -> Object:
    return {"resources": {"requests": {"storage": size}}}


def template(name: str, size: str = "30Gi") -> Object:
    return {"metadata": {"name": name}, "spec": {"source": {"blank": {}}, "storage": requests(size)}}


def with_volume(volume: Object, name: str = "web", **spec: Any) -> Object:
    made = vm(name, **spec)
    inner = made["spec"]["template"]["spec"]
    inner["domain"]["devices"]["disks"] = [{"name": "d", "disk": {"bus": "virtio"}}]
    inner["volumes"] = [{"name": "d", **volume}]
    return made


def owner(name: str = "web", root: str = "web-root", size: str = "30Gi") -> Object:
    """A VM with a DataVolume of its own."""
    return with_volume({"dataVolume": {"name": root}}, name, dataVolumeTemplates=[template(root, size)])


def user(claim: str = "img") -> Object:
    return with_volume({"dataVolume": {"name": claim}})


def data_volume(name: str = "img", size: str = "5Gi", **spec: Any) -> Object:
    meta = {"name": name, "namespace": "default"}
    whole = {"source": {"http": {"url": "https://example.org/v1.qcow2"}}, "pvc": requests(size), **spec}
    return {"apiVersion": "cdi.kubevirt.io/v1beta1", "kind": "DataVolume", "metadata": meta, "spec": whole}


def claim(size: str = "5Gi", **spec: Any) -> Object:
    whole = {"accessModes": ["ReadWriteOnce"], **requests(size), **spec}
    meta = {"name": "img", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": whole}


def keyed(kind: str, name: str, **keys: Any) -> Object:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "default"}, **keys}


def test_a_vm_is_removed_with_the_disks_of_its_templates() -> None:
    found = answer([owner(), vm("other")], [vm("other")])
    (record,) = found["vms"]
    assert record["deletes"] == ["DataVolume/web-root"]
    assert record["data"] == [{"kind": "DataVolume", "name": "web-root", "effect": "deleted", "size": "30Gi"}]
    assert found["summary"]["levels"] == {"data": 1}


def test_the_level_of_data_is_below_refusals_and_above_what_is_made_anew() -> None:
    removed, without_disk = (answer([each], [])["vms"] for each in (owner(), vm()))
    assert [fails(removed, word) for word in ("refused", "data", "recreate")] == [False, True, True]
    assert [fails(without_disk, word) for word in ("refused", "data", "recreate")] == [False, False, True]


WITH_TPM = {"tpm": {"persistent": True}}


def with_state(name: str = "web", **devices: Any) -> Object:
    """A VM whose TPM KubeVirt keeps in a claim of its own."""
    made = vm(name)
    made["spec"]["template"]["spec"]["domain"]["devices"].update(devices or WITH_TPM)
    return made


def test_the_state_of_a_tpm_is_deleted_with_its_vm() -> None:
    state = {"kind": "PersistentVolumeClaim", "name": "persistent-state-for-web", "effect": "deleted", "size": "10Mi"}
    (record,) = answer([with_state()], [])["vms"]
    assert record["data"] == [{**state, "message": "the state of its TPM"}]
    assert effects([with_state()], [with_state("shop")]) == [(state["kind"], state["name"], "deleted")]
    assert effects([with_state(tpm={})], []) == effects([with_state()], [vm()]) == []


def test_a_preference_says_that_the_state_of_efi_is_kept() -> None:
    kept = {"firmware": {"preferredEfi": {"persistent": True}}}
    preference = {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePreference",
        "metadata": {"name": "p"},
        "spec": kept,
    }
    referring = vm(preference={"name": "p", "kind": "VirtualMachinePreference"})
    (record,) = answer([referring, preference], [preference])["vms"]
    assert [(each["name"], each["message"]) for each in record["data"]] == [
        ("persistent-state-for-web", "the state of its EFI")
    ]


KEEPERS = [
    ("annotations", "kustomize.toolkit.fluxcd.io/prune", "disabled"),
    ("labels", "kustomize.toolkit.fluxcd.io/prune", "Disabled"),
    ("annotations", "argocd.argoproj.io/sync-options", "ServerSideApply=true, Prune=false"),
    ("annotations", "helm.sh/resource-policy", "keep"),
    ("annotations", "cli-utils.sigs.k8s.io/on-remove", "keep"),
    ("annotations", "client.lifecycle.config.k8s.io/deletion", "detach"),
    ("annotations", "kapp.k14s.io/delete-strategy", "orphan"),
]


@pytest.mark.parametrize(("where", "key", "value"), KEEPERS)
def test_what_applies_an_object_leaves_it_there_where_a_mark_says_so(where: str, key: str, value: str) -> None:
    def marked(obj: Object) -> Object:
        return {**obj, "metadata": {**obj["metadata"], where: {key: value}}}

    found = answer([marked(owner())], [])
    (record,) = found["vms"]
    assert (record["effect"], record["leftBy"]) == (["left"], f"{key}: {value}")
    assert {"data", "deletes", "pod"}.isdisjoint(record)
    assert found["summary"]["levels"] == {"any": 1}
    assert f"stays because of: {key}: {value}" in text_of(found, color=False)
    assert effects([marked(user()), data_volume()], []) == [("DataVolume", "img", "deleted")]
    assert effects([user(), marked(data_volume())], [user()]) == [("DataVolume", "img", "stays")]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("argocd.argoproj.io/sync-options", "Delete=false"),  # about the deletion of the whole application
        ("argocd.argoproj.io/sync-options", "Prune=true"),
        ("kustomize.toolkit.fluxcd.io/prune", "enabled"),
        ("helm.sh/resource-policy", ""),
    ],
)
def test_other_marks_keep_nothing(key: str, value: str) -> None:
    found = owner()
    found["metadata"]["annotations"] = {key: value}
    assert effects([found], []) == [("DataVolume", "web-root", "deleted")]


def test_a_vm_that_is_left_is_not_renamed() -> None:
    old = vm()
    old["metadata"]["annotations"] = {"helm.sh/resource-policy": "keep"}
    found = answer([old], [vm("shop")])["vms"]
    assert [(each["name"], each["change"], each["effect"]) for each in found] == [
        ("shop", "added", ["added"]),
        ("web", "removed", ["left"]),
    ]


@pytest.mark.parametrize("root", ["web-root", "webroot", "the-web-root"])
@pytest.mark.parametrize("renamed", [True, False])
def test_a_rename_shows_whether_the_name_in_the_templates_changes_or_not(root: str, *, renamed: bool) -> None:
    (record,) = answer([owner("web", root)], [owner("shop", root.replace("web", "shop") if renamed else root)])["vms"]
    assert (record["change"], record["from"]["name"], record["deletes"]) == ("renamed", "web", [f"DataVolume/{root}"])


def test_templates_of_other_sizes_show_no_rename() -> None:
    found = answer([owner("web", "a", "1Gi")], [owner("shop", "b", "2Gi")])["vms"]
    assert [(each["name"], each["change"]) for each in found] == [("shop", "added"), ("web", "removed")]


def test_a_disk_of_the_bundle_that_is_gone_is_deleted() -> None:
    assert effects([user(), data_volume()], [user()]) == [("DataVolume", "img", "deleted")]
    assert effects([user(), claim()], []) == [("PersistentVolumeClaim", "img", "deleted")]
    assert effects([vm(), claim()], [vm()]) == []


def test_a_claim_that_a_volume_migration_leaves_is_not_lost() -> None:
    old = with_volume({"persistentVolumeClaim": {"claimName": "img"}}, updateVolumesStrategy="Migration")
    new = with_volume({"persistentVolumeClaim": {"claimName": "new"}}, updateVolumesStrategy="Migration")
    other = {**claim(), "metadata": {"name": "new", "namespace": "default"}}
    shared = {**claim(), "spec": {**claim()["spec"], "accessModes": ["ReadWriteMany"]}}
    (record,) = answer([old, shared, other], [new, other])["vms"]
    assert record["migration"]["because"] == ["VolumesChange"]
    assert "data" not in record


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (data_volume(), data_volume(source={"http": {"url": "https://example.org/v2.qcow2"}})),
        (data_volume(), data_volume(size="6Gi")),
        (data_volume(), data_volume(preallocation=True)),
        (claim("5Gi"), claim("4Gi")),
        (claim(), claim(accessModes=["ReadWriteMany"])),
        (claim(), claim(volumeMode="Block")),
        (claim(storageClassName="a"), claim(storageClassName="b")),
        (claim(storageClassName="a"), claim()),
    ],
)
def test_an_edit_that_a_disk_does_not_allow_is_refused(was: Object, now: Object) -> None:
    assert effects([user(), was], [user(), now]) == [(was["kind"], "img", "refused")]
    assert fails(answer([user(), was], [user(), now])["vms"], "refused")
    assert answer([vm(), was], [vm(), now])["vms"] == []  # no VM uses it


@pytest.mark.parametrize(
    ("was", "now"),
    [
        (data_volume(size="5Gi"), data_volume(size="5120Mi")),
        (data_volume(), data_volume(checksum=None)),
        (data_volume(), {**data_volume(), "metadata": {"name": "img", "namespace": "default", "labels": {"a": "b"}}}),
        (claim("5Gi"), claim("5120Mi")),
        (claim(), claim(volumeMode="Filesystem")),
        (claim(volumeAttributesClassName="a"), claim(volumeAttributesClassName="b")),
    ],
)
def test_an_edit_that_says_the_same_of_a_disk_does_nothing(was: Object, now: Object) -> None:
    assert effects([user(), was], [user(), now]) == []


def test_new_checkpoints_of_an_import_in_stages_are_let_in() -> None:
    stages = [{"current": "a", "previous": ""}]
    was, now = (data_volume(source={"vddk": {"uuid": "x"}}, checkpoints=each) for each in (stages, [*stages, *stages]))
    assert effects([user(), was], [user(), now]) == []


def test_what_a_claim_may_have_already_is_said() -> None:
    (entry,) = data([user(), claim()], [user(), claim(storageClassName="fast")])
    assert entry["fields"] == ["spec.storageClassName"]
    assert entry["message"] == (
        "the API server refuses it, unless the claim has this value already, because only the size of a claim may change; "
        "the apply fails and the disk stays; for another disk, use another name"
    )


def storage_class(**keys: Any) -> Object:
    return {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "fast"}, **keys}


def test_a_larger_claim_grows_if_its_class_allows_it() -> None:
    small, large = claim("5Gi", storageClassName="fast"), claim("10Gi", storageClassName="fast")
    (entry,) = data([user(), small], [user(), large])
    assert (entry["effect"], entry["size"], entry["newSize"]) == ("grows", "5Gi", "10Gi")
    assert entry["message"] == "grows 5Gi → 10Gi, if its StorageClass allows expansion; the running guest sees it"
    fixed, free = storage_class(), storage_class(allowVolumeExpansion=True)
    assert effects([user(), small, fixed], [user(), large, fixed]) == [("PersistentVolumeClaim", "img", "refused")]
    assert effects([user(), small, free], [user(), large, free]) == [("PersistentVolumeClaim", "img", "grows")]


CLOUD_INIT = {"cloudInitNoCloud": {"secretRef": {"name": "app"}}}


@pytest.mark.parametrize(
    ("volume", "kind"),
    [
        ({"configMap": {"name": "app"}}, "ConfigMap"),
        ({"secret": {"secretName": "app"}}, "Secret"),
        ({"sysprep": {"configMap": {"name": "app"}}}, "ConfigMap"),
        (CLOUD_INIT, "Secret"),
    ],
)
def test_an_edit_of_what_a_guest_reads_reaches_it_at_the_next_start(volume: Object, kind: str) -> None:
    key = "stringData" if kind == "Secret" else "data"
    was, now = (keyed(kind, "app", **{key: {"userdata": value}}) for value in ("a", "b"))
    machine = with_volume(volume)
    assert effects([machine, was], [machine, now]) == [(kind, "app", "atNextStart")]
    assert effects([machine, was], [machine, {**now, "stringData": {"userdata": "a"}, "data": {"userdata": "a"}}]) == []
    assert effects([machine, was], [machine]) == [(kind, "app", "missing")]
    refused = [machine, {**was, "immutable": True}], [machine, {**now, "immutable": True}]
    assert effects(*refused) == [(kind, "app", "refused")]


def test_a_key_that_cloud_init_does_not_read_reaches_no_guest() -> None:
    was, now = (keyed("Secret", "app", stringData={"userdata": "a", "other": value}) for value in ("a", "b"))
    assert effects([with_volume(CLOUD_INIT), was], [with_volume(CLOUD_INIT), now]) == []


def test_a_secret_of_another_type_is_refused() -> None:
    was, now = (keyed("Secret", "app", type=word, data={}) for word in ("Opaque", "kubernetes.io/tls"))
    assert effects([with_volume(CLOUD_INIT), was], [with_volume(CLOUD_INIT), now]) == [("Secret", "app", "refused")]


def test_base64_and_text_of_a_secret_are_the_same() -> None:
    was, now = keyed("Secret", "app", stringData={"userdata": "a"}), keyed("Secret", "app", data={"userdata": "YQ=="})
    assert effects([with_volume(CLOUD_INIT), was], [with_volume(CLOUD_INIT), now]) == []


def test_what_a_running_guest_reads_reaches_it_at_once() -> None:
    shared = with_volume({"configMap": {"name": "app"}})
    devices = shared["spec"]["template"]["spec"]["domain"]["devices"]
    devices["filesystems"] = [{"name": "d", "virtiofs": {}}]
    del devices["disks"]
    was, now = (keyed("ConfigMap", "app", data={"a": value}) for value in ("a", "b"))
    assert effects([shared, was], [shared, now]) == [("ConfigMap", "app", "live")]
    logged_in = vm()
    secret = {"source": {"secret": {"secretName": "keys"}}, "propagationMethod": {"qemuGuestAgent": {"users": ["root"]}}}
    logged_in["spec"]["template"]["spec"]["accessCredentials"] = [{"sshPublicKey": secret}]
    was, now = (keyed("Secret", "keys", stringData={"a": value}) for value in ("a", "b"))
    assert effects([logged_in, was], [logged_in, now]) == [("Secret", "keys", "live")]


def test_a_template_takes_over_the_disk_of_its_name() -> None:
    assert effects([user(), data_volume()], [owner(root="img"), data_volume()]) == [("DataVolume", "img", "takenOver")]
    assert effects([user(), claim()], [owner(root="img"), claim()]) == [("PersistentVolumeClaim", "img", "takenOver")]
    assert effects([data_volume()], [owner(root="img"), data_volume()]) == [("DataVolume", "img", "takenOver")]


def test_a_disk_that_moves_into_a_template_is_deleted_and_made_anew() -> None:
    (entry,) = data([user(), data_volume()], [owner(root="img")])
    assert (entry["effect"], entry["message"]) == ("deleted", "the VM makes a new one of its template")


def test_a_disk_that_leaves_the_templates_stays_with_its_vm() -> None:
    assert effects([owner(root="img")], [user()]) == [("DataVolume", "img", "stays")]


def test_an_edited_template_changes_no_disk_that_exists() -> None:
    (entry,) = data([owner(size="30Gi")], [owner(size="50Gi")])
    assert (entry["effect"], entry["fields"]) == ("ignored", ["spec.storage.resources.requests.storage"])
    assert entry["message"] == "KubeVirt does not change a DataVolume that exists"


@pytest.mark.parametrize("write", [partial(text_of, color=False), markdown_of])
def test_every_output_for_people_says_what_happens_to_data(write: Callable[..., str]) -> None:
    found = write(answer([owner("db"), user(), data_volume()], [user(), data_volume(preallocation=True)]))
    assert ", with its data (30Gi)" in found
    assert "CDI refuses it (Cannot update DataVolume Spec), so the apply fails and the disk stays" in found
    assert "2 of 2 VMs change: 1 data refused, 1 data deleted" in found


def test_of_new_vms_nothing_is_deleted() -> None:
    assert all("data" not in each for each in answer([user(), data_volume()], [user()], new=True)["vms"])


def pool(size: str = "30Gi", **spec: Any) -> Object:
    inner = {"metadata": {"labels": {"a": "b"}}, "spec": owner(size=size)["spec"]}
    inner["spec"]["template"]["metadata"] = {"labels": {"a": "b"}}
    whole = {"replicas": 3, "selector": {"matchLabels": {"a": "b"}}, "virtualMachineTemplate": inner, **spec}
    meta = {"name": "farm", "namespace": "default"}
    return {"apiVersion": "pool.kubevirt.io/v1beta1", "kind": "VirtualMachinePool", "metadata": meta, "spec": whole}


def test_a_pool_deletes_disks_with_its_vms() -> None:
    gone = [("DataVolume", "web-root-*", "deleted")]
    assert effects([pool()], []) == gone
    assert effects([pool()], [pool(replicas=2)]) == gone
    assert effects([pool()], [pool("50Gi")]) == gone
    assert effects([pool()], [pool(replicas=4)]) == []
    kept = {"scaleInStrategy": {"proactive": {"statePreservation": "Offline"}}}
    assert effects([pool(**kept)], [pool(replicas=2, **kept)]) == []
