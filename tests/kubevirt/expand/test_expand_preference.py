"""What a preference does to a VM."""

from __future__ import annotations

import pytest

from krm_fn.kubevirt import expand
from krm_fn.kubevirt.releases import parse

V14, V15, V16, V18, V19 = (parse(text) for text in ("1.4", "1.5", "1.6", "1.8", "1.9"))


def preferred(preference, spec=None, *, release=V19, metadata=None):
    template = {"metadata": metadata or {}, "spec": spec if spec is not None else {"domain": {"devices": {}}}}
    assert expand.apply(template, instancetype=None, preference=preference, release=release) == ()
    return template


def devices(preference, given=None, **more):
    spec = {"domain": {"devices": given or {}}}
    return preferred({"devices": preference}, spec, **more)["spec"]["domain"]["devices"]


def test_what_the_vm_sets_stays() -> None:
    preference = {"preferredTPM": {}, "preferredRng": {}, "preferredBlockMultiQueue": True}
    own = {"tpm": {"persistent": True}, "blockMultiQueue": False}
    assert devices(preference, own) == {"tpm": {"persistent": True}, "blockMultiQueue": False, "rng": {}}


@pytest.mark.parametrize("unset", [None, "", []])
def test_an_unset_preference_changes_nothing(unset) -> None:
    assert devices({"preferredTPM": unset, "preferredDiskBus": unset, "preferredPanicDeviceModel": unset or None}) == {}


def test_an_empty_text_that_is_a_pointer_in_go_is_a_preference() -> None:
    assert devices({"preferredVideoType": "", "preferredPanicDeviceModel": ""}) == {
        "video": {},
        "panicDevices": [{"model": ""}],
    }
    own = {"panicDevices": [{"model": ""}, {}]}
    assert devices({"preferredPanicDeviceModel": "isa"}, own) == {"panicDevices": [{"model": ""}, {"model": "isa"}]}


def test_an_empty_timezone_is_one() -> None:
    offset = {"clock": {"preferredClockOffset": {"utc": {}, "timezone": ""}}}
    assert preferred(offset)["spec"]["domain"]["clock"] == {"utc": {}, "timezone": ""}
    spec = {"domain": {"clock": {"timezone": ""}}}
    assert preferred(offset, spec)["spec"]["domain"]["clock"] == {"timezone": ""}


@pytest.mark.parametrize(
    ("release", "custom"), [("1.6", {"logical": 512, "physical": 0}), ("1.7", {"logical": 512}), ("1.9", {"logical": 512})]
)
def test_before_1_7_a_custom_block_has_both_sizes(release, custom) -> None:
    preference = {"preferredDiskBlockSize": {"custom": {"logical": 512}}}
    (disk,) = devices(preference, {"disks": [{"name": "a"}]}, release=parse(release))["disks"]
    assert disk == {"name": "a", "disk": {}, "blockSize": {"custom": custom}}
    (disk,) = devices({"preferredDiskBlockSize": {"matchVolume": {}}}, {"disks": [{"name": "a"}]}, release=parse(release))[
        "disks"
    ]
    assert disk["blockSize"] == {"matchVolume": {}}


def test_disable_hotplug_overwrites_and_false_is_not_written() -> None:
    assert devices({"preferredDisableHotplug": False}, {"disableHotplug": True}) == {}


def test_any_devices_block_makes_disks_without_a_target_plain_disks() -> None:
    disks = {"disks": [{"name": "a"}, {"name": "b", "cdrom": {}}, {"name": "c", "lun": {}}]}
    assert devices({}, disks) == {"disks": [{"name": "a", "disk": {}}, {"name": "b", "cdrom": {}}, {"name": "c", "lun": {}}]}


def test_disk_preferences_go_by_the_disks_target() -> None:
    preference = {
        "preferredDiskBus": "virtio",
        "preferredCdromBus": "sata",
        "preferredLunBus": "scsi",
        "preferredDiskCache": "none",
        "preferredDiskDedicatedIoThread": True,
    }
    disks = [
        {"name": "a"},
        {"name": "b", "disk": {"bus": "sata"}},
        {"name": "c", "cdrom": {}},
        {"name": "d", "lun": {}},
        {"name": "e", "lun": {}, "disk": {}},
    ]
    assert devices(preference, {"disks": disks})["disks"] == [
        {"name": "a", "disk": {"bus": "virtio"}, "cache": "none", "dedicatedIOThread": True},
        {"name": "b", "disk": {"bus": "sata"}, "cache": "none"},
        {"name": "c", "cdrom": {"bus": "sata"}},
        {"name": "d", "lun": {"bus": "scsi"}},
        {"name": "e", "lun": {}, "disk": {"bus": "virtio"}, "cache": "none", "dedicatedIOThread": True},
    ]


def test_masquerade_binds_free_interfaces_on_the_pod_network() -> None:
    interfaces = [{"name": "pod"}, {"name": "other"}, {"name": "bound", "bridge": {}}, {"name": "stray"}]
    networks = [{"name": "pod", "pod": {}}, {"name": "other", "multus": {}}, {"name": "bound", "pod": {}}]
    spec = {"domain": {"devices": {"interfaces": interfaces}}, "networks": networks}
    made = preferred({"devices": {"preferredInterfaceMasquerade": {}, "preferredInterfaceModel": "e1000"}}, spec)
    assert made["spec"]["domain"]["devices"]["interfaces"] == [
        {"name": "pod", "model": "e1000", "masquerade": {}},
        {"name": "other", "model": "e1000"},
        {"name": "bound", "model": "e1000", "bridge": {}},
        {"name": "stray", "model": "e1000"},
    ]


def test_a_sound_model_needs_a_sound_device() -> None:
    assert devices({"preferredSoundModel": "ich9"}) == {}
    assert devices({"preferredSoundModel": "ich9"}, {"sound": {"name": "s"}}) == {"sound": {"name": "s", "model": "ich9"}}


@pytest.mark.parametrize(("release", "made"), [(V15, [{}]), (V16, [{"model": "isa"}]), (V19, [{"model": "isa"}])])
def test_panic_devices_get_a_model_from_1_6_on(release, made) -> None:
    given = {"panicDevices": [{}]}
    assert devices({"preferredPanicDeviceModel": "isa"}, given, release=release) == {"panicDevices": made}


def test_a_panic_device_is_added_from_1_8_5_and_1_9_on() -> None:
    assert devices({"preferredPanicDeviceModel": "isa"}, release=V18) == {}
    for release in (parse("1.8.5"), V19):
        assert devices({"preferredPanicDeviceModel": "isa"}, release=release) == {"panicDevices": [{"model": "isa"}]}


def test_a_video_type_is_applied_from_1_9_on() -> None:
    assert devices({"preferredVideoType": "virtio"}, release=V18) == {}
    assert devices({"preferredVideoType": "virtio"}, release=V19) == {"video": {"type": "virtio"}}


def test_cpu_features_are_added_where_the_vm_does_not_name_them() -> None:
    spec = {"domain": {"cpu": {"features": [{"name": "vmx", "policy": "forbid"}]}}}
    preference = {"cpu": {"preferredCPUFeatures": [{"name": "vmx", "policy": "require"}, {"name": "apic"}]}}
    assert preferred(preference, spec)["spec"]["domain"]["cpu"] == {
        "features": [{"name": "vmx", "policy": "forbid"}, {"name": "apic"}]
    }


def test_cpu_features_make_the_cpu_they_need() -> None:
    preference = {"cpu": {"preferredCPUFeatures": [{"name": "apic"}]}}
    assert preferred(preference, {})["spec"]["domain"]["cpu"] == {"features": [{"name": "apic"}]}


def test_features_are_made_with_the_acpi_that_go_writes() -> None:
    assert preferred({"features": {"preferredSmm": {"enabled": True}}}, {})["spec"] == {
        "domain": {"devices": {}, "resources": {}, "features": {"acpi": {}, "smm": {"enabled": True}}}
    }


def test_acpi_overwrites_and_hyperv_fills_in() -> None:
    spec = {"domain": {"features": {"acpi": {"enabled": True}, "hyperv": {"relaxed": {"enabled": False}}}}}
    preference = {"preferredAcpi": {"enabled": False}, "preferredHyperv": {"relaxed": {}, "vapic": {}}}
    assert preferred({"features": preference}, spec)["spec"]["domain"]["features"] == {
        "acpi": {"enabled": False},
        "hyperv": {"relaxed": {"enabled": False}, "vapic": {}},
    }


def test_copied_structures_lose_what_go_does_not_write() -> None:
    preference = {"preferredApic": {"enabled": False, "endOfInterrupt": False}, "preferredKvm": {"hidden": False}}
    assert preferred({"features": preference}, {})["spec"]["domain"]["features"] == {
        "acpi": {},
        "apic": {"enabled": False},
        "kvm": {},
    }


@pytest.mark.parametrize(
    ("preference", "given", "made"),
    [
        ({}, None, {}),
        ({"preferredUseBios": True, "preferredUseBiosSerial": True}, None, {"bios": {"useSerial": True}}),
        ({"preferredUseBios": True}, {"efi": {}}, {"efi": {}}),
        ({"preferredUseBiosSerial": True}, {"bios": {"useSerial": False}}, {"bios": {"useSerial": False}}),
        ({"preferredUseEfi": True, "preferredUseSecureBoot": False}, None, {"efi": {"secureBoot": False}}),
        ({"preferredUseEfi": False, "preferredUseSecureBoot": True}, None, {}),
        ({"preferredUseSecureBoot": True}, {"efi": {}}, {"efi": {"secureBoot": True}}),
        ({"preferredEfi": {"persistent": True}, "preferredUseSecureBoot": True}, None, {"efi": {"persistent": True}}),
        ({"preferredEfi": {}, "preferredUseSecureBoot": True}, {"efi": {}}, {"efi": {"secureBoot": True}}),
        ({"preferredEfi": {}, "preferredUseBios": True}, None, {"bios": {}}),
    ],
)
def test_firmware_is_chosen_once_and_refined(preference, given, made) -> None:
    spec = {"domain": {"firmware": {"bootloader": given}}} if given else {}
    assert preferred({"firmware": preference}, spec)["spec"]["domain"]["firmware"] == {"bootloader": made}


def test_the_clock_offset_is_set_completely() -> None:
    preference = {"clock": {"preferredClockOffset": {"timezone": "UTC"}, "preferredTimer": {"hpet": {}}}}
    assert preferred(preference, {})["spec"]["domain"]["clock"] == {"timezone": "UTC", "timer": {"hpet": {}}}
    own = {"domain": {"clock": {"utc": {}}}}
    assert preferred(preference, own)["spec"]["domain"]["clock"] == {"utc": {}, "timer": {"hpet": {}}}


def test_a_machine_block_makes_an_empty_machine_before_1_5() -> None:
    assert preferred({"machine": {}}, {"domain": {}}, release=V14)["spec"] == {"domain": {"machine": {"type": ""}}}
    assert preferred({"machine": {}}, {"domain": {}}, release=V15)["spec"] == {"domain": {}}


def test_the_rest_of_the_spec_is_filled_in() -> None:
    preference = {
        "machine": {"preferredMachineType": "q35"},
        "preferredSubdomain": "sub",
        "preferredTerminationGracePeriodSeconds": 0,
        "preferredArchitecture": "arm64",
        "preferredLaunchSecurity": {"sev": {}},
        "annotations": {"own": "theirs", "new": "x"},
    }
    assert preferred(preference, {"domain": {}}, metadata={"annotations": {"own": "mine"}}) == {
        "metadata": {"annotations": {"own": "mine", "new": "x"}},
        "spec": {
            "architecture": "arm64",
            "subdomain": "sub",
            "terminationGracePeriodSeconds": 0,
            "domain": {"machine": {"type": "q35"}, "launchSecurity": {"sev": {}}},
        },
    }


def test_architecture_is_preferred_from_1_7_and_launch_security_from_1_9() -> None:
    preference = {"preferredArchitecture": "arm64", "preferredLaunchSecurity": {}}
    assert preferred(preference, {}, release=V16)["spec"] == {}
    assert preferred(preference, {}, release=V18)["spec"] == {"architecture": "arm64"}


def test_parts_of_a_preference_can_be_applied_alone() -> None:
    preference = {"devices": {"preferredAutoattachInputDevice": True, "preferredRng": {}}, "preferredSubdomain": "s"}
    template = {"spec": {"domain": {"devices": {}}}}
    expand.apply_autoattach_preferences(template, preference, V19)
    assert template == {"spec": {"domain": {"devices": {"autoattachInputDevice": True}}}}
    expand.apply_device_preferences(template, preference, V19)
    assert template == {"spec": {"domain": {"devices": {"autoattachInputDevice": True, "rng": {}}}}}
