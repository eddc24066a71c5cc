"""The facts of one VM, and of an object that presets reach directly."""

from __future__ import annotations

from krm_fn.base.bundle import Entry
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path
from krm_fn.base.value import Value
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.facts import Expansion, Resolution
from krm_fn.kubevirt.releases import Release

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.presets.facts import PresetFacts


class VmFacts(Value):
    """All that is known of one VM. `prefix` leads from the object's root to the VM in it: `()`, or into a pool's template.

    `vm` is the VM as it came, `admitted` as it comes to be expanded, `rendered` as it leaves: the same object where nothing
    changed, None where it can't be rendered. `presets` is what presets do to its instance, `instance` that instance, where
    the config asks for either. Of a `sound` VM, which only mode `validate` knows, schema, expansion and admission have nothing
    to say; where it repeats another, it is not expanded.
    """

    entry: Entry
    vm: Object
    release: Release
    cluster: Cluster
    resolution: Resolution
    admitted: Object
    expansion: Expansion | None = None
    rendered: Object | None = None
    presets: PresetFacts | None = None
    instance: Object | None = None
    prefix: Path = ()
    sound: bool = False

    @property
    def troubled(self) -> bool:
        """True if some rule may find something."""
        found = self.expansion
        if self.resolution.errors or found is None:
            return bool(self.resolution.errors)
        return bool(found.conflicts or found.unmet or found.refusals or found.ignored_topology)


class InstanceFacts(Value):
    """All that is known of an object that presets reach directly; `rendered` is the object as it leaves."""

    entry: Entry
    presets: PresetFacts
    rendered: Object
