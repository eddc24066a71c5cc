"""An object of both sides with all that its record depends on."""

from __future__ import annotations

from krm_fn.base.annotations import Collection, Self
from krm_fn.base.bundle import Entry
from krm_fn.base.value import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.changes.owners import Owner
    from krm_fn.changes.sizes import Sizes
    from krm_fn.kubevirt.updates.machine import World


AUTO = "auto"


class Assumptions(Value):
    """How the change reaches the cluster, and what is taken for granted; see `diffing.diff`."""

    apply: bool = True
    migratable: bool | str = AUTO
    new: bool = False

    @property
    def assumed(self) -> bool | None:
        """Whether running VMs can be live-migrated; None: as they say themselves."""
        return self.migratable if isinstance(self.migratable, bool) else None


class Delivered(Value):
    """How what delivers the objects brings a change to the cluster; by default as `kubectl apply --prune` does.

    `replaces`: the manifests replace the old ones. `recreates`: an object is deleted and created anew if the API server refuses
    its update. `keeps` says why an object stays that the manifests no longer have, "" where it is deleted.
    """

    replaces: bool = False
    recreates: bool = False
    keeps: str = ""


class Pair(Value):
    """An object before and after the change, and the clusters of both sides."""

    old: Entry
    new: Entry
    origin: World
    world: World
    how: Assumptions
    sizes: Sizes
    owner: Owner

    @property
    def is_edited(self) -> bool:
        """True where the manifests differ."""
        return bool(self.old.obj != self.new.obj)

    def opening(self, gates: Collection[str]) -> Self:
        """The same in clusters that open these feature gates, where their settings are not known."""
        worlds = (self.origin, self.world)
        origin, world = (each if each.known else each.but(cluster=each.cluster.opening(gates)) for each in worlds)
        return self.but(origin=origin, world=world)

    @property
    def is_sent(self) -> bool:
        """True where something is written to the object."""
        return self.is_edited or not self.how.apply
