"""The builtin catalogue: what each release deploys, and what became of a name."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import make_catalogue
import measured
import pytest

from krm_fn.kubevirt import catalogue
from krm_fn.kubevirt.catalogue import INSTANCETYPE, PREFERENCE
from krm_fn.kubevirt.catalogue_names import NAMES
from krm_fn.kubevirt.releases import NEWEST, Release

LAST = catalogue.releases()[-1]

ROOT = Path(__file__).resolve().parents[3]

U1_MEDIUM = {"cpu": {"guest": 1}, "memory": {"guest": "4Gi"}}

# Release: number of instancetypes, number of preferences.
COUNTS = {
    "1.1.0": (38, 28),
    "1.1.1": (38, 28),
    "1.2.0": (38, 32),
    "1.2.1": (39, 32),
    "1.2.2": (39, 32),
    "1.3.0": (39, 32),
    "1.3.1": (48, 42),
    "1.4.0": (48, 42),
    "1.4.1": (48, 37),
    "1.5.0": (44, 39),
    "1.5.1": (44, 43),
    "1.5.2": (44, 43),
    "1.5.3": (44, 43),
    "1.6.0": (55, 54),
    "1.6.1": (55, 54),
    "1.6.2": (55, 54),
    "1.6.3": (55, 54),
    "1.6.4": (55, 54),
    "1.6.5": (55, 54),
    "1.6.6": (55, 54),
    "1.7.0": (55, 54),
    "1.7.1": (55, 54),
    "1.7.2": (55, 54),
    "1.7.3": (55, 54),
    "1.7.4": (55, 54),
    "1.8.0": (65, 54),
    "1.8.1": (65, 54),
    "1.8.2": (65, 54),
    "1.8.3": (65, 54),
    "1.8.4": (65, 54),
    "1.9.0": (65, 54),
}


def release(text):
    major, minor, patch = map(int, text.split("."))
    return Release(version=(major, minor, patch))


def of(text):
    return catalogue.of(release(text))


@cache
def facts():
    return measured.catalogue()


def deployed():
    """What the facts say that each release deploys, as the generator reads it from the sources."""
    return {
        tuple(map(int, release[1:].split("."))): (
            {
                kind: {name: (run["spec"], "deprecated" in run) for name, run in expected(release[1:], kind).items()}
                for kind in catalogue.KINDS
            },
            version[1:],
        )
        for release, version in facts()["releases"].items()
    }


def expected(text, kind):
    """{name: run} of a release, from the facts."""
    order = list(facts()["releases"])
    at = order.index(f"v{text}")
    names = facts()["kinds"][kind].items()
    return {
        name: run
        for name, runs in names
        for run in runs
        if order.index(run["releases"][0]) <= at <= order.index(run["releases"][1])
    }


def test_the_names_are_those_of_all_releases():
    assert frozenset(catalogue.names(INSTANCETYPE)) | frozenset(catalogue.names(PREFERENCE)) == NAMES


# What each release deploys


def test_the_table_has_the_releases_of_the_facts():
    assert set(deployed()) <= set(catalogue.releases())


@pytest.mark.parametrize("text", COUNTS)
def test_each_release_deploys_so_many(text):
    found = of(text)
    assert (len(found.names(INSTANCETYPE)), len(found.names(PREFERENCE))) == COUNTS[text]


@pytest.mark.parametrize("kind", [INSTANCETYPE, PREFERENCE])
@pytest.mark.parametrize("text", COUNTS)
def test_each_release_deploys_what_the_facts_say(text, kind):
    found, wanted = of(text), expected(text, kind)
    assert {name: found.find(kind, name) for name in found.names(kind)} == {name: run["spec"] for name, run in wanted.items()}
    assert {name for name in wanted if found.deprecated(kind, name)} == {
        name for name, run in wanted.items() if "deprecated" in run
    }


def test_values_keep_their_types():
    for kind in (INSTANCETYPE, PREFERENCE):
        for name, run in expected("1.2.0", kind).items():
            assert json.dumps(of("1.2.0").find(kind, name), sort_keys=True) == json.dumps(run["spec"], sort_keys=True)


def test_a_plain_instancetype_is_found():
    assert catalogue.of(NEWEST).find(INSTANCETYPE, "u1.medium") == U1_MEDIUM


def test_names_are_sorted():
    assert of("1.4.1").names(INSTANCETYPE)[:3] == ("cx1.2xlarge", "cx1.4xlarge", "cx1.8xlarge")


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (INSTANCETYPE, "nope"),
        (INSTANCETYPE, ""),
        (PREFERENCE, "u1.medium"),
        ("VirtualMachineInstancetype", "u1.medium"),
        ("parts", "cpu.1"),
    ],
)
def test_other_names_and_kinds_are_not_found(kind, name):
    found = catalogue.of(NEWEST)
    assert found.find(kind, name) is None
    assert not found.deprecated(kind, name)
    assert found.removed_in(kind, name) == ()
    assert catalogue.history(kind, name) == ()


def test_a_namespaced_kind_has_no_names():
    assert catalogue.of(NEWEST).names("VirtualMachinePreference") == ()


@pytest.mark.parametrize(
    ("kind", "name", "without", "with_it"),
    [
        (INSTANCETYPE, "highperformance.large", "1.2.0", "1.1.1"),
        (INSTANCETYPE, "n1.large", "1.1.1", "1.2.0"),
        (INSTANCETYPE, "n1.medium", "1.2.0", "1.2.1"),
        (PREFERENCE, "rhel.9.realtime", "1.3.0", "1.3.1"),
        (INSTANCETYPE, "u1.2xmedium", "1.3.0", "1.3.1"),
        (PREFERENCE, "windows.2k12", "1.4.0", "1.3.1"),
        (PREFERENCE, "windows.2k25", "1.3.1", "1.4.0"),
        (PREFERENCE, "centos.7", "1.4.1", "1.4.0"),
        (PREFERENCE, "centos.stream8.dpdk", "1.4.1", "1.4.0"),
        (INSTANCETYPE, "gn1.xlarge", "1.5.0", "1.4.1"),
        (PREFERENCE, "fedora.s390x", "1.4.1", "1.5.0"),
        (PREFERENCE, "debian", "1.5.0", "1.5.1"),
        (PREFERENCE, "windows.2k12", "1.5.3", "1.6.0"),
        (INSTANCETYPE, "m1.large1gi", "1.5.3", "1.6.0"),
        (INSTANCETYPE, "d1.nano", "1.7.4", "1.8.0"),
    ],
)
def test_names_come_and_go_at_the_boundaries_of_releases(kind, name, without, with_it):
    assert of(without).find(kind, name) is None
    assert of(with_it).find(kind, name) is not None


LINUX = {"vm.kubevirt.io/os": "linux"}
OLD_EFI = {"preferredUseEfi": True, "preferredUseSecureBoot": True}
EFI = {"preferredEfi": {"secureBoot": True}}
SMALL = {"cpu": {"guest": 1}, "memory": {"guest": "1.5Gi"}}
LARGE = {"cpu": {"guest": 4}, "memory": {"guest": "4Gi"}}
ANY = {"cpu": {"guest": 1}, "memory": {"guest": "2Gi"}}
AMD64 = {"architecture": "amd64", "cpu": {"guest": 1}, "memory": {"guest": "2Gi"}}
WORKER = {"node-role.kubernetes.io/worker-dpdk": ""}
MULTIQUEUE = ("devices", "preferredNetworkInterfaceMultiQueue")


@pytest.mark.parametrize(
    ("kind", "name", "path", "before", "after"),
    [
        (INSTANCETYPE, "n1.large", ("nodeSelector",), ("1.2.0", WORKER), ("1.2.1", None)),
        (PREFERENCE, "fedora", MULTIQUEUE, ("1.2.2", True), ("1.3.0", None)),
        (PREFERENCE, "fedora", ("annotations",), ("1.3.0", None), ("1.3.1", LINUX)),
        (PREFERENCE, "fedora", ("firmware",), ("1.3.1", OLD_EFI), ("1.4.0", EFI)),
        (PREFERENCE, "fedora", MULTIQUEUE, ("1.4.0", True), ("1.4.1", None)),
        (PREFERENCE, "rhel.9.realtime", ("requirements",), ("1.4.1", SMALL), ("1.5.0", LARGE)),
        (PREFERENCE, "legacy", ("devices", "preferredDiskBus"), ("1.5.3", "scsi"), ("1.6.0", "sata")),
        (INSTANCETYPE, "cx1.medium", ("cpu", "maxSockets"), ("1.6.2", None), ("1.6.3", 1)),
        (INSTANCETYPE, "cx1.8xlarge1gi", ("cpu", "maxSockets"), ("1.6.2", None), ("1.6.3", 32)),
        (PREFERENCE, "fedora", ("requirements",), ("1.8.4", ANY), ("1.9.0", AMD64)),
        (PREFERENCE, "windows.11.virtio", ("devices", "preferredVideoType"), ("1.8.4", None), ("1.9.0", "virtio")),
    ],
)
def test_specs_change_at_the_boundaries_of_releases(kind, name, path, before, after):
    for text, value in (before, after):
        spec = of(text).find(kind, name)
        for step in path:
            spec = (spec or {}).get(step)
        assert spec == value


def test_twelve_preferences_require_an_architecture_in_the_newest_release():
    found = catalogue.of(NEWEST)
    requirements = {name: found.find(PREFERENCE, name).get("requirements", {}) for name in found.names(PREFERENCE)}
    assert {name: wanted["architecture"] for name, wanted in requirements.items() if "architecture" in wanted} == {
        "fedora": "amd64",
        "fedora.arm64": "arm64",
        "fedora.s390x": "s390x",
        "rhel.10": "amd64",
        "rhel.10.arm64": "arm64",
        "rhel.10.s390x": "s390x",
        "rhel.9": "amd64",
        "rhel.9.arm64": "arm64",
        "rhel.9.desktop": "amd64",
        "rhel.9.dpdk": "amd64",
        "rhel.9.realtime": "amd64",
        "rhel.9.s390x": "s390x",
    }


def test_lists_are_decoded():
    spec = {"cpu": {"guest": 4}, "gpus": [{"deviceName": "nvidia.com/A400", "name": "gpu1"}], "memory": {"guest": "16Gi"}}
    assert of("1.4.1").find(INSTANCETYPE, "gn1.xlarge") == spec


def test_text_that_looks_like_a_switch_stays_text():
    assert of("1.9.0").find(PREFERENCE, "windows.xp")["annotations"] == {
        "kubevirt.io/disablePCIHole64": "true",
        "vm.kubevirt.io/os": "windows",
    }


@pytest.mark.parametrize(
    ("text", "version"), [("1.6.9", (1, 6, 6)), ("1.9.4", (1, 9, 0)), ("1.6.3", (1, 6, 3)), ("1.4.7", (1, 4, 1)), ("1.0.1", ())]
)
def test_a_newer_patch_release_has_the_catalogue_of_the_newest_one_known(text, version):
    assert of(text).version == version


def test_before_the_first_catalogue_nothing_is_found():
    found = of("1.0.1")
    assert found.names(INSTANCETYPE) == ()
    assert found.find(INSTANCETYPE, "u1.medium") is None


# What became of a name


def test_history_has_the_runs_of_releases():
    runs = catalogue.history(INSTANCETYPE, "gn1.xlarge")
    assert [(run.first, run.last, run.deprecated) for run in runs] == [
        ((1, 1, 0), (1, 3, 1), False),
        ((1, 4, 0), (1, 4, 1), True),
    ]
    assert runs[0].form == runs[1].form


def test_history_shows_where_a_name_changes_its_meaning():
    before, now = catalogue.history(INSTANCETYPE, "n1.large")
    assert (before.last, now.first) == ((1, 2, 0), (1, 2, 1))
    assert before.form != now.form


def test_the_network_type_of_medium_size_never_changed_its_meaning():
    assert [(run.first, run.last) for run in catalogue.history(INSTANCETYPE, "n1.medium")] == [((1, 2, 1), LAST)]
    assert of("1.9.0").find(INSTANCETYPE, "n1.medium")["cpu"] == {
        "dedicatedCPUPlacement": True,
        "guest": 4,
        "isolateEmulatorThread": True,
    }


def test_a_run_leads_to_its_spec():
    runs = catalogue.history(PREFERENCE, "legacy")
    assert [catalogue.spec_of(run)["devices"]["preferredDiskBus"] for run in runs] == ["scsi", "sata"]


def test_spans_join_the_runs_and_keep_the_gap():
    assert catalogue.spans(PREFERENCE, "windows.2k12") == (((1, 1, 0), (1, 3, 1)), ((1, 6, 0), LAST))


@pytest.mark.parametrize(
    ("text", "kind", "name", "gone"),
    [
        ("1.4.1", INSTANCETYPE, "gn1.xlarge", (1, 5, 0)),
        ("1.4.0", PREFERENCE, "centos.7", (1, 4, 1)),
        ("1.2.0", PREFERENCE, "windows.2k12", (1, 4, 0)),
        ("1.6.0", PREFERENCE, "windows.2k12", ()),
        ("1.5.0", INSTANCETYPE, "gn1.xlarge", ()),
        ("1.9.0", INSTANCETYPE, "u1.medium", ()),
    ],
)
def test_the_first_release_without_a_name_is_found(text, kind, name, gone):
    assert of(text).removed_in(kind, name) == gone


# The file and its cost


def test_the_facts_and_the_table_give_the_same_file():
    assert make_catalogue.make({version: make_catalogue.of_table(version) for version in deployed()}) == make_catalogue.make(
        deployed()
    )


@pytest.mark.parametrize("value", [None, 1.5, -1, [], "two words", 'a"b'])
def test_the_generator_refuses_what_the_form_cannot_hold(value):
    with pytest.raises(ValueError, match="can't hold the value"):
        list(make_catalogue.leaves({"a": value}, "spec"))


@pytest.mark.parametrize("key", ["0", "a:b", "a=b", "a b"])
def test_the_generator_refuses_keys_the_form_cannot_hold(key):
    with pytest.raises(ValueError, match="can't hold the key"):
        list(make_catalogue.leaves({key: 1}, "spec"))


def test_a_lookup_loads_no_heavy_module():
    code = (
        "import sys; from krm_fn.kubevirt import catalogue, releases\n"
        "assert catalogue.of(releases.NEWEST).find('VirtualMachineClusterPreference', 'fedora')\n"
        "print(*{'json', 're', 'typing', 'dataclasses', 'enum', 'pathlib', 'functools', 'yaml'} & set(sys.modules))"
    )
    assert (
        subprocess.run([sys.executable, "-S", "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout == "\n"
    )


def test_the_file_is_read_with_the_first_lookup_only():
    code = "from krm_fn.kubevirt import catalogue; print(catalogue._read)"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True).stdout == "[]\n"
