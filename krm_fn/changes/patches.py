"""A change as JSON patches: for each VM of both sides, what makes its rendered form after the change of that before it.

A patch holds values as they are. Therefore none is made where it would hold a secret.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterable, Iterator
from krm_fn.base.json_patch import Operation, operations, steps_of
from krm_fn.base.objects import Object
from krm_fn.base.paths import dotted, put_in
from krm_fn.base.redaction import reach, redact_at
from krm_fn.base.value import Value
from krm_fn.pipeline.facts import gather
from krm_fn.pipeline.modes import expand

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.changes.owners import Key
    from krm_fn.changes.sides import Side


class VmPatch(Value):
    """The patch of one VM; `vm` is its rendered form before the change.

    `secret` is the path of the first value that may not be shown, None if there is none. With it, there are no operations.
    """

    vm: Object
    operations: tuple[Operation, ...] = ()
    secret: str | None = None


def patches(base: Side, head: Side) -> Iterator[VmPatch]:
    """The patches between the renderings of both sides, in the order of namespaces and names."""
    before, after = _rendered(base), _rendered(head)
    for key in sorted(before.keys() & after.keys()):
        made = tuple(operations(before[key], after[key], by_entry=True))
        if made:
            secret = _secret(made, before[key])
            yield VmPatch(vm=before[key], operations=made) if secret is None else VmPatch(vm=before[key], secret=secret)


def _rendered(side: Side) -> dict[Key, Object]:
    """The objects of a side as `render` gives them; one that can't be rendered stays as it is."""
    facts = gather(side.analysis.bundle, side.analysis.settings)
    made = {(entry.item, entry.path): put_in(entry.obj, prefix, part) for entry, prefix, part in expand.changes(facts)}
    return {key: made.get((entry.item, entry.path), entry.obj) for key, entry in side.holders.items()}


def _secret(made: Iterable[Operation], vm: Any) -> str | None:
    """The part that may be shown of the path at which a patch has a secret: in its value, or in the path itself."""
    for each in made:
        steps = steps_of(each["path"])
        found = reach(steps, vm)
        if found.shown != steps or ("value" in each and redact_at(each["value"], found.place) != each["value"]):
            return dotted(found.shown)
    return None
