"""Why an instance does not start although the VM, the pool or the replica set that it is made of is let in.

Its own admission checks what that of the other objects does not look at, and so do the API server that gets its pod,
virt-handler and qemu. To make an instance costs as much as to check a VM, so `is_sure_to_start` says of most VMs without one
that nothing is refused.
"""

from __future__ import annotations

from krm_fn.base.bundle import Bundle
from krm_fn.base.objects import Object
from krm_fn.base.paths import as_map, copy, get
from krm_fn.base.redaction import reach, safe_message
from krm_fn.kubevirt.admission.check_tree import CheckTree
from krm_fn.kubevirt.admission.checks import count
from krm_fn.kubevirt.admission.fields import instances, launch
from krm_fn.kubevirt.admission.fields.earlier_releases import GATED_BINDINGS
from krm_fn.kubevirt.admission.objects import admit_object
from krm_fn.kubevirt.admission.scope import Cause, Scope, target_of
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.facts import Found, Resolution
from krm_fn.kubevirt.instance import start
from krm_fn.kubevirt.presets.index import NONE
from krm_fn.kubevirt.releases import Release, Version

LABELS = ("metadata", "labels")
# The architecture whose defaults no check of an instance is about, apart from the bus of disks.
PLAIN = "amd64"
# What a disk may set without a bus: no check compares it with the bus that it gets.
WITHOUT_BUS = frozenset(("name", "bootOrder", "serial", "cache", "io", "tag", "shareable", "errorPolicy"))

# Bindings whose gates may stop an instance.
DISCONTINUED = tuple(key for key, _, _ in GATED_BINDINGS)

# A VM that gets one of each device that is added by itself.
BARE: Object = {
    "spec": {
        "template": {
            "spec": {
                "domain": {"memory": {"guest": "1Gi"}, "devices": {"autoattachInputDevice": True}},
                "volumes": [{"name": "root", "emptyDisk": {"capacity": "1Gi"}}],
            }
        }
    }
}

_trees: dict[tuple[str, Version], CheckTree] = {}


def start_causes(instance: Object, *, cluster: Cluster, release: Release) -> tuple[Cause, ...]:
    """All causes for which a complete instance does not start; paths start at its root, and no message shows a secret."""
    causes = admit_object(instance, completed=instance, cluster=cluster, release=release)
    refused = [cause for cause in causes if cause.path[:2] != LABELS]  # the controller may write any labels
    found = (*refused, *launch_causes(instance, cluster=cluster, release=release))
    return tuple(cause.but(message=_safe(cause, instance)) for cause in found)


def _safe(cause: Cause, instance: Object) -> str:
    return safe_message(cause.message, cause.path, reach(cause.path, instance), instance)


def launch_causes(instance: Object, *, cluster: Cluster, release: Release) -> list[Cause]:
    """The causes for which an instance does not run that admission lets in."""
    scope = Scope(as_map(instance.get("spec")), path=("spec",), cluster=cluster, release=release)
    return _tree("launch", release).run(scope)


def is_sure_to_start(spec: Object, *, cluster: Cluster, release: Release) -> bool:
    """True for the instance's spec of an admitted VM, expanded, if no instance of it is refused; False decides nothing.

    Only the devices that are added by themselves get their preferences later (`is_sound`), and presets may change anything.
    """
    scope = Scope(spec, path=("spec",), cluster=cluster, release=release)
    hyperv = as_map(get(scope.domain, ("features", "hyperv")))
    if (
        spec.get("architecture") != PLAIN
        or any(map(_hangs_on_bus, scope.disks))
        or any(count(interface, DISCONTINUED) for interface in scope.interfaces)
        or scope.has_volume("downwardMetrics")
        or "evmcs" in hyperv
        or any(as_map(feature).get("enabled") is False for feature in hyperv.values())
    ):
        return False
    return not _tree("instance", release).run(scope)


def _hangs_on_bus(disk: Object) -> bool:
    """True for a disk that gets the bus of its architecture, and sets something that not all buses have."""
    target = as_map(disk.get(target_of(disk)))
    if target.get("bus"):
        return False
    return bool(target) or any(key not in WITHOUT_BUS for key in disk if key != target_of(disk))


def is_sound(preference: Found, *, cluster: Cluster, release: Release) -> bool:
    """True for a preference with which the devices pass that a VM gets without naming them."""
    made = start(
        Resolution(vm=copy(BARE), preference=preference),
        owner={"metadata": {"name": "bare"}},
        namespace="default",
        bundle=Bundle([]),
        cluster=cluster,
        release=release,
        presets=NONE,
    ).instance
    return made is not None and not start_causes(made, cluster=cluster, release=release)


def _tree(name: str, release: Release) -> CheckTree:
    """What stops an instance that its admission lets in, or what nobody checks but this and its own admission."""
    key = name, release.version
    if key not in _trees:
        examinations = launch.EXAMINATIONS if name == "launch" else (*launch.EXAMINATIONS, *instances.EXAMINATIONS)
        _trees[key] = CheckTree(launch.GROUPS, examinations, release)
    return _trees[key]
