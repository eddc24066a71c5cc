"""The record of a VM: the update is worked out only where it may reach the VM."""

from __future__ import annotations

from krm_fn.changes.records import fails_as_before, record_of, untouched_record
from krm_fn.changes.untouched import is_untouched
from krm_fn.kubevirt.updates.applying import applied, by_replacement
from krm_fn.kubevirt.updates.transition import fresh, transition

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.base.objects import Object
    from krm_fn.changes.pairs import Pair


def vm_record(pair: Pair) -> Object:
    """The keys of a VM's record."""
    old, new, worlds, how = pair.old.obj, pair.new.obj, (pair.origin, pair.world), pair.how
    if how.apply and not how.new and is_untouched(old, new, *worlds):
        return untouched_record(old, *worlds)
    if how.new:
        found = fresh(old, new, *worlds)
    else:
        write = applied if how.apply else by_replacement
        found = transition(old, new, *worlds, write=write, migratable=how.migratable)
    if not pair.is_edited and fails_as_before(found):
        return untouched_record(old, *worlds)
    return {**record_of(found, pair.owner), **pair.sizes.of(found, pair.new)}
