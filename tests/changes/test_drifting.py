"""What applying git would change on live machines."""

from __future__ import annotations

from typing import Any

import measured
import pytest
from living import FLUX, OWN, SIZE, cluster_of, drifted, manifest_of
from test_parity import change_agrees, change_side

from krm_fn import config
from krm_fn.changes.drifting import drift
from krm_fn.changes.pairs import Assumptions
from krm_fn.changes.sides import side
from krm_fn.live import dumps
from krm_fn.live.overlaying import Manner, overlaid

Object = dict[str, Any]

SERVER_SIDE = Manner(manner="server-side", manager="kubectl")


@pytest.mark.parametrize("name", measured.files("changes"))
def test_drift_from_the_old_bundle_to_the_new_one_is_the_measured_change(name: str, cases: measured.Cases) -> None:
    wrong, number = [], 0
    for case in cases(name):
        migratable = case.get("assume", {}).get("migratable", True)
        old, new = change_side(case, case["old"]), change_side(case, case["new"])
        settings = [config.of_list(each)[0] for each in (old, new)]
        live = cluster_of(old, migratable=migratable)
        kept = {dumps.key_of(obj) for obj in (*new["items"], *SIZE.values())}
        base = side(live, settings[0], lacking=dumps.lacking(live))
        overlay = overlaid(live, [(OWN[case["manner"]], new["items"])], base.analysis.release)
        items = [obj for obj in overlay.items if dumps.key_of(obj) in kept or obj["kind"] == "ControllerRevision"]
        head = side(items, settings[1], lacking=dumps.lacking(live))
        found = drift(base, head, overlay.but(items=items), Assumptions(migratable=migratable))
        records = {f"{each['namespace']}/{each['name']}": each for each in found["vms"]}
        number += len(case["expect"])
        wrong += [(case["id"], vm) for vm, answer in case["expect"].items() if not change_agrees(records.get(vm), answer)]
    assert wrong == []
    assert number


def vm(name: str = "web", **spec: Any) -> Object:
    template = {"spec": {"domain": {"devices": {}, "memory": {"guest": "1Gi"}}}}
    named = {"name": name, "namespace": "shop"}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": named, "spec": {"template": template, **spec}}


def of(live: list[Object], git: list[Object], manner: Manner = OWN["apply"]) -> Object:
    settings, _ = config.of_list({"items": []})
    return drifted(live, git, settings, settings, manner)


def cluster(*vms: Object) -> list[Object]:
    return cluster_of({"items": [*vms]})


def grown(live: Object) -> Object:
    """The manifest of a live VM, with more memory."""
    manifest = manifest_of(live)
    spec = manifest["spec"]["template"]["spec"]
    domain = {**spec["domain"], "memory": {"guest": "2Gi"}}
    return {**manifest, "spec": {**manifest["spec"], "template": {"spec": {**spec, "domain": domain}}}}


def test_what_git_does_not_have_is_named_and_stays() -> None:
    live = cluster(vm("web", runStrategy="Halted"), vm("old", runStrategy="Halted"))
    found = of(live, [vm("web", runStrategy="Halted")])
    assert found["unmanaged"] == [{"kind": "VirtualMachine", "namespace": "shop", "name": "old"}]
    assert found["vms"] == []
    assert found["summary"] == {"total": 2, "changed": 0, "levels": {}, "keeps": 0, "live": 2, "unmanaged": 1}


def test_what_a_pruning_delivery_has_applied_and_git_lacks_is_removed() -> None:
    live = cluster(vm("web", runStrategy="Halted"), vm("old", runStrategy="Halted"))
    mark = {"kustomize.toolkit.fluxcd.io/name": "apps", "kustomize.toolkit.fluxcd.io/namespace": "flux-system"}
    for each in live:
        each["metadata"]["labels"] = dict(mark)
    found = of(live, [vm("web", runStrategy="Halted")], FLUX.but(labels=tuple(mark.items()), prunes="apps"))
    assert [(each["name"], each["change"]) for each in found["vms"]] == [("old", "removed")]
    assert found["unmanaged"] == []


def test_a_field_that_another_manager_holds_is_named() -> None:
    live = cluster(vm(runStrategy="Halted"))
    held = {"f:spec": {"f:template": {"f:spec": {"f:domain": {"f:memory": {"f:guest": {}}}}}}}
    live[-1]["metadata"]["managedFields"] += [
        {"manager": "autoscaler", "operation": "Apply", "apiVersion": "kubevirt.io/v1", "fieldsV1": held}
    ]
    found = of(live, [grown(live[-1])])
    field = {"manager": "autoscaler", "field": "spec.template.spec.domain.memory.guest"}
    assert found["vms"][0]["contested"] == [field]


def test_an_apply_that_meets_another_manager_is_refused_without_force() -> None:
    live = cluster(vm(runStrategy="Halted"))
    found = of(live, [grown(live[-1])], SERVER_SIDE.but(manager="somebody"))
    (record,) = found["vms"]
    assert (record["effect"], record["update"]["stage"]) == (["refused"], "conflict")
    assert record["update"]["causes"][0]["path"] == "spec.template.spec.domain.memory.guest"
    assert found["summary"]["levels"] == {"refused": 1}


def test_a_value_that_the_api_server_refuses_is_told_with_its_path() -> None:
    live = cluster(vm(runStrategy="Halted"))
    found = of(live, [{**manifest_of(live[-1]), "spec": {"runStrategy": "Halted", "strange": 1}}])
    (record,) = found["vms"]
    assert (record["effect"], record["update"]["stage"]) == (["refused"], "schema")
    assert [cause["path"] for cause in record["update"]["causes"]] == ["spec.strange"]


def test_a_revision_that_the_dump_lacks_is_unknown_and_changes_nothing() -> None:
    template = {"spec": {"domain": {"devices": {}}}}
    given = cluster(vm(runStrategy="Halted", instancetype={"name": "u1.small"}, template=template))
    live = [each for each in given if each["kind"] != "ControllerRevision"]
    (vm_of_dump,) = [each for each in live if each["kind"] == "VirtualMachine"]
    manifest = manifest_of(vm_of_dump)
    assert of(live, [manifest])["vms"] == []
    manifest["spec"] = {**manifest["spec"], "runStrategy": "Always"}
    (record,) = of(live, [manifest])["vms"]
    revision = vm_of_dump["status"]["instancetypeRef"]["controllerRevisionRef"]["name"]
    assert record["unknown"]["objects"] == [f"ControllerRevision shop/{revision}"]


@pytest.mark.parametrize("has_object", [False, True])
@pytest.mark.parametrize(
    ("git", "shown"),
    [
        ({"instancetype": {"name": "big"}}, {("cpu/sockets", None, 4), ("memory/guest", None, "8Gi")}),
        ({"instancetype": {"name": "elsewhere"}}, set()),
        ({"instancetype": {"name": "small"}}, set()),
    ],
)
def test_a_size_of_a_revision_that_the_dump_lacks_is_never_shown(has_object: bool, git: Object, shown: set[Any]) -> None:
    """Whether the dump has the object of today, whose size may be another one, or nothing at all."""

    def size(name: str, cpus: int, memory: str) -> Object:
        named = {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": "VirtualMachineClusterInstancetype"}
        return {**named, "metadata": {"name": name}, "spec": {"cpu": {"guest": cpus}, "memory": {"guest": memory}}}

    def sized(**spec: Any) -> Object:
        return {**vm(**spec), "spec": {"runStrategy": "Always", "template": {"spec": {"domain": {"devices": {}}}}, **spec}}

    live = [
        each
        for each in cluster(sized(instancetype={"name": "small"}), size("small", 2, "2Gi"))
        if each["kind"] == "VirtualMachine" or (has_object and each["metadata"]["name"] == "small")
    ]
    big = [size("big", 4, "8Gi")] if git["instancetype"]["name"] == "big" else []
    found = of(live, [sized(**git), *big])["vms"]
    changes = [each for record in found for each in record.get("changes", ())]
    sizes = {(each["path"].removeprefix("/spec/domain/"), each.get("old"), each.get("new")) for each in changes}
    assert {each for each in sizes if each[0] in ("cpu/sockets", "memory/guest")} == shown
    assert not any("guest" in record or "fields" in kept for record in found for kept in record.get("keeps", [{}]))


def test_a_dump_without_managed_fields_shows_no_removal_that_is_not_known() -> None:
    live = cluster(vm(runStrategy="Halted"))
    live[-1]["metadata"].pop("managedFields")
    live[-1]["metadata"]["labels"] = {"set": "by-hand"}
    bare = manifest_of(live[-1])
    bare["metadata"] = {"name": "web", "namespace": "shop"}
    assert of(live, [bare], FLUX)["vms"] == []


def test_instances_of_vms_are_not_judged_by_themselves() -> None:
    live = cluster(vm(runStrategy="Halted"))
    owner = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "name": "web", "uid": live[-1]["metadata"]["uid"]}
    instance = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstance",
        "metadata": {"name": "web", "namespace": "shop", "uid": "2", "ownerReferences": [owner]},
        "spec": {"domain": {"devices": {}}},
    }
    found = of([*live, instance], [])
    assert found["summary"]["live"] == 1


def test_a_vm_of_an_older_release_gets_no_identity_by_being_looked_at() -> None:
    """A release that pins the firmware does so when a VM is created."""
    live = cluster(vm(runStrategy="Always"))
    live[-1]["spec"]["template"]["spec"]["domain"].pop("firmware", None)
    manifest = manifest_of(live[-1])
    manifest["metadata"]["labels"] = {"team": "shop"}
    (record,) = of(live, [manifest])["vms"]
    assert (record["effect"], record["manifest"]) == (["nothing"], ["/metadata/labels"])
