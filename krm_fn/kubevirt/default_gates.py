"""Feature gates that a release opens by default, and what that means for instances.

upstream: pkg/virt-config/featuregate/feature-gates.go:IsEnabled, RegisterFeatureGate;
pkg/virt-controller/services/template.go:newContainerSpecRenderer
"""

from __future__ import annotations

from krm_fn.base.annotations import Callable, Iterable, Iterator
from krm_fn.base.bundle import Bundle
from krm_fn.base.objects import Object, annotations_of, name_of, text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.admission.gates import enabled
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.pods.devices import INJECTION_GATE, RESOURCE_NAME
from krm_fn.kubevirt.pods.support import IMAGE_VOLUME_GATE
from krm_fn.kubevirt.releases import Release

# What of an instance's spec, of its namespace and of the bundle an open gate concerns: names, in order; nothing for none.
Concerned = Callable[[Object, str, Bundle], Iterable[str]]


INJECTOR = "network-resources-injector"
INJECTED_BY = ("Deployment", "DaemonSet", "MutatingWebhookConfiguration")
# What says only which nodes have a bridge: the VM starts without asking for it.
MARKERS = ("bridge.network.kubevirt.io/", "ovs-cni.network.kubevirt.io/")
DRA = "Kubernetes 1.34 and a DRA driver for {}, or the next start waits for it"


class Opened(Value):
    """A gate, which names it concerns, and what the cluster needs for them, with a place for the names.

    `certain`: a bundle can show that the need is met, so that `check` tells it where it is not.
    """

    gate: str
    concerned: Concerned
    needs: str
    certain: bool = False


def _images(spec: Object, _: str, __: Bundle) -> Iterator[str]:
    for volume in as_list(spec.get("volumes")):
        if as_map(volume).get("containerDisk") is not None:
            yield text(volume.get("name"))
    if get(spec, ("domain", "firmware", "kernelBoot", "container")) is not None:
        yield "kernelBoot"


def _resources(spec: Object, namespace: str, bundle: Bundle) -> Iterator[str]:
    """The resources of a machine's networks, which another webhook has to add to its pod.

    upstream: pkg/network/multus/nad.go:NetworkToResource
    """
    for network in as_list(spec.get("networks")):
        space, slash, name = text(get(network, ("multus", "networkName"))).rpartition("/")
        found = bundle.find("NetworkAttachmentDefinition", space if slash else namespace, name) if name else None
        resource = text(annotations_of(found.obj).get(RESOURCE_NAME)) if found else ""
        if resource and not resource.startswith(MARKERS):
            yield resource


def _claimed(key: str) -> Concerned:
    def concerned(spec: Object, _: str, __: Bundle) -> Iterator[str]:
        devices = as_list(get(spec, ("domain", "devices", key)))
        return (text(each.get("name")) for each in map(as_map, devices) if each.get("claimName"))

    return concerned


ROWS = (
    Opened(
        gate=IMAGE_VOLUME_GATE,
        concerned=_images,
        needs="image volumes for {}: Kubernetes 1.35 and a container runtime that mounts them, or the VM does not start",
    ),
    Opened(
        gate=INJECTION_GATE,
        concerned=_resources,
        needs=f"the {INJECTOR}: without it, the pod gets no {{}}, and the VM does not start",
        certain=True,
    ),
    Opened(gate="GPUsWithDRA", concerned=_claimed("gpus"), needs=DRA),
    Opened(gate="HostDevicesWithDRA", concerned=_claimed("hostDevices"), needs=DRA),
)


def opened(cluster: Cluster, release: Release) -> list[Opened]:
    """The gates that are open because the release says so, and not the configuration."""
    return [row for row in ROWS if enabled(cluster, row.gate, release) and not cluster.has_gate(row.gate)]


def need(row: Opened, spec: Object, namespace: str, bundle: Bundle) -> str:
    """What an instance needs of the cluster because a gate is open; "" for nothing, and for what the bundle has."""
    names = list(dict.fromkeys(filter(None, row.concerned(spec, namespace, bundle))))
    if not names or (row.certain and _has_injector(bundle)):
        return ""
    return row.needs.format(" and ".join(names))


def _has_injector(bundle: Bundle) -> bool:
    return any(INJECTOR in name_of(entry.obj) for kind in INJECTED_BY for entry in bundle.of_kind(kind))
