"""The instance that a pod is rendered for, with what most parts of the pod read of it, and the cluster around it."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.bundle import Bundle, effective_namespace
from krm_fn.base.objects import Object, annotations_of, labels_of, name_of, text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.base.quantity import Quantity, parse
from krm_fn.base.value import Value
from krm_fn.kubevirt.admission.gates import enabled, state
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.fields.topology import UINT32
from krm_fn.kubevirt.pods.amounts import ZERO, Amounts, read
from krm_fn.kubevirt.presets.facts import selects
from krm_fn.kubevirt.releases import Release, Version

TRACKING_GATE = "IncrementalBackup"
TRACKING_SINCE: Version = (1, 7)
METADATA_NAME = "kubernetes.io/metadata.name"

# From here on SEV-SNP is a kind of SEV.
SNP_SINCE: Version = (1, 7)


class PodError(Exception):
    """KubeVirt renders no pod; the message is KubeVirt's."""


class MissingObjectError(PodError):
    """The same for an object that the bundle lacks, and the cluster may have."""


class LaunchContext(Value):
    """What KubeVirt reads of the cluster beside the instance: its settings, and the objects of the namespace.

    A namespace that the bundle lacks exists, with the label that the API server gives to every namespace. `vm_labels` are
    those of the VM that the instance belongs to, None where it belongs to none.
    """

    bundle: Bundle
    cluster: Cluster
    release: Release
    namespace: str
    vm_labels: Object | None = None

    @property
    def labels(self) -> Object:
        """The labels of the namespace."""
        entry = self.bundle.find("Namespace", "default", self.namespace)  # kinds of the cluster are indexed there
        return {METADATA_NAME: self.namespace, **(labels_of(entry.obj) if entry else {})}

    @property
    def tracks_blocks(self) -> bool:
        """True where the changed blocks of the VM are tracked.

        upstream: pkg/storage/cbt/cbt.go:SetChangedBlockTrackingOnVMI
        """
        known = self.release.within(since=TRACKING_SINCE) and enabled(self.cluster, TRACKING_GATE, self.release)
        if self.vm_labels is None or not known:
            return False
        selectors = as_map(self.cluster.setting("changedBlockTrackingLabelSelectors"))
        looked_at = (("virtualMachineLabelSelector", self.vm_labels), ("namespaceLabelSelector", self.labels))
        return any(selects(selectors.get(key), labels) for key, labels in looked_at)

    def limits_quota(self, resource: str) -> bool:
        """True where a ResourceQuota of the namespace counts limits of this resource, whatever the amount is."""
        return f"limits.{resource}" in self.bundle.derived(_counted).get(self.namespace, ())


def _counted(bundle: Bundle) -> dict[str, set[str]]:
    """What the ResourceQuotas of each namespace count."""
    found: dict[str, set[str]] = {}
    for entry in bundle.of_kind("ResourceQuota"):
        found.setdefault(effective_namespace(entry.obj), set()).update(as_map(get(entry.obj, ("spec", "hard"))))
    return found


class Launch:
    """One instance, read once. Nobody changes it after it is built; a slotted class, since one is built for every VM."""

    __slots__ = (
        "annotations",
        "around",
        "cluster",
        "cpu",
        "dedicated",
        "devices",
        "disks",
        "domain",
        "features",
        "interfaces",
        "labels",
        "launch_security",
        "limits",
        "memory",
        "name",
        "networks",
        "release",
        "requests",
        "resources",
        "spec",
        "status",
        "volumes",
    )

    def __init__(self, instance: Object, around: LaunchContext) -> None:
        self.around, self.cluster, self.release = around, around.cluster, around.release
        self.name, self.annotations, self.labels = name_of(instance), annotations_of(instance), labels_of(instance)
        self.spec, self.status = as_map(instance.get("spec")), as_map(instance.get("status"))
        self.domain = as_map(self.spec.get("domain"))
        self.devices = as_map(self.domain.get("devices"))
        self.cpu, self.memory = as_map(self.domain.get("cpu")), as_map(self.domain.get("memory"))
        self.features = as_map(self.domain.get("features"))
        self.resources = as_map(self.domain.get("resources"))
        self.requests, self.limits = read(self.resources.get("requests")), read(self.resources.get("limits"))
        self.disks, self.interfaces = _maps(self.devices.get("disks")), _maps(self.devices.get("interfaces"))
        self.networks, self.volumes = _maps(self.spec.get("networks")), _maps(self.spec.get("volumes"))
        self.launch_security = self.domain.get("launchSecurity")
        self.dedicated = self.cpu.get("dedicatedCpuPlacement") is True

    def gate(self, name: str) -> bool:
        """True where the release knows the feature gate and the cluster opens it."""
        return bool(state(name, self.release)) and enabled(self.cluster, name, self.release)

    @property
    def guest(self) -> Quantity | None:
        """The guest's memory."""
        return parse(self.memory.get("guest"))

    @property
    def page_size(self) -> str | None:
        """The size of the huge pages; None where the instance has none."""
        pages = self.memory.get("hugepages")
        return None if pages is None else text(as_map(pages).get("pageSize"))

    @property
    def vcpus(self) -> int:
        """The product of those of cores, sockets and threads that are not zero, 0 where all are.

        upstream: pkg/util/hardware/hw_utils.go:GetNumberOfVCPUs
        """
        return vcpus_of(self.cpu)

    @property
    def guaranteed(self) -> bool:
        """True where the instance's own resources ask for the QoS class Guaranteed.

        upstream: staging/src/kubevirt.io/api/core/v1/types.go:WantsToHaveQOSGuaranteed
        """
        memory, most = self.requests.get("memory", ZERO), self.limits.get("memory", ZERO)
        cpu = self.requests.get("cpu", ZERO)
        by_memory = memory.nanos == most.nanos if memory.nanos else most.nanos != 0
        return by_memory and cpu.nanos != 0 and cpu.nanos == self.limits.get("cpu", ZERO).nanos

    @property
    def aligned(self) -> bool:
        """True where all containers ask for what they are limited to, so that the pod can be Guaranteed."""
        return self.dedicated or self.guaranteed

    @property
    def pool_threads(self) -> int:
        """The I/O threads of the supplemental pool; upstream counts them whatever the policy is."""
        count = get(self.domain, ("ioThreads", "supplementalPoolThreadCount"))
        return count if type(count) is int else 0

    @property
    def has_sev(self) -> bool:
        """True for SEV; from 1.7 on for SEV-SNP, too. upstream: pkg/util/amd64.go:IsSEVVMI"""
        return self.secured_by("sev") or (self.release.within(since=SNP_SINCE) and self.secured_by("snp"))

    def secured_by(self, kind: str) -> bool:
        """True where `launchSecurity` names this kind."""
        return as_map(self.launch_security).get(kind) is not None

    def overlaid(self, defaults: Amounts, side: str, kind: str) -> Amounts:
        """The default amounts of a support container, below those that the cluster sets for its type.

        `side` is requests or limits. Zero counts as not set.
        upstream: pkg/virt-config/virt-config.go:GetSupportContainerRequest, GetSupportContainerLimit
        """
        found = dict(defaults)
        for each in reversed(as_list(self.cluster.setting("supportContainerResources"))):
            if as_map(each).get("type") == kind:
                own = read(get(each, ("resources", side)))
                found.update({name: own[name] for name in ("cpu", "memory") if name in own and own[name].nanos})
        return found


def vcpus_of(cpu: Object) -> int:
    """The vCPUs of a topology: the product of those of its numbers that are not zero."""
    product = 0
    for key in ("cores", "sockets", "threads"):
        count = cpu.get(key)
        if type(count) is int and count:
            product = (product * count if product else count) % UINT32
    return product


def _maps(value: object) -> list[dict[str, Any]]:
    return [as_map(item) for item in as_list(value)]
