"""Admission of the kinds beside VirtualMachine."""

from __future__ import annotations

from typing import Any

import pytest
from admitting import PLAIN, errors_of
from functions import instancetype, resource_list, run, vm
from hypothesis import given, settings
from hypothesis import strategies as st

from krm_fn import process
from krm_fn.base.paths import copy, dotted, get, put
from krm_fn.kubevirt import releases
from krm_fn.kubevirt.admission.objects import KINDS, admit_object
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.instance.defaults import set_webhook_defaults

VMI_SPEC = PLAIN["spec"]["template"]["spec"]
GROUPS = {kind: group for group, kind in KINDS}


def _object(kind: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {"apiVersion": f"{GROUPS[kind]}/v1", "kind": kind, "metadata": {"name": "x"}, "spec": spec}


def _paths(
    kind: str, spec: dict[str, Any], *, configuration: dict[str, Any] | None = None, release: releases.Release = releases.NEWEST
) -> list[tuple[str, str]]:
    causes = admit_object(_object(kind, spec), cluster=Cluster(configuration=configuration or {}), release=release)
    return [(dotted(cause.path), cause.upstream_path) for cause in causes]


def _instance(
    changes: dict[tuple[str, ...], Any],
    *,
    configuration: dict[str, Any] | None = None,
    release: releases.Release = releases.NEWEST,
) -> list[tuple[str, str]]:
    obj, cluster = _object("VirtualMachineInstance", copy(VMI_SPEC)), Cluster(configuration=configuration or {})
    for path, value in changes.items():
        put(obj, path, value)
    done = copy(obj)
    set_webhook_defaults(done["spec"], cluster=cluster, release=release)
    causes = admit_object(obj, completed=done, cluster=cluster, release=release)
    return [(dotted(cause.path), cause.upstream_path) for cause in causes]


REPLICAS = {"selector": {"matchLabels": {"app": "x"}}, "template": {"metadata": {"labels": {"app": "x"}}, "spec": VMI_SPEC}}
POOL = {
    "selector": {"matchLabels": {"app": "x"}},
    "virtualMachineTemplate": {"metadata": {"labels": {"app": "x"}}, "spec": PLAIN["spec"]},
}

DEVICES = ("spec", "domain", "devices")
FEATURES = ("spec", "domain", "features")


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, []),
        ({("spec", "architecture"): "riscv64"}, [("spec.architecture", "")]),
        ({(*DEVICES, "watchdog"): {"diag288": {}}}, [("spec.domain.devices.watchdog", "")]),
        ({(*DEVICES, "video"): {"type": "x"}}, [("spec.domain.devices.video.type", "")]),
        (
            {("metadata", "labels"): {"kubevirt.io/nodeName": "x"}},
            [('metadata.labels["kubevirt.io/nodeName"]', "metadata.labels")],
        ),
        (
            {FEATURES: {"hyperv": {"synic": {"enabled": True}, "vpindex": {"enabled": False}}}},
            [("spec.domain.features.hyperv.synic", "spec.domain.features.hyperv.domain.features.hyperv.synic")],
        ),
        ({FEATURES: {"hyperv": {}, "hypervPassthrough": {}}}, [("spec.domain.features.hyperv", "")]),
        (
            {("spec", "architecture"): "arm64", (*DEVICES, "sound"): {"name": "x"}},
            [("spec.domain.devices.sound", "")],
        ),
        (
            {
                ("spec", "architecture"): "arm64",
                ("spec", "domain", "cpu", "model"): "host-model",
                ("spec", "domain", "firmware"): {"bootloader": {"bios": {}}},
                (*DEVICES, "disks"): [{"name": "root", "disk": {"bus": "sata"}}],
                (*DEVICES, "watchdog"): {"i6300esb": {}},
            },
            [
                ("spec.domain.devices.watchdog", ""),
                ("spec.domain.firmware.bootloader.bios", ""),
                ("spec.domain.cpu.model", ""),
                ("spec.domain.devices.disks[0].disk.bus", ""),
            ],
        ),
        (
            {FEATURES: {"hyperv": {"evmcs": {"enabled": True}, "vapic": {"enabled": False}}}},
            [
                ("spec.domain.features.hyperv.evmcs", "spec.domain.features.hyperv.domain.features.hyperv.evmcs"),
                ("spec.domain.cpu.features", ""),
            ],
        ),
        ({("spec", "volumes"): [*VMI_SPEC["volumes"], {"name": "m", "memoryDump": {"claimName": "x"}}]}, []),
        (
            {
                ("spec", "volumes"): [*VMI_SPEC["volumes"], {"name": "p", "containerPath": {"path": "/var/run/libvirt/x"}}],
                (*DEVICES, "filesystems"): [{"name": "p", "virtiofs": {}}],
            },
            [("spec.volumes[1].containerPath.path", "spec.domain.volumes[1].containerPath.path")],
        ),
        (
            {
                ("spec", "volumes"): [*VMI_SPEC["volumes"], {"name": "p", "containerPath": {"path": "/x"}}],
                (*DEVICES, "disks"): [{"name": "root"}, {"name": "p"}],
            },
            [("spec.volumes[1]", "spec.domain.volumes[1]")],
        ),
    ],
)
def test_an_instance_is_judged_with_its_defaults(changes, expected):
    assert _instance(changes) == expected


EFI = {("spec", "architecture"): "arm64", ("spec", "domain", "firmware"): {"bootloader": {"efi": {"secureBoot": True}}}}
SMM = {(*FEATURES, "smm"): {"enabled": True}}
OPEN = {"developerConfiguration": {"featureGates": ["MultiArchitecture", "VideoConfig"]}}


@pytest.mark.parametrize(
    ("changes", "since", "before", "after"),
    [
        ({("spec", "architecture"): "riscv64"}, "1.5", [], [("spec.architecture", "")]),
        ({(*DEVICES, "watchdog"): {"diag288": {}}}, "1.5", [], [("spec.domain.devices.watchdog", "")]),
        (
            {("spec", "architecture"): "arm64", (*DEVICES, "watchdog"): {"i6300esb": {}}},
            "1.5",
            *[[("spec.domain.devices.watchdog", "")]] * 2,
        ),
        ({("spec", "architecture"): "ppc64le"}, "1.6", [("spec.architecture", "")], []),
        ({("spec", "architecture"): "ppc64le"}, "1.7", [], [("spec.architecture", "")]),
        (
            {("spec", "architecture"): "ppc64le", (*DEVICES, "video"): {"type": "ramfb"}},
            "1.7",
            [("spec.domain.devices.video.type", "")],
            [("spec.architecture", "")],
        ),
        (
            {("spec", "architecture"): "arm64", ("spec", "domain", "cpu", "model"): "cortex-a57"},
            "1.6",
            [],
            [("spec.domain.cpu.model", "")],
        ),
        (
            {**EFI, **SMM},
            "1.8",
            [
                (
                    "spec.domain.firmware.bootloader.efi.secureBoot",
                    "spec.domain.firmware.bootloader.efi.secureboot",
                )
            ],
            [],
        ),
    ],
)
def test_an_instance_is_judged_by_what_its_release_knows_of_architectures(changes, since, before, after):
    """upstream: ValidateVirtualMachineInstancePerArch, and pkg/virt-api/webhooks/{amd64,arm64,s390x,ppc64le}.go"""
    former = f"1.{int(since.partition('.')[2]) - 1}"
    for release, expected in ((former, before), (since, after)):
        assert _instance(changes, configuration=OPEN, release=releases.parse(release)) == expected


def _replicas(binding: str) -> dict[str, Any]:
    spec = copy(REPLICAS)
    put(spec, ("template", "spec", "domain", "devices", "interfaces"), [{"name": "default", "bridge": {}, binding: {}}])
    return spec


NIC = "spec.template.spec.domain.devices.interfaces[0]"


@pytest.mark.parametrize("release", ["1.8", "1.9"])
@pytest.mark.parametrize(("binding", "gate"), [("passt", "Passt"), ("macvtap", "Macvtap")])
def test_replicas_may_have_bindings_that_are_gone_unless_their_gate_is_listed(binding, gate, release):
    """upstream: ValidateFeatureGates, where validateDiscontinuedBindings looks at VMs and instances only"""
    pool = copy(POOL)
    interfaces = get(_replicas(binding), ("template", "spec", "domain", "devices", "interfaces"))
    put(pool, ("virtualMachineTemplate", "spec", "template", "spec", "domain", "devices", "interfaces"), interfaces)
    path = f"domain.devices.interfaces[0].{binding}"
    for kind, spec, base in (
        ("VirtualMachineInstanceReplicaSet", _replicas(binding), "spec.template.spec."),
        ("VirtualMachinePool", pool, "spec.virtualMachineTemplate.spec.template.spec."),
    ):
        listed = {"developerConfiguration": {"featureGates": [gate]}}
        assert _paths(kind, spec, release=releases.parse(release)) == []
        assert _paths(kind, spec, configuration=listed, release=releases.parse(release)) == [(base + path, "")]


def test_replicas_by_slirp_need_the_clusters_permission_until_1_6():
    """upstream: pkg/network/admitter/slirp.go:validateSlirpBinding"""
    former, spec = releases.parse("1.5"), _replicas("slirp")
    permitting = {"network": {"permitSlirpInterface": True}}
    assert _paths("VirtualMachineInstanceReplicaSet", spec, release=former) == [(NIC + ".slirp", NIC + ".name")]
    assert _paths("VirtualMachineInstanceReplicaSet", spec, configuration=permitting, release=former) == []
    assert _paths("VirtualMachineInstanceReplicaSet", spec, release=releases.parse("1.6")) == []


def test_an_instance_without_its_defaults_is_judged_as_it_stands():
    spec = {"domain": {"devices": {}, "features": {"hyperv": {"evmcs": {}}}}, "volumes": [{"name": "a", "emptyDisk": {}}]}
    assert set(_paths("VirtualMachineInstance", spec)) == {
        ("spec.architecture", ""),
        ("spec.domain.cpu.features", ""),
        ("spec.domain.memory.guest", ""),
        ("spec.volumes[0].name", "spec.domain.volumes[0].name"),
    }
    spec["domain"]["cpu"] = {"features": [{"name": "vmx", "policy": "disable"}]}
    assert ("spec.domain.cpu.features[0].policy", "") in _paths("VirtualMachineInstance", spec)


@pytest.mark.parametrize("spec", [{}, {"domain": None}, {"networks": [{"name": "a", "pod": {}}], "architecture": "arm64"}])
def test_for_an_instance_without_a_domain_only_that_is_reported(spec):
    (found,) = process(resource_list(_object("VirtualMachineInstance", spec), mode="validate", failOn="never"))["results"]
    assert (found["tags"]["rule"], found["field"]["path"]) == ("missing-field", "spec.domain")


SELECTED = "spec.selector.matchLabels.app"


@pytest.mark.parametrize(
    ("kind", "spec", "expected"),
    [
        ("VirtualMachineInstanceReplicaSet", REPLICAS, []),
        ("VirtualMachineInstanceReplicaSet", {"selector": {}}, [("spec.template", "")]),
        (
            "VirtualMachineInstanceReplicaSet",
            {**REPLICAS, "selector": {"matchLabels": {"app": "y"}}},
            [(SELECTED, "spec.selector")],
        ),
        (
            "VirtualMachineInstanceReplicaSet",
            {**REPLICAS, "selector": {"matchExpressions": [{"key": "app", "operator": "Is"}]}},
            [("spec.selector.matchExpressions[0].operator", "spec.selector")],
        ),
        ("VirtualMachinePool", POOL, []),
        ("VirtualMachinePool", {**POOL, "maxUnavailable": "101%"}, [("spec.maxUnavailable", "")]),
        ("VirtualMachinePool", {**POOL, "maxUnavailable": "50%"}, []),
        ("VirtualMachinePool", {**POOL, "maxUnavailable": 0}, [("spec.maxUnavailable", "")]),
        ("VirtualMachinePool", {**POOL, "updateStrategy": {"unmanaged": {}, "proactive": {}}}, [("spec.updateStrategy", "")]),
        (
            "VirtualMachinePool",
            {**POOL, "virtualMachineTemplate": {**POOL["virtualMachineTemplate"], "spec": {**PLAIN["spec"], "running": True}}},
            [("spec.virtualMachineTemplate.spec.running", "")],
        ),
        ("VirtualMachinePool", {"selector": {}}, [("spec.virtualMachineTemplate", "spec.template")]),
        (
            "VirtualMachinePool",
            {"selector": {}, "virtualMachineTemplate": {}},
            [("spec.virtualMachineTemplate.spec.template", "")],
        ),
        ("VirtualMachinePool", {**POOL, "selector": None}, [("spec.selector", "")]),
        ("VirtualMachinePool", {**POOL, "maxUnavailable": "x%"}, [("spec.maxUnavailable", "")]),
        *(
            (
                "VirtualMachineInstanceReplicaSet",
                {**REPLICAS, "selector": {"matchExpressions": [{"key": key, "operator": operator, "values": values}]}},
                []
                if takes
                else [("spec.selector.matchExpressions[0]." + ("values" if values else "operator"), "spec.selector")],
            )
            for key, operator, values, takes in (
                ("app", "In", ["x"], True),
                ("app", "In", ["y"], False),
                ("app", "NotIn", ["y"], True),
                ("app", "Exists", [], True),
                ("tier", "Exists", [], False),
                ("tier", "DoesNotExist", [], True),
            )
        ),
        ("VirtualMachineInstancePreset", {"selector": {}}, [("spec.domain", "")]),
        (
            "VirtualMachineInstancePreset",
            {"domain": {"devices": {"disks": [{"name": "a", "io": "x"}]}}},
            [("spec.domain.devices.disks[0].io", "spec.domain.devices.disks.domain.devices.disks[0].io")],
        ),
        ("VirtualMachineInstancetype", {"memory": {"overcommitPercent": 101}}, [("spec.memory.overcommitPercent", "")]),
        ("VirtualMachineClusterInstancetype", {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}, []),
        ("VirtualMachinePreference", {"cpu": {"preferredCPUTopology": ""}}, [("spec.cpu.preferredCPUTopology", "")]),
        (
            "VirtualMachinePreference",
            {"cpu": {"preferredCPUTopology": "preferSpread", "spreadOptions": {"across": "Sockets"}}},
            [("spec.cpu.spreadOptions.across", "")],
        ),
        (
            "VirtualMachinePreference",
            {"cpu": {"preferredCPUTopology": "cores", "spreadOptions": {"across": "Sockets"}}},
            [],
        ),
        (
            "VirtualMachineClusterPreference",
            {"cpu": {"preferredCPUTopology": "spread", "spreadOptions": {"across": "CoresThreads", "ratio": 3}}},
            [("spec.cpu.spreadOptions.ratio", "")],
        ),
    ],
)
def test_each_kind_is_judged_by_its_own_checks(kind, spec, expected):
    assert _paths(kind, spec) == expected


def _with(changes: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The spec of a replica set and that of a pool, with something changed in the instances' spec."""
    spec: dict[str, Any] = copy(VMI_SPEC)
    for words, value in changes.items():
        put(spec, tuple(words.split(".")), value)
    vm = {**PLAIN["spec"], "template": {"metadata": {}, "spec": spec}}
    return {
        "VirtualMachineInstanceReplicaSet": {**REPLICAS, "template": {**REPLICAS["template"], "spec": spec}},
        "VirtualMachinePool": {**POOL, "virtualMachineTemplate": {**POOL["virtualMachineTemplate"], "spec": vm}},
    }


DEVICE = {"name": "a", "deviceName": "b", "claimName": ""}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        # upstream: validateHostDevicesWithPassthroughEnabled and ValidateUtilityVolumesNotPresentOnCreation ask for nil
        ({"domain.devices.hostDevices": []}, "HostDevices"),
        ({"utilityVolumes": []}, "utilityVolumes"),
        # upstream: pkg/dra/admitter/dra_admitter.go:validateNonDRADevices asks for a claim, whatever its name
        ({"domain.devices.gpus": [DEVICE]}, "domain.devices.gpus"),
    ],
)
@pytest.mark.parametrize("kind", ["VirtualMachineInstanceReplicaSet", "VirtualMachinePool"])
def test_what_is_empty_is_there_where_no_webhook_rewrites_the_object(kind, changes, named):
    found = _paths(kind, _with(changes)[kind])
    assert [(upstream or path).rpartition("template.spec.")[2] for path, upstream in found] == [named]


@pytest.mark.parametrize(
    "changes", [{"domain.devices.hostDevices": []}, {"utilityVolumes": []}, {"domain.devices.gpus": [DEVICE]}]
)
def test_what_is_empty_is_gone_where_a_webhook_has_rewritten_the_object(changes):
    assert _instance({("spec", *words.split(".")): value for words, value in changes.items()}) == []


# upstream: pkg/virt-config/configuration.go:updateConfigFromCR, where empty text is a word that a pointer leads to
def test_a_cluster_whose_eviction_strategy_is_empty_refuses_all_that_name_none():
    empty = {"evictionStrategy": ""}
    assert _instance({}, configuration=empty) == [("spec.evictionStrategy", "")]
    assert _instance({("spec", "evictionStrategy"): "None"}, configuration=empty) == []
    assert _paths("VirtualMachineInstanceReplicaSet", REPLICAS, configuration=empty) == [
        ("spec.template.spec.evictionStrategy", "")
    ]
    assert errors_of({}, configuration=empty) == [("evictionStrategy", "")]
    assert errors_of({"evictionStrategy": "None"}, configuration=empty) == []


def test_a_cluster_whose_rollout_strategy_is_empty_does_not_roll_out_live():
    changes = {"domain.memory": {"guest": "1025Mi", "maxGuest": "2Gi"}}
    assert errors_of(changes) == [("domain.memory.maxGuest", "domain.memory.guest")]
    assert errors_of(changes, configuration={"vmRolloutStrategy": ""}) == []


DEVICE_CLAIMS = {"developerConfiguration": {"featureGates": ["HostDevices", "GPUsWithDRA", "HostDevicesWithDRA"]}}


@pytest.mark.parametrize("key", ["gpus", "hostDevices"])
@pytest.mark.parametrize(
    ("device", "release", "expected"),
    [
        # upstream: pkg/dra/admitter/dra_admitter.go: isDRA and validateNonDRADevices ask for a claim, whatever its name
        ({"name": "a", "claimName": ""}, "1.9.0", ["[0].claimName", "[0].requestName"]),
        ({"name": "a", "requestName": ""}, "1.9.0", ["[0].claimName", "[0].requestName"]),
        ({"name": "a", "deviceName": "b", "claimName": ""}, "1.9.0", ["[0]"]),
        ({"name": "a", "deviceName": "b"}, "1.9.0", []),
        ({"name": "a"}, "1.9.0", ["[0]"]),
        ({"name": "a", "claimName": ""}, "1.8.4", ["[0].claimName", "[0].requestName"]),
    ],
)
def test_an_empty_claim_of_an_instancetype_is_one_for_the_vms_that_use_it(key, device, release, expected):
    small = instancetype()
    small["spec"][key] = [device]
    _, results = run(small, vm(instancetype="small"), mode="validate", kubevirtVersion=release, configuration=DEVICE_CLAIMS)
    place = f"spec.template.spec.domain.devices.{key}"
    refused = [result for result in results if result["tags"].get("upstream") == "admission"]
    assert [result["field"]["path"].removeprefix(place) for result in refused] == expected


# upstream: pkg/network/vmispec/defaults.go:SetDefaultNetworkInterface
@pytest.mark.parametrize(
    ("network", "more", "expected"),
    [
        ({"defaultNetworkInterface": "slirp"}, {}, [("spec.networks", "")]),
        ({"defaultNetworkInterface": "bridge", "permitBridgeInterfaceOnPodNetwork": False}, {}, [("spec.networks", "")]),
        ({"defaultNetworkInterface": "bridge", "permitBridgeInterfaceOnPodNetwork": True}, {}, []),
        ({"defaultNetworkInterface": "slirp"}, {(*DEVICES, "autoattachPodInterface"): False}, []),
    ],
)
def test_an_instance_without_network_needs_a_default_that_is_permitted(network, more, expected):
    changes = {("spec", "networks"): [], (*DEVICES, "interfaces"): [], **more}
    assert _instance(changes, configuration={"network": network}) == expected


# upstream: pkg/virt-api/webhooks/validating-webhook/admitters/vmpool-admitter.go:ValidateVMPoolSpec
@pytest.mark.parametrize(
    ("field", "value", "since"),
    [
        ("maxUnavailable", 0, "1.6"),
        ("updateStrategy", {"unmanaged": {}, "proactive": {}}, "1.7"),
        ("scaleInStrategy", {"unmanaged": {}, "proactive": {}}, "1.7"),
    ],
)
def test_a_pool_is_not_refused_for_what_the_release_leaves_out(field, value, since):
    former = f"1.{int(since.partition('.')[2]) - 1}"
    for release, expected in ((former, []), (since, [(f"spec.{field}", "")])):
        assert _paths("VirtualMachinePool", {**POOL, field: value}, release=releases.parse(release)) == expected


# upstream: vmi-create-admitter.go:validateVolumes counts the sources that the release knows
def test_a_source_that_the_release_leaves_out_is_none():
    spec = _with({"volumes": [{"name": "root", "containerPath": {"path": "/a"}}]})["VirtualMachinePool"]
    place = "spec.virtualMachineTemplate.spec.template.spec.volumes[0]"
    assert (place, "") in _paths("VirtualMachinePool", spec, release=releases.parse("1.7"))
    assert (place, "") not in _paths("VirtualMachinePool", spec, release=releases.parse("1.8"))


def test_a_pool_is_admitted_though_its_vms_are_refused():
    """upstream: ValidateVMPoolSpec looks at neither matcher of the VM, and expands nothing."""
    pool = {**_object("VirtualMachinePool", copy(POOL)), "apiVersion": "pool.kubevirt.io/v1beta1"}
    put(pool, ("spec", "virtualMachineTemplate", "spec", "preference"), {})
    _, (result,) = run(pool, mode="validate", kubevirtVersion="1.9.0")
    assert (result["tags"]["rule"], result["severity"]) == ("bad-matcher", "error")
    assert "upstream" not in result["tags"]


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(sorted(GROUPS)),
    st.recursive(
        st.none() | st.integers() | st.text(max_size=2) | st.booleans(),
        lambda below: (
            st.lists(below, max_size=2)
            | st.dictionaries(
                st.sampled_from(["selector", "template", "spec", "domain", "virtualMachineTemplate", "cpu", "metadata"]),
                below,
                max_size=3,
            )
        ),
        max_leaves=8,
    ),
)
def test_no_shape_of_a_spec_throws(kind, spec):
    obj = {**_object(kind, {}), "spec": spec}
    assert isinstance(admit_object(obj, completed=obj, cluster=Cluster(), release=releases.NEWEST), tuple)


STALL, TUNING = (
    {"developerConfiguration": {"featureGates": [gate]}} for gate in ("MigrationStallDetection", "MigrationDowntimeTuning")
)


@pytest.mark.parametrize(
    ("spec", "configuration", "of"),
    [
        ({"completionTimeoutPerGiB": -1}, {}, {"1.4": ["completionTimeoutPerGiB"], "1.10": ["completionTimeoutPerGiB"]}),
        ({"bandwidthPerMigration": "-1Mi"}, {}, {"1.9": ["bandwidthPerMigration"]}),
        ({"completionTimeoutPerGiB": 0, "bandwidthPerMigration": "64Mi", "allowPostCopy": True}, {}, {"1.9": []}),
        ({"maxDowntimeMs": 300}, {}, {"1.8": [], "1.9": ["maxDowntimeMs"], "1.10": ["maxDowntimeMs"]}),
        ({"maxDowntimeMs": 300}, STALL, {"1.9": [], "1.10": []}),
        ({"maxDowntimeMs": 300}, TUNING, {"1.10": []}),
        ({"experimental": {"stallDetector": {}}}, {}, {"1.9": ["experimental.stallDetector"]}),
        ({"experimental": {"downtimeTuning": {}}}, {}, {"1.9": [], "1.10": ["experimental.downtimeTuning"]}),
        (
            {"experimental": {"downtimeTuning": {}, "stallDetector": {}}},
            STALL,
            {"1.10": ["experimental.downtimeTuning", "experimental"]},
        ),
        (
            {"experimental": {"stallDetector": {"ewmaAlpha": "0.5", "precopyPossibleFactor": "1"}}},
            STALL,
            {"1.9": [], "1.10": []},
        ),
        (
            {"experimental": {"stallDetector": {"ewmaAlpha": "500m"}}},
            STALL,
            {"1.9": ["experimental.stallDetector.ewmaAlpha"], "1.10": []},
        ),
        *(
            (
                {"experimental": {"stallDetector": {key: value}}},
                STALL,
                {release: [f"experimental.stallDetector.{key}"] for release in ("1.9", "1.10")},
            )
            for key, value in (
                ("ewmaAlpha", "0"),
                ("ewmaAlpha", "1.001"),
                ("ewmaAlpha", "0.0001"),
                ("precopyPossibleFactor", "0.9"),
                ("patienceWindowDecayFactor", "-0.1"),
                ("completionTimeoutFactor", "x"),
            )
        ),
    ],
)
def test_a_migration_policy_is_refused_where_the_release_refuses_it(spec, configuration, of) -> None:
    for release, paths in of.items():
        found = _paths("MigrationPolicy", spec, configuration=configuration, release=releases.parse(release))
        assert [place.removeprefix("spec.") for place, _ in found] == paths, release
