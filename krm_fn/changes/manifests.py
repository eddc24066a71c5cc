"""What an edit changes in an object and in no machine, such as a label of the VM itself or a template of a disk that exists."""

from __future__ import annotations

from krm_fn.base.objects import Object
from krm_fn.base.redaction import reach
from krm_fn.changes.records import NOTHING
from krm_fn.kubevirt.updates.applying import PARTS
from krm_fn.kubevirt.updates.paths_of_change import ENTRY, compared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.changes.pairs import Pair
    from krm_fn.changes.sides import Side


def with_manifest(record: Object, pair: Pair, base: Side, head: Side) -> Object:
    """The record with the paths of what was edited, if that does nothing to the machine.

    An edit after which the object is rendered as before, such as a default that is written out, is none.
    """
    if not pair.is_edited or record["effect"] != [NOTHING] or base.rendered(pair.old) == head.rendered(pair.new):
        return record
    paths = edited_paths(pair.old.obj, pair.new.obj)
    return {**record, "manifest": paths} if paths else record


def edited_paths(old: Object, new: Object) -> list[str]:
    """The paths at which the manifests of an object differ, without keys that may be secret, sorted."""
    before, after = ({key: each[key] for key in PARTS if key in each} for each in (old, new))
    found = {_shown(each.pointer, each.steps) for each in compared(before, after)}
    return sorted(found)


def _shown(pointer: str, steps: tuple[str | int, ...]) -> str:
    """The pointer up to the first key below which all is secret."""
    shown = len(reach(steps).shown)
    hidden = sum(step is not ENTRY for step in steps[shown:])
    return pointer.rsplit("/", hidden)[0] if hidden else pointer
