"""Checks of admission that need several fields, or a cluster's settings, to speak."""

from __future__ import annotations

from typing import Any

import pytest
from admitting import errors_of, gates

Changes = dict[str, Any]
Places = list[tuple[str, str]]

DEV = "domain.devices."
NIC = DEV + "interfaces[0]"
CLAIMS = {"resourceClaims": [{"name": "c", "resourceClaimName": "x"}]}
DRA = gates("NetworkDevicesWithDRA", "HostDevices")
GPU = {"name": "g", "claimName": "c", "requestName": "r"}
CLAIMED = {"networks": [{"name": "default", "resourceClaim": {"claimName": "c", "requestName": "r"}}]}
SRIOV = {"domain.devices.interfaces": [{"name": "default", "sriov": {}}]}
RANGES = gates("PortRangesSpec")
GRACE = {"permittedHostDevices": {"pciHostDevices": [{"resourceName": "n/g", "pciVendorSelector": "10DE:2342"}]}}
ANY_NVIDIA = {"permittedHostDevices": {"pciHostDevices": [{"resourceName": "n/g", "pciVendorSelector": "0x10de:*"}]}}
NODE = "affinity.nodeAffinity."
REQUIRED, PREFERRED = "requiredDuringSchedulingIgnoredDuringExecution", "preferredDuringSchedulingIgnoredDuringExecution"
EFI = {"domain.firmware": {"bootloader": {"efi": {"secureBoot": False}}}}


def _node(*expressions: Changes, fields: tuple[Changes, ...] = ()) -> Changes:
    terms = [{"matchExpressions": list(expressions), "matchFields": list(fields)}]
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}}


def _ranges(*ranges: Changes, **more: Any) -> Changes:
    return {"domain.devices.interfaces.0.portRanges": list(ranges), **more}


def _tcp(start: int, end: int) -> Changes:
    return {"protocol": "TCP", "start": start, "end": end}


def _encrypted(kind: str, **more: Any) -> Changes:
    return {"domain.launchSecurity": {kind: {}}, **EFI, **more}


TDX = gates("WorkloadEncryptionTDX")
TERM = NODE + REQUIRED + ".nodeSelectorTerms[0]."
PODS = {"topologyKey": "zone"}

# (what, changes of the plain VM, cluster, every cause: its real path, and upstream's where it is another)
CASES: list[tuple[str, Changes, Changes, Places]] = [
    # networks by claim
    ("a claimed network", {**CLAIMED, **SRIOV, **CLAIMS}, DRA, []),
    (
        "a claimed network beside Multus",
        {
            **CLAIMS,
            "networks": [*CLAIMED["networks"], {"name": "b", "multus": {"networkName": "x"}}],
            "domain.devices.interfaces": [{"name": "default", "sriov": {}}, {"name": "b", "bridge": {}}],
        },
        DRA,
        [("networks[0].resourceClaim", "networks")],
    ),
    (
        "a claimed network by bridge, without request",
        {
            "networks": [{"name": "default", "resourceClaim": {"claimName": "c"}}],
            "domain.devices.interfaces.0": {"name": "default", "bridge": {}},
        },
        DRA,
        [(NIC, "domain.devices.interfaces"), ("networks[0].resourceClaim.requestName", "")],
    ),
    ("a network's claim from nowhere", {**CLAIMED, **SRIOV}, DRA, [("networks[0].resourceClaim.claimName", "")]),
    (
        "a request of two networks",
        {
            **CLAIMS,
            "networks": [*CLAIMED["networks"], {**CLAIMED["networks"][0], "name": "b"}],
            "domain.devices.interfaces": [{"name": "default", "sriov": {}}, {"name": "b", "sriov": {}}],
        },
        DRA,
        [("networks[1].resourceClaim", "networks[1]")],
    ),
    (
        "a request of a GPU and a network",
        {**CLAIMED, **SRIOV, **CLAIMS, "domain.devices.gpus": [GPU]},
        DRA,
        [("networks[0]", "")],
    ),
    (
        "two default Multus networks",
        {
            "networks": [{"name": n, "multus": {"networkName": "x", "default": True}} for n in ("default", "b")],
            "domain.devices.interfaces": [{"name": "default", "bridge": {}}, {"name": "b", "bridge": {}}],
        },
        {},
        [("networks[1].multus.default", "networks")],
    ),
    (
        "two interfaces of a network",
        {"domain.devices.interfaces": [{"name": "default", "masquerade": {}}] * 2},
        {},
        [(DEV + "interfaces[1].name", "")],
    ),
    (
        "two networks of a name",
        {"networks": [{"name": "default", "pod": {}}, {"name": "default", "multus": {"networkName": "x"}}]},
        {},
        [(NIC + ".masquerade", NIC + ".name"), ("networks[1].name", "")],
    ),
    (
        "a bridge on a pod network that permits none",
        {"domain.devices.interfaces.0": {"name": "default", "bridge": {}}},
        {"network": {"permitBridgeInterfaceOnPodNetwork": False}},
        [(NIC + ".bridge", NIC + ".name")],
    ),
    # ports
    (
        "a port with an odd name",
        {"domain.devices.interfaces.0.ports": [{"port": 70000, "name": "A"}]},
        {},
        [(NIC + ".ports[0].name", ""), (NIC + ".ports[0].port", "")],
    ),
    ("sound port ranges", _ranges(_tcp(1, 2), _tcp(3, 4)), RANGES, []),
    ("overlapping port ranges", _ranges(_tcp(1, 3), _tcp(3, 4)), RANGES, [(NIC + ".portRanges", "")]),
    ("eleven port ranges", _ranges(*(_tcp(i, i) for i in range(1, 12))), RANGES, [(NIC + ".portRanges", "")]),
    (
        "odd port ranges",
        _ranges({"protocol": "x"}, _tcp(0, 1), _tcp(1, 0), _tcp(2, 1)),
        RANGES,
        [
            (NIC + ".portRanges[0].protocol", ""),
            (NIC + ".portRanges[1].start", ""),
            (NIC + ".portRanges[2].end", ""),
            (NIC + ".portRanges[3].start", ""),
        ],
    ),
    (
        "port ranges beside ports, by bridge",
        {"domain.devices.interfaces.0": {"name": "default", "bridge": {}, "ports": [{"port": 1}], "portRanges": [_tcp(1, 2)]}},
        RANGES,
        [(NIC + ".portRanges", NIC + ".name")],
    ),
    (
        "DHCP options given twice",
        {"domain.devices.interfaces.0.dhcpOptions": {"privateOptions": [{"option": 224}, {"option": 224}]}},
        {},
        [(NIC + ".dhcpOptions.privateOptions", "spec.template.spec")],
    ),
    # devices by claim
    ("a GPU by claim", {**CLAIMS, "domain.devices.gpus": [GPU]}, {}, []),
    (
        "a GPU by claim, its gate shut",
        {**CLAIMS, "domain.devices.gpus": [GPU]},
        {"developerConfiguration": {"disabledFeatureGates": ["GPUsWithDRA"]}},
        [(DEV + "gpus[0]", "domain.devices.gpus")],
    ),
    (
        "GPUs of both sorts",
        {**CLAIMS, "domain.devices.gpus": [GPU, {"name": "b", "deviceName": "n/g"}]},
        {},
        [(DEV + "gpus[0]", "domain.devices.gpus")],
    ),
    (
        "a host device of both sorts",
        {"domain.devices.hostDevices": [{"name": "b", "deviceName": "n/g", "claimName": "c"}]},
        DRA,
        [(DEV + "hostDevices[0]", "domain.devices.hostDevices")],
    ),
    (
        "a request of two GPUs",
        {**CLAIMS, "domain.devices.gpus": [GPU, {**GPU, "name": "h"}]},
        {},
        [(DEV + "gpus[1]", "")],
    ),
    (
        "claims without and with odd names",
        {"resourceClaims": [{"resourceClaimName": "x"}, *({"name": n, "resourceClaimName": "x"} for n in ("a", "a", "A"))]},
        {},
        [("resourceClaims[0].name", ""), ("resourceClaims[2].name", ""), ("resourceClaims[3].name", "")],
    ),
    (
        "two GPUs with a boot display",
        {"domain.devices.gpus": [{"name": n, "deviceName": n, "virtualGPUOptions": {"display": {}}} for n in "ab"]},
        {},
        [(DEV + "gpus[1]", "GPUs")],
    ),
    (
        "one GPU with a boot display",
        {
            "domain.devices.gpus": [
                {"name": n, "deviceName": n, "virtualGPUOptions": {"display": {"enabled": n == "a"}}} for n in "ab"
            ]
        },
        {},
        [],
    ),
    (
        "panic devices on s390x",
        {"architecture": "s390x", "domain.devices.panicDevices": [{}]},
        {},
        [(DEV + "panicDevices", "")],
    ),
    # Grace
    (
        "a Grace GPU, its gate shut",
        {"domain.devices.gpus": [{"name": "g", "deviceName": "n/g"}]},
        GRACE,
        [(DEV + "gpus[0].deviceName", "")],
    ),
    (
        "a Grace GPU on amd64, alone",
        {
            "domain.devices.gpus": [{"name": "g", "deviceName": "n/g"}],
            "/spec.template.metadata.annotations": {"kubevirt.io/disablePCIHole64": "true"},
        },
        {**GRACE, **gates("GraceIOVirtualization")},
        [
            ("architecture", ""),
            ("domain.cpu.dedicatedCpuPlacement", ""),
            ("domain.devices", ""),
            ("domain.machine.type", ""),
            (
                'spec.template.metadata.annotations["kubevirt.io/disablePCIHole64"]',
                "spec.template.metadata.annotations[kubevirt.io/disablePCIHole64]",
            ),
        ],
    ),
    (
        "what may be a Grace GPU",
        {"domain.devices.hostDevices": [{"name": "g", "deviceName": "n/g"}]},
        {**ANY_NVIDIA, **gates("GraceIOVirtualization", "HostDevices")},
        [(DEV + "hostDevices[0].deviceName", "")],
    ),
    (
        "another GPU",
        {"domain.devices.gpus": [{"name": "g", "deviceName": "n/other"}]},
        {**GRACE, **gates("GraceIOVirtualization")},
        [],
    ),
    # firmware
    ("TDX by UEFI", _encrypted("tdx"), TDX, []),
    ("TDX, its gate shut", _encrypted("tdx"), {}, [("domain.launchSecurity", "launchSecurity")]),
    (
        "TDX with SMM, and EFI variables kept",
        {
            **_encrypted("tdx"),
            "domain.features": {"smm": {}},
            "domain.firmware": {"bootloader": {"efi": {"secureBoot": False, "persistent": True}}},
        },
        TDX,
        [("domain.launchSecurity.tdx", "launchSecurity")],
    ),
    (
        "SEV attested, by secure boot and network",
        {
            "domain.launchSecurity": {"sev": {"attestation": {}}},
            "domain.features": {"smm": {}},
            "domain.firmware": {"bootloader": {"efi": {}}},
            "domain.devices.interfaces.0.bootOrder": 1,
        },
        {},
        [("domain.launchSecurity.sev", "launchSecurity")],
    ),
    ("secure execution", {"architecture": "s390x", "domain.launchSecurity": {}}, {}, []),
    (
        "an ACPI table from a Secret",
        {
            "domain.firmware": {"acpi": {"slicNameRef": "t"}},
            "volumes.0": {"name": "root", "secret": {"secretName": "x"}},
            "domain.devices.disks": [{"name": "root"}],
        },
        {},
        [("domain.firmware.acpi.slicNameRef", "acpi.slicNameRef")],
    ),
    (
        "a machine type where the cluster admits odd ones",
        {"domain.machine": {"type": "q35"}},
        {"emulatedMachines": ["["]},
        [("domain.machine.type", "")],
    ),
    # memory
    (
        "guest memory above its limit, where nothing rolls out live",
        {"domain.memory.guest": "2Gi", "domain.resources": {"limits": {"memory": "1Gi"}}},
        {"vmRolloutStrategy": "Stage"},
        [("domain.memory.guest", "")],
    ),
    (
        "a request above its limit",
        {"domain.resources": {"limits": {"memory": "1Gi"}, "requests": {"memory": "2Gi"}}},
        {},
        [("domain.resources.requests.memory", "")],
    ),
    (
        "less memory than a page",
        {"domain.memory": {"guest": "2Mi", "hugepages": {"pageSize": "1Gi"}}},
        {},
        [("domain.memory.guest", "domain.resources.requests.memory")],
    ),
    ("huge pages without a size", {"domain.memory.hugepages": {}}, {}, [("domain.memory.hugepages.pageSize", "")]),
    (
        "hotplug beside realtime",
        {
            "domain.cpu": {"realtime": {}, "cores": 1, "dedicatedCpuPlacement": True, "numa": {"guestMappingPassthrough": {}}},
            "domain.memory": {"guest": "1Gi", "maxGuest": "2Gi", "hugepages": {"pageSize": "2Mi"}},
        },
        {},
        [("domain.memory.maxGuest", "domain.memory.guest")],
    ),
    (
        "hotplug beside NUMA passthrough",
        {
            "domain.cpu": {"cores": 1, "dedicatedCpuPlacement": True, "numa": {"guestMappingPassthrough": {}}},
            "domain.memory": {"guest": "1Gi", "maxGuest": "2Gi", "hugepages": {"pageSize": "2Mi"}},
        },
        {},
        [("domain.memory.maxGuest", "domain.memory.guest")],
    ),
    (
        "hotplug beside encryption",
        {**_encrypted("tdx"), "domain.memory": {"guest": "1Gi", "maxGuest": "2Gi"}},
        TDX,
        [("domain.memory.maxGuest", "domain.memory.guest")],
    ),
    *(
        (
            f"hotplug from {guest} to {most}",
            {"domain.memory": {"guest": guest, "maxGuest": most}},
            {},
            [("domain.memory.maxGuest", "domain.memory.guest")],
        )
        for guest, most in (("1025Mi", "2Gi"), ("1Gi", "2049Mi"), ("512Mi", "1Gi"))
    ),
    (
        "hotplug on arm64",
        {"architecture": "arm64", "domain.memory": {"guest": "1Gi", "maxGuest": "2Gi"}},
        {},
        [("domain.memory.maxGuest", "domain.memory.guest")],
    ),
    (
        "dedicated CPUs without memory",
        {"domain.cpu.dedicatedCpuPlacement": True, "domain.memory": {}},
        {},
        [("domain.resources.limits.memory", "")],
    ),
    (
        "more dedicated CPUs than 32 bits count",  # upstream: GetNumberOfVCPUs multiplies uint32
        {"domain.cpu": {"cores": 65536, "sockets": 65536, "dedicatedCpuPlacement": True}},
        {},
        [("domain.cpu.dedicatedCpuPlacement", "")],
    ),
    (
        "dedicated CPUs with request and limit that differ",
        {"domain.cpu.dedicatedCpuPlacement": True, "domain.resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}},
        {},
        [("domain.cpu.dedicatedCpuPlacement", "")],
    ),
    # disks and volumes
    (
        "the size of a host disk that is there, larger than 64 bits count",  # upstream: validateVolumes asks for IsZero
        {"volumes.0": {"name": "root", "hostDisk": {"path": "/a", "type": "Disk", "capacity": "100E"}}},
        gates("HostDisk"),
        [("volumes[0].hostDisk.capacity", "")],
    ),
    (
        "a downwardMetrics volume on a cdrom",
        {
            "volumes.0": {"name": "root", "downwardMetrics": {}},
            "domain.devices.disks.0": {"name": "root", "cdrom": {"bus": "sata"}},
        },
        gates("DownwardMetrics"),
        [(DEV + "disks[0].disk", "")],
    ),
    (
        "a downwardMetrics volume off virtio",
        {"volumes.0": {"name": "root", "downwardMetrics": {}}, "domain.devices.disks.0.disk.bus": "sata"},
        gates("DownwardMetrics"),
        [(DEV + "disks[0].disk.bus", "")],
    ),
    (
        "an empty cdrom, its gate shut",
        {"domain.devices.disks": [{"name": "root"}, {"name": "x", "cdrom": {"bus": "sata"}}]},
        {"developerConfiguration": {"disabledFeatureGates": ["DeclarativeHotplugVolumes"]}},
        [(DEV + "disks[1].name", "")],
    ),
    (
        "a reservation the cluster turns off",
        {
            "volumes.0": {"name": "root", "persistentVolumeClaim": {"claimName": "x"}},
            "domain.devices.disks.0": {"name": "root", "lun": {"bus": "scsi", "reservation": True}},
        },
        {"persistentReservationConfiguration": {"enabled": False}, **gates("PersistentReservation")},
        [(DEV + "disks[0].lun.reservation", "domain.devices.disks.luns.reservation")],
    ),
    (
        "blocks discarded by an odd size",
        {"domain.devices.disks.0.blockSize": {"custom": {"logical": 512, "physical": 512, "discardGranularity": 513}}},
        {},
        [(DEV + "disks[0].blockSize.custom.discardGranularity", "")],
    ),
    (
        "two service account volumes",
        {
            "volumes": [{"name": n, "serviceAccount": {"serviceAccountName": "x"}} for n in ("root", "b")],
        },
        {},
        [("volumes[1]", "volumes")],
    ),
    (
        "a template for another namespace",
        {
            "/spec.dataVolumeTemplates": [
                {"metadata": {"name": "x", "namespace": "y"}, "spec": {"storage": {}, "source": {"blank": {}}}}
            ],
            "volumes.0": {"name": "root", "dataVolume": {"name": "x"}},
        },
        {},
        [("spec.dataVolumeTemplates[0].metadata.namespace", "spec.dataVolumeTemplates[0]")],
    ),
    (
        "templates that store twice, come from two places, and from no known place",
        {
            "/spec.dataVolumeTemplates": [
                {"metadata": {"name": "x"}, "spec": {"storage": {}, "pvc": {}}},
                {"metadata": {"name": "x"}, "spec": {"storage": {"dataSource": {}}, "source": {"blank": {}}}},
                {"metadata": {"name": "x"}, "spec": {"storage": {}, "source": {"blank": {}, "http": {}}}},
            ]
        },
        {},
        [
            ("spec.dataVolumeTemplates[0].spec", "spec.dataVolumeTemplate[0].PVC.Storage"),
            ("spec.dataVolumeTemplates[1].spec", "spec.dataVolumeTemplate[1].source"),
            ("spec.dataVolumeTemplates[2].spec.source", "spec.dataVolumeTemplate[2].source"),
        ],
    ),
    ("waiting for another cluster, the gate shut", {"/spec.runStrategy": "WaitAsReceiver"}, {}, [("spec.runStrategy", "")]),
    ("waiting for another cluster", {"/spec.runStrategy": "WaitAsReceiver"}, gates("DecentralizedLiveMigration"), []),
    # probes and DNS
    (
        "a probe of the pod network, without one",
        {
            "readinessProbe": {"tcpSocket": {"port": 1}},
            "networks": [],
            "domain.devices.interfaces": [],
            "domain.devices.autoattachPodInterface": False,
        },
        {},
        [("readinessProbe.tcpSocket", "")],
    ),
    (
        "a paused guest that is probed",
        {"startStrategy": "Paused", "livenessProbe": {"guestAgentPing": {}}},
        {},
        [("startStrategy", "")],
    ),
    ("DNS policy None without servers", {"dnsPolicy": "None", "dnsConfig": {}}, {}, [("dnsConfig.nameservers", "nameservers")]),
    (
        "too much DNS",
        {"dnsConfig": {"nameservers": ["1.1.1.1"] * 4, "searches": ["a" * 60] * 7}},
        {},
        [("dnsConfig.nameservers", "nameservers"), ("dnsConfig.searches", "searchDomains")],
    ),
    # scheduling
    (
        "a sound affinity",
        {
            **_node(
                {"key": "a", "operator": "In", "values": ["b"]},
                fields=({"key": "metadata.name", "operator": "In", "values": ["n"]},),
            ),
            "topologySpreadConstraints": [{"topologyKey": "a", "maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}],
        },
        {},
        [],
    ),
    (
        "odd node expressions",
        _node(
            {"key": "-", "operator": "In"}, {"key": "a", "operator": "Exists", "values": ["b"]}, {"key": "a", "operator": "Gt"}
        ),
        {},
        [
            (TERM + "matchExpressions[0].key", TERM.removeprefix("affinity.") + "matchExpressions[0].key"),
            (TERM + "matchExpressions[0].values", TERM.removeprefix("affinity.") + "matchExpressions[0].values"),
            (TERM + "matchExpressions[1].values", TERM.removeprefix("affinity.") + "matchExpressions[1].values"),
            (TERM + "matchExpressions[2].values", TERM.removeprefix("affinity.") + "matchExpressions[2].values"),
        ],
    ),
    (
        "odd node fields",
        _node(fields=({"key": "spec", "operator": "Is"}, {"key": "metadata.name", "operator": "In", "values": ["A"]})),
        {},
        [
            (TERM + "matchFields[0].key", TERM.removeprefix("affinity.") + "matchFields[0].key"),
            (TERM + "matchFields[0].operator", TERM.removeprefix("affinity.") + "matchFields[0].operator"),
            (TERM + "matchFields[1].values[0]", TERM.removeprefix("affinity.") + "matchFields[1].values[0]"),
        ],
    ),
    (
        "a weightless preference for nodes",
        {"affinity": {"nodeAffinity": {PREFERRED: [{"preference": {}}]}}},
        {},
        [(f"{NODE}{PREFERRED}[0].weight", f"nodeAffinity.{PREFERRED}[0].weight")],
    ),
    (
        "an odd preference for pods",
        {
            "affinity": {
                "podAntiAffinity": {
                    PREFERRED: [
                        {
                            "weight": 101,
                            "podAffinityTerm": {
                                "labelSelector": {
                                    "matchLabels": {"-": "-"},
                                    "matchExpressions": [{"key": "a", "operator": "In", "values": ["-"]}],
                                }
                            },
                        }
                    ]
                }
            }
        },
        {},
        [
            (f"affinity.podAntiAffinity.{PREFERRED}[0].{path}", f"podAntiAffinity.{PREFERRED}[0].{named}")
            for path, named in (
                ("podAffinityTerm.labelSelector.matchExpressions[0].values[0]",) * 2,
                ("podAffinityTerm.labelSelector.matchLabels.-", "podAffinityTerm.labelSelector.matchLabels"),
                ("podAffinityTerm.topologyKey",) * 2,
                ("weight",) * 2,
            )
        ],
    ),
    (
        "an odd spread, twice",
        {
            "topologySpreadConstraints": [
                {
                    "topologyKey": "a",
                    "maxSkew": 1,
                    "whenUnsatisfiable": "x",
                    "labelSelector": {"matchExpressions": [{"key": "a"}]},
                },
                {"topologyKey": "a", "maxSkew": 1, "whenUnsatisfiable": "x"},
            ]
        },
        {},
        [
            ("topologySpreadConstraints[0]", "topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}"),
            (
                "topologySpreadConstraints[0].labelSelector.matchExpressions[0].operator",
                "topologySpreadConstraints.labelSelector.matchExpressions[0].operator",
            ),
            ("topologySpreadConstraints[0].whenUnsatisfiable", ""),
            ("topologySpreadConstraints[1].whenUnsatisfiable", ""),
        ],
    ),
]


@pytest.mark.parametrize(("changes", "configuration", "expected"), [row[1:] for row in CASES], ids=[row[0] for row in CASES])
def test_all_causes_are_found_and_no_other(changes: Changes, configuration: Changes, expected: Places) -> None:
    assert errors_of(changes, configuration=configuration) == sorted(expected)
