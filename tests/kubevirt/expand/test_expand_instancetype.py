"""What an instancetype does to a VM."""

from __future__ import annotations

import pytest

from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt import expand
from krm_fn.kubevirt.facts import Conflict
from krm_fn.kubevirt.fields.instancetype import overcommitted
from krm_fn.kubevirt.releases import parse

CPU, MEMORY = {"guest": 4}, {"guest": "8Gi"}
V16, V17, V19 = parse("1.6"), parse("1.7"), parse("1.9")


def applied(spec=None, *, cpu=CPU, memory=MEMORY, preference=None, release=V19, metadata=None, **fields):
    template = {"metadata": metadata or {}, "spec": spec or {"domain": {"devices": {}, "resources": {}}}}
    conflicts = expand.apply(
        template, instancetype={"cpu": cpu, "memory": memory, **fields}, preference=preference, release=release
    )
    return template, conflicts


def domain(**instancetype):
    template, conflicts = applied(**instancetype)
    assert conflicts == ()
    return template["spec"]["domain"]


def clashes(spec, **instancetype):
    found = applied(spec, **instancetype)[1]
    return {found.upstream_path or ".".join(found.path) for found in found}


def spread(**options):
    return {"cpu": {"preferredCPUTopology": "spread", "spreadOptions": options}}


def test_vcpus_become_sockets_and_memory_the_guests() -> None:
    assert applied()[0] == {
        "metadata": {},
        "spec": {
            "domain": {
                "cpu": {"sockets": 4, "cores": 1, "threads": 1},
                "memory": {"guest": "8Gi"},
                "devices": {},
                "resources": {},
            }
        },
    }


@pytest.mark.parametrize(
    ("preference", "vcpus", "layout"),
    [
        ({"cpu": {"preferredCPUTopology": "cores"}}, 4, (1, 4, 1)),
        ({"cpu": {"preferredCPUTopology": "preferThreads"}}, 4, (1, 1, 4)),
        ({"cpu": {"preferredCPUTopology": "any"}}, 4, (4, 1, 1)),
        ({"cpu": {"preferredCPUTopology": "spread"}}, 6, (3, 2, 1)),
        ({"cpu": {"preferredCPUTopology": "preferSpread"}, "preferSpreadSocketToCoreRatio": 3}, 6, (2, 3, 1)),
        ({**spread(ratio=4), "preferSpreadSocketToCoreRatio": 3}, 8, (2, 4, 1)),
        (spread(across="CoresThreads"), 6, (1, 3, 2)),
        (spread(across="SocketsCoresThreads"), 8, (2, 2, 2)),
        (spread(ratio=0), 6, (3, 2, 1)),
        (spread(across="Elsewhere"), 6, (1, 1, 1)),
        ({"cpu": {"preferredCPUTopology": "elsewhere"}}, 6, (1, 1, 1)),
        ({"cpu": {"preferredCPUTopology": ""}}, 6, (1, 1, 1)),
        (spread(across=""), 6, (1, 1, 1)),
        (spread(), 1, (1, 1, 1)),
    ],
)
def test_the_preference_lays_out_the_vcpus(preference, vcpus, layout) -> None:
    cpu = domain(cpu={"guest": vcpus}, preference=preference)["cpu"]
    assert (cpu["sockets"], cpu["cores"], cpu["threads"]) == layout


def test_a_whole_number_with_a_point_counts_as_the_api_server_reads_it() -> None:
    assert domain(cpu={"guest": 2.0})["cpu"] == {"sockets": 2, "cores": 1, "threads": 1}


def test_a_count_of_zero_is_not_written() -> None:
    assert domain(cpu={"guest": 2}, preference=spread(ratio=4))["cpu"] == {"cores": 4, "threads": 1}


@pytest.mark.parametrize(
    ("guest", "percent", "requested"),
    [
        ("128Mi", 15, "114085072"),
        ("8Gi", 50, "4Gi"),
        ("8G", 50, "4G"),
        ("1Gi", 100, "0"),
        ("3000000001", 10, "2700M"),
    ],
)
def test_overcommit_rounds_as_32_bit_floats_do(guest, percent, requested) -> None:
    made = domain(memory={"guest": guest, "overcommitPercent": percent})
    assert made["resources"] == {"requests": {"memory": requested}}


def test_overcommit_rounds_huge_sizes_once() -> None:
    assert overcommitted(2**60 + 2**36 + 1, 0) == 2**60 + 2**37
    assert overcommitted(2**60 + 2**36, 0) == 2**60


def test_quantities_are_written_canonically() -> None:
    assert domain(memory={"guest": "8192Mi", "maxGuest": 17179869184})["memory"] == {
        "guest": "8Gi",
        "maxGuest": "17179869184",
    }


def test_false_is_not_written_where_go_has_a_plain_bool() -> None:
    spec = {"domain": {"cpu": {"dedicatedCpuPlacement": False}}}
    template, conflicts = applied(spec, cpu={"guest": 1, "dedicatedCPUPlacement": False, "isolateEmulatorThread": True})
    assert conflicts == ()
    assert template["spec"]["domain"]["cpu"] == {"sockets": 1, "cores": 1, "threads": 1, "isolateEmulatorThread": True}


def test_max_sockets_overwrites_the_vms() -> None:
    spec = {"domain": {"cpu": {"maxSockets": 9}}}
    assert applied(spec, cpu={"guest": 1, "maxSockets": 3})[0]["spec"]["domain"]["cpu"]["maxSockets"] == 3


def test_every_conflict_is_reported() -> None:
    spec = {
        "nodeSelector": {"zone": "a"},
        "schedulerName": "own",
        "domain": {
            "cpu": {
                "sockets": 1,
                "cores": 2,
                "threads": 1,
                "model": "host-model",
                "dedicatedCpuPlacement": True,
                "isolateEmulatorThread": True,
                "numa": {},
                "realtime": {},
            },
            "memory": {"guest": "1Gi", "hugepages": {}, "maxGuest": "2Gi"},
            "resources": {"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}},
            "ioThreads": {"supplementalPoolThreadCount": 0},
            "ioThreadsPolicy": "auto",
            "launchSecurity": {},
            "devices": {"gpus": [{"name": "a"}], "hostDevices": [{"name": "b"}]},
        },
    }
    given = clashes(
        spec,
        cpu={
            "guest": 2,
            "model": "Nehalem",
            "dedicatedCPUPlacement": False,
            "isolateEmulatorThread": False,
            "numa": {},
            "realtime": {},
        },
        memory={"guest": "1Gi", "hugepages": {}, "maxGuest": "2Gi"},
        nodeSelector={"zone": "b"},
        schedulerName="theirs",
        ioThreads={"supplementalPoolThreadCount": 1},
        ioThreadsPolicy="shared",
        launchSecurity={"sev": {}},
        gpus=[{"name": "c"}],
        hostDevices=[{"name": "d"}],
        annotations={"k": "theirs", "same": "x"},
        metadata={"annotations": {"k": "own", "same": "x"}},
    )
    base = "spec.template.spec."
    assert given == {
        base + "nodeSelector",
        base + "schedulerName",
        base + "domain.cpu.sockets",
        base + "domain.cpu.cores",
        base + "domain.cpu.threads",
        base + "domain.cpu.model",
        base + "domain.cpu.dedicatedCPUPlacement",
        base + "domain.cpu.isolateEmulatorThread",
        base + "domain.cpu.numa",
        base + "domain.cpu.realtime",
        base + "domain.memory.guest",
        base + "domain.memory.hugepages",
        base + "domain.memory.maxGuest",
        base + "domain.resources.requests.cpu",
        base + "domain.resources.requests.memory",
        base + "domain.resources.limits.cpu",
        base + "domain.resources.limits.memory",
        base + "domain.ioThreads.supplementalPoolThreadCount",
        base + "domain.ioThreadsPolicy",
        base + "domain.launchSecurity",
        base + "domain.devices.gpus",
        base + "domain.devices.hostDevices",
        "annotations.k",
    }


def test_a_conflict_names_both_values_and_both_places() -> None:
    spec = {"domain": {"cpu": {"dedicatedCpuPlacement": True}}}
    assert applied(spec, cpu={"guest": 1, "dedicatedCPUPlacement": True})[1] == (
        Conflict(
            path=("spec", "template", "spec", "domain", "cpu", "dedicatedCpuPlacement"),
            current=True,
            source_path=("spec", "cpu", "dedicatedCPUPlacement"),
            value=True,
            upstream_path="spec.template.spec.domain.cpu.dedicatedCPUPlacement",
        ),
    )
    assert UNSET not in applied(spec, cpu={"guest": 1, "dedicatedCPUPlacement": True})[1]


@pytest.mark.parametrize("unset", [None, "", [], 0, False])
def test_what_go_takes_for_unset_does_not_conflict(unset) -> None:
    spec = {"schedulerName": unset or "", "domain": {"cpu": {"cores": unset, "dedicatedCpuPlacement": unset}}}
    assert clashes(spec, cpu={"guest": 2, "dedicatedCPUPlacement": True}, schedulerName="x") == set()


def test_before_1_7_the_complete_memory_block_conflicts() -> None:
    assert clashes({"domain": {"memory": {"hugepages": {}}}}, release=V16) == {"spec.template.spec.domain.memory"}
    assert clashes({"domain": {"memory": {"hugepages": {}}}}, release=V17) == set()


def test_io_threads_are_applied_from_1_7_on() -> None:
    count = {"ioThreads": {"supplementalPoolThreadCount": 2}}
    assert "ioThreads" not in domain(release=V16, **count)
    assert domain(release=V17, **count)["ioThreads"] == {"supplementalPoolThreadCount": 2}


def test_an_empty_text_that_is_a_pointer_in_go_is_claimed_like_any_other() -> None:
    own = {"domain": {"cpu": {"model": "host-model"}, "ioThreadsPolicy": ""}}
    assert clashes(own, cpu={"guest": 4, "model": ""}, ioThreadsPolicy="auto") == {
        "spec.template.spec.domain.cpu.model",
        "spec.template.spec.domain.ioThreadsPolicy",
    }
    written = domain(cpu={"guest": 4, "model": ""}, ioThreadsPolicy="")
    assert "model" not in written["cpu"]
    assert written["ioThreadsPolicy"] == ""


def test_devices_keep_the_empty_texts_that_go_writes() -> None:
    gpus = [{"name": "", "deviceName": "", "claimName": "", "tag": ""}, {"name": "b", "requestName": ""}]
    pointers = [{"name": "", "claimName": ""}, {"name": "b", "requestName": ""}]
    assert domain(gpus=gpus, release=V16)["devices"]["gpus"] == pointers
    assert domain(gpus=gpus, release=parse("1.8"))["devices"]["gpus"] == pointers
    assert domain(gpus=gpus)["devices"]["gpus"] == [{"name": ""}, {"name": "b"}]


@pytest.mark.parametrize("field", ["gpus", "hostDevices"])
def test_before_1_6_a_device_has_the_name_of_its_resource_be_it_empty(field) -> None:
    given = {field: [{"name": "a"}, {"name": "b", "deviceName": None}, {"name": "c", "deviceName": "d"}]}
    before = domain(release=parse("1.5"), **given)["devices"][field]
    assert before == [{"deviceName": "", "name": "a"}, {"deviceName": "", "name": "b"}, {"deviceName": "d", "name": "c"}]
    assert domain(release=V16, **given)["devices"][field] == [{"name": "a"}, {"name": "b"}, {"deviceName": "d", "name": "c"}]


@pytest.mark.parametrize(
    ("guest", "percent", "requested"),
    [
        ("8Ei", 1, "8304722Ti"),  # the guest's own text, 9223372036854775807, no longer tells that it was binary
        ("-1Gi", 50, "-512Mi"),
        ("8Gi", 101, "-83886Ki"),
        ("100E", 10, "0"),  # more than 64 bits
        ("999999999999999999", 4294967295, "-9223372036854775808"),
    ],
)
def test_memory_of_any_size_and_sign_is_overcommitted_as_go_calculates(guest, percent, requested) -> None:
    memory = {"guest": guest, "overcommitPercent": percent}
    assert domain(memory=memory)["resources"]["requests"]["memory"] == requested
