"""Whether a running VM can be live-migrated decides what a change does to it."""

from __future__ import annotations

import pytest
from diffing import diff, vm

from krm_fn.base.objects import Object


def with_claim(memory: str = "2Gi", name: str = "web") -> Object:
    found = vm(name)
    spec = found["spec"]["template"]["spec"]
    spec["domain"]["memory"]["guest"] = memory
    spec["domain"]["devices"]["disks"] = [{"name": "root", "disk": {}}]
    spec["volumes"] = [{"name": "root", "persistentVolumeClaim": {"claimName": f"{name}-root"}}]
    return found


def claim(*modes: str, name: str = "web") -> Object:
    spec = {"accessModes": list(modes), "resources": {"requests": {"storage": "1Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": f"{name}-root"}, "spec": spec}


def test_more_memory_of_a_vm_whose_claim_is_not_shared_needs_a_restart() -> None:
    (record,) = diff([with_claim(), claim("ReadWriteOnce")], [with_claim("3Gi"), claim("ReadWriteOnce")])
    assert record["effect"] == ["restartRequired", "atNextStart"]
    assert record["migratable"]["reason"] == "DisksNotLiveMigratable"


def test_a_claim_that_several_nodes_write_lets_it_grow() -> None:
    (record,) = diff([with_claim(), claim("ReadWriteMany")], [with_claim("3Gi"), claim("ReadWriteMany")])
    assert "live" in record["effect"]
    assert "migratable" not in record


def test_both_cases_are_told_of_a_claim_that_is_on_no_side() -> None:
    (record,) = diff([with_claim()], [with_claim("3Gi")])
    assert record["migratable"]["unknown"] == ["PersistentVolumeClaim/web-root"]
    assert "live" in record["effect"]
    assert record["ifNotMigratable"]["effect"] == ["restartRequired", "atNextStart"]


def test_a_claim_keeps_the_access_modes_that_it_has() -> None:
    (record,) = diff([with_claim(), claim("ReadWriteOnce")], [with_claim("3Gi"), claim("ReadWriteMany")])
    assert record["effect"] == ["restartRequired", "atNextStart"]


def test_volumes_that_a_migration_copies_need_not_be_shared() -> None:
    old, new = with_claim(), with_claim()
    new["spec"]["updateVolumesStrategy"] = "Migration"
    new["spec"]["template"]["spec"]["volumes"] = [{"name": "root", "persistentVolumeClaim": {"claimName": "new-root"}}]
    claims = [claim("ReadWriteOnce"), claim("ReadWriteMany", name="new")]
    (record,) = diff([old, *claims], [new, *claims])
    assert record["migration"]["because"] == ["VolumesChange"]
    assert "migratable" not in record


@pytest.mark.parametrize(
    ("devices", "reason"),
    [
        (
            {"interfaces": [{"name": "default", "bridge": {}}]},
            "InterfaceNotLiveMigratable: cannot migrate VMI which",
        ),
        ({"gpus": [{"name": "g", "deviceName": "a"}]}, "HostDeviceNotLiveMigratable: VMI specifies a GPU but feature gate"),
    ],
)
def test_a_vm_that_something_else_keeps_from_moving_needs_a_restart_for_other_claims(devices: Object, reason: str) -> None:
    old, new = with_claim(), with_claim()
    for each in (old, new):
        each["spec"]["updateVolumesStrategy"] = "Migration"
        each["spec"]["template"]["spec"]["domain"]["devices"] |= devices
    new["spec"]["template"]["spec"]["volumes"] = [{"name": "root", "persistentVolumeClaim": {"claimName": "new-root"}}]
    claims = [claim("ReadWriteOnce"), claim("ReadWriteMany", name="new")]
    (record,) = diff([old, *claims], [new, *claims])
    assert record["restartRequired"].startswith(f"cannot migrate the volumes as the VMI isn't migratable: {reason}")
    assert "migration" not in record
    (record,) = diff([old, *claims], [new, *claims], migratable=True)
    assert record["migration"]["because"] == ["VolumesChange"]


def test_nobody_migrates_a_vm_whose_name_is_too_long_for_the_label_of_a_migration() -> None:
    cluster: Object = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt"},
        "spec": {"workloadUpdateStrategy": {"workloadUpdateMethods": ["LiveMigrate", "Evict"]}},
    }
    for length, by in ((63, "LiveMigrate"), (64, "nobody")):
        name = "a" * length
        shared = [claim("ReadWriteMany", name=name), cluster]
        (record,) = diff([with_claim(name=name), *shared], [with_claim("3Gi", name), *shared])
        assert record["migration"]["by"] == by
        assert record.get("migratable", {}).get("reason") == (None if by == "LiveMigrate" else "NameTooLong")


def test_more_memory_of_a_vm_with_a_device_of_the_host_needs_a_restart() -> None:
    permitted = {"pciHostDevices": [{"pciVendorSelector": "10DE:1EB8", "resourceName": "example.com/card"}]}
    cluster: Object = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt"},
        "spec": {"configuration": {"permittedHostDevices": permitted}},
    }

    def with_card(memory: str) -> Object:
        found = vm()
        domain = found["spec"]["template"]["spec"]["domain"]
        domain["memory"]["guest"] = memory
        domain["devices"]["gpus"] = [{"name": "card", "deviceName": "example.com/card"}]
        return found

    (record,) = diff([with_card("2Gi"), cluster], [with_card("3Gi"), cluster])
    assert record["effect"] == ["restartRequired", "atNextStart"]
    assert record["migratable"]["reason"] == "HostDeviceNotLiveMigratable"
