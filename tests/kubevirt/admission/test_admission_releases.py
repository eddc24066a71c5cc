"""What releases before 1.9 refuse otherwise than the newest does: one row for each difference, on both of its sides."""

from __future__ import annotations

from typing import Any

import pytest
from admitting import causes_of, errors_of, gates

from krm_fn.kubevirt import releases

NIC = "domain.devices.interfaces[0]"
ADDED = {"name": "a", "volumeSource": {"dataVolume": {"name": "a"}}}
CLAIM = {"name": "root", "persistentVolumeClaim": {"claimName": "x"}}

# (what, changes of the plain VM, cluster, the first release of the newer behaviour, the cause before it, the cause from it on)
DIFFERENCES: list[tuple[str, dict[str, Any], dict[str, Any], str, tuple[str, str] | None, tuple[str, str] | None]] = [
    ("an interface without binding", {"domain.devices.interfaces.0": {"name": "default"}}, {}, "1.9", None, (NIC, "")),
    (
        "a plugin beside a binding",
        {"domain.devices.interfaces.0.binding": {"name": "x"}},
        {},
        "1.9",
        (NIC + ".binding", ""),
        (NIC + ".binding", NIC),
    ),
    (
        "a port without number",
        {"domain.devices.interfaces.0.ports": [{}]},
        {},
        "1.9",
        (NIC + ".ports[0].port", NIC + ".ports[0]"),
        (NIC + ".ports[0].port", ""),
    ),
    ("port 65536", {"domain.devices.interfaces.0.ports": [{"port": 65536}]}, {}, "1.9", None, (NIC + ".ports[0].port", "")),
    ("an odd service account", {"serviceAccountName": "A"}, {}, "1.9", None, ("serviceAccountName", "")),
    (
        "a MAC address without separators",  # upstream: net.ParseMAC of Go 1.26
        {"domain.devices.interfaces.0.macAddress": "02000000000a"},
        {},
        "1.9",
        (NIC + ".macAddress", ""),
        None,
    ),
    (
        "a claim without source",
        {"resourceClaims": [{"name": "a"}]},
        {},
        "1.9",
        None,
        ("resourceClaims[0]", ""),
    ),
    (
        "an absent interface of a network without source",  # upstream: LookUpDefaultNetwork
        {
            "networks.0": {"name": "default"},
            "domain.devices.interfaces.0": {"name": "default", "bridge": {}, "state": "absent"},
        },
        {},
        "1.9",
        (NIC + ".state", ""),
        None,
    ),
    (
        "a GPU by a claim without name",  # upstream: validateDRADevices, of whose names pointers became strings
        {"domain.devices.gpus": [{"name": "a", "claimName": ""}]},
        gates("GPUsWithDRA"),
        "1.9",
        ("domain.devices.gpus[0].claimName", ""),
        ("domain.devices.gpus[0]", "domain.devices.gpus"),
    ),
    (
        "dedicated CPUs with more memory than 64 bits count",  # upstream: validateMemoryIsProvided
        {"domain.cpu.dedicatedCpuPlacement": True, "domain.memory": {}, "domain.resources": {"requests": {"memory": "100E"}}},
        {},
        "1.7",
        ("domain.resources.limits.memory", ""),
        None,
    ),
    ("video, ungated since", {"domain.devices.video": {}}, {}, "1.9", ("domain.devices.video", "video"), None),
    (
        "a panic device, ungated since",
        {"domain.devices.panicDevices": [{}]},
        {},
        "1.9",
        ("domain.devices.panicDevices", ""),
        None,
    ),
    (
        "an odd page size",
        {"domain.memory.hugepages": {"pageSize": "x"}},
        {},
        "1.8",
        ("domain.memory.hugepages.pageSize", "domain.hugepages.size"),
        ("domain.memory.hugepages.pageSize", ""),
    ),
    (
        "the passt binding",
        {"domain.devices.interfaces.0": {"name": "default", "passt": {}}},
        {},
        "1.8",
        (NIC + ".passt", NIC + ".name"),
        (NIC + ".passt", "spec.domain.devices.interfaces[0].passt"),
    ),
    (
        "macvtap, listed though it is gone",
        {"domain.devices.interfaces.0": {"name": "default", "macvtap": {}}},
        gates("Macvtap"),
        "1.8",
        (NIC + ".macvtap", ""),
        (NIC + ".macvtap", "spec.domain.devices.interfaces[0].macvtap"),
    ),
    ("another architecture", {"architecture": "arm64"}, {}, "1.8", ("architecture", ""), None),
    ("utility volumes", {"utilityVolumes": [{}]}, {}, "1.8", None, ("utilityVolumes", "")),
    (
        "a ConfigMap shared",
        {"volumes.0": {"name": "root", "configMap": {"name": "x"}}, "domain.devices.filesystems": [{"name": "root"}]},
        {},
        "1.8",
        ("domain.devices.filesystems[0]", "domain.devices.filesystems"),
        None,
    ),
    (
        "a claim shared by the former gate",
        {"volumes.0": CLAIM, "domain.devices.filesystems": [{"name": "root"}]},
        gates("ExperimentalVirtiofsSupport"),
        "1.8",
        None,
        ("domain.devices.filesystems[0]", "domain.devices.filesystems"),
    ),
    (
        "a GPU of nothing",
        {"domain.devices.gpus": [{"name": "a"}]},
        {},
        "1.8",
        ("domain.devices.gpus[0]", "spec.domain.devices.gpus"),
        ("domain.devices.gpus[0]", "domain.devices.gpus"),
    ),
    (
        "sata with blocks of its own",
        {
            "domain.devices.disks.0.disk": {"bus": "sata"},
            "domain.devices.disks.0.blockSize": {"custom": {"logical": 1024, "physical": 1024}},
        },
        {},
        "1.7",
        None,
        ("domain.devices.disks[0].blockSize.custom.logical", ""),
    ),
    (
        "an added disk that boots first of none",  # upstream: ValidateHotplugDiskConfiguration
        {"/status.volumeRequests": [{"addVolumeOptions": {**ADDED, "disk": {"disk": {"bus": "scsi"}, "bootOrder": 0}}}]},
        {},
        "1.7",
        ("domain.devices.disks[1].bootOrder", ""),
        ("status.volumeRequests[0].addVolumeOptions.disk.bootOrder", "spec.domain.devices.disks[1].bootOrder"),
    ),
    (
        "a machine type that the cluster does not name for s390x",  # upstream: GetEmulatedMachines
        {"architecture": "s390x", "domain.machine": {"type": "s390-ccw-virtio"}},
        {"architectureConfiguration": {"s390x": {"emulatedMachines": ["other*"]}}},
        "1.7",
        None,
        ("domain.machine.type", ""),
    ),
    ("launchSecurity of nothing", {"domain.launchSecurity": {}}, {}, "1.7", None, ("domain.launchSecurity", "launchSecurity")),
    (
        "an empty cdrom, its gate open",
        {"domain.devices.disks": [{"name": "root"}, {"name": "x", "cdrom": {"bus": "sata"}}]},
        gates("DeclarativeHotplugVolumes"),
        "1.6",
        ("domain.devices.disks[1].name", ""),
        None,
    ),
    (
        "a machine type that holds the pattern",
        {"domain.machine": {"type": "my-q35"}},
        {},
        "1.6",
        None,
        ("domain.machine.type", ""),
    ),
    (
        "a machine type that is the pattern, but no match of the expression",  # upstream: validateEmulatedMachine
        {"domain.machine": {"type": "a+b"}},
        {"emulatedMachines": ["a+b"]},
        "1.6",
        ("domain.machine.type", ""),
        None,
    ),
    (
        "slirp that the cluster does not permit",  # upstream: validateSlirpBinding
        {"domain.devices.interfaces.0": {"name": "default", "slirp": {}}},
        {},
        "1.6",
        (NIC + ".slirp", NIC + ".name"),
        None,
    ),
    (
        "slirp off the pod network",
        {
            "domain.devices.interfaces.0": {"name": "default", "slirp": {}},
            "networks.0": {"name": "default", "multus": {"networkName": "x"}},
        },
        {"network": {"permitSlirpInterface": True}},
        "1.6",
        (NIC + ".slirp", NIC + ".name"),
        None,
    ),
    (
        "a persistent TPM",
        {"domain.devices.tpm": {"persistent": True}},
        {},
        "1.6",
        ("domain.devices.tpm.persistent", ""),
        None,
    ),
    (
        "more guest memory than can be",
        {"domain.memory": {"guest": "2Gi", "maxGuest": "1Gi"}},
        {},
        "1.6",
        None,
        ("domain.memory.maxGuest", "domain.memory.guest"),
    ),
    (
        "an ACPI table from nowhere",
        {"domain.firmware": {"acpi": {"slicNameRef": "x"}}},
        {},
        "1.6",
        ("domain.firmware.acpi.slicNameRef", "acpi"),
        ("domain.firmware.acpi.slicNameRef", "acpi.slicNameRef"),
    ),
    (
        "an ACPI table from a disk",
        {"domain.firmware": {"acpi": {"slicNameRef": "root"}}},
        {},
        "1.6",
        ("domain.firmware.acpi.slicNameRef", "acpi.slicNameRef"),
        ("domain.firmware.acpi.slicNameRef", "acpi.slicNameRef"),
    ),
    (
        "a machine type where the cluster's pattern is no regular expression",
        {"domain.machine": {"type": "q35"}},
        {"emulatedMachines": ["["]},
        "1.6",
        *[("domain.machine.type", "")] * 2,
    ),
    (
        "SEV, its gate shut",
        {"domain.launchSecurity": {"sev": {}}},
        {},
        "1.6",
        *[("domain.launchSecurity", "launchSecurity")] * 2,
    ),
    (
        "SEV by BIOS",
        {"domain.launchSecurity": {"sev": {}}},
        gates("WorkloadEncryptionSEV"),
        "1.7",
        *[("domain.launchSecurity.sev", "launchSecurity")] * 2,
    ),
    (
        "launchSecurity of nothing, its gate shut",
        {"domain.launchSecurity": {}},
        {},
        "1.6",
        ("domain.launchSecurity", "launchSecurity"),
        None,
    ),
    (
        "secure execution, its gate shut",
        {"architecture": "s390x", "domain.launchSecurity": {}},
        {"developerConfiguration": {"disabledFeatureGates": ["SecureExecution"]}},
        "1.9",
        ("domain.launchSecurity", "launchSecurity"),
        None,
    ),
    (
        "a GPU by name and by claim",
        {"domain.devices.gpus": [{"name": "a", "deviceName": "a", "claimName": "c"}]},
        {},
        "1.8",
        ("domain.devices.gpus[0]", "spec.domain.devices.gpus"),
        ("domain.devices.gpus[0]", "domain.devices.gpus"),
    ),
    (
        "a GPU by claim, its gate shut",
        {"domain.devices.gpus": [{"name": "a", "claimName": "c", "requestName": "r"}]},
        {},
        "1.8",
        ("domain.devices.gpus[0]", "spec.domain.devices.gpus"),
        ("domain.devices.gpus[0]", "domain.devices.gpus"),
    ),
    (
        "a GPU's claim without name",  # upstream: validateCreationDRA
        {"domain.devices.gpus": [{"name": "a", "claimName": ""}]},
        gates("GPUsWithDRA"),
        "1.8",
        ("resourceClaims", ""),
        ("domain.devices.gpus[0].claimName", ""),
    ),
    (
        "a GPU's claim from nowhere",
        {"domain.devices.gpus": [{"name": "a", "claimName": "c", "requestName": "r"}]},
        gates("GPUsWithDRA"),
        "1.8",
        *[("resourceClaims", "")] * 2,
    ),
    (
        "two claims of a name",
        {"resourceClaims": [{"name": "a", "resourceClaimName": "x"}] * 2},
        {},
        "1.9",
        *[("resourceClaims[1].name", "")] * 2,
    ),
    (
        "a probe where no interface is on the pod network",
        {"readinessProbe": {"tcpSocket": {"port": 1}}, "domain.devices.interfaces": [{"name": "x", "bridge": {}}]},
        {},
        "1.5",
        ("readinessProbe.tcpSocket", ""),
        None,
    ),
    ("an odd firmware serial", {"domain.firmware": {"serial": "a b"}}, {}, "1.5", ("domain.firmware.serial", ""), None),
    ("a link that is down", {"domain.devices.interfaces.0.state": "down"}, {}, "1.5", (NIC + ".state", ""), None),
    (
        "a template populated by a data source",
        {
            "/spec.dataVolumeTemplates": [{"metadata": {"name": "x"}, "spec": {"storage": {"dataSource": {}}}}],
            "volumes.0": {"name": "root", "dataVolume": {"name": "x"}},
        },
        {},
        "1.5",
        ("spec.dataVolumeTemplates[0].spec", "spec.dataVolumeTemplate[0].source.sourceRef"),
        None,
    ),
    (
        "one migration thread",
        {"/spec.template.metadata.annotations": {"kubevirt.io/multiThreadedQemuMigration": "1"}},
        {},
        "1.5",
        (
            'spec.template.metadata.annotations["kubevirt.io/multiThreadedQemuMigration"]',
            "spec.template.metadata.annotations",
        ),
        None,
    ),
    (
        "volumes that migrate",
        {"/spec.updateVolumesStrategy": "Migration"},
        {"vmRolloutStrategy": "LiveUpdate", **gates("VMLiveUpdateFeatures")},
        "1.5",
        ("spec.updateVolumesStrategy", "updateVolumesStrategy"),
        None,
    ),
]


@pytest.mark.parametrize(
    ("changes", "configuration", "since", "before", "after"),
    [row[1:] for row in DIFFERENCES],
    ids=[row[0] for row in DIFFERENCES],
)
def test_a_release_refuses_what_it_refused_then(
    changes: dict[str, Any],
    configuration: dict[str, Any],
    since: str,
    before: tuple[str, str] | None,
    after: tuple[str, str] | None,
) -> None:
    former = f"1.{int(since.partition('.')[2]) - 1}.0"
    for release, expected in ((former, before), (since, after)):
        found = errors_of(changes, configuration=configuration, release=releases.parse(release))
        assert ([expected] if expected else []) == [cause for cause in found if cause in (before, after)]


def test_many_migration_threads_and_gated_updates_pass_in_1_4() -> None:
    changes = {
        "/spec.template.metadata.annotations": {"kubevirt.io/multiThreadedQemuMigration": "+4"},
        "/spec.updateVolumesStrategy": "Replacement",
    }
    configuration = {"vmRolloutStrategy": "LiveUpdate", **gates("VMLiveUpdateFeatures", "VolumesUpdateStrategy")}
    assert errors_of(changes, configuration=configuration, release=releases.parse("1.4")) == []


@pytest.mark.parametrize(("release", "refused"), [("1.8.4", False), ("1.8.5", True), ("1.9", True)])
def test_an_interface_has_exactly_one_binding_since_1_8_5_and_1_9(release: str, refused: bool) -> None:
    for binding in ({}, {"masquerade": {}, "bridge": {}}):
        causes = causes_of({"domain.devices.interfaces.0": {"name": "default", **binding}}, release=releases.parse(release))
        assert any("exactly one binding" in cause.message for cause in causes) is refused


def test_a_refusal_that_is_new_says_since_when() -> None:
    causes = causes_of({"domain.devices.interfaces.0": {"name": "default"}}, release=releases.parse("1.9"))
    said = [cause.message for cause in causes if cause.path[-3:] == ("devices", "interfaces", 0)]
    fix = "set one of bridge, masquerade, sriov, passtBinding and binding"
    assert said == [f"an interface must have exactly one binding; {fix}; KubeVirt checks this since 1.8.5 and 1.9"]
    (port,) = causes_of({"domain.devices.interfaces.0.ports": [{"port": 65536}]}, release=releases.parse("1.9"))
    assert port.message == "port 65536 is out of range; use 1 to 65535; KubeVirt checks this since 1.9"
    (port,) = causes_of({"domain.devices.interfaces.0.ports": [{"port": 65537}]}, release=releases.parse("1.9"))
    assert port.message == "port 65537 is out of range; use 1 to 65535"
