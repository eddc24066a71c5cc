"""Laws of expansion that hold for any VM, instancetype and preference, well formed or not."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from krm_fn.base.paths import copy
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.expand import expand
from krm_fn.kubevirt.fields.instancetype import INSTANCETYPE
from krm_fn.kubevirt.fields.preference import PREFERENCE
from krm_fn.kubevirt.releases import NEWEST_PATCH, parse

SCALARS = st.sampled_from([None, "", "x", "1Gi", "virtio", "spread", 0, 1, 3, -1, 2.5, True, False, 10**20])
ANYTHING = st.recursive(
    SCALARS,
    lambda below: st.lists(below, max_size=2) | st.dictionaries(st.sampled_from(["name", "guest", "enabled"]), below),
    max_leaves=5,
)
VM_PATHS = [
    "nodeSelector",
    "volumes",
    "networks",
    "architecture",
    "domain",
    "domain.cpu",
    "domain.cpu.sockets",
    "domain.cpu.features",
    "domain.memory",
    "domain.memory.guest",
    "domain.resources.requests.cpu",
    "domain.resources.limits",
    "domain.devices",
    "domain.devices.disks",
    "domain.devices.interfaces",
    "domain.devices.inputs",
    "domain.devices.panicDevices",
    "domain.features.hyperv",
    "domain.firmware.bootloader",
    "domain.clock",
    "domain.machine",
]


def nested(paths):
    """Maps with anything at some of the paths; a later path may fail to find its place in an earlier value."""

    def build(values):
        made = {}
        for path, value in values.items():
            *way, last = path.split(".")
            place = made
            for key in way:
                place = place.setdefault(key, {}) if isinstance(place, dict) else {}
            if isinstance(place, dict):
                place[last] = value
        return made

    return st.dictionaries(st.sampled_from(paths), ANYTHING, max_size=6).map(build)


def rows(table):
    return nested([".".join(row.source) for row in table])


TEMPLATES = nested(VM_PATHS).map(lambda spec: {"metadata": {"annotations": {"a": "b"}}, "spec": spec})
VMS = (TEMPLATES | ANYTHING).map(lambda template: {"metadata": {"name": "vm"}, "spec": {"template": template}})
CASES = st.tuples(VMS, st.none() | rows(INSTANCETYPE), st.none() | rows(PREFERENCE))
RELEASES = st.sampled_from([parse(f"{major}.{minor}") for major, minor in NEWEST_PATCH])


def expanded(case, release, *, defaults=True):
    vm, instancetype, preference = case
    return expand(vm, instancetype=instancetype, preference=preference, cluster=Cluster(), release=release, defaults=defaults)


def containers(value):
    """The identities of all maps and lists in a value."""
    if not isinstance(value, (dict, list)):
        return set()
    below = value.values() if isinstance(value, dict) else value
    return {id(value)}.union(*map(containers, below))


def backwards(value):
    """The same value with every map's keys in the opposite order."""
    if isinstance(value, dict):
        return {key: backwards(value[key]) for key in reversed(value)}
    return [backwards(entry) for entry in value] if isinstance(value, list) else value


@given(CASES, RELEASES, st.booleans())
@settings(deadline=None)
def test_nothing_raises_and_the_arguments_stay_as_they_were(case, release, defaults) -> None:
    before = copy(list(case))
    expanded(case, release, defaults=defaults)
    assert list(case) == before


@given(CASES, RELEASES)
@settings(deadline=None)
def test_the_result_shares_nothing_with_the_specs_nor_with_the_template(case, release) -> None:
    made = expanded(case, release).vm
    template = case[0]["spec"]["template"]
    assert not containers(made) & (containers(case[1]) | containers(case[2]) | containers(template))


@given(CASES, RELEASES)
@settings(deadline=None)
def test_the_order_of_keys_changes_nothing(case, release) -> None:
    one, other = expanded(case, release), expanded(tuple(map(backwards, case)), release)
    assert one.vm == other.vm
    assert set(map(repr, one.unmet)) == set(map(repr, other.unmet))
    assert {found.path for found in one.conflicts} == {found.path for found in other.conflicts}


@given(CASES, RELEASES)
@settings(deadline=None)
def test_a_vm_is_rendered_or_there_is_a_reason(case, release) -> None:
    made = expanded(case, release)
    assert (made.vm is None) == bool(made.conflicts or made.refusals)


@given(CASES, RELEASES)
@settings(deadline=None)
def test_expanding_the_result_again_changes_nothing(case, release) -> None:
    once = expanded(case, release).vm
    if once is not None:
        assert expanded((once, None, case[2]), release).vm == once
