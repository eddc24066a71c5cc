"""Each check of admission, by the field that it checks: which values are refused, and where."""

from __future__ import annotations

from typing import Any

import pytest
from admitting import causes_of, changed, errors_of, gates

from krm_fn.kubevirt import admission, releases
from krm_fn.kubevirt.admission import formats, specs
from krm_fn.kubevirt.admission.fields.volume_requests import with_requests
from krm_fn.kubevirt.configuration import Cluster

Changes = dict[str, Any]

DEV = "domain.devices."
DISK, NIC = DEV + "disks[0]", DEV + "interfaces[0]"
TWICE = "domain.devices.disks.domain.devices.disks[0]"

# (what, changes of the plain VM, the real path of the cause, upstream's path where it is another)
REFUSED: list[tuple[str, Changes, str, str]] = [
    # CPU
    ("a negative CPU request", {"domain.resources": {"requests": {"cpu": "-1"}}}, "domain.resources.requests.cpu", ""),
    # upstream: apimachinery's negativeScaleInt64 rounds away from zero
    ("less than no thousandth", {"domain.resources": {"requests": {"cpu": "-1u"}}}, "domain.resources.requests.cpu", ""),
    # upstream: quantity.go:ScaledValue takes the lowest 64 bits of what has more digits than it keeps, or a binary suffix
    *(
        (
            f"{amount} CPUs, which are less than none",
            {f"domain.resources.{kind}.cpu": amount},
            f"domain.resources.{kind}.cpu",
            "",
        )
        for kind in ("requests", "limits")
        for amount in ("9223372036854775807", "10Pi")
    ),
    ("a negative CPU limit", {"domain.resources": {"limits": {"cpu": "-1"}}}, "domain.resources.limits.cpu", ""),
    (
        "a CPU request above its limit",
        {"domain.resources": {"requests": {"cpu": "3"}, "limits": {"cpu": "2"}}},
        "domain.resources.requests.cpu",
        "",
    ),
    ("an isolated emulator thread alone", {"domain.cpu.isolateEmulatorThread": True}, "domain.cpu.isolateEmulatorThread", ""),
    ("more sockets than the most", {"domain.cpu": {"sockets": 4, "maxSockets": 2}}, "domain.cpu.sockets", ""),
    (
        "an unknown CPU feature policy",
        {"domain.cpu.features": [{"name": "x", "policy": "y"}]},
        "domain.cpu.features[0].policy",
        "",
    ),
    (
        "a broken CPU limit under dedicated CPUs",
        {"domain.cpu.dedicatedCpuPlacement": True, "domain.resources": {"limits": {"cpu": "1500m"}}},
        "domain.resources.limits.cpu",
        "",
    ),
    (
        "memory request and limit that differ under dedicated CPUs",
        {
            "domain.cpu.dedicatedCpuPlacement": True,
            "domain.resources": {"limits": {"memory": "2Gi"}, "requests": {"memory": "1Gi"}},
        },
        "domain.resources.requests.memory",
        "",
    ),
    (
        "three pinned threads",
        {"domain.cpu": {"threads": 3, "dedicatedCpuPlacement": True}},
        "domain.cpu.dedicatedCpuPlacement",
        "",
    ),
    (
        "a pinned topology that is not the limit",
        {"domain.cpu.dedicatedCpuPlacement": True, "domain.resources": {"limits": {"cpu": "3"}}},
        "domain.cpu.dedicatedCpuPlacement",
        "",
    ),
    (
        "two pinned threads on arm64",
        {"domain.cpu": {"threads": 2, "dedicatedCpuPlacement": True}, "architecture": "arm64"},
        "architecture",
        "",
    ),
    (
        "NUMA passthrough without huge pages",
        {"domain.cpu.numa": {"guestMappingPassthrough": {}}},
        "domain.cpu.numa.guestMappingPassthrough",
        "",
    ),
    ("realtime without NUMA", {"domain.cpu.realtime": {}}, "domain.cpu.numa.guestMappingPassthrough", ""),
    ("realtime without dedicated CPUs", {"domain.cpu.realtime": {}}, "domain.cpu.dedicatedCpuPlacement", ""),
    # memory
    ("a tiny memory request", {"domain.resources": {"requests": {"memory": "1k"}}}, "domain.resources.requests.memory", ""),
    ("a negative memory limit", {"domain.resources": {"limits": {"memory": "-1Gi"}}}, "domain.resources.limits.memory", ""),
    (
        "a page size that is no quantity",
        {"domain.memory.hugepages": {"pageSize": "big"}},
        "domain.memory.hugepages.pageSize",
        "",
    ),
    (
        "guest memory that is no multiple of the page size",
        {"domain.memory": {"guest": "1025Mi", "hugepages": {"pageSize": "2Mi"}}},
        "domain.memory.guest",
        "domain.resources.requests.memory",
    ),
    (
        "a guest above its most",
        {"domain.memory": {"guest": "2Gi", "maxGuest": "1Gi"}},
        "domain.memory.maxGuest",
        "domain.memory.guest",
    ),
    (
        "a small hotpluggable guest",
        {"domain.memory": {"guest": "512Mi", "maxGuest": "1Gi"}},
        "domain.memory.maxGuest",
        "domain.memory.guest",
    ),
    ("reserved overhead, its gate shut", {"domain.memory.reservedOverhead": {}}, "domain.memory.reservedOverhead", ""),
    # firmware
    ("an unknown machine type", {"domain.machine": {"type": "pc"}}, "domain.machine.type", ""),
    (
        "two bootloaders",
        {"domain.firmware": {"bootloader": {"bios": {}, "efi": {"secureBoot": False}}}},
        "domain.firmware.bootloader.efi",
        "domain.firmware.bootloader",
    ),
    (
        "secure boot without SMM",
        {"domain.firmware": {"bootloader": {"efi": {}}}},
        "domain.firmware.bootloader.efi.secureBoot",
        "domain",
    ),
    ("an empty acpi", {"domain.firmware": {"acpi": {}}}, "domain.firmware.acpi", "acpi"),
    (
        "an acpi table from nowhere",
        {"domain.firmware": {"acpi": {"slicNameRef": "x"}}},
        "domain.firmware.acpi.slicNameRef",
        "acpi.slicNameRef",
    ),
    (
        "an acpi table from a disk",
        {"domain.firmware": {"acpi": {"msdmNameRef": "root"}}},
        "domain.firmware.acpi.msdmNameRef",
        "acpi.msdmNameRef",
    ),
    (
        "kernel arguments without a kernel",
        {"domain.firmware": {"kernelBoot": {"kernelArgs": "x"}}},
        "domain.firmware.kernelBoot.kernelArgs",
        "",
    ),
    (
        "a kernel image without a kernel",
        {"domain.firmware": {"kernelBoot": {"container": {"image": "x"}}}},
        "domain.firmware.kernelBoot.container",
        "",
    ),
    (
        "a relative kernel path",
        {"domain.firmware": {"kernelBoot": {"container": {"image": "x", "kernelPath": "a/b"}}}},
        "domain.firmware.kernelBoot.container.kernelPath",
        "",
    ),
    ("launch security on arm64", {"domain.launchSecurity": {"sev": {}}, "architecture": "arm64"}, "architecture", ""),
    (
        "two kinds of launch security",
        {"domain.launchSecurity": {"sev": {}, "tdx": {}}},
        "domain.launchSecurity",
        "launchSecurity",
    ),
    ("SEV without UEFI", {"domain.launchSecurity": {"sev": {}}}, "domain.launchSecurity.sev", "launchSecurity"),
    # disks
    ("a disk that is a cdrom too", {"domain.devices.disks.0.cdrom": {}}, DISK + ".cdrom", DISK),
    ("an unknown bus", {"domain.devices.disks.0.disk.bus": "ide"}, DISK + ".disk.bus", ""),
    ("a virtio cdrom", {"domain.devices.disks.0": {"name": "root", "cdrom": {"bus": "virtio"}}}, DISK + ".cdrom.bus", ""),
    ("a read-only sata disk", {"domain.devices.disks.0.disk": {"bus": "sata", "readonly": True}}, DISK + ".disk.bus", ""),
    (
        "a PCI address off virtio",
        {"domain.devices.disks.0.disk": {"bus": "sata", "pciAddress": "0000:81:01.0"}},
        DISK + ".disk.pciAddress",
        "domain.devices.disks.domain.devices.disks.disk[0].pciAddress",
    ),
    (
        "a malformed PCI address",
        {"domain.devices.disks.0.disk.pciAddress": "x"},
        DISK + ".disk.pciAddress",
        "domain.devices.disks.domain.devices.disks.disk[0].pciAddress",
    ),
    ("a boot order of zero", {"domain.devices.disks.0.bootOrder": 0}, DISK + ".bootOrder", ""),
    ("a serial with a space", {"domain.devices.disks.0.serial": "a b"}, DISK + ".serial", ""),
    ("a long serial", {"domain.devices.disks.0.serial": "a" * 257}, DISK + ".serial", ""),
    ("an unknown cache", {"domain.devices.disks.0.cache": "x"}, DISK + ".cache", ""),
    ("an unknown io", {"domain.devices.disks.0.io": "x"}, DISK + ".io", TWICE + ".io"),
    ("an empty error policy", {"domain.devices.disks.0.errorPolicy": ""}, DISK + ".errorPolicy", ""),
    (
        "a dedicated thread off virtio",
        {"domain.devices.disks.0": {"name": "root", "disk": {"bus": "sata"}, "dedicatedIOThread": True}},
        DISK + ".dedicatedIOThread",
        TWICE,
    ),
    (
        "a disk without volume",
        {"domain.devices.disks": [{"name": "root"}, {"name": "x"}]},
        DEV + "disks[1].name",
        "",
    ),
    ("a lun over an image", {"domain.devices.disks.0": {"name": "root", "lun": {}}}, DISK + ".lun", ""),
    ("two disks of a name", {"domain.devices.disks": [{"name": "root"}, {"name": "root"}]}, DEV + "disks[1].name", ""),
    (
        "custom and matched block sizes",
        {"domain.devices.disks.0.blockSize": {"custom": {"logical": 512, "physical": 512}, "matchVolume": {}}},
        DISK + ".blockSize",
        "",
    ),
    (
        "a small block",
        {"domain.devices.disks.0.blockSize": {"custom": {"logical": 256, "physical": 512}}},
        DISK + ".blockSize.custom.logical",
        "",
    ),
    (
        "a crooked block",
        {"domain.devices.disks.0.blockSize": {"custom": {"logical": 512, "physical": 1000}}},
        DISK + ".blockSize.custom.physical",
        "",
    ),
    (
        "blocks the wrong way round",
        {"domain.devices.disks.0.blockSize": {"custom": {"logical": 1024, "physical": 512}}},
        DISK + ".blockSize.custom.logical",
        "",
    ),
    (
        "an interface's boot order of zero",
        {"domain.devices.interfaces.0.bootOrder": 0},
        NIC + ".bootOrder",
        "spec.template.spec[0].bootOrder",
    ),
    (
        "a boot order twice",
        {"domain.devices.disks.0.bootOrder": 1, "domain.devices.interfaces.0.bootOrder": 1},
        NIC + ".bootOrder",
        "",
    ),
    # volumes
    ("a volume without source", {"volumes": [{"name": "root"}]}, "volumes[0]", ""),
    ("two volumes of a name", {"volumes": [{"name": "root", "emptyDisk": {}}] * 2}, "volumes[1].name", ""),
    (
        "user data from two places",
        {"volumes.0": {"name": "root", "cloudInitNoCloud": {"userData": "x", "secretRef": {"name": "x"}}}},
        "volumes[0].cloudInitNoCloud",
        "",
    ),
    ("no user data", {"volumes.0": {"name": "root", "cloudInitNoCloud": {}}}, "volumes[0].cloudInitNoCloud", ""),
    (
        "long network data",
        {"volumes.0": {"name": "root", "cloudInitConfigDrive": {"networkData": "x" * 2049}}},
        "volumes[0].cloudInitConfigDrive",
        "",
    ),
    (
        "broken base64",
        {"volumes.0": {"name": "root", "cloudInitNoCloud": {"userDataBase64": "%"}}},
        "volumes[0].cloudInitNoCloud.userDataBase64",
        "",
    ),
    ("a config map without name", {"volumes.0": {"name": "root", "configMap": {}}}, "volumes[0].configMap.name", ""),
    ("a secret without name", {"volumes.0": {"name": "root", "secret": {}}}, "volumes[0].secret.secretName", ""),
    (
        "a service account without name",
        {"volumes.0": {"name": "root", "serviceAccount": {}}},
        "volumes[0].serviceAccount.serviceAccountName",
        "",
    ),
    (
        "a data volume without name",
        {"volumes.0": {"name": "root", "dataVolume": {}}},
        "volumes[0].dataVolume.name",
        "volumes[0].name",
    ),
    (
        "a container disk path with dots",
        {"volumes.0.containerDisk.path": "/a/../b"},
        "volumes[0].containerDisk.path",
        "volumes[0].containerDisk",
    ),
    (
        "a host disk, its gate shut",
        {"volumes.0": {"name": "root", "hostDisk": {"path": "/a", "type": "Disk"}}},
        "volumes[0].hostDisk",
        "volumes[0]",
    ),
    (
        "a host disk of unknown type",
        {"volumes.0": {"name": "root", "hostDisk": {"path": "/a", "type": "x"}}},
        "volumes[0].hostDisk.type",
        "",
    ),
    (
        "downward metrics, their gate shut",
        {"volumes.0": {"name": "root", "downwardMetrics": {}}},
        "volumes[0].downwardMetrics",
        "volumes[0]",
    ),
    ("utility volumes", {"utilityVolumes": [{"name": "x", "claimName": "x"}]}, "utilityVolumes", ""),
    (
        "two service accounts",
        {"serviceAccountName": "a", "volumes.0": {"name": "root", "serviceAccount": {"serviceAccountName": "b"}}},
        "serviceAccountName",
        "",
    ),
    (
        "virtiofs over a claim",
        {
            "volumes.0": {"name": "root", "persistentVolumeClaim": {"claimName": "x"}},
            "domain.devices.filesystems": [{"name": "root"}],
        },
        DEV + "filesystems[0]",
        "domain.devices.filesystems",
    ),
    # networks and interfaces
    ("a network without source", {"networks": [{"name": "default"}]}, "networks[0]", ""),
    (
        "a Multus network without name",
        {"networks": [{"name": "default", "multus": {}}]},
        "networks[0].multus.networkName",
        "networks[0]",
    ),
    (
        "two pod networks",
        {"networks": [{"name": "default", "pod": {}}, {"name": "b", "pod": {}}]},
        "networks[1].pod",
        "interfaces",
    ),
    (
        "a pod network beside a default Multus one",
        {"networks": [{"name": "default", "pod": {}}, {"name": "b", "multus": {"networkName": "x", "default": True}}]},
        "networks[1].multus.default",
        "networks",
    ),
    (
        "a network without interface",
        {"networks": [{"name": "default", "pod": {}}, {"name": "b", "multus": {"networkName": "x"}}]},
        "networks[1].name",
        "",
    ),
    ("an interface without network", {"networks": [{"name": "b", "pod": {}}]}, NIC + ".name", ""),
    ("an interface with two bindings", {"domain.devices.interfaces.0.bridge": {}}, NIC + ".bridge", NIC),
    ("an interface of unknown state", {"domain.devices.interfaces.0.state": "x"}, NIC + ".state", ""),
    ("an absent default interface", {"domain.devices.interfaces.0.state": "absent"}, NIC + ".state", ""),
    (
        "masquerade off the pod network",
        {"networks": [{"name": "default", "multus": {"networkName": "x"}}]},
        NIC + ".masquerade",
        NIC + ".name",
    ),
    ("an unknown model", {"domain.devices.interfaces.0.model": "x"}, NIC + ".model", ""),
    ("a broken MAC address", {"domain.devices.interfaces.0.macAddress": "x"}, NIC + ".macAddress", ""),
    ("the bridge's MAC address", {"domain.devices.interfaces.0.macAddress": "02:00:00:00:00:00"}, NIC + ".macAddress", ""),
    ("a port without number", {"domain.devices.interfaces.0.ports": [{}]}, NIC + ".ports[0].port", ""),
    (
        "a port of unknown protocol",
        {"domain.devices.interfaces.0.ports": [{"port": 1, "protocol": "x"}]},
        NIC + ".ports[0].protocol",
        "",
    ),
    (
        "two ports of a name",
        {"domain.devices.interfaces.0.ports": [{"port": 1, "name": "a"}, {"port": 2, "name": "a"}]},
        NIC + ".ports[1].name",
        "",
    ),
    (
        "port ranges, their gate shut",
        {"domain.devices.interfaces.0.portRanges": [{"start": 1, "end": 2}]},
        NIC + ".portRanges",
        NIC + ".name",
    ),
    (
        "a public DHCP option",
        {"domain.devices.interfaces.0.dhcpOptions": {"privateOptions": [{"option": 1}]}},
        NIC + ".dhcpOptions.privateOptions[0].option",
        "spec.template.spec",
    ),
    (
        "an NTP server by name",
        {"domain.devices.interfaces.0.dhcpOptions": {"ntpServers": ["x"]}},
        NIC + ".dhcpOptions.ntpServers[0]",
        "",
    ),
    (
        "the slirp binding",
        {"domain.devices.interfaces.0": {"name": "default", "slirp": {}}},
        NIC + ".slirp",
        "spec.domain.devices.interfaces[0].slirp",
    ),
    (
        "a claimed network, its gate shut",
        {"networks": [{"name": "default", "resourceClaim": {}}]},
        "networks[0].resourceClaim",
        "networks",
    ),
    # devices
    ("an input that is no tablet", {"domain.devices.inputs": [{"name": "x", "type": "mouse"}]}, DEV + "inputs[0].type", ""),
    ("an unknown sound model", {"domain.devices.sound": {"name": "x", "model": "y"}}, DEV + "sound", "Sound"),
    (
        "video without graphics",
        {"domain.devices.video": {}, "domain.devices.autoattachGraphicsDevice": False},
        DEV + "video",
        "video",
    ),
    ("an unknown panic device", {"domain.devices.panicDevices": [{"model": "x"}]}, DEV + "panicDevices[0].model", ""),
    ("vsock, its gate shut", {"domain.devices.autoattachVSOCK": True}, DEV + "autoattachVSOCK", ""),
    (
        "host devices, their gate shut",
        {"domain.devices.hostDevices": [{"name": "x", "deviceName": "y"}]},
        DEV + "hostDevices",
        "HostDevices",
    ),
    ("a GPU without device", {"domain.devices.gpus": [{"name": "x"}]}, DEV + "gpus[0]", "domain.devices.gpus"),
    (
        "a GPU's claim without request",
        {"domain.devices.gpus": [{"name": "x", "claimName": "c"}]},
        DEV + "gpus[0].requestName",
        "",
    ),
    (
        "a GPU's claim from nowhere",
        {"domain.devices.gpus": [{"name": "x", "claimName": "c", "requestName": "r"}]},
        "resourceClaims",
        "",
    ),
    ("a claim without source", {"resourceClaims": [{"name": "x"}]}, "resourceClaims[0]", ""),
    ("an unknown threads policy", {"domain.ioThreadsPolicy": "x"}, "domain.ioThreadsPolicy", ""),
    (
        "a pool of no threads",
        {"domain.ioThreadsPolicy": "supplementalPool"},
        "domain.ioThreads.supplementalPoolThreadCount",
        "domain.ioThreads.count",
    ),
    # the rest of the spec
    (
        "a probe of two kinds",
        {"readinessProbe": {"exec": {}, "guestAgentPing": {}}},
        "readinessProbe.guestAgentPing",
        "readinessProbe",
    ),
    ("a probe of no kind", {"livenessProbe": {}}, "livenessProbe", ""),
    ("an unknown start strategy", {"startStrategy": "x"}, "startStrategy", ""),
    ("an unknown eviction strategy", {"evictionStrategy": "x"}, "evictionStrategy", ""),
    ("an empty eviction strategy", {"evictionStrategy": ""}, "evictionStrategy", ""),
    ("a host name with dots", {"hostname": "a.b"}, "hostname", ""),
    ("a subdomain with a space", {"subdomain": "a b"}, "subdomain", ""),
    ("an unknown DNS policy", {"dnsPolicy": "x"}, "dnsPolicy", ""),
    ("DNS policy None alone", {"dnsPolicy": "None"}, "dnsConfig", ""),
    ("a name server by name", {"dnsConfig": {"nameservers": ["x"]}}, "dnsConfig.nameservers[0]", "nameservers"),
    ("a malformed search path", {"dnsConfig": {"searches": ["A"]}}, "dnsConfig.searches[0]", "searchDomains"),
    ("a DNS option without name", {"dnsConfig": {"options": [{}]}}, "dnsConfig.options[0].name", "options"),
    ("a credential of no kind", {"accessCredentials": [{}]}, "accessCredentials[0]", ""),
    (
        "an SSH key by cloud-init, without its volume",
        {"accessCredentials": [{"sshPublicKey": {"source": {"secret": {}}, "propagationMethod": {"noCloud": {}}}}]},
        "accessCredentials[0].sshPublicKey.propagationMethod.noCloud",
        "accessCredentials[0].sshPublicKey.propagationMethod",
    ),
    (
        "a password without source",
        {"accessCredentials": [{"userPassword": {"propagationMethod": {"qemuGuestAgent": {}}}}]},
        "accessCredentials[0].userPassword.source",
        "",
    ),
    (
        "a node selector of no terms",
        {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}}}},
        "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
        "nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms",
    ),
    (
        "a pod affinity to a malformed namespace",
        {
            "affinity": {
                "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a", "namespaces": ["A"]}]}
            }
        },
        "affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespaces[0]",
        "podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].namespace",
    ),
    (
        "a spread without skew",
        {"topologySpreadConstraints": [{"topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}]},
        "topologySpreadConstraints[0].maxSkew",
        "",
    ),
    (
        "a sidecar, its gate shut",
        {"/spec.template.metadata.annotations": {"hooks.kubevirt.io/hookSidecars": "x"}},
        'spec.template.metadata.annotations["hooks.kubevirt.io/hookSidecars"]',
        "spec.template.metadata.annotations",
    ),
    (
        "a data volume template without name",
        {"/spec.dataVolumeTemplates": [{}]},
        "spec.dataVolumeTemplates[0].metadata.name",
        "spec.dataVolumeTemplate[0].name",
    ),
    (
        "a data volume template nobody uses",
        {"/spec.dataVolumeTemplates": [{"metadata": {"name": "x"}, "spec": {"storage": {}, "source": {"blank": {}}}}]},
        "spec.dataVolumeTemplates[0]",
        "spec.dataVolumeTemplate[0]",
    ),
]


@pytest.mark.parametrize(("changes", "path", "upstream"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED])
def test_what_kubevirt_refuses_is_refused_at_its_place(changes: Changes, path: str, upstream: str) -> None:
    assert (path, upstream) in errors_of(changes)


ALLOWED: list[tuple[str, Changes, dict[str, Any]]] = [
    ("the plain VM", {}, {}),
    ("a disk without target", {"domain.devices.disks.0": {"name": "root"}}, {}),
    ("an empty cdrom", {"domain.devices.disks": [{"name": "root"}, {"name": "x", "cdrom": {"bus": "sata"}}]}, {}),
    ("secure boot with SMM", {"domain.firmware": {"bootloader": {"efi": {}}}, "domain.features": {"smm": {}}}, {}),
    ("vsock, its gate open", {"domain.devices.autoattachVSOCK": True}, gates("VSOCK")),
    (
        "a host disk, its gate open",
        {"volumes.0": {"name": "root", "hostDisk": {"path": "/a", "type": "Disk"}}},
        gates("HostDisk"),
    ),
    ("a machine type the cluster adds", {"domain.machine": {"type": "pc"}}, {"emulatedMachines": ["pc*"]}),
    ("dedicated CPUs", {"domain.cpu.dedicatedCpuPlacement": True}, {}),
    # upstream: quantity.go:ScaledValue makes 0 of them
    ("more CPUs than 64 bits count", {"domain.resources": {"requests": {"cpu": "1e30"}, "limits": {"cpu": "1M"}}}, {}),
    ("shared CPUs", {"domain.cpu.dedicatedCpuPlacement": False}, {}),
    ("a hotpluggable guest", {"domain.memory": {"guest": "1Gi", "maxGuest": "2Gi"}}, {}),
    ("a probe by agent", {"readinessProbe": {"guestAgentPing": {}}}, {}),
    (
        "port ranges, their gate open",
        {"domain.devices.interfaces.0.portRanges": [{"start": 1, "end": 2, "protocol": "TCP"}]},
        gates("PortRangesSpec"),
    ),
]


@pytest.mark.parametrize(("changes", "configuration"), [row[1:] for row in ALLOWED], ids=[row[0] for row in ALLOWED])
def test_what_kubevirt_allows_is_allowed(changes: Changes, configuration: dict[str, Any]) -> None:
    assert errors_of(changes, configuration=configuration) == []


ADDED = {"name": "more", "disk": {"disk": {"bus": "scsi"}}, "volumeSource": {"dataVolume": {"name": "more"}}}
WANT = "status.volumeRequests[0]"


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        ([{"addVolumeOptions": ADDED}], []),
        ([{}], [(WANT, "Status.volumeRequests")]),
        ([{"addVolumeOptions": {**ADDED, "disk": {}}}], [(WANT + ".addVolumeOptions.disk", "Status.volumeRequests")]),
        (
            [{"addVolumeOptions": {**ADDED, "disk": {"lun": {"bus": "virtio"}}}}],
            [(WANT + ".addVolumeOptions.disk.lun.bus", "Status.volumeRequests")],
        ),
        ([{"addVolumeOptions": {**ADDED, "name": "root"}}], [(WANT + ".addVolumeOptions", "Status.volumeRequests")]),
        (
            [{"removeVolumeOptions": {"name": "a"}}] * 2,
            [("status.volumeRequests[1].removeVolumeOptions.name", "Status.volumeRequests")],
        ),
        ([{"addVolumeOptions": {**ADDED, "volumeSource": {}}}], [("volumes[1]", "")]),
        ([{"removeVolumeOptions": {"name": "root"}}], []),
        (
            [{"addVolumeOptions": {**ADDED, "disk": {"disk": {"bus": "scsi"}, "dedicatedIOThread": True, "bootOrder": 0}}}],
            [
                (WANT + ".addVolumeOptions.disk.bootOrder", "spec.domain.devices.disks[1].bootOrder"),
                (WANT + ".addVolumeOptions.disk.dedicatedIOThread", "Status.volumeRequests"),
            ],
        ),
    ],
)
def test_requested_volumes_are_judged_alone_and_in_the_vm(requests: Any, expected: list[tuple[str, str]]) -> None:
    assert errors_of({"/status": {"volumeRequests": requests}}) == expected


def test_requests_are_carried_out_in_their_order() -> None:
    def requested(action: str, name: str) -> Any:
        return {f"{action}VolumeOptions": {"name": name, "disk": {"lun": {}}, "volumeSource": {"dataVolume": {"name": name}}}}

    spec = {
        "domain": {"devices": {"disks": [{"name": "a"}, {"name": "b"}, {"name": "a", "lun": {}}]}},
        "volumes": [{"name": "a"}],
    }
    wanted = [("add", "a"), ("add", "c"), ("remove", "a"), ("add", "d"), ("add", "a"), ("remove", "none")]
    carried_out = with_requests(spec, [requested(*each) for each in wanted])
    assert carried_out["volumes"] == [{"name": name, "dataVolume": {"name": name}} for name in "cda"]
    assert carried_out["domain"]["devices"]["disks"] == [{"name": "b"}, *({"name": name, "lun": {}} for name in "cda")]
    assert spec["volumes"] == [{"name": "a"}]
    assert with_requests({"volumes": None}, []) == {"volumes": None, "domain": {"devices": {}}}


def test_a_cause_says_what_why_and_where_upstream_refuses() -> None:
    assert causes_of({"domain.devices.disks.0.cache": "fast"}) == (
        admission.Cause(
            path=("spec", "template", "spec", "domain", "devices", "disks", 0, "cache"),
            message="cache 'fast' is not supported; use none, writethrough or writeback",
            reason="FieldValueInvalid",
            upstream="pkg/storage/admitters/disks.go:validateCacheMode",
            current="fast",
            known=("none", "writethrough", "writeback"),
        ),
    )


def test_a_vm_that_is_being_deleted_is_admitted() -> None:
    assert causes_of({"/metadata.deletionTimestamp": "2026-01-01T00:00:00Z", "/spec.runStrategy": "x"}) == ()


def test_a_vm_that_cannot_be_expanded_is_judged_by_its_own_fields_only() -> None:
    vm = changed({"/spec.runStrategy": "x", "domain.devices.disks.0.cache": "x"})
    causes = admission.admit_vm(vm, expanded=None, cluster=Cluster(), release=releases.NEWEST)
    assert [cause.path for cause in causes] == [("spec", "runStrategy")]


def test_pinned_cpus_of_no_number_are_refused() -> None:
    spec = {"domain": {"cpu": {"dedicatedCpuPlacement": True}, "memory": {"guest": "1Gi"}, "devices": {}}}
    (cause,) = specs.admit_instance_spec(spec, ("spec",), cluster=Cluster(), release=releases.NEWEST)
    assert cause.path == ("spec", "domain", "cpu", "dedicatedCpuPlacement")


def test_dedicated_cpus_that_64_bits_cannot_hold_are_a_whole_number() -> None:
    changes = {"domain.cpu.dedicatedCpuPlacement": True, "domain.resources": {"limits": {"cpu": "99999999999999999999"}}}
    assert errors_of(changes) == [("domain.cpu.dedicatedCpuPlacement", "")]  # upstream's product of 64 bits overflows, too


def test_memory_that_may_grow_must_be_set() -> None:
    vm = changed({"domain.memory": {"maxGuest": "2Gi"}})
    (cause,) = admission.admit_vm(vm, expanded=vm, cluster=Cluster(), release=releases.NEWEST)
    assert cause.path == ("spec", "template", "spec", "domain", "memory", "maxGuest")


def test_amounts_are_remembered_for_a_while_only() -> None:
    for number in range(3 * formats.MOST_REMEMBERED):
        assert formats.units(f"{number}Ki") == number * 1024


def test_an_instance_spec_is_judged_at_its_own_path() -> None:
    spec = changed({"domain.devices.disks.0.io": "x"})["spec"]["template"]["spec"]
    (cause,) = specs.admit_instance_spec(spec, ("spec",), cluster=Cluster(), release=releases.NEWEST)
    assert cause.path == ("spec", "domain", "devices", "disks", 0, "io")
    assert cause.upstream_path == "spec.domain.devices.disks.domain.devices.disks[0].io"


def test_an_empty_list_of_host_devices_needs_its_gate_only_where_no_webhook_takes_it_out() -> None:
    spec = changed({"domain.devices.hostDevices": []})["spec"]["template"]["spec"]
    at, known = ("spec",), {"cluster": Cluster(), "release": releases.NEWEST}
    assert specs.admit_instance_spec(spec, at, **known) == []
    (cause,) = specs.admit_instance_spec(spec, at, as_written=True, **known)
    assert cause.path == ("spec", "domain", "devices", "hostDevices")


@pytest.mark.parametrize(
    ("path", "found"),
    [("/disk/root.img", []), ("", []), ("disk/root.img", ["path"]), ("/", ["path"]), ("/disk/../root.img", ["path"])],
)
def test_the_path_in_a_container_disk_is_that_of_a_file_below_the_root(path: str, found: list[str]) -> None:
    assert [field.rpartition(".")[2] for field, _ in errors_of({"volumes.0.containerDisk.path": path})] == found
