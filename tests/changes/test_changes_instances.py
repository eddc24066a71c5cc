"""What a change does to replica sets and to instances that nobody owns."""

from __future__ import annotations

from typing import Any

import pytest
from diffing import Object, vm
from test_changes_pools import one, records

LABELS = {"app": "a"}


def replica_set(sockets: int = 2, **spec: Any) -> Object:
    made = vm()["spec"]["template"]
    made["spec"]["domain"]["cpu"]["sockets"] = sockets
    given = {"selector": {"matchLabels": LABELS}, "template": {"metadata": {"labels": LABELS}, **made}, "replicas": 2, **spec}
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstanceReplicaSet",
        "metadata": {"name": "r"},
        "spec": given,
    }


def instance(sockets: int = 2, **metadata: Any) -> Object:
    spec = vm()["spec"]["template"]["spec"]
    spec["domain"]["cpu"]["sockets"] = sockets
    meta = {"name": "i", **metadata}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": meta, "spec": spec}


def test_another_template_reaches_only_new_instances() -> None:
    found = one(replica_set(), replica_set(4))
    assert found["effect"] == ["newOnly"]
    assert found["guest"] == {"vcpus": {"old": 2, "new": 4}}
    first = found["changes"][0]
    assert (first["path"], first["when"]) == ("/spec/domain/cpu/maxSockets", "new")
    assert first["causes"][0]["field"] == "spec.template.spec.domain.cpu.sockets"
    assert first["causes"][0]["source"] == "replicaSet"
    assert {side: pod["requests"]["cpu"] for side, pod in found["pod"].items()} == {"before": "205m", "after": "405m"}


def test_sets_and_instances_differ_in_nothing_from_themselves() -> None:
    bundle = [replica_set(), instance()]
    assert records(bundle, bundle) == []
    assert records(bundle, bundle, apply=False) == []
    assert records(bundle, bundle, new=True) == []


@pytest.mark.parametrize(("after", "effect"), [(1, "scaledIn"), (3, "scaledOut")])
def test_replicas_come_and_go(after: int, effect: str) -> None:
    assert one(replica_set(), replica_set(replicas=after))["effect"] == [effect]


def test_a_paused_set_does_not_scale() -> None:
    found = one(replica_set(), replica_set(paused=True, replicas=1))
    assert (found["effect"], found["replicas"]) == (["nothing"], {"old": 2, "new": 1})


def test_another_selector_releases_the_instances() -> None:
    other = replica_set(selector={"matchLabels": {"app": "b"}})
    other["spec"]["template"]["metadata"] = {"labels": {"app": "b"}}
    assert one(replica_set(), other)["effect"] == ["released", "newOnly"]


def test_a_selector_that_finds_no_instance_is_refused() -> None:
    found = one(replica_set(), replica_set(selector={"matchLabels": {"app": "b"}}))
    assert found["effect"] == ["refused"]


def test_the_spec_of_an_instance_is_fixed() -> None:
    found = one(instance(), instance(4))
    assert found["effect"] == ["refused"]
    assert found["update"]["stage"] == "validating"
    (cause,) = found["update"]["causes"]
    assert cause["path"] == "spec.domain.cpu.sockets"
    assert cause["message"].startswith("the spec of an instance cannot be changed; ")
    new = one(instance(), instance(4), new=True)
    assert (new["effect"], new["guest"]) == (["atNextStart"], {"vcpus": {"old": 2, "new": 4}})


def test_a_default_that_is_written_out_passes() -> None:
    written = instance()
    written["spec"]["domain"]["cpu"]["maxSockets"] = 8
    assert [found["update"] for found in records([instance()], [written])] in ([], [{"sent": True, "allowed": True}])


def test_labels_of_an_instance_change_at_once() -> None:
    found = one(instance(labels={"team": "b"}), instance(labels={"team": "a"}))
    assert found["effect"] == ["live"]
    assert [(each["path"], each["new"], each["when"]) for each in found["changes"]] == [("/labels/team", "a", "live")]
    assert found["changes"][0]["causes"][0]["field"] == "metadata.labels.team"


def test_labels_of_kubevirt_are_reserved() -> None:
    found = one(instance(), instance(labels={"kubevirt.io/nodeName": "n"}))
    assert found["effect"] == ["refused"]
    assert found["update"]["causes"][0]["path"] == 'metadata.labels["kubevirt.io/nodeName"]'


def test_instances_of_one_side_are_added_or_removed() -> None:
    assert [(each["kind"], each["effect"]) for each in records([], [replica_set(), instance()])] == [
        ("VirtualMachineInstance", ["added"]),
        ("VirtualMachineInstanceReplicaSet", ["added"]),
    ]
    assert [each["effect"] for each in records([replica_set(), instance()], [])] == [["removed"], ["removed"]]


def test_a_replacing_manifest_without_the_defaults_of_an_edited_instance_is_refused() -> None:
    assert one(instance(), instance(4), apply=False)["effect"] == ["refused"]
