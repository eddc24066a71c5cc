"""The pod of an instance, where the measured answers are few: patch releases, errors, shapes that no generator draws."""

from __future__ import annotations

import pytest

from krm_fn.base.bundle import Bundle
from krm_fn.base.quantity import parse as quantity
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.instance import complete
from krm_fn.kubevirt.pods import LaunchContext, PodError, launcher_pod
from krm_fn.kubevirt.pods.amounts import qos_class, stored, totals, written
from krm_fn.kubevirt.pods.compute import Draft, shared_cpus
from krm_fn.kubevirt.pods.launch import Launch
from krm_fn.kubevirt.releases import parse


def pod(domain=None, *items, release="1.9", spec=None, annotations=None, labels=None, status=None, **configuration):
    cluster, version = Cluster(configuration=configuration), parse(release)
    metadata = {"name": "web", "annotations": annotations or {}, "labels": labels or {}}
    memory = {"memory": {"guest": "1Gi"}, "devices": {}}
    instance = {"metadata": metadata, "spec": {"domain": {**memory, **(domain or {})}, **(spec or {})}}
    complete(instance, cluster, version)
    instance["status"] = status or {}
    return launcher_pod(instance, LaunchContext(bundle=Bundle(items), cluster=cluster, release=version, namespace="team"))


def compute(*args, **given):
    return pod(*args, **given)["containers"][0]


POOL = {"ioThreadsPolicy": "supplementalPool", "ioThreads": {"supplementalPoolThreadCount": 4}}
PINNED = {"cpu": {"cores": 2, "dedicatedCpuPlacement": True}}


@pytest.mark.parametrize(
    ("release", "request_", "limit"),
    [("1.5.1", "200m", "4"), ("1.5.2", "600m", None), ("1.9", "600m", None)],
)
def test_the_threads_of_a_pool_count_by_patch_release(release, request_, limit) -> None:
    found = compute({"cpu": {"cores": 2}, **POOL}, release=release)
    assert (found["requests"]["cpu"], found["limits"].get("cpu")) == (request_, limit)


@pytest.mark.parametrize(("release", "mib"), [("1.5.2", 2 * 260 + 100), ("1.5.3", 2 * 360), ("1.6", 2 * 376)])
def test_the_ratio_multiplies_what_pinned_cpus_add_since_1_5_3(release, mib) -> None:
    found = pod({**PINNED, "memory": {"guest": "0"}}, release=release, additionalGuestMemoryOverheadRatio="2")
    # the ratio works on full thousands of bytes
    assert 0 <= quantity(found["memoryOverhead"]).value() - mib * 2**20 < 1000


@pytest.mark.parametrize(("release", "mib"), [("1.9", 376), ("1.10", 396)])
def test_qemu_needs_50_mib_since_1_10(release, mib) -> None:
    found = pod({**PINNED, "memory": {"guest": "0"}}, release=release)
    assert 0 <= quantity(found["memoryOverhead"]).value() - mib * 2**20 < 1000


@pytest.mark.parametrize(("release", "names"), [("1.9", ["hugepages"]), ("1.10", ["hugepages", "hugetblfs-dir"])])
def test_the_folder_below_the_huge_pages_is_made_of_them_since_1_10(release, names) -> None:
    found = pod({"memory": {"guest": "1Gi", "hugepages": {"pageSize": "2Mi"}}}, release=release)
    assert found["hugepagesVolumes"] == [{"name": name, "emptyDir": {"medium": "HugePages"}} for name in names]


@pytest.mark.parametrize(
    ("release", "value", "names"), [("1.9", "true", ["volumea"]), ("1.10", "true", []), ("1.10", "yes", ["volumea"])]
)
def test_an_annotation_leaves_out_the_containers_that_resolve_digests_since_1_10(release, value, names) -> None:
    spec = {"volumes": [{"name": "a", "containerDisk": {"image": "x"}}]}
    found = pod(release=release, spec=spec, annotations={"kubevirt.io/image-volume-skip-digest-resolution": value})
    assert [each["name"] for each in found["initContainers"] if each["name"].startswith("volume")] == names


@pytest.mark.parametrize(("release", "label"), [("1.5.0", False), ("1.5.1", True)])
def test_nodes_need_the_machine_type_since_1_5_1(release, label) -> None:
    assert ("machine-type.node.kubevirt.io/q35" in pod(release=release)["nodeSelector"]) is label


def test_what_an_instance_runs_as_decides_about_its_nodes() -> None:
    reenlightened = {"features": {"hyperv": {"reenlightenment": {}}}}
    hints = {"machine": {"type": "pc-q35-rhel9.6.0"}, "topologyHints": {"tscFrequency": 2100000000}}
    plain, known = (
        set(pod(reenlightened, spec={"architecture": "amd64"}, status=status)["nodeSelector"]) for status in ({}, hints)
    )
    assert plain - known == {"machine-type.node.kubevirt.io/q35"}
    assert known - plain == {
        "machine-type.node.kubevirt.io/pc-q35-rhel9.6.0",
        "scheduling.node.kubevirt.io/tsc-frequency-2100000000",
    }


@pytest.mark.parametrize(("release", "pages"), [("1.6.3", True), ("1.6.4", False)])
def test_an_instance_gets_a_memory_request_until_1_6_3(release, pages) -> None:
    plain = 2**20 * (220 + 8 + 8 + 32)
    tables = (2**30 + 999) // 1000 * 1000 // 512
    assert quantity(pod(release=release)["memoryOverhead"]).value() == plain + (tables if pages else 0)


GPUS = [{"name": name, "claimName": "claim", "requestName": name} for name in ("a", "b")]


@pytest.mark.parametrize(("release", "count"), [("1.8.2", 1), ("1.8.3", 2)])
def test_a_claim_counts_for_each_of_its_requests_since_1_8_3(release, count) -> None:
    gates = {"featureGates": ["GPUsWithDRA"]}
    found = compute({"devices": {"gpus": GPUS}}, release=release, developerConfiguration=gates)
    assert found["claims"] == [{"name": "claim", "request": name} for name in ("a", "b")[:count]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"labels": {"logVerbosity": "high"}}, "verbosity high cannot cast to int"),
        ({"annotations": {"hooks.kubevirt.io/hookSidecars": "["}}, "is no JSON"),
        ({"annotations": {"hooks.kubevirt.io/hookSidecars": "{}"}}, "is no list of sidecars"),
        ({"annotations": {"hooks.kubevirt.io/hookSidecars": '[{"configMap": {"name": "x"}}]'}}, 'configmaps "x" not found'),
        (
            {"domain": {"devices": {"interfaces": [{"name": "default", "binding": {"name": "other"}}]}}},
            "couldn't find configuration for network binding: other",
        ),
        (
            {"domain": {"devices": {"gpus": [{"name": "a", "deviceName": "x/y"}]}}, "permittedHostDevices": {}},
            "GPU x/y is not permitted",
        ),
        (
            {
                "spec": {"networks": [{"name": "n", "multus": {"networkName": "other/net"}}]},
                "developerConfiguration": {"disabledFeatureGates": ["ExternalNetResourceInjection"]},
            },
            "failed to locate network attachment definition other/net",
        ),
    ],
)
def test_what_kubevirt_renders_no_pod_for(given, message) -> None:
    domain = given.pop("domain", None)
    with pytest.raises(PodError, match=message):
        pod(domain, **given)


@pytest.mark.parametrize("text", ["3", "-3", "+3"])
def test_a_verbosity_is_an_integer(text) -> None:
    assert pod(labels={"logVerbosity": text})["qosClass"] == "Burstable"


@pytest.mark.parametrize(
    ("label", "limit"),
    [("1.5", 1.5), ("0.5", 2), ("x", 2), ("1_5", 2), ("inf", 2), ("nan", 2), (None, 2)],
)
def test_the_memory_ratio_of_a_namespace(label, limit) -> None:
    labels = {} if label is None else {"alpha.kubevirt.io/auto-memory-limits-ratio": label}
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team", "labels": labels}}
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "team"},
        "spec": {"hard": {"limits.memory": "1"}},
    }
    found = compute(None, namespace, quota)
    assert quantity(found["limits"]["memory"]).value() == int(quantity(found["requests"]["memory"]).value() * limit)


@pytest.mark.parametrize(
    ("selector", "limited"),
    [
        ({}, True),
        ({"matchLabels": {"kubernetes.io/metadata.name": "team"}}, True),
        ({"matchLabels": {"kubernetes.io/metadata.name": "other"}}, False),
        ({"matchExpressions": [{"key": "a", "operator": "Wrong"}]}, False),
    ],
)
def test_a_selector_of_namespaces_limits_cpus(selector, limited) -> None:
    assert ("cpu" in compute(autoCPULimitNamespaceLabelSelector=selector)["limits"]) is limited


@pytest.mark.parametrize(
    ("count", "ratio", "text"),
    [(2, 10, "200m"), (1, 3, "333333334n"), (10, 3, "3333333334n"), (3, 16, "187500u"), (30, 10, "3"), (7, 2, "3500m")],
)
def test_shared_cpus_are_as_fine_as_gos_floats(count, ratio, text) -> None:
    assert str(shared_cpus(count, ratio)) == text


def test_utility_volumes_are_attached_by_a_pod_of_their_own() -> None:
    spec = {"utilityVolumes": [{"name": "u", "claimName": "c"}]}
    gates = {"featureGates": ["UtilityVolumes"]}
    assert "hotplugPod" not in pod(spec=spec)
    assert pod(spec=spec, developerConfiguration=gates)["hotplugPod"]["requests"] == {"cpu": "10m", "memory": "2M"}


def test_the_pod_that_attaches_volumes_tolerates_each_taint_once() -> None:
    given = {"key": "node.kubernetes.io/disk-pressure", "operator": "Exists", "effect": "NoSchedule"}
    timed = {"key": "a", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}
    volumes = [{"name": "v", "dataVolume": {"name": "v", "hotpluggable": True}}]
    found = pod(spec={"volumes": volumes, "tolerations": [given, timed, timed]})["hotplugPod"]["tolerations"]
    assert found[:2] == [timed, timed]
    assert len(found) == 7


def test_reservations_keep_pods_of_one_claim_apart() -> None:
    disks = {"devices": {"disks": [{"name": name, "lun": {"reservation": True}} for name in ("a", "b", "none")]}}
    claims = [{"name": "a", "dataVolume": {"name": "x"}}, {"name": "b", "persistentVolumeClaim": {"claimName": "x"}}]
    bound = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "x", "namespace": "team", "uid": "1-2"}}
    for items, uid in (((), "uid-of-x"), ((bound,), "1-2")):
        found = pod(disks, *items, spec={"volumes": claims})["affinity"]["podAntiAffinity"]
        (term,) = found["requiredDuringSchedulingIgnoredDuringExecution"]
        assert term["labelSelector"]["matchExpressions"] == [{"key": f"pr.kubevirt.io/{uid}", "operator": "Exists"}]


def of(name="c", *, requests=None, limits=None, **more):
    amounts = [{key: quantity(value) for key, value in (given or {}).items()} for given in (requests, limits)]
    return stored({"name": name, "requests": amounts[0], "limits": amounts[1], **more})


def test_init_containers_count_beside_those_that_stay() -> None:
    running = [of(requests={"cpu": "1"})]
    initial = [
        of(requests={"cpu": "3"}),
        of(requests={"cpu": "2"}, restartPolicy="Always"),
        of(requests={"cpu": "2500m"}),
    ]
    # 1 + 2 while it runs; 3 at first; 2.5 beside the one that stays
    assert written(totals(running, initial, "requests")) == {"cpu": "4500m"}


def test_a_container_without_a_limit_counts_nothing_among_the_limits() -> None:
    assert written(totals([of(requests={"cpu": "2"}), of(limits={"cpu": "1"})], [], "limits")) == {"cpu": "1"}


@pytest.mark.parametrize(
    ("containers", "word"),
    [
        ([of()], "BestEffort"),
        ([of(requests={"example.com/x": "1"})], "BestEffort"),
        ([of(limits={"cpu": "1", "memory": "1Gi"})], "Guaranteed"),
        ([of(limits={"cpu": "1", "memory": "1Gi"}, requests={"cpu": "500m"})], "Burstable"),
        ([of(limits={"cpu": "1", "memory": "1Gi"}), of()], "Burstable"),
        ([of(limits={"cpu": "1"})], "Burstable"),
    ],
)
def test_the_qos_class(containers, word) -> None:
    assert qos_class(containers) == word


class Looked(dict):
    """Counts how often all of its keys are asked for."""

    count = 0

    def keys(self):
        Looked.count += 1
        return super().keys()

    __iter__ = None


def test_to_ask_for_a_device_does_not_look_at_all_others() -> None:
    instance = {"spec": {"domain": {"devices": {}}}}
    around = LaunchContext(bundle=Bundle([]), cluster=Cluster(), release=parse("1.9"), namespace="default")
    draft = Draft(Launch(instance, around), quantity("0"))
    draft.calculated_limits = Looked()
    for name in ("a", "b", "a"):
        draft.request(name)
    assert written(draft.all_limits) == {"a": "2", "b": "1"}
    assert Looked.count == 1
