"""What a preference requires, and the vCPUs it can't spread."""

from __future__ import annotations

import pytest

from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.expand import expand
from krm_fn.kubevirt.releases import parse

CPU = "spec.template.spec.domain.cpu"
SMALL = {"cpu": {"guest": 2}, "memory": {"guest": "2Gi"}}


def unmet(preference, *, spec=None, instancetype=None, release="1.9", defaults=True):
    """Kind, real path, upstream's path, required value and actual value."""
    found = expand(
        {"spec": {"template": {"spec": spec or {}}}},
        instancetype=instancetype,
        preference=preference,
        cluster=Cluster(),
        release=parse(release),
        defaults=defaults,
    )
    return [
        (each.kind, ".".join(each.path), each.upstream_path or ".".join(each.path), each.required, each.actual)
        for each in found.unmet
    ]


def requires(vcpus=None, memory=None, architecture=None, topology=None, **options):
    stated = {"cpu": {"guest": vcpus}, "memory": {"guest": memory}, "architecture": architecture}
    cpu = {"preferredCPUTopology": topology, "spreadOptions": options}
    return {"cpu": cpu, "requirements": stated}


def test_a_requirement_that_is_met_is_no_fact() -> None:
    assert unmet(requires(2, "2048Mi", "amd64"), instancetype=SMALL) == []


def test_the_instancetype_is_measured_where_there_is_one() -> None:
    assert unmet(requires(4, "4Gi", "arm64"), instancetype=SMALL) == [
        ("vcpus", "spec.instancetype", "spec.instancetype", 4, 2),
        ("memory", "spec.instancetype", "spec.instancetype", "4Gi", "2Gi"),
        ("architecture", "spec.template.spec.architecture", "spec.template.spec.architecture", "arm64", "amd64"),
    ]


@pytest.mark.parametrize(
    ("topology", "across", "blamed", "named"),
    [
        (None, None, ".sockets", ".sockets"),
        ("cores", None, ".cores", ".cores"),
        ("preferThreads", None, ".threads", ".threads"),
        ("any", None, "", ".cores .sockets .threads"),
        ("spread", None, "", ".sockets .cores"),
        ("spread", "CoresThreads", "", ".cores .threads"),
        ("spread", "SocketsCoresThreads", "", ".sockets .cores .threads"),
    ],
)
def test_without_an_instancetype_the_fields_of_the_topology_count(topology, across, blamed, named) -> None:
    upstream = ", ".join(CPU + field for field in named.split())
    assert unmet(requires(2, topology=topology, across=across)) == [("vcpus", CPU + blamed, upstream, 2, 1)]


@pytest.mark.parametrize(
    ("topology", "cpu"),
    [
        ("any", {"sockets": 2, "cores": 2, "threads": 1}),
        ("spread", {"sockets": 2, "cores": 2}),
        ("sockets", {"sockets": 4}),
        ("elsewhere", {"cores": 1}),
    ],
)
def test_enough_vcpus_of_the_vms_own_meet_the_requirement(topology, cpu) -> None:
    wanted = requires(4, topology=topology)
    assert unmet(wanted if topology != "elsewhere" else requires(0, topology=topology), spec={"domain": {"cpu": cpu}}) == []


@pytest.mark.parametrize("topology", ["", "elsewhere"])
def test_by_a_topology_of_another_name_nothing_is_counted(topology) -> None:
    assert unmet(requires(4, topology=topology)) == []
    assert len(unmet(requires(4, topology="spread", across="Elsewhere"))) == 1


def test_the_empty_architecture_is_one_that_nothing_has() -> None:
    assert [found[0] for found in unmet(requires(architecture=""))] == ["architecture"]


def test_the_product_of_vcpus_is_a_32_bit_integer_as_upstream() -> None:
    cpu = {"sockets": 65536, "cores": 65536, "threads": 1}
    assert unmet(requires(1, topology="any"), spec={"domain": {"cpu": cpu}})[0][-1] == 0


def test_the_vms_own_memory_is_measured_without_an_instancetype() -> None:
    memory = "spec.template.spec.domain.memory"
    assert unmet(requires(memory="1Gi")) == [("memory", memory, memory, "1Gi", "0")]
    assert unmet(requires(memory="1Gi"), spec={"domain": {"memory": {"guest": "1Gi"}}}) == []
    assert unmet(requires(memory="1Gi"), spec={"domain": {"resources": {"requests": {"memory": "1Gi"}}}}) == []


def test_architecture_is_required_from_1_7_on() -> None:
    assert unmet(requires(architecture="arm64"), release="1.6") == []
    assert len(unmet(requires(architecture="arm64"), release="1.7")) == 1


def test_the_preferred_architecture_meets_the_required_one() -> None:
    assert unmet({**requires(architecture="arm64"), "preferredArchitecture": "arm64"}) == []


def test_requirements_are_judged_in_the_same_way_without_defaults() -> None:
    assert unmet(requires(1, architecture="amd64"), defaults=False) == []
    assert len(unmet(requires(2, architecture="arm64"), defaults=False)) == 2


@pytest.mark.parametrize(
    ("vcpus", "across", "ratio"),
    [(3, "SocketsCores", 2), (4, "SocketsCores", 3), (3, "CoresThreads", 2), (6, "SocketsCoresThreads", 2), (1, None, None)],
)
def test_vcpus_that_the_ratio_does_not_divide_are_a_fact(vcpus, across, ratio) -> None:
    wanted = requires(topology="spread", across=across, ratio=ratio)
    found = unmet(wanted, instancetype={"cpu": {"guest": vcpus}, "memory": {"guest": "1Gi"}})
    assert [each[:3] for each in found] == [("spread", "spec.instancetype", "instancetype.spec.cpu.guest")]


@pytest.mark.parametrize(
    ("vcpus", "across", "ratio"), [(4, "SocketsCores", 2), (8, "SocketsCoresThreads", 2), (3, "Elsewhere", 2), (2, None, 0)]
)
def test_vcpus_that_the_ratio_divides_are_none(vcpus, across, ratio) -> None:
    wanted = requires(topology="preferSpread", across=across, ratio=ratio)
    assert unmet(wanted, instancetype={"cpu": {"guest": vcpus}, "memory": {"guest": "1Gi"}}) == []
