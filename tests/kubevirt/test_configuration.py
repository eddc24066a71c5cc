"""What is known of the cluster: by the KubeVirt object, the HyperConverged object or the config; and what follows from it."""

from __future__ import annotations

from typing import Any

import pytest

import krm_fn
from krm_fn.kubevirt.admission.gates import state
from krm_fn.kubevirt.hyperconverged import SWITCHES, configuration_of, kubevirt_annotations
from krm_fn.kubevirt.releases import parse

PREFERENCE = {
    "apiVersion": "instancetype.kubevirt.io/v1beta1",
    "kind": "VirtualMachinePreference",
    "metadata": {"name": "plain"},
    "spec": {"preferredSubdomain": "x"},
}


def vm(**domain: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachine",
        "metadata": {"name": "web"},
        "spec": {
            "runStrategy": "Always",
            "preference": {"kind": "VirtualMachinePreference", "name": "plain"},
            "template": {"spec": {"domain": {"memory": {"guest": "1Gi"}, "devices": {}, **domain}}},
        },
    }


def kubevirt(status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    about = {"name": "kubevirt", "namespace": "kubevirt"}
    return {"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": about, "spec": spec, "status": status or {}}


def hyperconverged(version: str = "v1beta1", annotations: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    about = {"name": "hco", "namespace": "kubevirt", "annotations": annotations or {}}
    return {"apiVersion": f"hco.kubevirt.io/{version}", "kind": "HyperConverged", "metadata": about, "spec": spec}


def run(*items: dict[str, Any], **spec: Any) -> tuple[list[Any], list[Any]]:
    config = {"apiVersion": "kubevirt-render.dev/v1alpha1", "kind": "RenderVirtualMachines", "spec": spec}
    out = krm_fn.process({"items": list(items), "functionConfig": config})
    return out["items"], out["results"]


def rendered(*others: dict[str, Any], domain: dict[str, Any] | None = None, **spec: Any) -> Any:
    (left, *_), _ = run(vm(**(domain or {})), PREFERENCE, *others, **spec)
    return left["spec"]["template"]["spec"]


@pytest.mark.parametrize("release", ["1.4", "1.5", "1.6", "1.9"])
def test_what_a_setting_decides_is_left_to_a_cluster_that_nobody_describes(release: str) -> None:
    assert rendered(kubevirtVersion=release) == {
        "domain": {"memory": {"guest": "1Gi"}, "devices": {"interfaces": [{"name": "default", "bridge": {}}]}},
        "networks": [{"name": "default", "pod": {}}],
        "subdomain": "x",
    }


@pytest.mark.parametrize(
    ("others", "spec"),
    [
        ([], {"configuration": {}}),
        ([], {"defaults": "cluster"}),
        ([kubevirt()], {}),
        ([kubevirt(configuration={})], {"configuration": None}),
    ],
)
def test_a_described_cluster_has_its_defaults_written(others: Any, spec: Any) -> None:
    made = rendered(*others, **spec)
    assert (made["architecture"], made["evictionStrategy"], made["domain"]["machine"], made["domain"]["cpu"]) == (
        "amd64",
        "None",
        {"type": "q35"},
        {"sockets": 1, "cores": 1, "threads": 1},
    )


def test_without_defaults_a_described_cluster_changes_nothing() -> None:
    assert rendered(kubevirt(), defaults="none") == rendered(defaults="none")


def test_a_topology_that_the_vm_requests_is_written_for_every_cluster() -> None:
    made = rendered(domain={"resources": {"limits": {"cpu": "3"}}})
    assert made["domain"]["cpu"] == {"sockets": 3, "cores": 1, "threads": 1}
    assert made["domain"]["resources"] == {"limits": {"cpu": "3"}, "requests": {"cpu": "3"}}


def test_folded_presets_are_followed_by_the_same_defaults() -> None:
    preset = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "VirtualMachineInstancePreset",
        "metadata": {"name": "four"},
        "spec": {"selector": {}, "domain": {"ioThreadsPolicy": "auto"}},
    }
    made = rendered(preset, presets="fold")
    assert made["domain"]["ioThreadsPolicy"] == "auto"
    assert not {"architecture", "evictionStrategy"} & set(made)


def rules(results: list[Any]) -> list[tuple[str, str]]:
    return [(each["severity"], each["tags"]["rule"]) for each in results]


def judged(*others: dict[str, Any], devices: dict[str, Any], **spec: Any) -> list[Any]:
    return run(vm(devices=devices), PREFERENCE, *others, mode="validate", **spec)[1]


METERED = {"downwardMetrics": {}}


def test_a_gate_is_a_warning_where_nobody_describes_the_cluster() -> None:
    assert rules(judged(devices=METERED)) == [("warning", "unknown-configuration")]


@pytest.mark.parametrize(
    ("others", "spec"),
    [([], {"configuration": {}}), ([], {"defaults": "cluster"}), ([kubevirt()], {}), ([hyperconverged()], {})],
)
def test_a_gate_is_an_error_where_somebody_describes_a_cluster_without_it(others: Any, spec: Any) -> None:
    assert rules(judged(*others, devices=METERED, **spec)) == [("error", "refused-device")]


def test_what_is_refused_with_the_gate_open_too_is_an_error_where_nobody_describes_the_cluster() -> None:
    devices = {"gpus": [{"name": "a", "claimName": "lost", "requestName": "r"}]}
    found = judged(devices=devices, kubevirtVersion="1.8")
    assert rules(found) == [("error", "refused-object"), ("warning", "unknown-configuration")]
    assert "GPUsWithDRA" in found[1]["message"]


def test_a_gate_that_the_release_does_not_know_opens_nothing() -> None:
    devices = {"interfaces": [{"name": "default", "macvtap": {}}]}
    found = judged(devices=devices, kubevirtVersion="1.6")
    assert "unknown-configuration" not in {rule for _, rule in rules(found)}
    assert any(severity == "error" for severity, _ in rules(found))


@pytest.mark.parametrize(
    ("spec", "status", "release"),
    [
        ({"imageTag": "v1.6.3"}, {}, "1.6.3"),
        ({"imageTag": "v1.6.3"}, {"observedKubeVirtVersion": "v1.7.0"}, "1.6.3"),
        ({"imageTag": "devel"}, {"observedKubeVirtVersion": "v1.7.0"}, "1.7.0"),
        ({}, {"targetKubeVirtVersion": "v1.8.1-rc.1", "operatorVersion": "v1.9.0"}, "1.8.1"),
        ({}, {"operatorVersion": "v1.5.99"}, "1.5.3"),
        ({"imageTag": "v0.58.0"}, {}, "1.9.0"),
        ({}, {}, "1.9.0"),
    ],
)
def test_the_kubevirt_object_decides_the_release(spec: Any, status: Any, release: str) -> None:
    left, _ = run(vm(), PREFERENCE, kubevirt(status, **spec), provenance=True)
    notes = left[0]["metadata"]["annotations"]
    assert notes["kubevirt-render.dev/kubevirt-version"] == release


def test_the_config_overrides_the_object_and_a_finding_reports_it() -> None:
    left, found = run(vm(), PREFERENCE, kubevirt(imageTag="v1.6.3"), provenance=True, kubevirtVersion="1.8.4")
    assert left[0]["metadata"]["annotations"]["kubevirt-render.dev/kubevirt-version"] == "1.8.4"
    (told,) = found
    fact = "the object names the release 'v1.6.3', but the config names KubeVirt 1.8.4, which is used"
    assert told["message"] == f"{fact}; correct kubevirtVersion or remove it"
    assert (told["severity"], told["field"]["path"]) == ("warning", "spec.imageTag")


@pytest.mark.parametrize(("version", "told"), [("1.6", False), ("1.6.3", False), ("1.6.4", True), ("1.5", True)])
def test_a_minor_release_stands_for_its_patch_releases(version: str, told: bool) -> None:
    assert bool(run(kubevirt(imageTag="v1.6.3"), kubevirtVersion=version)[1]) is told


def made(release: str, obj: dict[str, Any]) -> Any:
    return configuration_of(obj, parse(release))


def test_the_operator_of_a_hyperconverged_object_sets_defaults_of_its_own() -> None:
    configuration = made("1.8", hyperconverged())
    assert configuration["evictionStrategy"] == "LiveMigrate"
    assert configuration["network"] == {"defaultNetworkInterface": "masquerade"}
    assert configuration["vmRolloutStrategy"] == "LiveUpdate"
    assert made("1.8", {**hyperconverged(), "status": {"infrastructureHighlyAvailable": False}})["evictionStrategy"] == "None"


@pytest.mark.parametrize(
    ("release", "gates"),
    [
        (
            "1.5",
            (
                "CPUManager ExpandDisks HostDevices HotplugVolumes HypervStrictCheck InstancetypeReferencePolicy "
                "KubevirtSeccompProfile Snapshot VMExport VMPersistentState WithHostModelCPU"
            ),
        ),
        (
            "1.8",
            (
                "CPUManager DecentralizedLiveMigration ExpandDisks HostDevices HotplugVolumes HypervStrictCheck "
                "KubevirtSeccompProfile LiveUpdateNADRef Snapshot VMExport VideoConfig WithHostModelCPU"
            ),
        ),
        (
            "1.9",
            (
                "CPUManager DecentralizedLiveMigration DeclarativeHotplugVolumes HostDevices HypervStrictCheck "
                "KubevirtSeccompProfile Snapshot Template"
            ),
        ),
    ],
)
def test_the_operator_opens_gates_by_itself(release: str, gates: str) -> None:
    assert made(release, hyperconverged())["developerConfiguration"]["featureGates"] == gates.split()


def test_beta_gates_that_the_operator_does_not_open_are_shut_from_1_9_on() -> None:
    assert "RebootPolicy" in made("1.9", hyperconverged())["developerConfiguration"]["disabledFeatureGates"]
    assert "disabledFeatureGates" not in made("1.8", hyperconverged())["developerConfiguration"]


@pytest.mark.parametrize(
    "obj",
    [
        hyperconverged(featureGates={"downwardMetrics": True, "decentralizedLiveMigration": False}),
        hyperconverged(
            "v1", featureGates=[{"name": "DownwardMetrics"}, {"name": "decentralizedLiveMigration", "state": "Disabled"}]
        ),
    ],
)
def test_switches_open_and_shut_gates_in_both_versions_of_the_api(obj: Any) -> None:
    gates = made("1.9", obj)["developerConfiguration"]["featureGates"]
    assert "DownwardMetrics" in gates
    assert "DecentralizedLiveMigration" not in gates


# Gates that the operator opens although the release of KubeVirt does not know them.
UNKNOWN_GATES = {
    "1.4": {"WithHostModelCPU"},
    "1.5": {"WithHostModelCPU"},
    "1.6": {"WithHostModelCPU"},
    "1.7": {"ObjectGraph", "WithHostModelCPU"},
    "1.8": {"ObjectGraph", "WithHostModelCPU"},
    "1.9": set(),
}


@pytest.mark.parametrize("release", UNKNOWN_GATES)
def test_switches_open_gates_only_in_releases_that_know_them(release: str) -> None:
    switches = dict.fromkeys((row.switch for row in SWITCHES), True)
    opened = made(release, hyperconverged(featureGates=switches))["developerConfiguration"]["featureGates"]
    assert {gate for gate in opened if not state(gate, parse(release))} == UNKNOWN_GATES[release]


DEVICE = {"pciDeviceSelector": "10DE:1EB8", "resourceName": "nvidia.com/T4"}


@pytest.mark.parametrize(
    ("old", "new", "setting"),
    [
        (
            {"evictionStrategy": "External"},
            {"virtualization": {"evictionStrategy": "External"}},
            {"evictionStrategy": "External"},
        ),
        (
            {"defaultCPUModel": "Haswell"},
            {"virtualization": {"virtualMachineOptions": {"defaultCPUModel": "Haswell"}}},
            {"cpuModel": "Haswell"},
        ),
        ({"vmStateStorageClass": "nfs"}, {"storage": {"vmStateStorageClass": "nfs"}}, {"vmStateStorageClass": "nfs"}),
        (
            {"CommonInstancetypesDeployment": {"enabled": False}},
            {"workloadSources": {"commonInstancetypesDeployment": {"enabled": False}}},
            {"commonInstancetypesDeployment": {"enabled": False}},
        ),
        (
            {"permittedHostDevices": {"pciHostDevices": [DEVICE, {**DEVICE, "disabled": True}]}},
            {"virtualization": {"permittedHostDevices": {"pciHostDevices": [DEVICE, {**DEVICE, "disabled": True}]}}},
            {"permittedHostDevices": {"pciHostDevices": [{"pciVendorSelector": "10DE:1EB8", "resourceName": "nvidia.com/T4"}]}},
        ),
    ],
)
def test_settings_go_where_kubevirt_has_them(old: Any, new: Any, setting: Any) -> None:
    for obj in (hyperconverged(**old), hyperconverged("v1", **new)):
        configuration = made("1.9", obj)
        assert {key: configuration[key] for key in setting} == setting


def test_aligned_cpus_are_an_annotation_of_the_kubevirt_object_too() -> None:
    assert kubevirt_annotations(hyperconverged(featureGates={"alignCPUs": True})) == {
        "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity": ""
    }
    assert kubevirt_annotations(hyperconverged()) == {}


def test_the_patch_of_the_annotation_is_applied() -> None:
    patch = """[
      {"op": "add", "path": "/spec/configuration/developerConfiguration/featureGates/-", "value": "HostDisk"},
      {"op": "replace", "path": "/spec/configuration/evictionStrategy", "value": "None"},
      {"op": "remove", "path": "/spec/configuration/network"}
    ]"""
    configuration = made("1.9", hyperconverged(annotations={"kubevirt.kubevirt.io/jsonpatch": patch}))
    assert configuration["developerConfiguration"]["featureGates"][-1] == "HostDisk"
    assert configuration["evictionStrategy"] == "None"
    assert "network" not in configuration


@pytest.mark.parametrize(
    "patch",
    ["", "{", "3", "[3]", '[{"op": "add", "path": "/a/b/c", "value": 1}]', '[{"op": "move"}]', '[{"op":"remove","path":""}]'],
)
def test_a_patch_that_cannot_be_applied_changes_nothing(patch: str) -> None:
    assert made("1.9", hyperconverged(annotations={"kubevirt.kubevirt.io/jsonpatch": patch})) == made("1.9", hyperconverged())


@pytest.mark.parametrize("spec", [None, 3, [], {"featureGates": 3, "permittedHostDevices": 3, "virtualization": []}])
def test_a_hyperconverged_object_of_any_shape_is_read(spec: Any) -> None:
    assert made("1.9", {**hyperconverged(), "spec": spec})["evictionStrategy"] == "LiveMigrate"


def test_beside_a_hyperconverged_object_the_kubevirt_object_counts() -> None:
    assert rendered(hyperconverged())["evictionStrategy"] == "LiveMigrate"
    assert rendered(hyperconverged(), kubevirt())["evictionStrategy"] == "None"
    assert rendered(hyperconverged(), configuration={"evictionStrategy": "External"})["evictionStrategy"] == "External"
