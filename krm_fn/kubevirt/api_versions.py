"""The API versions of KubeVirt's own kinds that a release serves, and the successors of removed kinds.

upstream: pkg/virt-operator/resource/generate/components/crds.go:newCRDVersions, which check_served.py compares
"""

from __future__ import annotations

from krm_fn.base.objects import Object, group_of, kind_of, text
from krm_fn.base.paths import get
from krm_fn.base.value import Value
from krm_fn.kubevirt.releases import Release, Version, lacks

CORE, INSTANCETYPE, POOL, FLAVOR = "kubevirt.io", "instancetype.kubevirt.io", "pool.kubevirt.io", "flavor.kubevirt.io"

# The minor releases with which `scripts/check_served.py` has compared the rows.
RELEASES = ((1, 0), (1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6), (1, 7), (1, 8), (1, 9), (1, 10))


class Served(Value):
    """One API version and the releases that serve it."""

    version: str
    since: Version = ()
    until: Version = ()


# The best version to write comes first.
CORE_VERSIONS = (Served(version="v1"), Served(version="v1alpha3"))
INSTANCETYPE_VERSIONS = (
    Served(version="v1beta1"),
    Served(version="v1alpha2", until=(1, 6)),
    Served(version="v1alpha1", until=(1, 6)),
)
POOL_VERSIONS = (Served(version="v1beta1", since=(1, 7)), Served(version="v1alpha1"))

KINDS: dict[tuple[str, str], tuple[Served, ...]] = {
    (CORE, "VirtualMachine"): CORE_VERSIONS,
    (CORE, "VirtualMachineInstance"): CORE_VERSIONS,
    (CORE, "VirtualMachineInstancePreset"): CORE_VERSIONS,
    (CORE, "VirtualMachineInstanceReplicaSet"): CORE_VERSIONS,
    (CORE, "VirtualMachineInstanceMigration"): CORE_VERSIONS,
    (CORE, "KubeVirt"): CORE_VERSIONS,
    (INSTANCETYPE, "VirtualMachineInstancetype"): INSTANCETYPE_VERSIONS,
    (INSTANCETYPE, "VirtualMachineClusterInstancetype"): INSTANCETYPE_VERSIONS,
    (INSTANCETYPE, "VirtualMachinePreference"): INSTANCETYPE_VERSIONS,
    (INSTANCETYPE, "VirtualMachineClusterPreference"): INSTANCETYPE_VERSIONS,
    (POOL, "VirtualMachinePool"): POOL_VERSIONS,
}

# The present name of each kind that no release since 1.0 knows; None if it has no successor.
SUCCESSORS: dict[tuple[str, str], tuple[str, str] | None] = {
    (CORE, "VM"): None,
    (CORE, "Migration"): None,
    (CORE, "Spice"): None,
    (CORE, "OfflineVirtualMachine"): (CORE, "VirtualMachine"),
    (CORE, "VirtualMachineReplicaSet"): (CORE, "VirtualMachineInstanceReplicaSet"),
    (CORE, "VirtualMachinePreset"): (CORE, "VirtualMachineInstancePreset"),
    (FLAVOR, "VirtualMachineFlavor"): (INSTANCETYPE, "VirtualMachineInstancetype"),
    (FLAVOR, "VirtualMachineClusterFlavor"): (INSTANCETYPE, "VirtualMachineClusterInstancetype"),
    (FLAVOR, "VirtualMachinePreference"): (INSTANCETYPE, "VirtualMachinePreference"),
    (FLAVOR, "VirtualMachineClusterPreference"): (INSTANCETYPE, "VirtualMachineClusterPreference"),
}
# The groups whose kinds are all listed here, and the group of each kind.
GROUPS = (CORE, INSTANCETYPE, POOL, FLAVOR)
HOMES = {kind: group for group, kind in KINDS}
# Kinds that the operators of other products define in one of these groups.
OF_OTHERS = frozenset(((CORE, "NodeMaintenance"), (CORE, "KWebUI")))
# Groups that are not KubeVirt's own, but close to it, and their kinds. Later releases may have others.
NEIGHBOURS = {
    "cdi.kubevirt.io": (
        "CDI",
        "CDIConfig",
        "DataImportCron",
        "DataSource",
        "DataVolume",
        "ObjectTransfer",
        "StorageProfile",
        "VolumeCloneSource",
        "VolumeImportSource",
        "VolumeUploadSource",
    ),
    "clone.kubevirt.io": ("VirtualMachineClone",),
    "export.kubevirt.io": ("VirtualMachineExport",),
    "hco.kubevirt.io": ("HyperConverged",),
    "migrations.kubevirt.io": ("MigrationPolicy",),
    "snapshot.kubevirt.io": ("VirtualMachineRestore", "VirtualMachineSnapshot", "VirtualMachineSnapshotContent"),
}
FIRST_API_VERSION = f"{CORE}/v1alpha1"


def is_first_instance(obj: Object) -> bool:
    """True for the VirtualMachine of v1alpha1, which is now a VirtualMachineInstance: it has a domain and no template."""
    spec = obj.get("spec")
    return (
        obj.get("apiVersion") == FIRST_API_VERSION
        and kind_of(obj) == "VirtualMachine"
        and isinstance(get(spec, ("domain",)), dict)
        and get(spec, ("template",)) is None
    )


def is_served(obj: Object, release: Release) -> bool:
    """False if the release refuses the object's apiVersion or kind; True for kinds that are not KubeVirt's."""
    key = group_of(obj), kind_of(obj)
    if key in SUCCESSORS:
        return False
    rows, version = KINDS.get(key), text(obj.get("apiVersion")).partition("/")[2]
    if rows is not None and release.version[:2] not in RELEASES:
        raise lacks("API versions", release)
    return rows is None or any(row.version == version and release.within(since=row.since, until=row.until) for row in rows)


def is_stray(obj: Object) -> bool:
    """True for a kind that KubeVirt's own groups do not have in any release, and for KubeVirt's kinds in other groups.

    In the neighbour groups, it is true for every kind that is not listed.
    """
    group, kind = group_of(obj), kind_of(obj)
    if group in NEIGHBOURS:
        return kind.removesuffix("List") not in NEIGHBOURS[group]
    if group not in GROUPS:
        return kind in HOMES
    key = group, kind.removesuffix("List")
    return not (key in KINDS or key in SUCCESSORS or key in OF_OTHERS)


def present_form(obj: Object, release: Release) -> tuple[str, str] | None:
    """The apiVersion and kind that an object should have in that release; None if the release has no such kind.

    Both stay as they are for kinds that are not KubeVirt's.
    """
    api_version, kind = text(obj.get("apiVersion")), kind_of(obj)
    key: tuple[str, str] | None = (api_version.partition("/")[0], kind)
    if is_first_instance(obj):
        key = CORE, "VirtualMachineInstance"
    elif key in SUCCESSORS:
        key = SUCCESSORS[key]
    if key is None:
        return None
    rows = KINDS.get(key)
    if rows is None:
        return api_version, kind
    best = next(row for row in rows if release.within(since=row.since, until=row.until))
    return f"{key[0]}/{best.version}", key[1]
