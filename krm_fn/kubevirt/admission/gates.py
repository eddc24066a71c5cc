"""Feature gates: the gates of each release, their states, and whether a cluster's configuration opens one.

upstream: pkg/virt-config/featuregate/{active,inactive,feature-gates}.go
"""

from __future__ import annotations

from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.releases import Release, Version, lacks

ALPHA, BETA, GA, DEPRECATED, DISCONTINUED = "alpha", "beta", "GA", "deprecated", "discontinued"

# Since this release, a beta gate is open unless it is disabled, and a gate that the release does not know stays closed.
BETA_IS_OPEN: Version = (1, 9)

# The minor releases that the table was made from, and each gate with the states it went through and the release that brought
# each; "" where a release dropped it. Releases before the first don't have the gate. Made by scripts/make_gates.py.
RELEASES = ((1, 0), (1, 1), (1, 2), (1, 3), (1, 4), (1, 5), (1, 6), (1, 7), (1, 8), (1, 9), (1, 10))
GATES: dict[str, tuple[tuple[str, Version], ...]] = {
    "AlignCPUs": ((ALPHA, (1, 1, 1)),),
    "AutoResourceLimitsGate": ((ALPHA, (1, 0, 1)), (GA, (1, 5))),
    "BochsDisplayForEFIGuests": ((ALPHA, (1, 1)), (GA, (1, 4))),
    "ClusterProfiler": ((ALPHA, (1, 0)), (GA, (1, 6))),
    "CommonInstancetypesDeploymentGate": ((ALPHA, (1, 1)), (GA, (1, 4))),
    "ConfigurableHypervisor": ((ALPHA, (1, 8)),),
    "ContainerPathVolumes": ((ALPHA, (1, 8)),),
    "CPUManager": ((ALPHA, (1, 0)),),
    "CPUNodeDiscovery": ((ALPHA, (1, 0)), (GA, (1, 1))),
    "CrossArchitectureVirtualization": ((ALPHA, (1, 9)),),
    "DecentralizedLiveMigration": ((ALPHA, (1, 6)), (BETA, (1, 10))),
    "DeclarativeHotplugVolumes": ((ALPHA, (1, 6)), (BETA, (1, 9))),
    "DisableCustomSELinuxPolicy": ((ALPHA, (1, 0)), (GA, (1, 5))),
    "DisableMDEVConfiguration": ((ALPHA, (1, 0)), (DEPRECATED, (1, 8))),
    "DockerSELinuxMCSWorkaround": ((ALPHA, (1, 0)), (DEPRECATED, (1, 4))),
    "DownwardMetrics": ((ALPHA, (1, 0)),),
    "DynamicPodInterfaceNaming": ((ALPHA, (1, 4)), (GA, (1, 5))),
    "EnableVirtioFsConfigVolumes": ((ALPHA, (1, 5)), (GA, (1, 8))),
    "EnableVirtioFsStorageVolumes": ((ALPHA, (1, 5)),),
    "ExpandDisks": ((ALPHA, (1, 0)), (GA, (1, 9))),
    "ExperimentalIgnitionSupport": ((ALPHA, (1, 0)),),
    "ExperimentalVirtiofsSupport": ((ALPHA, (1, 0)), (DEPRECATED, (1, 5)), (DISCONTINUED, (1, 8))),
    "ExternalNetResourceInjection": ((BETA, (1, 8)),),
    "FirmwareAutoSelection": ((ALPHA, (1, 9)),),
    "GPU": ((ALPHA, (1, 0)), (GA, (1, 4))),
    "GPUsWithDRA": ((ALPHA, (1, 6)), (BETA, (1, 9))),
    "GraceIOVirtualization": ((ALPHA, (1, 9)),),
    "HostDevices": ((ALPHA, (1, 0)),),
    "HostDevicesWithDRA": ((ALPHA, (1, 6)), (BETA, (1, 9))),
    "HostDisk": ((ALPHA, (1, 0)),),
    "HotplugNICs": ((ALPHA, (1, 0)), (GA, (1, 4))),
    "HotplugVolumes": ((ALPHA, (1, 0)), (DEPRECATED, (1, 9))),
    "HypervStrictCheck": ((ALPHA, (1, 0)),),
    "ImageVolume": ((ALPHA, (1, 6)), (BETA, (1, 7))),
    "IncrementalBackup": ((ALPHA, (1, 7)),),
    "InstancetypeReferencePolicy": ((ALPHA, (1, 4)), (BETA, (1, 5)), (GA, (1, 6))),
    "IOMMUFD": ((ALPHA, (1, 9)),),
    "KubevirtSeccompProfile": ((ALPHA, (1, 0)), (BETA, (1, 7))),
    "LibvirtHooksServerAndClient": ((ALPHA, (1, 8)), (BETA, (1, 9)), (GA, (1, 10))),
    "LiveMigration": ((GA, (1, 0)),),
    "LiveUpdateNADRef": ((BETA, (1, 8)), (GA, (1, 9))),
    "Macvtap": ((ALPHA, (1, 0)), (DEPRECATED, (1, 2)), (DISCONTINUED, (1, 3))),
    "MigrationDowntimeTuning": ((ALPHA, (1, 10)),),
    "MigrationPriorityQueue": ((ALPHA, (1, 7)), (BETA, (1, 8)), (GA, (1, 9))),
    "MigrationStallDetection": ((ALPHA, (1, 9)),),
    "MultiArchitecture": ((ALPHA, (1, 0)), (DEPRECATED, (1, 8))),
    "NetworkBindingPlugins": ((ALPHA, (1, 1)), (GA, (1, 5))),
    "NetworkDevicesWithDRA": ((ALPHA, (1, 9)),),
    "NodeRestriction": ((ALPHA, (1, 3)), (BETA, (1, 6))),
    "NonRoot": ((GA, (1, 0)),),
    "NonRootExperimental": ((GA, (1, 0)), ("", (1, 2))),
    "NUMA": ((ALPHA, (1, 0)), (GA, (1, 4))),
    "ObjectGraph": ((ALPHA, (1, 9)),),
    "OCIExport": ((ALPHA, (1, 9)),),
    "OptOutRoleAggregation": ((ALPHA, (1, 8)), (BETA, (1, 9))),
    "PanicDevices": ((ALPHA, (1, 6)), (BETA, (1, 7)), (GA, (1, 9))),
    "Passt": ((ALPHA, (1, 0)), (DEPRECATED, (1, 2)), (DISCONTINUED, (1, 3))),
    "PasstBinding": ((BETA, (1, 8)),),
    "PasstIPStackMigration": ((ALPHA, (1, 6)), (DISCONTINUED, (1, 8))),
    "PCINUMAAwareTopology": ((ALPHA, (1, 8)),),
    "PersistentReservation": ((ALPHA, (1, 0)), (GA, (1, 9))),
    "Plugins": ((ALPHA, (1, 9)),),
    "PodSecondaryInterfaceNamingUpgrade": ((BETA, (1, 8)),),
    "PortRangesSpec": ((ALPHA, (1, 9)),),
    "PSA": ((GA, (1, 0)),),
    "RebootPolicy": ((ALPHA, (1, 8)), (BETA, (1, 9))),
    "ReservedOverheadMemlock": ((ALPHA, (1, 8)),),
    "Root": ((ALPHA, (1, 0)),),
    "SecureExecution": ((BETA, (1, 7)), (GA, (1, 9))),
    "Sidecar": ((ALPHA, (1, 0)),),
    "Snapshot": ((ALPHA, (1, 0)), (BETA, (1, 6))),
    "SRIOVLiveMigration": ((GA, (1, 0)),),
    "Template": ((ALPHA, (1, 8)), (BETA, (1, 9))),
    "UtilityVolumes": ((ALPHA, (1, 8)),),
    "VGPULiveMigration": ((ALPHA, (1, 9)),),
    "VideoConfig": ((ALPHA, (1, 6)), (BETA, (1, 7)), (GA, (1, 9))),
    "VMExport": ((ALPHA, (1, 0)), (BETA, (1, 6)), (GA, (1, 9))),
    "VmiMemoryOverheadReport": ((ALPHA, (1, 8)), (BETA, (1, 9)), (GA, (1, 10))),
    "VMLiveUpdateFeatures": ((ALPHA, (1, 0)), (GA, (1, 5))),
    "VMPersistentState": ((ALPHA, (1, 0)), (GA, (1, 6))),
    "VMStatsCollector": ((ALPHA, (1, 9)),),
    "VolumeMigration": ((ALPHA, (1, 3)), (GA, (1, 5))),
    "VolumesUpdateStrategy": ((ALPHA, (1, 3)), (GA, (1, 5))),
    "VSOCK": ((ALPHA, (1, 0)),),
    "WorkloadEncryptionSEV": ((ALPHA, (1, 0)), (BETA, (1, 9))),
    "WorkloadEncryptionTDX": ((ALPHA, (1, 7)),),
}


def state(name: str, release: Release) -> str:
    """The gate's state in the release; "" if the release does not know it. Raises: ConfigError if the table lacks it."""
    if release.version[:2] not in RELEASES:
        raise lacks("feature gates", release)
    found = ""
    for word, since in GATES.get(name, ()):
        if release.version >= since:
            found = word
    return found


def enabled(cluster: Cluster, name: str, release: Release) -> bool:
    """True if the gate is open: GA always is, others if the configuration lists them, and beta by default.

    upstream: pkg/virt-config/featuregate/feature-gates.go:IsEnabled
    """
    known = state(name, release)
    if known == GA:
        return True
    beta_is_open = release.within(since=BETA_IS_OPEN)
    if not known and beta_is_open:
        return False
    if cluster.has_gate(name):
        return True
    return beta_is_open and known == BETA and not cluster.lacks_gate(name)
