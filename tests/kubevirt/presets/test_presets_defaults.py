"""The defaults of the releases whose controller applied presets."""

from __future__ import annotations

import pytest

from krm_fn.base.bundle import Entry
from krm_fn.base.paths import copy
from krm_fn.kubevirt.presets import apply_presets
from krm_fn.kubevirt.presets.defaults_v0 import set_defaults, with_defaults
from krm_fn.kubevirt.releases import NEWEST, Release

V0_4, V0_6, V0_7, V0_8 = (Release(version=version) for version in ((0, 4, 0), (0, 6, 0), (0, 7, 0), (0, 8, 0)))
POD = {"interfaces": [{"name": "default", "bridge": {}}]}, [{"name": "default", "pod": {}}]
PLAIN = {"resources": {"requests": {"memory": "8Mi"}}, "features": {"acpi": {"enabled": True}}, "machine": {"type": "q35"}}


def defaulted(domain, release=V0_6, **spec):
    return set_defaults({"spec": {"domain": domain, **spec}}, release=release)["spec"]


def test_an_empty_domain_gets_memory_features_machine_and_the_pods_network():
    assert defaulted({}) == {"domain": {**PLAIN, "devices": POD[0]}, "networks": POD[1]}


def test_before_0_6_no_network_was_written():
    assert defaulted({}, V0_4) == {"domain": {**PLAIN, "devices": {}}}


def test_memory_replaces_a_request_for_cpu():
    assert defaulted({"resources": {"requests": {"cpu": "1"}}})["domain"]["resources"] == {"requests": {"memory": "8Mi"}}


def test_memory_that_is_requested_stays():
    requests = {"resources": {"requests": {"cpu": "1", "memory": "1Gi"}}}
    assert defaulted(requests)["domain"]["resources"] == {"requests": {"cpu": "1", "memory": "1Gi"}}


def test_disks_get_a_target_and_the_machines_bus():
    disks = [{"name": "a"}, {"name": "b", "cdrom": {}}, {"name": "c", "lun": {"bus": "scsi"}}, {"name": "d", "floppy": {}}]
    assert defaulted({"devices": {"disks": disks}})["domain"]["devices"]["disks"] == [
        {"name": "a", "disk": {"bus": "sata"}},
        {"name": "b", "cdrom": {"bus": "sata", "readonly": True, "tray": "closed"}},
        {"name": "c", "lun": {"bus": "scsi"}},
        {"name": "d", "floppy": {"tray": "closed"}},
    ]
    old = defaulted({"machine": {"type": "pc"}, "devices": {"disks": [{"name": "a"}]}})
    assert old["domain"]["devices"]["disks"] == [{"name": "a", "disk": {"bus": "ide"}}]


def test_timers_features_and_the_watchdog_are_switched_on():
    given = {
        "clock": {"utc": {}, "timer": {"hpet": {"tickPolicy": "delay"}, "rtc": {"present": False}}},
        "features": {"apic": {}, "hyperv": {"relaxed": {}, "vapic": {"enabled": False}, "spinlocks": {}}},
        "devices": {"watchdog": {"name": "w"}},
    }
    found = defaulted(given)["domain"]
    assert {key: found[key] for key in ("clock", "features")} == {
        "clock": {"utc": {}, "timer": {"hpet": {"tickPolicy": "delay", "present": True}, "rtc": {"present": False}}},
        "features": {
            "apic": {"enabled": True},
            "acpi": {"enabled": True},
            "hyperv": {
                "relaxed": {"enabled": True},
                "vapic": {"enabled": False},
                "spinlocks": {"enabled": True, "spinlocks": 4096},
            },
        },
    }
    assert found["devices"]["watchdog"] == {"name": "w", "i6300esb": {"action": "reset"}}


def test_only_0_6_0_writes_over_networks_that_do_not_begin_with_the_pods():
    other = [{"name": "blue", "multus": {}}]
    assert [defaulted({}, release, networks=other)["networks"] for release in (V0_6, V0_7)] == [POD[1], other]


def test_autoattach_counts_since_0_8():
    off = {"devices": {"autoattachPodInterface": False}}
    assert ["networks" in defaulted(off, release) for release in (V0_7, V0_8)] == [True, False]


def test_a_firmware_uuid_is_written_only_if_one_is_given():
    given = {"spec": {"domain": {}}}
    assert "firmware" not in set_defaults(given, release=V0_6)["spec"]["domain"]
    assert set_defaults(given, release=V0_6, firmware_uuid="u")["spec"]["domain"]["firmware"] == {"uuid": "u"}


def test_defaults_follow_presets_and_leave_out_the_excluded_the_failed_and_the_seen():
    two, four = (Entry(obj={"metadata": {"name": f"p{n}"}, "spec": {"domain": {"cpu": {"cores": n}}}}, item=n) for n in (2, 4))
    key = "virtualmachinepresets.admission.kubevirt.io/exclude"
    seen = "presets.virtualmachines.kubevirt.io/presets-applied"

    def domain(presets, annotations):
        given = {"apiVersion": "kubevirt.io/v1alpha1", "metadata": {"annotations": annotations}, "spec": {"domain": {}}}
        found = apply_presets(given, presets, release=NEWEST)
        return with_defaults(found, given, release=NEWEST).instance["spec"]["domain"]

    assert domain([two], {}) == {"cpu": {"cores": 2}, **PLAIN, "devices": POD[0]}
    assert [domain([two], {key: "true"}), domain([two, four], {}), domain([two], {seen: "x"})] == [{}, {}, {}]


def test_todays_instances_get_none_of_these():
    given = {"apiVersion": "kubevirt.io/v1", "metadata": {}, "spec": {"domain": {}}}
    found = apply_presets(given, [{"metadata": {"name": "p"}, "spec": {"domain": {"cpu": {}}}}], release=NEWEST)
    assert with_defaults(found, given, release=NEWEST) is found


@pytest.mark.parametrize("junk", ["text", 3, ["a"], True])
def test_data_of_any_shape_makes_no_exception(junk):
    keys = ("resources", "features", "machine", "clock", "devices", "firmware")
    for domain in (junk, *({key: junk} for key in keys), {"devices": {"disks": junk}}, {"devices": {"disks": [junk]}}):
        given = {"spec": {"domain": domain, "networks": junk}}
        before = copy(given)
        set_defaults(given, release=V0_6, firmware_uuid="u")
        assert given == before
    assert set_defaults({"spec": junk}, release=V0_6) == {"spec": junk}
