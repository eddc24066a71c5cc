"""What is found out of objects that KubeVirt lets in: drains, quotas, what Argo CD reports, the instancetypes of flat VMs."""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.bundle import Entry
from krm_fn.base.paths import Path
from krm_fn.base.value import Value


class ConversionFacts(Value):
    """The object of a flat VM, the path of the VM in it, and its instancetype; `is_exact`: the instance stays the same."""

    entry: Entry
    prefix: Path
    name: str
    is_exact: bool


class Respelling(Value):
    """An amount that the cluster stores in another spelling: its place, and what is written and stored."""

    path: Path
    current: Any
    stored: str


class DriftFacts(Value):
    """A VM that stays out of sync. `changed` are the fields that the cluster changes; entries of lists are `*`."""

    entry: Entry
    changed: tuple[Path, ...]
    respelt: tuple[Respelling, ...]


class EvictionFacts(Value):
    """A machine that can't be live-migrated, with its effective eviction `strategy`; `own`: the object itself states it.

    `message` is KubeVirt's; `claim` is the claim that is not shared, "" where that is not the reason. The cause stands at
    `path`, `at` leads to the spec of the instance; both start at the root of the object.
    """

    entry: Entry
    strategy: str
    own: bool
    message: str
    claim: str
    path: Path
    at: Path


class QuotaFacts(Value):
    """A quota of the bundle, with the VMs of its namespaces that the cluster starts by itself.

    `exceeded` has name, need and allowance of each resource that they need more of together, as people read them. `stopped` are
    objects that never start under the quota, with the reasons. `migrations` are those for which there is no room while they
    migrate. An `aware` quota holds pods back; others refuse them.
    """

    entry: Entry
    exceeded: tuple[tuple[str, str, str], ...] = ()
    stopped: tuple[tuple[Entry, tuple[str, ...]], ...] = ()
    migrations: tuple[Entry, ...] = ()
    aware: bool = False
