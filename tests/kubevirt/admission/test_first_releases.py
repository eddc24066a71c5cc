"""What KubeVirt 1.0 to 1.3 refuse otherwise than 1.4 does: each difference with the releases on both of its sides."""

from __future__ import annotations

from typing import Any

import pytest
from admitting import causes_of, errors_of, gates

from krm_fn.base.paths import dotted
from krm_fn.kubevirt import releases
from krm_fn.kubevirt.admission.objects import admit_object
from krm_fn.kubevirt.configuration import Cluster

DISK, NIC, CPU, MEMORY = "domain.devices.disks", "domain.devices.interfaces[0]", "domain.cpu", "domain.memory"
TWICE = f"{DISK}.{DISK}[0]"
LIVE = {"vmRolloutStrategy": "LiveUpdate", **gates("VMLiveUpdateFeatures")}
TEMPLATES = "/spec/dataVolumeTemplates"
UNUSED = ("spec.dataVolumeTemplates[0]", "spec.dataVolumeTemplate[0]")
UPDATES = ("spec.liveUpdateFeatures", "")


def ports(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "port": 80} for name in names]


Places = list[tuple[str, str]]
# (what, changes of the plain VM, cluster, {release: the real paths and upstream's})
CASES: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Places]]] = [
    (
        "GPUs behind a gate",
        {"domain.devices.gpus": [{"name": "a", "deviceName": "b"}]},
        {},
        {"1.0": [("domain.devices.gpus", "GPUs")], "1.3": [("domain.devices.gpus", "GPUs")], "1.4": []},
    ),
    ("GPUs with their gate", {"domain.devices.gpus": [{"name": "a", "deviceName": "b"}]}, gates("GPU"), {"1.3": [], "1.0": []}),
    (
        "a share that needs root",
        {"domain.devices.filesystems": [{"name": "root", "virtiofs": {}}]},
        {},
        {"1.0": [("domain.devices.filesystems[0]", "Filesystems")], "1.1": [("domain.devices.filesystems[0]", "Filesystems")]},
    ),
    (
        "a share that needs root, later",
        {"domain.devices.filesystems": [{"name": "root", "virtiofs": {}}]},
        {},
        {"1.2": [], "1.3": []},
    ),
    (
        "a share of a Secret",
        {
            "domain.devices.filesystems": [{"name": "s", "virtiofs": {}}],
            "volumes": [{"name": "s", "secret": {"secretName": "x"}}],
        },
        {},
        {"1.0": [("domain.devices.disks[0].name", "")]},
    ),
    (
        "maxSockets",
        {"domain.cpu.maxSockets": 8},
        {},
        {"1.0": [(CPU + ".maxSockets", "")], "1.1": [(CPU + ".maxSockets", "")], "1.2": []},
    ),
    ("maxGuest", {"domain.memory.maxGuest": "2Gi"}, {}, {"1.0": [], "1.1": [(MEMORY + ".maxGuest", "")], "1.2": []}),
    ("live updates without their gate", {"/spec.liveUpdateFeatures": {}}, {}, {"1.0": [UPDATES], "1.1": [UPDATES], "1.2": []}),
    ("live updates", {"/spec.liveUpdateFeatures": {"cpu": {}}}, gates("VMLiveUpdateFeatures"), {"1.0": [], "1.1": []}),
    (
        "live updates of too few sockets",
        {"/spec.liveUpdateFeatures": {"cpu": {"maxSockets": 2}}, "domain.cpu.sockets": 3},
        gates("VMLiveUpdateFeatures"),
        {"1.0": [("spec.liveUpdateFeatures.cpu.maxSockets", "spec.liveUpdateFeatures")]},
    ),
    (
        "live updates of stated CPUs",
        {"/spec.liveUpdateFeatures": {"cpu": {}}, "domain.resources": {"requests": {"cpu": "2"}}},
        gates("VMLiveUpdateFeatures"),
        {"1.1": [("spec.liveUpdateFeatures.cpu", "spec.liveUpdateFeatures")]},
    ),
    (
        "live updates of memory",
        {"/spec.liveUpdateFeatures": {"memory": {"maxGuest": "3M"}}, "domain.memory.guest": "1Gi"},
        gates("VMLiveUpdateFeatures"),
        {
            "1.0": [],
            "1.1": [
                (MEMORY + ".guest", ""),
                ("spec.liveUpdateFeatures.memory.maxGuest", "spec.liveUpdateFeatures.MaxGuest"),
            ],
        },
    ),
    (
        "memory hotplug with dedicated CPUs",
        {
            "domain.memory.maxGuest": "2Gi",
            "domain.cpu.dedicatedCpuPlacement": True,
            "domain.resources": {"requests": {"memory": "1Gi"}},
        },
        LIVE,
        {"1.2": [(CPU + ".dedicatedCpuPlacement", "")], "1.3": []},
    ),
    (
        "memory hotplug in parts of a block",
        {"domain.memory.maxGuest": "2147483649", "domain.memory.guest": "1073741825"},
        LIVE,
        {"1.2": [(MEMORY + ".guest", ""), (MEMORY + ".maxGuest", "")], "1.3": [(MEMORY + ".maxGuest", MEMORY + ".guest")]},
    ),
    (
        "memory hotplug of a small guest",
        {"domain.memory.maxGuest": "2Gi", "domain.memory.guest": "512Mi"},
        LIVE,
        {"1.2": [], "1.3.0": [], "1.3.1": [(MEMORY + ".maxGuest", MEMORY + ".guest")]},
    ),
    (
        "stated CPUs on a cluster that rolls out live",
        {"domain.resources": {"limits": {"cpu": "2"}}},
        LIVE,
        {"1.1": [], "1.2.1": [("domain.resources", "")], "1.2.2": []},
    ),
    (
        "a memory limit with hotplug",
        {"domain.memory.maxGuest": "2Gi", "domain.resources": {"limits": {"memory": "2Gi"}}},
        LIVE,
        {"1.2.0": [("domain.resources", "")], "1.2.1": []},
    ),
    (
        "an instancetype on a cluster that rolls out live",
        {"/spec.instancetype": {"name": "a"}},
        LIVE,
        {"1.1": [], "1.2.0": [("spec.instancetype", "")], "1.2.1": []},
    ),
    (
        "guest memory above its limit, live",
        {"domain.resources": {"limits": {"memory": "512Mi"}}},
        LIVE,
        {"1.2.0": [(MEMORY + ".guest", "")], "1.2.1": []},
    ),
    (
        "a template that no volume uses",
        {"/spec.dataVolumeTemplates": [{"metadata": {"name": "a"}, "spec": {}}]},
        {},
        {"1.3": [UNUSED], "1.4": [("spec.dataVolumeTemplates[0].spec", "spec.dataVolumeTemplate[0].PVC.Storage")]},
    ),
    (
        "a template without a name",
        {"/spec.dataVolumeTemplates": [{"spec": {}}]},
        {},
        {
            "1.0": [UNUSED, ("spec.dataVolumeTemplates[0].metadata.name", "spec.dataVolumeTemplate[0].name")],
            "1.4": [("spec.dataVolumeTemplates[0].metadata.name", "spec.dataVolumeTemplate[0].name")],
        },
    ),
    (
        "a lun of a DataVolume",
        {DISK + ".0": {"name": "root", "lun": {"bus": "scsi"}}, "volumes.0": {"name": "root", "dataVolume": {"name": "x"}}},
        {},
        {"1.0": [(DISK + "[0].lun", "")], "1.1": []},
    ),
    (
        "a thread of its own on the bus scsi",
        {DISK + ".0": {"name": "root", "disk": {"bus": "scsi"}, "dedicatedIOThread": True}},
        {},
        {"1.0": [], "1.2.0": [], "1.2.1": [(DISK + "[0].dedicatedIOThread", TWICE)]},
    ),
    (
        "a thread of its own on the default bus",
        {DISK + ".0": {"name": "root", "disk": {}, "dedicatedIOThread": True}},
        {},
        {"1.0": [(DISK + "[0].dedicatedIOThread", TWICE)], "1.3": [(DISK + "[0].dedicatedIOThread", TWICE)], "1.4": []},
    ),
    (
        "the default bus of a cdrom",
        {DISK + ".0": {"name": "root", "cdrom": {}}, "architecture": "arm64", "domain.machine": {"type": "virt"}},
        gates("MultiArchitecture"),
        {"1.0": [(DISK + "[0].cdrom.bus", "")], "1.3": [(DISK + "[0].cdrom.bus", "")], "1.4": []},
    ),
    (
        "a read-only disk on the default bus",
        {DISK + ".0": {"name": "root", "disk": {"readonly": True}}},
        {},
        {"1.0": [(DISK + "[0].disk.bus", "")], "1.3": [(DISK + "[0].disk.bus", "")], "1.4": []},
    ),
    (
        "the bus of the last of two targets",
        {DISK + ".0": {"name": "root", "disk": {"bus": "virtio"}, "cdrom": {"bus": "virtio"}}},
        {},
        {
            "1.2": [(DISK + "[0].cdrom", DISK + "[0]"), (DISK + "[0].cdrom.bus", "")],
            "1.3": [(DISK + "[0].cdrom", DISK + "[0]")],
        },
    ),
    (
        "a model of 1.4",
        {"domain.devices.interfaces.0.model": "igb"},
        {},
        {"1.3": [(NIC + ".model", "")], "1.4": []},
    ),
    (
        "slirp",
        {"domain.devices.interfaces.0": {"name": "default", "slirp": {}}},
        {"network": {"permitSlirpInterface": True}},
        {"1.0": [], "1.2": [], "1.3": [(NIC + ".slirp", "spec.domain.devices.interfaces[0].slirp")]},
    ),
    (
        "passt with its gate",
        {"domain.devices.interfaces.0": {"name": "default", "passt": {}}},
        gates("Passt"),
        {"1.0": [], "1.3": [], "1.4": [(NIC + ".passt", "")]},
    ),
    (
        "passt beside another interface",
        {
            "domain.devices.interfaces": [{"name": "default", "passt": {}}, {"name": "b", "sriov": {}}],
            "networks": [{"name": "default", "pod": {}}, {"name": "b", "multus": {"networkName": "b"}}],
        },
        gates("Passt"),
        {"1.2": [(NIC + ".passt", NIC + ".name")], "1.3": []},
    ),
    (
        "the name of a port of another interface",
        {
            "domain.devices.interfaces": [
                {"name": "default", "masquerade": {}, "ports": ports("a")},
                {"name": "b", "masquerade": {}, "ports": ports("a")},
            ],
            "networks": [{"name": "default", "pod": {}}, {"name": "b", "pod": {}}],
        },
        {},
        {
            "1.2": [("domain.devices.interfaces[1].ports[0].name", ""), ("networks[1].pod", "interfaces")],
            "1.3": [("networks[1].pod", "interfaces")],
        },
    ),
    ("a machine type of s390x", {"architecture": "s390x"}, gates("MultiArchitecture"), {"1.3": [], "1.4": []}),
    (
        "the cluster's machine types",
        {"domain.machine": {"type": "pc-i440fx"}},
        {"emulatedMachines": ["pc-i440fx*"]},
        {"1.1": [("domain.machine.type", "")], "1.2": []},
    ),
    (
        "threads on arm64",
        {
            "architecture": "arm64",
            "domain.machine": {"type": "virt"},
            "domain.cpu": {"cores": 1, "threads": 2, "dedicatedCpuPlacement": True},
            "domain.resources": {"requests": {"memory": "1Gi"}},
        },
        gates("MultiArchitecture"),
        {"1.0": [], "1.1": [("architecture", "")]},
    ),
    (
        "more disks than the webhook reads",
        {
            "accessCredentials": [
                {"userPassword": {"source": {"secret": {"secretName": "a"}}, "propagationMethod": {"qemuGuestAgent": {}}}}
            ]
            * 257
        },
        {},
        {"1.0": [("accessCredentials", "")], "1.2": [("accessCredentials", "")], "1.3": []},
    ),
    (
        "two displays for the boot",
        {"domain.devices.gpus": [{"name": n, "deviceName": n, "virtualGPUOptions": {"display": {}}} for n in "ab"]},
        gates("GPU"),
        {"1.2": [], "1.3": [("domain.devices.gpus[1]", "GPUs")]},
    ),
    (
        "an unset frame buffer",
        {"domain.devices.gpus": [{"name": n, "deviceName": n, "virtualGPUOptions": {"display": {"ramFB": {}}}} for n in "ab"]},
        gates("GPU"),
        {"1.3": [("domain.devices.gpus[1]", "GPUs")], "1.4": [], "1.9": [], "1.10": [("domain.devices.gpus[1]", "GPUs")]},
    ),
    (
        "an error policy before it exists",
        {DISK + ".0.errorPolicy": "x"},
        {},
        {"1.0": [], "1.1": [(DISK + "[0].errorPolicy", "")]},
    ),
]
ROWS = [
    pytest.param(changes, configuration, release, places, id=f"{what} in {release}")
    for what, changes, configuration, of in CASES
    for release, places in of.items()
]


@pytest.mark.parametrize(("changes", "configuration", "release", "places"), ROWS)
def test_a_vm_is_refused_where_the_release_refuses_it(
    changes: dict[str, Any], configuration: dict[str, Any], release: str, places: Places
) -> None:
    found = errors_of(
        {words.replace("[", ".").replace("]", ""): value for words, value in changes.items()},
        configuration=configuration,
        release=releases.parse(release),
    )
    assert found == sorted(places)


@pytest.mark.parametrize(("topology", "refused_in"), [("spread", ("1.4",)), ("preferSpread", ("1.3", "1.4")), ("x", ("1.4",))])
def test_preferences_are_checked_as_far_as_the_release_knows_them(topology: str, refused_in: tuple[str, ...]) -> None:
    preference = {
        "apiVersion": "instancetype.kubevirt.io/v1beta1",
        "kind": "VirtualMachinePreference",
        "metadata": {"name": "a"},
        "spec": {"cpu": {"preferredCPUTopology": topology, "spreadOptions": {"across": "CoresThreads", "ratio": 3}}},
    }
    refused = [
        text for text in ("1.2", "1.3", "1.4") if admit_object(preference, cluster=Cluster(), release=releases.parse(text))
    ]
    assert refused == list(refused_in)


@pytest.mark.parametrize(
    ("kind", "refused_in"), [("VirtualMachineInstance", ("1.3", "1.4")), ("VirtualMachineInstanceReplicaSet", ("1.3", "1.4"))]
)
def test_a_gate_without_effect_is_refused_in_other_objects_since_1_3(kind: str, refused_in: tuple[str, ...]) -> None:
    spec: dict[str, Any] = {
        "domain": {"memory": {"guest": "1Gi"}, "devices": {"interfaces": [{"name": "a", "macvtap": {}}]}},
        "networks": [{"name": "a", "multus": {"networkName": "a"}}],
        "architecture": "amd64",
    }
    if kind != "VirtualMachineInstance":
        labels = {"a": "b"}
        spec = {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}}
    obj = {"apiVersion": "kubevirt.io/v1", "kind": kind, "metadata": {"name": "a"}, "spec": spec}
    cluster = Cluster(configuration=gates("Macvtap"))
    found = {text: admit_object(obj, cluster=cluster, release=releases.parse(text)) for text in ("1.2", "1.3", "1.4")}
    assert [text for text, causes in found.items() if causes] == list(refused_in)
    assert {dotted(cause.path).rpartition(".")[2] for causes in found.values() for cause in causes} == {"macvtap"}


def test_requests_for_a_lun_are_accepted_from_1_2_on() -> None:
    added = {"name": "a", "disk": {"lun": {"bus": "scsi"}}, "volumeSource": {"dataVolume": {"name": "a"}}}
    given = {"/status": {"volumeRequests": [{"addVolumeOptions": added}]}}
    found = {text: [dotted(cause.path) for cause in causes_of(given, release=releases.parse(text))] for text in ("1.1", "1.2")}
    assert found == {"1.1": ["status.volumeRequests[0].addVolumeOptions.disk"], "1.2": []}


@pytest.mark.parametrize(("release", "named"), [("1.2", ""), ("1.3", "spec.domain.features.hyperv.domain.features.hyperv.ipi")])
def test_the_path_of_hyperv_features_is_repeated_from_1_3_on(release: str, named: str) -> None:
    spec = {
        "architecture": "amd64",
        "domain": {
            "memory": {"guest": "1Gi"},
            "devices": {"autoattachPodInterface": False},
            "features": {"hyperv": {"ipi": {"enabled": True}, "vpindex": {"enabled": False}}},
        },
    }
    instance = {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": "a"}, "spec": spec}
    (cause,) = admit_object(instance, cluster=Cluster(), release=releases.parse(release))
    assert (dotted(cause.path), cause.upstream_path) == ("spec.domain.features.hyperv.ipi", named)
