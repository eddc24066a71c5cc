"""Laws of `krm_fn.diff` over texts that people write: what does not reach an object changes no VM."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import krm_fn
from krm_fn import yamlio

SIZES = st.sampled_from([1, 2, 4])
TYPE = st.builds(
    lambda name, guest: {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachineInstancetype",
        "metadata": {"name": name},
        "spec": {"cpu": {"guest": guest}, "memory": {"guest": "2Gi"}},
    },
    st.sampled_from(["small", "large"]),
    SIZES,
)


def vm(name: str, strategy: str, sockets: int, typed: str, labels: dict[str, str]) -> dict[str, Any]:
    domain: dict[str, Any] = {"devices": {}} if typed else {"cpu": {"sockets": sockets}, "devices": {}}
    spec = {"runStrategy": strategy, "template": {"metadata": {"labels": labels}, "spec": {"domain": domain}}}
    if typed:
        spec["instancetype"] = {"name": typed, "kind": "VirtualMachineInstancetype"}
    return {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": name}, "spec": spec}


VM = st.builds(
    vm,
    st.sampled_from(["web", "db", "mail"]),
    st.sampled_from(["Always", "Halted", "Manual"]),
    SIZES,
    st.sampled_from(["", "small", "large", "nowhere"]),
    st.dictionaries(st.sampled_from(["a", "b"]), st.sampled_from(["blue", "red"])),
)


def by_name(objects: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({each["metadata"]["name"]: each for each in objects}.values())


BUNDLE = st.lists(VM, max_size=3).map(by_name)
TYPES = st.lists(TYPE, max_size=2).map(by_name)


def names(base: list[Any], head: list[Any]) -> list[tuple[str, str]]:
    """Name and change of each VM that is reported."""
    return [(each["name"], each["change"]) for each in krm_fn.diff({"items": base}, {"items": head})["vms"]]


def shuffled(value: Any, random: Random) -> Any:
    """The value with the keys of all maps in another order. One source of chance for all of them is drawn at once."""
    if isinstance(value, dict):
        return {key: shuffled(value[key], random) for key in random.sample(list(value), len(value))}
    return [shuffled(each, random) for each in value] if isinstance(value, list) else value


@st.composite
def texts(draw: st.DrawFn) -> tuple[list[Any], str]:
    """A bundle, and a text of it with the keys in another order and with comments."""
    bundle, random = [*draw(BUNDLE), *draw(TYPES)], Random(draw(st.integers(0, 2**32)))
    lines = yaml.safe_dump_all([shuffled(each, random) for each in bundle], sort_keys=False).splitlines()
    marks = random.choices(["", "  # note", "\n# a line: of its own"], k=len(lines))
    return bundle, "".join(f"{line}{mark}\n" for line, mark in zip(lines, marks, strict=True))


@settings(max_examples=40, deadline=None)
@given(texts())
def test_comments_and_the_order_of_keys_change_no_vm(given: tuple[list[Any], str]) -> None:
    bundle, text = given
    assert names(bundle, list(yamlio.read_stream(text.encode()).items)) == []


@settings(max_examples=40, deadline=None)
@given(BUNDLE, TYPES)
def test_a_bundle_and_itself_differ_in_nothing(bundle: list[Any], types: list[Any]) -> None:
    assert names([*bundle, *types], copy.deepcopy([*bundle, *types])) == []


@settings(max_examples=40, deadline=None)
@given(BUNDLE, TYPES, st.sets(st.sampled_from(["web", "db", "mail"])))
def test_what_is_added_is_removed_the_other_way_round(bundle: list[Any], types: list[Any], added: set[str]) -> None:
    before = [*types, *(each for each in bundle if each["metadata"]["name"] not in added)]
    after = [*types, *bundle]
    new = sorted(each["metadata"]["name"] for each in bundle if each["metadata"]["name"] in added)
    assert names(before, after) == [(name, "added") for name in new]
    assert names(after, before) == [(name, "removed") for name in new]


@settings(max_examples=40, deadline=None)
@given(BUNDLE, TYPES, TYPES)
def test_an_edit_of_instancetypes_reaches_only_vms_that_use_one(bundle: list[Any], types: list[Any], others: list[Any]) -> None:
    users = {each["metadata"]["name"] for each in bundle if "instancetype" in each["spec"]}
    assert {name for name, _ in names([*bundle, *types], [*bundle, *others])} <= users
