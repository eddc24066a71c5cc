"""The settings of the cluster that rendering needs: a KubeVirtConfiguration with KubeVirt's defaults."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterable
from krm_fn.base.bundle import Bundle, Entry
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import Path, as_list, as_map, get, is_nonzero, is_set
from krm_fn.base.quantity import Quantity, parse
from krm_fn.base.value import Value
from krm_fn.kubevirt.releases import NEWEST, NEWEST_PATCH, Release, Version
from krm_fn.kubevirt.schema import strange_names
from krm_fn.kubevirt.settings import Config

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.base.regex import Patterns


# With this annotation on the KubeVirt object, isolated emulator threads get an even number of CPUs.
EVEN_PARITY = "alpha.kubevirt.io/EmulatorThreadCompleteToEvenParity"
DEFAULT_CPU_REQUEST = Quantity(nanos=100_000_000)  # 100m
DEFAULT_MEMORY_OVERCOMMIT = 100


DEFAULT_HOTPLUG_RATIO = 4
DEFAULT_QGS_SOCKET = "/var/run/tdx-qgs/qgs.socket"

REFERENCE_POLICY = ("instancetype", "referencePolicy")
EXPANDING = ("expand", "expandAll")
# Before this release, the policy needs the feature gate.
POLICY_GATED_UNTIL, POLICY_GATE = (1, 6), "InstancetypeReferencePolicy"
# The releases that deploy the catalogue only with the feature gate.
CATALOGUE_GATED: tuple[Version, Version] = ((1, 1), (1, 4))
CATALOGUE_GATE = "CommonInstancetypesDeploymentGate"


class Rollout(Value):
    """The rollout strategy of clusters that set none; without the feature `gate`, of all clusters."""

    strategy: str
    gate: str = ""
    since: Version = ()
    until: Version = ()


ROLLOUTS = (
    Rollout(strategy="Stage", gate="VMLiveUpdateFeatures", until=(1, 5)),
    Rollout(strategy="Stage", since=(1, 5), until=(1, 6)),
    Rollout(strategy="LiveUpdate", since=(1, 6)),
)


class MachineDefault(Value):
    """The machine type of an architecture if the cluster sets none for all: `key` is its place in the configuration."""

    architecture: str
    key: str
    default: str
    since: Version = ()
    until: Version = ()


# The last row is for all other architectures, including an empty one.
MACHINES = (
    MachineDefault(architecture="arm64", key="arm64", default="virt"),
    MachineDefault(architecture="ppc64le", key="ppc64le", default="pseries", until=(1, 7)),
    MachineDefault(
        architecture="s390x", key="", default="s390-ccw-virtio", since=(1, 3), until=(1, 7)
    ),  # upstream does not read its configuration
    MachineDefault(architecture="s390x", key="s390x", default="s390-ccw-virtio", since=(1, 7)),
    MachineDefault(architecture="", key="amd64", default="q35"),
)


# The places of the release in a KubeVirt object: first the target version, then the observed one.
NAMED_AT: tuple[Path, ...] = (
    ("spec", "imageTag"),
    ("status", "observedKubeVirtVersion"),
    ("status", "targetKubeVirtVersion"),
    ("status", "operatorVersion"),
)


class Cluster(Value):
    """A cluster by its `configuration`: the KubeVirtConfiguration under `spec.configuration` of the KubeVirt object.

    `annotations` are those of the KubeVirt object. `known`: the configuration is given. Otherwise it is empty, and the real one
    may open any gate and set any default.
    """

    configuration: Object = {}  # noqa: RUF012  nobody writes into a Value
    annotations: Object = {}  # noqa: RUF012
    known: bool = True

    @property
    def invalid(self) -> Path:
        """The path of a setting for which KubeVirt ignores the complete configuration; () if there is none.

        upstream: pkg/virt-config/configuration.go:validateConfig
        """
        return next((path for path, wrong in INVALID if wrong(get(self.configuration, path))), ())

    def setting(self, *path: str) -> Any:
        """The effective value at a path of the configuration; None if it is not set."""
        value = self.pointer(*path)
        return value if is_set(value) else None

    def pointer(self, *path: str) -> Any:
        """The effective value of a setting that is a pointer in Go: an empty text is a value, and no default replaces it."""
        if "in_force" not in self.__dict__:
            self.__dict__["in_force"] = {} if self.invalid else self.configuration
        return get(self.__dict__["in_force"], path)

    @property
    def default_architecture(self) -> str:
        return text(self.setting("architectureConfiguration", "defaultArchitecture")) or "amd64"

    def machine_type(self, architecture: str, release: Release = NEWEST) -> str:
        """The machine type of VMs with this architecture.

        upstream: pkg/virt-config/virt-config.go:GetMachineType
        """
        for row in MACHINES:
            if row.architecture in ("", architecture) and release.within(since=row.since, until=row.until):
                own = text(self.setting("architectureConfiguration", row.key, "machineType")) if row.key else ""
                return text(self.setting("machineType")) or own or row.default
        raise AssertionError("the last row stands for every architecture and release")

    @property
    def cpu_request(self) -> Quantity | None:
        """The CPU request of a VM that sets none; None if the cluster uses KubeVirt's default."""
        request = parse(self.setting("cpuRequest"))
        return None if request is None or request.nanos == DEFAULT_CPU_REQUEST.nanos else request

    @property
    def memory_overcommit(self) -> int:
        """The guest memory in percent of the pod's memory."""
        percent = self.setting("developerConfiguration", "memoryOvercommit")
        return percent if type(percent) is int and percent != 0 else DEFAULT_MEMORY_OVERCOMMIT

    @property
    def eviction_strategy(self) -> str:
        """The eviction strategy of VMs that set none; "" refuses them."""
        named = self.pointer("evictionStrategy")
        return named if isinstance(named, str) else "None"

    @property
    def default_network_interface(self) -> str:
        """The binding of VMs that set no network: bridge, masquerade or slirp."""
        return text(self.setting("network", "defaultNetworkInterface")) or "bridge"

    @property
    def permits_bridge_on_pod_network(self) -> bool:
        return self.setting("network", "permitBridgeInterfaceOnPodNetwork") is not False

    @property
    def cpu_model(self) -> str:
        """The CPU model of VMs that set none."""
        return text(self.setting("cpuModel")) or "host-model"

    def rollout_strategy(self, release: Release) -> str:
        """The rollout strategy. LiveUpdate changes running instances; any other value, such as Stage or "", does not."""
        row = next(row for row in ROLLOUTS if release.within(since=row.since, until=row.until))
        named = self.pointer("vmRolloutStrategy") if not row.gate or self.has_gate(row.gate) else None
        return named if isinstance(named, str) else row.strategy

    @property
    def live_update(self) -> Object:
        """The limits for growing running instances: `maxCpuSockets`, `maxGuest`, `maxHotplugRatio`."""
        return as_map(self.setting("liveUpdateConfiguration"))

    @property
    def max_hotplug_ratio(self) -> int:
        ratio = self.live_update.get("maxHotplugRatio")
        return ratio if type(ratio) is int and ratio != 0 else DEFAULT_HOTPLUG_RATIO

    @property
    def qgs_socket(self) -> str:
        """The socket of TDX's quote generation service."""
        path = self.pointer("confidentialCompute", "tdx", "attestation", "qgsSocketPath")
        return path if isinstance(path, str) else DEFAULT_QGS_SOCKET

    def expanding_policy(self, release: Release) -> str:
        """The effective reference policy if it replaces references by their values: expand or expandAll; otherwise "".

        upstream: pkg/virt-config/virt-config.go:GetInstancetypeReferencePolicy
        """
        policy = text(self.setting(*REFERENCE_POLICY))
        gated = release.within(until=POLICY_GATED_UNTIL) and not self.has_gate(POLICY_GATE)
        return policy if policy in EXPANDING and not gated else ""

    def catalogue_gate(self, release: Release) -> str:
        """The feature gate without which the release deploys no catalogue; "" if it needs none, or has no catalogue."""
        since, until = CATALOGUE_GATED
        return CATALOGUE_GATE if release.within(since=since, until=until) else ""

    def deploys_catalogue(self, release: Release) -> bool:
        """False if the cluster has no catalogue: it turns the common instancetypes off, or its release needs a gate for them.

        upstream: pkg/virt-operator/resource/apply/reconcile.go:Sync
        """
        gate = self.catalogue_gate(release)
        if gate:
            return self.has_gate(gate) or not self.known
        return self.setting("commonInstancetypesDeployment", "enabled") is not False

    def has_gate(self, name: str) -> bool:
        """True if the configuration turns the feature gate on. Gates that a release made permanent do not count."""
        return name in self._gates("featureGates")

    def lacks_gate(self, name: str) -> bool:
        """True if the configuration turns the feature gate off."""
        return name in self._gates("disabledFeatureGates")

    def _gates(self, key: str) -> frozenset[str]:
        """The gates in a list. The result is kept, because each VM needs it many times."""
        if key not in self.__dict__:
            listed = as_list(self.setting("developerConfiguration", key))
            self.__dict__[key] = frozenset(gate for gate in listed if isinstance(gate, str))
        found: frozenset[str] = self.__dict__[key]
        return found

    @property
    def patterns(self) -> Patterns:
        """The matcher for the regular expressions of the configuration."""
        if "patterns" not in self.__dict__:
            from krm_fn.base.regex import Patterns  # rendering needs no matcher

            self.__dict__["patterns"] = Patterns()
        found: Patterns = self.__dict__["patterns"]
        return found

    @property
    def pci_devices(self) -> dict[str, str]:
        """The PCI devices that VMs may use: the vendor selector by the resource's name."""
        if "pci_devices" not in self.__dict__:
            permitted = map(as_map, as_list(self.setting("permittedHostDevices", "pciHostDevices")))
            named = ((text(each.get("resourceName")), text(each.get("pciVendorSelector"))) for each in permitted)
            self.__dict__["pci_devices"] = {name: selector for name, selector in named if name and selector}
        found: dict[str, str] = self.__dict__["pci_devices"]
        return found

    def opening(self, gates: Iterable[str]) -> Cluster:
        """The same cluster with these feature gates listed as well."""
        place = ("developerConfiguration", "featureGates")
        listed = [*as_list(self.setting(*place)), *gates]
        return self.but(configuration=merged(self.configuration, {place[0]: {place[1]: listed}}))


def kubevirt_of(bundle: Bundle) -> Entry | None:
    """The KubeVirt object that describes the cluster; None if the bundle has none, or several of different clusters."""
    found = bundle.ordered(bundle.of_kind("KubeVirt", "kubevirt.io"))
    different = any(bundle.units(each.item) and each.obj.get("spec") != found[0].obj.get("spec") for each in found[1:])
    return found[0] if found and not different else None


class NamedRelease(Value):
    """The release that an object names at `path`, as written; `release` is None if it is not supported.

    For a patch release that is newer than the known ones, `release` is the newest known one.
    """

    entry: Entry
    path: Path
    written: str
    release: Release | None = None


def release_of(bundle: Bundle, settings: Config) -> Release:
    """The target release: the config's, or that of the bundle's KubeVirt object, or the newest.

    Raises: ConfigError if the tables do not have it.
    """
    named = named_release(bundle) if settings.release is None else None
    release = settings.release or (named and named.release) or NEWEST
    strange_names(release)
    return release


def named_release(bundle: Bundle) -> NamedRelease | None:
    """The release that the bundle's KubeVirt object names, or None."""
    entry = kubevirt_of(bundle)
    for path in NAMED_AT if entry else ():
        written = text(get(entry.obj, path)) if entry else ""
        numbers = _numbers(written)
        if entry and numbers:
            return NamedRelease(entry=entry, path=path, written=written, release=_known(*numbers))
    return None


def _numbers(written: str) -> tuple[int, int, int] | None:
    """Major, minor and patch at the start of a tag such as `v1.6.3` or `v1.6.3-rc.1`; None for other tags."""
    head = written.removeprefix("v").partition("-")[0].partition("_")[0].partition("+")[0]
    parts = head.split(".")
    if len(parts) != 3 or not all(part.isascii() and part.isdigit() and len(part) < 5 for part in parts):
        return None
    return int(parts[0]), int(parts[1]), int(parts[2])


def _known(major: int, minor: int, patch: int) -> Release | None:
    newest = NEWEST_PATCH.get((major, minor))
    return None if newest is None else Release(version=(major, minor, min(patch, newest)))


def merged(below: Object, above: Object) -> Object:
    """`above` merged over `below`, map by map; a list replaces the complete list. Neither argument changes."""
    laid = {**below}
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(laid.get(key), dict)
        laid[key] = merged(laid[key], value) if both else value
    return laid


def _not_positive(value: object) -> bool:
    return type(value) is int and value < 0  # Go drops a plain zero before the check


def _no_percentage(value: object) -> bool:
    return type(value) is int and not 0 <= value <= 100


def _not_in(*words: str) -> Any:
    return lambda value: is_nonzero(value) and value not in words


INVALID = (
    (("imagePullPolicy",), _not_in("Always", "Never", "IfNotPresent")),
    (("developerConfiguration", "memoryOvercommit"), _not_positive),
    (("developerConfiguration", "cpuAllocationRatio"), _not_positive),
    (("developerConfiguration", "pvcTolerateLessSpaceUpToPercent"), _no_percentage),
    (("network", "defaultNetworkInterface"), _not_in("bridge", "slirp", "masquerade")),
)
