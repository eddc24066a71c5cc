"""What makes a difference, and what is none: a size that an instancetype gives, what KubeVirt draws, equal amounts."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from diffing import Object, diff, instancetype, vm

import krm_fn
from krm_fn.cli.changes_text import text_of

IDENTITY = {"serial": "e4686d2c-6e8d-4335-b8fd-81bee22f4815", "uuid": "5d307ca9-b3ef-428c-8861-06e72d69f223"}


def flat(memory: str = "2Gi", **domain: Any) -> Object:
    made = vm()
    inner = made["spec"]["template"]["spec"]
    inner["domain"] = {"devices": inner["domain"]["devices"], "memory": {"guest": memory}, **domain}
    return made


def sized(name: str = "small", kind: str = "VirtualMachineInstancetype", **domain: Any) -> Object:
    made = vm(instancetype={"name": name, "kind": kind})
    template = made["spec"]["template"]["spec"]
    template["domain"] = {"devices": template["domain"]["devices"], **domain}
    return made


def large(memory: str = "8Gi") -> Object:
    return {**instancetype(4), "spec": {"cpu": {"guest": 4}, "memory": {"guest": memory}}}


def preference(bus: str = "sata") -> Object:
    meta = {"name": "os", "namespace": "default"}
    made = {"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": "VirtualMachinePreference", "metadata": meta}
    return {**made, "spec": {"devices": {"preferredInterfaceModel": bus}, "firmware": {"preferredUseSecureBoot": True}}}


def fields(record: Object, path: str) -> list[str]:
    """The fields that are the causes of a change."""
    return [each["field"] for change in record["changes"] if change["path"] == path for each in change["causes"]]


def text(base: list[Object], head: list[Object], **more: Any) -> str:
    return text_of(krm_fn.diff({"items": base}, {"items": head}, **more), color=False)


@pytest.mark.parametrize("path", ["/spec/domain/cpu/sockets", "/spec/domain/memory/guest"])
def test_an_instancetype_that_was_added_is_the_cause_of_the_size_that_it_gives(path: str) -> None:
    (record,) = diff([flat(), large()], [sized(), large()])
    assert fields(record, path) == ["spec.instancetype.name"]


def test_a_size_that_takes_the_place_of_an_instancetype_is_a_cause() -> None:
    (record,) = diff([sized(), large()], [flat(), large()])
    assert "spec.template.spec.domain.memory" in fields(record, "/spec/domain/memory/guest")


def test_a_preference_that_was_added_with_an_instancetype_is_the_cause_of_what_it_gives() -> None:
    head = sized()
    head["spec"]["preference"] = {"name": "os", "kind": "VirtualMachinePreference"}
    (record,) = diff([flat(), large(), preference("e1000")], [head, large(), preference("e1000")])
    assert fields(record, "/spec/domain/devices/interfaces[default]/model") == ["spec.preference.name"]
    assert fields(record, "/spec/domain/cpu/sockets") == ["spec.instancetype.name"]


def test_what_kubevirt_draws_is_no_change() -> None:
    old = flat(firmware={"bootloader": {"efi": {"secureBoot": False}}})
    (record,) = diff([old, large()], [sized(), large()])
    assert not [each for each in record["changes"] if each["path"].endswith(("/uuid", "/serial"))]
    assert not [word for word in ("UUID", "serial") if word in text([old, large()], [sized(), large()])]


def test_an_identity_in_the_manifest_is_a_change_and_the_drawn_one_is_not_shown() -> None:
    (record,) = diff([flat()], [flat(firmware=IDENTITY)])
    shown = {each["path"].rpartition("/")[2]: (each["old"], each["new"]) for each in record["changes"]}
    assert shown == {key: ("drawn by KubeVirt", value) for key, value in IDENTITY.items()}
    assert {each.get("old") for change in record["changes"] for each in change["causes"]} <= {None, "drawn by KubeVirt"}


def test_a_replacement_takes_the_drawn_identity_away() -> None:
    (record,) = diff([flat()], [flat()], apply=False)
    assert {each["path"].rpartition("/")[2]: each["old"] for each in record["changes"]} == dict.fromkeys(
        ("serial", "uuid"), "drawn by KubeVirt"
    )


def test_equal_amounts_are_no_change() -> None:
    old, new = flat("2Gi"), flat("2048Mi", cpu={"sockets": 3})
    for each, amount in ((old, "1"), (new, "1000m")):
        each["spec"]["template"]["spec"]["domain"]["resources"] = {"requests": {"cpu": amount}}
    (record,) = diff([old], [new])
    assert [each["path"] for each in record["changes"]] == ["/spec/domain/cpu/maxSockets", "/spec/domain/cpu/sockets"]
    (labelled,) = diff([labels("1")], [labels("1.0")])
    assert [each["path"] for each in labelled["changes"]] == ["/labels/memory"]


def labels(value: str) -> Object:
    made = copy.deepcopy(flat())
    made["spec"]["template"]["metadata"] = {"labels": {"memory": value}}
    return made


def test_an_instancetype_that_says_the_same_amount_is_not_kept() -> None:
    assert diff([sized(), large("8Gi")], [sized(), large("8192Mi")]) == []


def test_a_fact_is_told_once() -> None:
    out = text([flat(), large()], [sized(), large()])
    assert out.count("2Gi → 8Gi") == 1
    assert out.count("1 → 4") == 1
    assert out.count("none → small") == 1
