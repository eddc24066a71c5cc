"""Objects that get another name."""

from __future__ import annotations

import copy
import tracemalloc
from typing import Any

import jsonschema
import pytest
from diffing import Object, instancetype, typed, vm
from hypothesis import given
from hypothesis import strategies as st

import krm_fn
from krm_fn.base.bundle import Bundle
from krm_fn.changes.renames import renames
from krm_fn.changes.schema import schema

PREVIOUS = "internal.config.kubernetes.io/previousNames"


def answer(base: list[Object], head: list[Object]) -> Object:
    found: Object = krm_fn.diff({"items": base}, {"items": head})
    jsonschema.validate(found, schema(), cls=jsonschema.Draft202012Validator)
    return found


def changes(base: list[Object], head: list[Object]) -> list[tuple[str, str, str]]:
    """Name, change and former name of each record."""
    return [(each["name"], each["change"], each.get("from", {}).get("name", "")) for each in answer(base, head)["vms"]]


def named(obj: Object, name: str, **metadata: Any) -> Object:
    return {**copy.deepcopy(obj), "metadata": {"name": name, **metadata}}


def config_map(name: str, data: str, namespace: str = "default") -> Object:
    meta = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"a": data}}


def sized(sockets: int, name: str) -> Object:
    changed = vm(name)
    changed["spec"]["template"]["spec"]["domain"]["cpu"]["sockets"] = sockets
    return changed


def test_a_vm_with_equal_content_is_renamed() -> None:
    found = answer([vm("web")], [vm("shop")])
    (record,) = found["vms"]
    assert {key: record[key] for key in ("name", "change", "effect", "from", "shownBy")} == {
        "name": "shop",
        "change": "renamed",
        "effect": ["renamed"],
        "from": {"namespace": "default", "name": "web"},
        "shownBy": "content",
    }
    assert set(record["pod"]) == {"before", "after"}
    assert found["summary"] == {"total": 1, "changed": 1, "levels": {"recreate": 1}, "keeps": 0}


def test_the_own_name_in_the_spec_is_no_difference() -> None:
    def with_disk(name: str) -> Object:
        blank = {"source": {"blank": {}}, "storage": {"resources": {"requests": {"storage": "1Gi"}}}}
        made = vm(name, dataVolumeTemplates=[{"metadata": {"name": f"{name}-root"}, "spec": blank}])
        spec = made["spec"]["template"]["spec"]
        spec["domain"]["devices"] = {"disks": [{"name": "root", "disk": {}}]}
        spec["volumes"] = [{"name": "root", "dataVolume": {"name": f"{name}-root"}}]
        return made

    (record,) = answer([with_disk("web")], [with_disk("shop")])["vms"]
    assert (record["change"], record["deletes"]) == ("renamed", ["DataVolume/web-root"])


def test_of_two_candidates_none_is_taken() -> None:
    assert changes([vm("a"), vm("b")], [vm("c")]) == [("a", "removed", ""), ("b", "removed", ""), ("c", "added", "")]
    assert changes([vm("a")], [vm("b"), vm("c")]) == [("a", "removed", ""), ("b", "added", ""), ("c", "added", "")]


def test_a_prefix_tells_vms_of_equal_content_apart() -> None:
    assert changes([vm("a"), vm("b")], [vm("prod-a"), vm("prod-b")]) == [
        ("prod-a", "renamed", "a"),
        ("prod-b", "renamed", "b"),
    ]
    assert {change for _, change, _ in changes([vm("a"), vm("b")], [vm("a-b"), vm("c")])} == {"added", "removed"}


def test_annotations_of_kustomize_show_a_rename_of_an_edited_vm() -> None:
    after = named(sized(8, "web"), "prod-web", annotations={PREVIOUS: "web"})
    (record,) = answer([vm("web")], [after])["vms"]
    assert (record["change"], record["shownBy"], record["from"]["name"]) == ("renamed", "annotation", "web")
    other = named(sized(8, "web"), "prod-web")
    assert [change for _, change, _ in changes([vm("web")], [other])] == ["added", "removed"]


def test_another_prefix_is_seen_through_the_common_former_name() -> None:
    before = named(vm(), "dev-web", annotations={PREVIOUS: "web"})
    after = named(sized(8, "web"), "prod-web", annotations={PREVIOUS: "web"})
    assert changes([before], [after]) == [("prod-web", "renamed", "dev-web")]


def test_a_name_that_a_long_text_repeats_is_no_difference() -> None:
    def script(name: str) -> str:
        return f"echo {name}; " * 5_000

    assert [each["name"] for each in answer([config_map("a", script("a"))], [config_map("b", script("b"))])["renames"]] == ["b"]


@pytest.mark.parametrize(("old", "new"), [("1a", "1b"), ("ax", "bx")])
def test_the_name_inside_of_another_word_is_no_mention_of_it(old: str, new: str) -> None:
    assert answer([config_map("a", old)], [config_map("b", new)])["renames"] == []


def test_objects_without_a_name_are_not_renamed() -> None:
    assert changes([named(vm(), "")], [vm("web")]) == [("", "removed", ""), ("web", "added", "")]


def test_machines_without_an_api_version_are_compared_by_their_names_alone() -> None:
    bare = {"kind": "VirtualMachine"}
    assert [*renames(Bundle([named(bare, "web")]), Bundle([named(bare, "shop")]))] == []


def test_the_work_for_many_objects_of_equal_content_grows_as_their_number_does() -> None:
    def bytes_at_most(number: int) -> int:
        sides = [Bundle([config_map(f"{prefix}cm-{each}", "a") for each in range(number)]) for prefix in ("", "prod-")]
        tracemalloc.start()
        assert len(renames(*sides)) == number
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert bytes_at_most(500) / bytes_at_most(100) < 8  # 25 if each is compared with each


def test_a_vm_that_exists_beside_the_new_one_is_not_renamed() -> None:
    assert changes([vm("web")], [vm("web"), vm("shop")]) == [("shop", "added", "")]


def test_another_namespace_is_a_rename() -> None:
    (record,) = answer([vm()], [named(vm(), "web", namespace="team")])["vms"]
    assert (record["change"], record["namespace"], record["from"]) == (
        "renamed",
        "team",
        {"namespace": "default", "name": "web"},
    )


def test_the_own_namespace_in_the_spec_is_no_difference() -> None:
    def machines(namespace: str) -> list[Object]:
        made = []
        for name in ("web-1", "web-2"):
            one = named(vm(), name, namespace=namespace)
            spec = one["spec"]["template"]["spec"]
            spec["networks"] = [{"name": "net", "multus": {"networkName": f"{namespace}/net"}}]
            spec["domain"]["devices"] = {"interfaces": [{"name": "net", "bridge": {}}]}
            made.append(one)
        return made

    found = answer(machines("old-team"), machines("team"))["vms"]
    assert [(each["name"], each["from"]["namespace"]) for each in found] == [("web-1", "old-team"), ("web-2", "old-team")]


def test_vms_follow_an_instancetype_of_another_name() -> None:
    follows = typed()
    follows["spec"]["instancetype"]["name"] = "tiny"
    left = named(typed(), "left")
    found = answer([typed(), left, instancetype(2)], [follows, left, named(instancetype(2), "tiny")])
    assert found["renames"] == [
        {
            "kind": "VirtualMachineInstancetype",
            "namespace": "default",
            "name": "tiny",
            "from": {"namespace": "default", "name": "small"},
            "shownBy": "content",
            "users": [{"kind": "VirtualMachine", "namespace": "default", "name": "web"}],
            "left": [{"kind": "VirtualMachine", "namespace": "default", "name": "left"}],
        }
    ]
    web = next(record for record in found["vms"] if record["name"] == "web")
    assert (web["effect"], web["revisionsChanged"]) == (["atNextStart"], ["/instancetype/status"])


def test_the_hash_of_a_config_map_is_seen_through() -> None:
    def user(name: str) -> Object:
        made = vm()
        spec = made["spec"]["template"]["spec"]
        spec["domain"]["devices"] = {"disks": [{"name": "c", "disk": {}}]}
        spec["volumes"] = [{"name": "c", "configMap": {"name": name}}]
        return made

    old, new = "settings-2b9d4m8g5t", "settings-7kh6c4f8d2"
    (rename,) = answer([user(old), config_map(old, "a")], [user(new), config_map(new, "b")])["renames"]
    assert (rename["kind"], rename["name"], rename["from"]["name"], rename["shownBy"]) == ("ConfigMap", new, old, "hash")
    assert [each["name"] for each in rename["users"]] == ["web"]
    assert answer([user(old), config_map(old, "a")], [user(new), config_map("else-7kh6c4f8d2", "b")])["renames"] == []


def test_secrets_of_equal_content_are_renamed_and_not_shown() -> None:
    def secret(name: str) -> Object:
        return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": {"password": "canary-1"}}

    found = answer([secret("a")], [secret("b")])
    assert [rename["name"] for rename in found["renames"]] == ["b"]
    assert "canary" not in str(found)


@pytest.mark.parametrize("kind", ["VirtualMachineInstance", "VirtualMachineInstanceReplicaSet"])
def test_other_machines_are_renamed_too(kind: str) -> None:
    template = vm()["spec"]["template"]
    spec = template["spec"] if kind == "VirtualMachineInstance" else {"selector": {}, "template": template}
    one = {"apiVersion": "kubevirt.io/v1", "kind": kind, "metadata": {"name": "a"}, "spec": spec}
    assert changes([one], [named(one, "b")]) == [("b", "renamed", "a")]


@given(st.dictionaries(st.sampled_from("abcd"), st.integers(1, 3)), st.dictionaries(st.sampled_from("efgh"), st.integers(1, 3)))
def test_only_what_is_the_only_one_of_its_content_on_both_sides_is_renamed(base: dict[str, int], head: dict[str, int]) -> None:
    found = changes(*([sized(size, name) for name, size in side.items()] for side in (base, head)))
    expected = {
        (new, old)
        for new, size in head.items()
        for old, former in base.items()
        if size == former and list(base.values()).count(size) == 1 == list(head.values()).count(size)
    }
    assert {(name, old) for name, change, old in found if change == "renamed"} == expected
