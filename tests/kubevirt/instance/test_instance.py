"""What the webhook of a release writes into a new instance where the next ones do otherwise."""

from __future__ import annotations

import pytest
from functions import run, vm

from krm_fn.base.paths import put
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.instance.defaults import set_webhook_defaults
from krm_fn.kubevirt.releases import parse


def completed(domain, release, *, architecture="amd64", **configuration):
    spec = {"architecture": architecture, "domain": domain, "networks": [{"name": "n"}]}
    set_webhook_defaults(spec, cluster=Cluster(configuration=configuration), release=parse(release))
    return spec


@pytest.mark.parametrize(
    ("domain", "labels"),
    [
        ({"cpu": {"realtime": {}}}, {"kubevirt.io/realtime": ""}),
        ({"launchSecurity": {"sev": {}}}, {"kubevirt.io/sev": ""}),
        (
            {"launchSecurity": {"sev": {"policy": {"encryptedState": True}}}},
            {"kubevirt.io/sev": "", "kubevirt.io/sev-es": ""},
        ),
        ({"launchSecurity": {"sev": {"policy": {"encryptedState": False}}}}, {"kubevirt.io/sev": ""}),
        ({"launchSecurity": {"snp": {}}}, None),
    ],
)
def test_until_1_4_an_instance_requires_nodes_with_its_features(domain, labels) -> None:
    assert completed(domain, "1.4").get("nodeSelector") == labels
    assert "nodeSelector" not in completed(domain, "1.5")


@pytest.mark.parametrize(
    ("release", "architecture", "kind"),
    [
        ("1.4", "amd64", "i6300esb"),
        ("1.4", "s390x", "i6300esb"),
        ("1.4", "arm64", "i6300esb"),
        ("1.5", "amd64", "i6300esb"),
        ("1.5", "s390x", "diag288"),
        ("1.5", "arm64", None),
    ],
)
def test_a_watchdog_resets_by_default(release, architecture, kind) -> None:
    spec = completed({"devices": {"watchdog": {"name": "wd"}}}, release, architecture=architecture)
    made = {kind: {"action": "reset"}} if kind else {}
    assert spec["domain"]["devices"]["watchdog"] == {"name": "wd", **made}


@pytest.mark.parametrize(
    ("release", "gates", "architecture", "most"),
    [
        ("1.4", [], "amd64", None),
        ("1.4", ["VMLiveUpdateFeatures"], "amd64", 4),
        ("1.4", ["VMLiveUpdateFeatures"], "arm64", 4),
        ("1.5", [], "amd64", 4),
        ("1.5", [], "arm64", None),
    ],
)
def test_until_1_4_live_updates_need_a_gate_and_reach_every_architecture(release, gates, architecture, most) -> None:
    configuration = {"vmRolloutStrategy": "LiveUpdate", "developerConfiguration": {"featureGates": gates}}
    assert completed({}, release, architecture=architecture, **configuration)["domain"]["cpu"].get("maxSockets") == most


def test_memory_to_grow_into_is_calculated_in_64_bits() -> None:
    memory = completed({"memory": {"guest": "4Ei"}}, "1.9")["domain"]["memory"]
    assert memory == {"guest": "4Ei"}


PARITY = "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity"


def kubevirt(annotations, *gates):
    return {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt", "namespace": "kubevirt", "annotations": annotations},
        "spec": {"configuration": {"developerConfiguration": {"featureGates": list(gates)}}},
    }


# upstream: pkg/virt-api/webhooks/mutating-webhook/mutators/vmi-mutator.go:ApplyNewVMIMutations
@pytest.mark.parametrize("release", ["1.4.1", "1.9.0"])
@pytest.mark.parametrize(
    ("cluster", "isolated", "own", "copied"),
    [
        (kubevirt({PARITY: ""}, "AlignCPUs"), True, {}, ""),
        (kubevirt({PARITY: "any"}, "AlignCPUs"), True, {}, ""),
        (kubevirt({PARITY: ""}, "AlignCPUs"), True, {PARITY: "own"}, ""),
        (kubevirt({PARITY: ""}, "AlignCPUs"), False, {}, None),
        (kubevirt({PARITY: ""}), True, {}, None),
        (kubevirt({}, "AlignCPUs"), True, {}, None),
    ],
)
def test_an_isolated_emulator_thread_is_completed_to_even_parity_where_the_cluster_says_so(
    cluster, isolated, own, copied, release
) -> None:
    machine = vm()
    put(machine, ("spec", "template", "metadata", "annotations"), own)
    put(
        machine,
        ("spec", "template", "spec", "domain", "cpu"),
        {"dedicatedCpuPlacement": True, "isolateEmulatorThread": isolated},
    )
    items, _ = run(cluster, machine, instances="include", kubevirtVersion=release)
    (instance,) = [item for item in items if item["kind"] == "VirtualMachineInstance"]
    assert instance["metadata"]["annotations"].get(PARITY) == copied
