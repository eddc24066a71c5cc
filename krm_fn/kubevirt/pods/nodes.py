"""The nodes that the pod needs: node selector and affinity.

upstream: pkg/virt-controller/services/nodeselectorrenderer.go:Render,
template.go:newNodeSelectorRenderer, setNodeAffinityForPod
"""

from __future__ import annotations

from krm_fn.base.annotations import Callable, Iterable, Iterator
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import as_list, as_map, copy, get, is_set
from krm_fn.base.value import Value
from krm_fn.kubevirt.pods.devices import has_reservation
from krm_fn.kubevirt.pods.launch import Launch, PodError
from krm_fn.kubevirt.releases import Version

SCHEDULABLE, ARCHITECTURE = "kubevirt.io/schedulable", "kubernetes.io/arch"
CROSS_ARCHITECTURE_GATE, STRICT_HYPERV_GATE = "CrossArchitectureVirtualization", "HypervStrictCheck"
OBSOLETE_MODEL = "node-labeller.kubevirt.io/obsolete-host-model"
CPU_FEATURE = "cpu-feature.node.kubevirt.io/"
HOST_MODELS = ("host-model", "host-passthrough")
# The Hyper-V features that a node must have; what is not listed needs nothing of it.
HYPERV = ("vpindex", "runtime", "reset", "synic", "synictimer", "frequencies", "reenlightenment", "tlbflush", "ipi")
TSC_FREQUENCY = ("developerConfiguration", "minimumClusterTSCFrequency")
RESERVATION_SINCE: Version = (1, 9)


class Label(Value):
    """Labels that a node must have, as keys with the value "true"."""

    keys: Callable[[Launch], Iterable[str]]
    since: Version = ()
    until: Version = ()


def _where(key: str, holds: Callable[[Launch], bool]) -> Callable[[Launch], Iterable[str]]:
    return lambda launch: (key,) if holds(launch) else ()


def _hyperv(launch: Launch) -> Iterator[str]:
    """upstream: hypervNodeSelectors"""
    features = as_map(launch.features.get("hyperv"))
    if not launch.gate(STRICT_HYPERV_GATE):
        return
    for feature in HYPERV:
        if as_map(features.get(feature)).get("enabled") is True:
            yield f"hyperv.node.kubevirt.io/{feature}"
    if features.get("evmcs") is not None and as_map(features["evmcs"]).get("enabled") is not False:
        yield "cpu-vendor.node.kubevirt.io/Intel"


def _model(launch: Launch) -> Iterator[str]:
    model = text(launch.cpu.get("model"))
    if model and model not in HOST_MODELS:
        yield f"cpu-model.node.kubevirt.io/{model}"
    if model:
        yield from (CPU_FEATURE + name for name, policy in _features(launch) if policy in ("", "require"))


def _features(launch: Launch) -> list[tuple[str, str]]:
    listed = map(as_map, as_list(launch.cpu.get("features")))
    return [(text(feature.get("name")), text(feature.get("policy"))) for feature in listed]


def _machine(launch: Launch) -> Iterator[str]:
    machine = text(get(launch.status, ("machine", "type"))) or text(get(launch.domain, ("machine", "type")))
    if machine:
        yield f"machine-type.node.kubevirt.io/{machine}"


def _tsc(launch: Launch) -> Iterator[str]:
    """The frequency of the instance's status is kept; without one the controller takes that of the cluster."""
    kept = get(launch.status, ("topologyHints", "tscFrequency"))
    frequency = kept if kept is not None else launch.cluster.pointer(*TSC_FREQUENCY) if _is_amd64(launch) else None
    if type(frequency) is int and frequency > 0 and (has_invtsc(launch) or _reenlightens(launch)):
        yield f"scheduling.node.kubevirt.io/tsc-frequency-{frequency}"


def _is_amd64(launch: Launch) -> bool:
    return launch.spec.get("architecture") == "amd64"


def has_invtsc(launch: Launch) -> bool:
    """True for a guest that boots only with a TSC frequency."""
    return any(name == "invtsc" and policy in ("require", "force") for name, policy in _features(launch))


def _reenlightens(launch: Launch) -> bool:
    return get(launch.features, ("hyperv", "reenlightenment", "enabled")) is True


def check_frequency(launch: Launch) -> None:
    """Raises: PodError where the guest needs a TSC frequency to boot, and the cluster sets a wrong one.

    upstream: pkg/virt-controller/watch/topology/hinter.go:LowestTSCFrequencyOnCluster
    """
    frequency = launch.cluster.pointer(*TSC_FREQUENCY)
    if type(frequency) is int and frequency <= 0 and _is_amd64(launch) and has_invtsc(launch):
        raise PodError(
            "failed to determine the lowest tsc frequency on the cluster: "
            f"the configured minimumClusterTSCFrequency must be greater 0, but got {frequency}"
        )


def _has_encrypted_state(launch: Launch) -> bool:
    return get(launch.launch_security, ("sev", "policy", "encryptedState")) is True


def _is_secure_execution(launch: Launch) -> bool:
    return launch.launch_security is not None and launch.spec.get("architecture") == "s390x"


# Until 1.5 the instance itself gets the labels of realtime and SEV.
LABELS = (
    Label(keys=_where("cpumanager", lambda launch: launch.dedicated), until=(1, 8)),
    Label(keys=_where("kubevirt.io/cpumanager", lambda launch: launch.dedicated), since=(1, 8)),
    Label(keys=_hyperv),
    Label(keys=_model),
    Label(keys=_machine, since=(1, 5, 1)),
    Label(keys=_tsc),
    Label(keys=_where("kubevirt.io/realtime", lambda launch: launch.cpu.get("realtime") is not None), since=(1, 5)),
    Label(keys=_where("kubevirt.io/sev", lambda launch: launch.has_sev), since=(1, 5)),
    Label(keys=_where("kubevirt.io/sev-es", _has_encrypted_state), since=(1, 5)),
    Label(keys=_where("kubevirt.io/sev-snp", lambda launch: launch.secured_by("snp")), since=(1, 7)),
    Label(keys=_where("kubevirt.io/s390-pv", _is_secure_execution), since=(1, 6)),
    Label(keys=_where("kubevirt.io/tdx", lambda launch: launch.secured_by("tdx")), since=(1, 7)),
)


def node_selector(launch: Launch) -> dict[str, str]:
    """The node selector: KubeVirt's, below the cluster's, below the instance's, below what the guest needs."""
    architecture = text(launch.spec.get("architecture")).lower()
    selector = {SCHEDULABLE: "true", **({ARCHITECTURE: architecture} if architecture else {})}
    selector.update(as_map(launch.cluster.setting("developerConfiguration", "nodeSelectors")))
    selector.update(as_map(launch.spec.get("nodeSelector")))
    if _crosses_architectures(launch):
        selector.pop(ARCHITECTURE, None)
        selector[f"kubevirt.io/vm-arch-{text(launch.spec.get('architecture'))}"] = "true"
    for row in launch.release.rows(LABELS):
        selector.update(dict.fromkeys(row.keys(launch), "true"))
    return selector


def _crosses_architectures(launch: Launch) -> bool:
    return launch.gate(CROSS_ARCHITECTURE_GATE) and is_set(launch.spec.get("architecture"))


def affinity(launch: Launch) -> Object:
    """The affinity: the instance's, with the nodes that can't run it kept away."""
    found: Object = copy(as_map(launch.spec.get("affinity")))
    for key in _rejected(launch):
        _reject(found, {"key": key, "operator": "DoesNotExist"})
    if launch.release.within(since=RESERVATION_SINCE) and has_reservation(launch):
        _keep_apart(found, launch)
    if _crosses_architectures(launch):
        _entries(found, "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution").append(_preferred(launch))
    return found


def _rejected(launch: Launch) -> Iterator[str]:
    """The labels of nodes that can't run the guest."""
    if text(launch.cpu.get("model")) in ("", "host-model"):
        yield OBSOLETE_MODEL
    yield from (CPU_FEATURE + name for name, policy in _features(launch) if policy == "forbid")


def _reject(found: Object, requirement: Object) -> None:
    """Add a requirement to every term, since one of them is enough. upstream: template.go:modifyNodeAffintyToRejectLabel"""
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    nodes = found["nodeAffinity"] = as_map(found.get("nodeAffinity"))
    if nodes.get(required) is None:
        nodes[required] = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
        return
    for term in map(as_map, as_list(as_map(nodes[required]).get("nodeSelectorTerms"))):
        term["matchExpressions"] = [*as_list(term.get("matchExpressions")), requirement]


def _keep_apart(found: Object, launch: Launch) -> None:
    """Pods that share a LUN with reservations run on different nodes.

    upstream: pkg/storage/reservation/pr.go:PersistentReservationPodAntiAffinityTerms
    """
    terms = [
        {
            "labelSelector": {"matchExpressions": [{"key": f"pr.kubevirt.io/{uid}", "operator": "Exists"}]},
            "topologyKey": "kubernetes.io/hostname",
        }
        for uid in _reserved_claims(launch)
    ]
    if terms:
        _entries(found, "podAntiAffinity", "requiredDuringSchedulingIgnoredDuringExecution").extend(terms)


def _reserved_claims(launch: Launch) -> list[str]:
    """The uids of the claims behind LUNs with reservations; that of a claim which has none yet is `uid-of-NAME`."""
    volumes = {text(volume.get("name")): volume for volume in launch.volumes}
    reserved = (disk for disk in launch.disks if as_map(disk.get("lun")).get("reservation") is True)
    claims = filter(None, (claim_of(volumes.get(text(disk.get("name")), {})) for disk in reserved))
    return list(dict.fromkeys(_uid(launch, claim) for claim in claims))


def _uid(launch: Launch, claim: str) -> str:
    entry = launch.around.bundle.find("PersistentVolumeClaim", launch.around.namespace, claim)
    return (text(get(entry.obj, ("metadata", "uid"))) if entry else "") or f"uid-of-{claim}"


def claim_of(volume: Object) -> str:
    """The claim behind a volume, "" where there is none. upstream: pkg/storage/types/pvc.go:PVCNameFromVirtVolume"""
    for source, key in (("dataVolume", "name"), ("persistentVolumeClaim", "claimName"), ("memoryDump", "claimName")):
        if volume.get(source) is not None:
            return text(as_map(volume[source]).get(key))
    return ""


def _preferred(launch: Launch) -> Object:
    value = text(launch.spec.get("architecture")).lower()
    expression = {"key": ARCHITECTURE, "operator": "In", "values": [value]}
    return {"weight": 100, "preference": {"matchExpressions": [expression]}}


def _entries(found: Object, kind: str, key: str) -> list[Object]:
    """The list at a place of the affinity, which is made where it is absent."""
    around = found[kind] = as_map(found.get(kind))
    around[key] = listed = as_list(around.get(key))
    return listed
