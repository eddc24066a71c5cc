"""One VM, rendered again and again with parts left out."""

from __future__ import annotations

from krm_fn.base.errors import InputError
from krm_fn.base.paths import get, is_set, leaves, put_in
from krm_fn.base.value import Value
from krm_fn.pipeline import instances

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from krm_fn.base.bundle import Entry
    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.kubevirt.facts import Resolution
    from krm_fn.pipeline.analysis import Analysis

    Leaves = dict[Path, Any]


class Machine(Value):
    """A VM in an object, or in a pool's template at `prefix`, and what it is rendered with."""

    analysis: Analysis
    entry: Entry
    prefix: Path
    resolution: Resolution

    @property
    def vm(self) -> Object:
        """The VM as it is written."""
        found: Object = get(self.entry.obj, self.prefix)
        return found

    def rendered(self) -> Object | None:
        """The rendered VM; None if it can't be rendered."""
        try:
            facts = self.analysis.of_vm(self.entry, self.prefix, self.resolution.vm, self.resolution)
            if self.analysis.starts_instances and not facts.resolution.errors:
                facts = instances.with_start(self.analysis, facts)
        except InputError:  # the budget for large instancetypes is spent
            return None
        return facts.rendered

    def leaves(self) -> Leaves | None:
        """The leaves of the rendered VM by their paths from its root."""
        found = self.rendered()
        return None if found is None else dict(leaves(found))

    def without_field(self, matcher: str, field: Path) -> Machine:
        """The same without a field of the instancetype or preference, by its path in the spec."""
        found = getattr(self.resolution, matcher)
        smaller = found.but(spec=without(found.spec, field))
        return self.but(resolution=self.resolution.but(**{matcher: smaller}))

    def without_value(self, path: Path) -> Machine:
        """The same without a value that the VM has, by its path from the VM's root."""
        return self.but(resolution=self.resolution.but(vm=without(self.resolution.vm, path)))

    def without_setting(self, path: Path) -> Machine:
        """The same in a cluster without a setting, by its path in the configuration."""
        cluster = self.analysis.cluster
        smaller = cluster.but(configuration=without(cluster.configuration, path))
        return self.but(analysis=self.analysis.but(cluster=smaller))

    def without_presets(self) -> Machine:
        """The same without presets."""
        return self.but(analysis=self.analysis.but(presets=None))


def fields(value: Any) -> list[Path]:
    """The paths of the values of a spec that can be left out: those of maps; a list is one value."""
    found: list[Path] = []
    waiting: list[tuple[Path, Any]] = [((), value)]
    while waiting:
        at, each = waiting.pop()
        if isinstance(each, dict) and (each or not at):
            waiting.extend(((*at, key), below) for key, below in reversed(each.items()) if is_set(below))
        else:
            found.append(at)
    return found


def without(value: Any, path: Path) -> Any:
    """A value without the one at a path; what does not lead there is shared."""
    *way, last = path
    holder = get(value, tuple(way)) if way else value
    if not isinstance(holder, dict) or last not in holder:
        return value
    smaller = {key: below for key, below in holder.items() if key != last}
    return put_in(value, tuple(way), smaller) if way else smaller
