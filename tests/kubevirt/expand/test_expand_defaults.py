"""What KubeVirt fills into an instance's spec, by cluster and release."""

from __future__ import annotations

import pytest

from krm_fn.base.bundle import Bundle
from krm_fn.kubevirt import expand
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.releases import NEWEST, parse
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline.analysis import cluster_of

BARE = {"architecture": "amd64", "evictionStrategy": "None", "networks": [{"name": "n"}]}


def cluster(**configuration):
    return Cluster(configuration=configuration)


def defaulted(spec, *, release="1.9", **configuration):
    assert expand.set_instance_defaults(spec, cluster(**configuration), parse(release)) == ""
    return spec


def domain(given, **more):
    return defaulted({"domain": given, "networks": [{"name": "n"}]}, **more)["domain"]


def test_every_volume_without_a_disk_or_filesystem_gets_a_disk() -> None:
    spec = {
        "domain": {"devices": {"disks": [{"name": "a"}], "filesystems": [{"name": "b"}]}},
        "volumes": [{"name": "c"}, {"name": "b"}, {"name": "a"}, {"name": "d"}],
    }
    expand.set_default_disks(spec)
    assert spec["domain"]["devices"]["disks"] == [{"name": "a"}, {"name": "c"}, {"name": "d"}]


@pytest.mark.parametrize(
    "spec",
    [
        {"networks": [{"name": "n"}]},
        {"domain": {"devices": {"interfaces": [{"name": "n"}]}}},
        {"domain": {"devices": {"autoattachPodInterface": False}}},
    ],
)
def test_a_vm_that_says_something_about_networks_gets_none(spec) -> None:
    before = repr(spec)
    assert expand.set_default_network(spec, cluster(network={"defaultNetworkInterface": "slirp"}), NEWEST) == ""
    assert repr(spec) == before


def test_the_cluster_chooses_the_default_binding() -> None:
    spec = {"networks": [], "domain": {"devices": {"autoattachPodInterface": True}}}
    assert expand.set_default_network(spec, cluster(network={"defaultNetworkInterface": "masquerade"}), NEWEST) == ""
    assert spec["domain"]["devices"]["interfaces"] == [{"name": "default", "masquerade": {}}]


def test_a_bare_spec_gets_one_cpu_and_an_empty_memory_block() -> None:
    assert defaulted({**BARE}) == {
        **BARE,
        "domain": {
            "cpu": {"sockets": 1, "cores": 1, "threads": 1},
            "memory": {},
            "machine": {"type": "q35"},
            "devices": {},
            "resources": {},
        },
    }


@pytest.mark.parametrize(
    ("resources", "sockets"),
    [
        ({"limits": {"cpu": "3"}, "requests": {"cpu": "1"}}, 3),
        ({"requests": {"cpu": "1500m"}}, 2),
        ({"requests": {"cpu": 2}}, 2),
        ({"requests": {"cpu": "many"}}, 1),
    ],
)
def test_sockets_come_from_the_cpu_limit_or_request(resources, sockets) -> None:
    assert domain({"resources": resources})["cpu"]["sockets"] == sockets


def test_a_stated_topology_stays() -> None:
    assert domain({"cpu": {"threads": 2}, "resources": {"limits": {"cpu": "8"}}})["cpu"] == {"threads": 2}


@pytest.mark.parametrize(
    ("given", "guest"),
    [
        ({"resources": {"requests": {"memory": "1024Mi"}, "limits": {"memory": "2Gi"}}}, "1Gi"),
        ({"resources": {"requests": {"memory": "0"}, "limits": {"memory": "2Gi"}}}, "2Gi"),
        ({"memory": {"hugepages": {"pageSize": "2Mi"}}}, "2Mi"),
        ({"memory": {"hugepages": {"pageSize": "-"}}}, "0"),
        ({"memory": {"hugepages": {"pageSize": "Mi"}}}, "0"),
        ({"memory": {"guest": "512Mi"}, "resources": {"requests": {"memory": "1Gi"}}}, "512Mi"),
    ],
)
def test_guest_memory_comes_from_request_limit_or_page(given, guest) -> None:
    assert domain(given)["memory"]["guest"] == guest


def test_a_cpu_limit_is_requested_too() -> None:
    given = {"resources": {"limits": {"cpu": "2", "memory": "1Gi"}}}
    assert domain(given)["resources"]["requests"] == {"cpu": "2"}


def test_before_1_6_guest_memory_is_requested_less_the_overcommit() -> None:
    given = {"memory": {"guest": "1Gi"}, "resources": {}}
    assert domain({**given, "resources": {}}, release="1.6")["resources"] == {}
    assert domain({**given, "resources": {}}, release="1.5")["resources"] == {"requests": {"memory": "1Gi"}}
    overcommit = {"memoryOvercommit": 150}
    made = domain({**given, "resources": {}}, release="1.4", developerConfiguration=overcommit)
    assert made["resources"] == {"requests": {"memory": "715827882"}}


def test_before_1_6_a_memory_limit_or_a_page_is_requested() -> None:
    limit = {"resources": {"limits": {"memory": "1Gi"}}}
    assert domain(limit, release="1.5")["resources"]["requests"] == {"memory": "1Gi"}
    page = {"memory": {"hugepages": {"pageSize": "1Gi"}}, "resources": {}}
    assert domain(page, release="1.5")["resources"]["requests"] == {"memory": "1Gi"}


def test_the_clusters_cpu_request_is_for_vms_that_request_none_and_share_cpus() -> None:
    assert domain({}, cpuRequest="250m")["resources"] == {"requests": {"cpu": "250m"}}
    assert domain({"resources": {}}, cpuRequest="0.1")["resources"] == {}
    own = {"resources": {"requests": {"cpu": "1"}}}
    assert domain(own, cpuRequest="250m")["resources"] == {"requests": {"cpu": "1"}}
    assert domain({"cpu": {"dedicatedCpuPlacement": True}, "resources": {}}, cpuRequest="250m")["resources"] == {}


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("fedora", "Always"),
        ("fedora:latest", "Always"),
        ("fedora:42", "IfNotPresent"),
        ("fedora@sha256:0", "IfNotPresent"),
        ("localhost:5000/fedora", "IfNotPresent"),
        (None, "Always"),
    ],
)
def test_the_pull_policy_goes_by_the_tag(image, policy) -> None:
    volumes = [{"name": "a", "containerDisk": {"image": image}}, {"name": "b", "containerDisk": {"imagePullPolicy": "Never"}}]
    made = defaulted({**BARE, "volumes": volumes})["volumes"]
    assert [volume["containerDisk"]["imagePullPolicy"] for volume in made] == [policy, "Never"]


@pytest.mark.parametrize(
    ("architecture", "release", "machine"),
    [
        ("", "1.9", "pc-q35"),
        ("amd64", "1.9", "pc-q35"),
        ("riscv64", "1.9", "pc-q35"),
        ("arm64", "1.9", "virt-8"),
        ("s390x", "1.9", "ccw-2"),
        ("s390x", "1.6", "s390-ccw-virtio"),
        ("ppc64le", "1.6", "pseries"),
        ("ppc64le", "1.7", "pc-q35"),
    ],
)
def test_the_machine_type_goes_by_architecture_and_release(architecture, release, machine) -> None:
    types = {"amd64": "pc-q35", "arm64": "virt-8", "s390x": "ccw-2"}
    settings = {name: {"machineType": kind} for name, kind in types.items()}
    assert cluster(architectureConfiguration=settings).machine_type(architecture, parse(release)) == machine


def test_a_machine_type_for_all_outdoes_the_others() -> None:
    assert cluster(machineType="q35-9").machine_type("arm64") == "q35-9"


def test_the_clusters_architecture_and_eviction_strategy_are_defaults() -> None:
    configuration = {"architectureConfiguration": {"defaultArchitecture": "arm64"}, "evictionStrategy": "LiveMigrate"}
    made = defaulted({"networks": [{"name": "n"}]}, **configuration)
    assert [made["architecture"], made["domain"]["machine"], made["evictionStrategy"]] == [
        "arm64",
        {"type": "virt"},
        "LiveMigrate",
    ]


def test_an_empty_eviction_strategy_of_the_cluster_is_one() -> None:
    assert defaulted({"networks": [{"name": "n"}]}, evictionStrategy="")["evictionStrategy"] == ""


def test_an_empty_eviction_strategy_is_one() -> None:
    assert defaulted({"evictionStrategy": "", "networks": [{"name": "n"}]})["evictionStrategy"] == ""


@pytest.mark.parametrize(
    ("guest", "requested"),
    [
        ("9007199254740993", "4503599627370496"),
        ("100E", None),  # more than 64 bits: 0 for upstream, which it doesn't request
        ("9E", "-19452298058840145"),  # a hundred times that wraps around
    ],
)
def test_before_1_6_the_request_is_calculated_in_64_bits(guest, requested) -> None:
    spec = domain({"memory": {"guest": guest}}, release="1.5", developerConfiguration={"memoryOvercommit": 200})
    assert spec.get("resources", {}).get("requests", {}).get("memory") == requested


def test_platform_alone_is_architecture_and_machine_type() -> None:
    spec = {"domain": {}}
    expand.set_platform(spec, cluster(), parse("1.9"))
    assert spec == {"architecture": "amd64", "domain": {"machine": {"type": "q35"}}}


@pytest.mark.parametrize(
    "configuration",
    [
        {"imagePullPolicy": "Sometimes"},
        {"developerConfiguration": {"memoryOvercommit": -1}},
        {"developerConfiguration": {"cpuAllocationRatio": -1}},
        {"developerConfiguration": {"pvcTolerateLessSpaceUpToPercent": 101}},
        {"network": {"defaultNetworkInterface": "sriov"}},
    ],
)
def test_an_invalid_setting_disables_the_complete_configuration(configuration) -> None:
    settings = cluster(**configuration, evictionStrategy="LiveMigrate")
    assert settings.invalid
    assert settings.eviction_strategy == "None"


def test_gates_and_the_catalogue_are_read_from_the_configuration() -> None:
    assert cluster(developerConfiguration={"featureGates": ["GPU"]}).has_gate("GPU")
    assert not cluster().has_gate("GPU")
    assert cluster().deploys_catalogue(NEWEST)
    assert not cluster(commonInstancetypesDeployment={"enabled": False}).deploys_catalogue(NEWEST)


def test_early_releases_deploy_the_catalogue_only_with_a_gate() -> None:
    opened = cluster(developerConfiguration={"featureGates": ["CommonInstancetypesDeploymentGate"]})
    for text, gated in (("1.1.0", True), ("1.3.1", True), ("1.4.0", False)):
        assert cluster().deploys_catalogue(parse(text)) is not gated
        assert opened.deploys_catalogue(parse(text))
        assert Cluster(known=False).deploys_catalogue(parse(text))


def test_the_bundles_kubevirt_object_stands_below_the_given_configuration() -> None:
    own = {"machineType": "a", "network": {"permitBridgeInterfaceOnPodNetwork": False, "defaultNetworkInterface": "bridge"}}
    kubevirt = {
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt"},
        "spec": {"configuration": own},
    }
    made = cluster_of(Bundle([kubevirt]), Config(configuration={"network": {"defaultNetworkInterface": "masquerade"}}), NEWEST)
    assert made == cluster(
        machineType="a",
        network={"permitBridgeInterfaceOnPodNetwork": False, "defaultNetworkInterface": "masquerade"},
    )
    assert cluster_of(Bundle([]), Config(configuration={"machineType": "b"}), NEWEST) == cluster(machineType="b")
