"""The VirtualMachineInstance spec under admission, with what most checks read from it as Go does, and the causes of refusals.

A cause is why and where a check refuses an object. One that rests on a placeholder is none: another step replaces that.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterable
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_list, as_map, dotted, get
from krm_fn.base.placeholders import is_filled_in, is_filled_key, placeholders
from krm_fn.base.value import Value
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.admission.gates import enabled
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.holders import counterparts
from krm_fn.kubevirt.releases import Release, Version

# Kubernetes' reasons for refusing a value.
INVALID = "FieldValueInvalid"
REQUIRED = "FieldValueRequired"
DUPLICATE = "FieldValueDuplicate"
NOT_FOUND = "FieldValueNotFound"
NOT_SUPPORTED = "FieldValueNotSupported"
FORBIDDEN = "FieldValueForbidden"


class Cause(Value):
    """One refusal. `path` is the real place from the object's root; `upstream_path` the dotted path that KubeVirt names,
    if it is another; `upstream` the place in KubeVirt's source. `current` is the scalar at `path`, or UNSET.
    `more` is the number of causes of the same check that are left out after it. If the feature gate `gate` is open, the object
    passes. `known` are the words that are allowed there, if only some are. Not `sure`: some clusters may take it.
    """

    path: Path
    message: str
    reason: str = INVALID
    upstream_path: str = ""
    upstream: str = ""
    current: Any = UNSET
    more: int = 0
    gate: str = ""
    known: tuple[str, ...] = ()
    sure: bool = True


ROLLOUTS_SINCE: Version = (1, 2)
LIVE_BY_DEFAULT_SINCE: Version = (1, 6)
LIVE_GATE = "VMLiveUpdateFeatures"


class Scope:
    """One spec, read once. It does not change after it is built. The class has slots, because each VM needs a scope.

    `path` is the path from the object's root to the spec. `as_written`: no mutating webhook has rewritten the object, so empty
    values are still there, and an empty list is not nil in Go. `instancetype` is the spec of the applied one, which no webhook
    rewrites either. Lists hold maps only: an item of another shape becomes an empty map, so that the indexes are those of the
    user's list.
    """

    __slots__ = (
        "_gates",
        "_sources",
        "as_written",
        "cluster",
        "cpu",
        "devices",
        "disks",
        "domain",
        "instancetype",
        "interfaces",
        "limits",
        "memory",
        "networks",
        "path",
        "release",
        "requests",
        "spec",
        "volumes",
    )

    def __init__(
        self,
        spec: Object,
        *,
        path: Path,
        cluster: Cluster,
        release: Release,
        as_written: bool = False,
        instancetype: Object | None = None,
    ) -> None:
        self.spec, self.path, self.as_written, self.instancetype = spec, path, as_written, instancetype or {}
        self.cluster, self.release = cluster, release
        self.domain = as_map(spec.get("domain"))
        self.devices = as_map(self.domain.get("devices"))
        self.cpu = as_map(self.domain.get("cpu"))
        self.memory = as_map(self.domain.get("memory"))
        resources = as_map(self.domain.get("resources"))
        self.requests, self.limits = as_map(resources.get("requests")), as_map(resources.get("limits"))
        self.disks = maps(self.devices.get("disks"))
        self.interfaces = maps(self.devices.get("interfaces"))
        self.networks = maps(spec.get("networks"))
        self.volumes = maps(spec.get("volumes"))
        self._gates: dict[str, bool] = {}
        self._sources: dict[str, bool] = {}

    def gate(self, name: str) -> bool:
        """True if the feature gate is open on the cluster."""
        if name not in self._gates:
            self._gates[name] = enabled(self.cluster, name, self.release)
        return self._gates[name]

    def has_volume(self, source: str) -> bool:
        """True if a volume has that source, such as `cloudInitNoCloud`."""
        if source not in self._sources:
            self._sources[source] = any(volume.get(source) is not None for volume in self.volumes)
        return self._sources[source]

    def rolls_out_live(self) -> bool:
        """True if changes reach running VMs. upstream: pkg/virt-config/virt-config.go:IsVMRolloutStrategyLiveUpdate"""
        strategy = self.cluster.pointer("vmRolloutStrategy")
        if strategy is None:
            return self.release.within(since=LIVE_BY_DEFAULT_SINCE)
        return strategy == "LiveUpdate" and self.release.within(since=ROLLOUTS_SINCE) and self.gate(LIVE_GATE)

    def has_secure_boot(self) -> bool:
        """True if the guest boots with UEFI, and secure boot is not off."""
        efi = get(self.domain, ("firmware", "bootloader", "efi"))
        return isinstance(efi, dict) and efi.get("secureBoot") in (None, True)

    def cause(
        self,
        at: Path,
        message: str,
        *,
        reason: str = INVALID,
        named: str = "",
        absolute: str = "",
        secret: bool = False,
        gate: str = "",
    ) -> Cause:
        """A cause at the place `at` below the spec. If upstream's path differs, it is `named` (below the spec) or `absolute`.
        The value of a `secret` place is left out. With the feature gate `gate`, the object passes.
        """
        path, current = (*self.path, *at), UNSET if secret else get(self.spec, at, UNSET)
        upstream_path = absolute or (below(dotted(self.path), named) if named else "")
        return Cause(
            path=path,
            message=message,
            reason=reason,
            upstream_path="" if upstream_path == dotted(path) else upstream_path,
            current=UNSET if isinstance(current, dict | list) else current,
            gate=gate,
        )


def below(base: str, named: str) -> str:
    """Upstream's dotted path of `named` below `base`. An index has no dot before it (`spec[0].x`); "." is the base itself."""
    if named == ".":
        return base
    return base + named if named.startswith("[") or not base else f"{base}.{named}"


INTERFACES = ("domain", "devices", "interfaces")
TARGETS = ("disk", "lun", "cdrom")
BUSES = ("virtio", "scsi", "sata", "usb")
# The volumes that virtiofs shares without the privileges of root.
CONFIG_VOLUMES = ("configMap", "secret", "downwardAPI", "serviceAccount")


def maps(value: object) -> list[dict[str, Any]]:
    """The list's items, each as a map."""
    return [as_map(item) for item in as_list(value)]


def name_of(item: dict[str, Any]) -> str:
    """The item's `name`; "" if it is absent or no string, as Go reads it."""
    name = item.get("name")
    return name if isinstance(name, str) else ""


def target_of(disk: Object) -> str:
    """Which of disk, lun and cdrom the disk is; "" if it sets none."""
    return next((key for key in TARGETS if disk.get(key) is not None), "")


def bus_of(disk: Object) -> str:
    """The bus of the disk's target; "" if it sets none. upstream: pkg/storage/admitters/disks.go:getDiskBus"""
    bus = as_map(disk.get(target_of(disk))).get("bus")
    return bus if isinstance(bus, str) else ""


def is_default_multus(network: Object) -> bool:
    return as_map(network.get("multus")).get("default") is True


def settled(causes: Iterable[Cause], obj: Object) -> tuple[Cause, ...]:
    """The causes for which an object is refused, without those that rest on a placeholder."""
    found = Open(obj)
    return tuple(cause for cause in causes if not found.decides(cause.path, cause.current))


class Open:
    """What the placeholders of an object leave open. Each list is searched once, for however many causes."""

    __slots__ = ("_keyed", "_named", "_obj")

    def __init__(self, obj: Object) -> None:
        self._obj = obj
        self._named: dict[Path, bool] = {}
        self._keyed: dict[Path, bool] = {}

    def decides(self, path: Path, current: Any) -> bool:
        """True where what is said of a place depends on a placeholder: of its value, of a key there, or of a name it needs."""
        if placeholders(current) or any(map(is_filled_key, path)):
            return True
        others = counterparts(path)
        return (
            any(_is_open(self._obj, at) for at in (path, *others))
            or self._has_keys(path)
            or any(self._has_names(at) for at in ((path[:-2], *others) if others else ()))
        )

    def _has_keys(self, at: Path) -> bool:
        if at not in self._keyed:
            self._keyed[at] = any(map(is_filled_key, as_map(get(self._obj, at))))
        return self._keyed[at]

    def _has_names(self, at: Path) -> bool:
        if at not in self._named:
            self._named[at] = any(is_filled_in(as_map(each).get("name")) for each in as_list(get(self._obj, at)))
        return self._named[at]


def _is_open(obj: Any, path: Path) -> bool:
    """True where a placeholder is on the way to a place, or there."""
    for number, step in enumerate(path, 1):
        obj = get(obj, (step,))
        if isinstance(obj, str):
            return bool(placeholders(obj, path[:number]))
    return False
