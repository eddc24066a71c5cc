"""The VirtualMachineInstance spec under admission, with the values that most checks read."""

from __future__ import annotations

from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_map, dotted, get
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.admission.causes import INVALID, Cause
from krm_fn.kubevirt.admission.gates import enabled
from krm_fn.kubevirt.admission.items import maps
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.releases import Release, Version

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
