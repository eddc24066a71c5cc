"""What quotas and LimitRanges make of the VMs of a bundle."""

from __future__ import annotations

from krm_fn.base.bundle import Entry
from krm_fn.base.value import Value


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
