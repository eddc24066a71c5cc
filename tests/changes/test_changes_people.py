"""What a record says to people: values, causes, what is kept; and that it fits the published schema and shows no secret."""

from __future__ import annotations

import json

import jsonschema
import pytest
from diffing import Object, diff, instancetype, typed, vm, with_sockets

import krm_fn
from krm_fn.changes.schema import schema

SMALL = {"kind": "VirtualMachineInstancetype", "name": "small"}


def causes(record: Object, path: str) -> list[Object]:
    return next(change["causes"] for change in record["changes"] if change["path"] == path)


def test_a_change_has_both_values_the_time_and_the_edited_field() -> None:
    (record,) = diff([vm()], [with_sockets(4)])
    this = {"source": "vm", "kind": "VirtualMachine", "namespace": "default", "name": "web", "old": 2, "new": 4}
    assert record["guest"] == {"vcpus": {"old": 2, "new": 4}}
    assert record["changes"] == [
        {
            "path": "/spec/domain/cpu/sockets",
            "part": "CPU",
            "old": 2,
            "new": 4,
            "when": "migration",
            "causes": [{**this, "field": "spec.template.spec.domain.cpu.sockets"}],
        },
        {
            "path": "/spec/domain/cpu/maxSockets",
            "part": "CPU hotplug limit",
            "old": 8,
            "new": 16,
            "when": "nextStart",
            "causes": [{**this, "field": "spec.template.spec.domain.cpu.sockets"}],
        },
    ]


def test_an_edited_instancetype_reaches_no_vm_that_exists() -> None:
    (record,) = diff([typed(), instancetype(2)], [typed(), instancetype(4)])
    assert record["effect"] == ["nothing"]
    assert "changes" not in record
    (kept,) = record["keeps"]
    assert {key: kept[key] for key in ("matcher", "kind", "name", "change", "fields")} == {
        "matcher": "instancetype",
        **SMALL,
        "change": "edited",
        "fields": [{"field": "spec.cpu.guest", "kept": 2, "new": 4}],
    }
    assert kept["message"].startswith("keeps VirtualMachineInstancetype small as stored, also after a restart; new VMs get")


def test_a_new_vm_gets_the_edited_instancetype() -> None:
    (record,) = diff([typed(), instancetype(2)], [typed(), instancetype(4)], new=True)
    assert record["effect"] == ["atNextStart"]
    assert record["guest"] == {"vcpus": {"old": 2, "new": 4}}
    assert causes(record, "/spec/domain/cpu/sockets") == [
        {"source": "instancetype", **SMALL, "field": "spec.cpu.guest", "old": 2, "new": 4}
    ]


def test_an_instancetype_that_is_gone_is_kept() -> None:
    (record,) = diff([typed(), instancetype(2)], [typed()])
    assert record["effect"] == ["nothing"]
    assert [kept["change"] for kept in record["keeps"]] == ["removed"]


def test_under_an_expanding_policy_a_manifest_that_names_the_instancetype_is_refused() -> None:
    policy = {"configuration": {"instancetype": {"referencePolicy": "expand"}}}
    cluster = {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "kubevirt"}, "spec": policy}
    (record,) = diff([cluster, typed(), instancetype(2)], [cluster, typed(), instancetype(4)])
    assert record["effect"] == ["refused"]
    assert [kept["policy"] for kept in record["keeps"]] == ["expand"]


def test_a_moved_reference_is_the_cause() -> None:
    large = instancetype(8) | {"metadata": {"name": "large"}}
    moved = typed()
    moved["spec"]["instancetype"]["name"] = "large"
    (record,) = diff([typed(), instancetype(2), large], [moved, instancetype(2), large])
    (cause,) = causes(record, "/spec/domain/cpu/sockets")
    assert (cause["field"], cause["old"], cause["new"]) == ("spec.instancetype.name", "small", "large")


def test_a_setting_of_the_cluster_is_the_cause() -> None:
    def cluster(model: str) -> Object:
        spec = {"configuration": {"cpuModel": model}}
        return {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "kubevirt"}, "spec": spec}

    (record,) = diff([vm(), cluster("host-model")], [vm(), cluster("Haswell")])
    assert causes(record, "/spec/domain/cpu/model") == [
        {
            "source": "kubevirt",
            "kind": "KubeVirt",
            "field": "spec.configuration.cpuModel",
            "old": "host-model",
            "new": "Haswell",
        }
    ]


def test_a_number_that_the_api_has_no_room_for_is_refused() -> None:
    (record,) = diff([vm()], [with_sockets(-1)])
    assert record["effect"] == ["refused"]
    assert record["update"]["causes"] == [
        {
            "field": "spec.template.spec.domain.cpu.sockets",
            "path": "spec.template.spec.domain.cpu.sockets",
            "message": "the value is -1, but must be 0 to 2147483647; correct it",
        }
    ]


def test_secrets_are_compared_and_not_shown() -> None:
    def with_data(data: str) -> Object:
        changed = vm()
        spec = changed["spec"]["template"]["spec"]
        spec["domain"]["devices"]["disks"] = [{"name": "init", "disk": {}}]
        spec["volumes"] = [{"name": "init", "cloudInitNoCloud": {"userData": data}}]
        return changed

    found = diff([with_data("#cloud-config\npassword: old-secret")], [with_data("#cloud-config\npassword: new-secret")])
    (change,) = found[0]["changes"]
    assert change["path"] == "/spec/volumes[init]/cloudInitNoCloud/userData"
    assert "secret" not in json.dumps(found)


SIDES = [
    ([vm()], [with_sockets(4)]),
    ([vm()], [with_sockets(0)]),
    ([vm("old")], [vm("new")]),
    ([typed(), instancetype(2)], [typed(), instancetype(4)]),
    ([typed(), instancetype(2)], [typed()]),
    ([vm()], [vm(runStrategy="Halted")]),
    ([vm()], [vm(runStrategy="Never")]),
]


@pytest.mark.parametrize(("base", "head"), SIDES)
@pytest.mark.parametrize("new", [False, True])
def test_an_answer_fits_the_published_schema(base: list[Object], head: list[Object], new: bool) -> None:
    answer = krm_fn.diff({"items": base}, {"items": head}, new=new)
    jsonschema.validate(answer, schema(), cls=jsonschema.Draft202012Validator)


def test_the_summary_counts_levels() -> None:
    answer = krm_fn.diff(
        {"items": [vm("a"), vm("b"), vm("c")]}, {"items": [with_sockets(4, "a"), with_sockets(1, "b"), vm("c")]}
    )
    assert answer["summary"] == {"total": 3, "changed": 2, "levels": {"restart": 1, "migration": 1}, "keeps": 0}
