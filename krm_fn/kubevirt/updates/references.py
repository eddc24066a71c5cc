"""What the instancetype and preference of a VM are for the cluster: a revision that its spec or status names, or the object.

And where two objects differ, as JSON pointers: `/spec/domain/devices/interfaces[blue]/state`. Entries of a list that all have
a name of their own are compared by it. The path of a list alone says that their order differs, or that the entries have no
names.

upstream: pkg/instancetype/find/spec.go:Find, pkg/instancetype/find/revision.go:Find
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import as_map, copy, get
from krm_fn.base.value import Value
from krm_fn.kubevirt import expand
from krm_fn.kubevirt.facts import Found, Resolution
from krm_fn.kubevirt.resolve import MATCHERS, refers
from krm_fn.kubevirt.updates.stored_form import stored_spec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.updates.machine import Machine, Stored, World


def find(machine: Machine, world: World) -> Resolution:
    """What the matchers of the machine's VM lead to; `vm` is the VM after inference."""
    if not refers(machine.vm):
        return Resolution(vm={key: value for key, value in machine.vm.items() if key != "status"})
    if not (machine.pins or machine.stored or "status" in machine.vm):
        return world.resolver.resolve(machine.vm, namespace=machine.namespace)
    own = {matcher.field: stored for matcher in MATCHERS if (stored := _own(machine, matcher.field))}
    found = world.resolver.resolve(_with_status(machine, own), namespace=machine.namespace)
    errors = tuple(each for each in found.errors if each.matcher not in own)
    given: dict[str, Found] = {field: stored.found for field, stored in own.items()}
    vm = {key: value for key, value in found.vm.items() if key != "status"}
    if own:
        vm["spec"] = {**vm["spec"], **{field: machine.vm["spec"][field] for field in own}}
    return found.but(vm=vm, errors=errors, **given)


def _own(machine: Machine, field: str) -> Stored | None:
    """The revision of a matcher, where the controller has made it in this simulation and it counts."""
    matcher = as_map(get(machine.vm, ("spec", field)))
    named = text(matcher.get("revisionName"))
    if named or not matcher:
        return machine.stored.get(named)
    pin = machine.pins.get(field)
    stored = machine.stored.get(pin.revision) if pin else None
    return stored if stored and stored.label == text(matcher.get("name")) else None


def _with_status(machine: Machine, own: dict[str, Stored]) -> Object:
    """The VM with the revisions of the bundle that its status names; those that the controller has made are left out."""
    status = {
        matcher.status: {"controllerRevisionRef": {"name": pin.revision}}
        for matcher in MATCHERS
        if matcher.field not in own and (pin := machine.pins.get(matcher.field)) and pin.revision not in ("", *machine.stored)
    }
    bare = {key: value for key, value in machine.vm.items() if key != "status"}
    if own:
        bare = {**bare, "spec": {key: value for key, value in bare["spec"].items() if key not in own}}
    return {**bare, "status": status} if status else bare


def expands_alike(one: Machine, other: Machine, world: World) -> bool:
    """True for two machines of one template whose references lead to the same: both are expanded to the same spec."""
    if one.vm["spec"]["template"] != other.vm["spec"]["template"]:
        return False
    first, second = (find(machine, world) for machine in (one, other))
    return not (first.errors or second.errors) and all(
        getattr(first, matcher.field) == getattr(second, matcher.field) for matcher in MATCHERS
    )


def expanded(machine: Machine, world: World) -> Object | None:
    """The template's spec with instancetype and preference applied; None where they are not found, or conflict.

    upstream: pkg/instancetype/apply/vm.go:ApplyToVM
    """
    if not refers(machine.vm):
        return machine.spec
    found = find(machine, world)
    if found.errors:
        return None
    if not (found.instancetype or found.preference):
        return machine.spec
    template = {"metadata": {}, "spec": copy(machine.spec)}
    conflicts = expand.apply(
        template,
        instancetype=found.instancetype.spec if found.instancetype else None,
        preference=found.preference.spec if found.preference else None,
        release=world.release,
        table=found.instancetype.table if found.instancetype else "instancetype",
    )
    return None if conflicts else stored_spec(template["spec"])


# Stands for an entry of a list in the steps of a difference: entries are told apart by their names, not by their places.
ENTRY = 0


class Difference(Value):
    """One difference: its pointer, the keys that lead there (ENTRY for an entry of a list), and both values, None for none."""

    pointer: str
    steps: tuple[str | int, ...]
    before: Any
    after: Any


def differences(before: Any, after: Any) -> tuple[str, ...]:
    """The paths at which two values differ, sorted; a part that only one of them has is one path."""
    return tuple(each.pointer for each in compared(before, after))


def compared(before: Any, after: Any) -> list[Difference]:
    """The differences of two values, by their pointers."""
    found = _compared(before, after, "", ()) if before != after else ()
    return sorted(found, key=lambda each: each.pointer)


def _compared(before: Any, after: Any, pointer: str, steps: tuple[str | int, ...]) -> Iterator[Difference]:
    """The differences of two values that differ."""
    ours, theirs = _parts(before, after)
    if ours is None or theirs is None or ours == theirs:  # a list whose entries only have another order
        yield Difference(pointer=pointer, steps=steps, before=before, after=after)
        return
    listed = isinstance(before, list)
    for key in {**ours, **theirs}:
        old, new = ours.get(key), theirs.get(key)
        if old == new and key in ours and key in theirs:
            continue
        below = f"{pointer}[{key}]" if listed else f"{pointer}/{escaped(key)}", (*steps, ENTRY if listed else key)
        if key in ours and key in theirs:
            yield from _compared(old, new, *below)
        else:
            yield Difference(pointer=below[0], steps=below[1], before=old, after=new)


def _parts(before: Any, after: Any) -> tuple[Object | None, Object | None]:
    """What both values have by keys: maps, or the entries of lists by name. None for one that has nothing of the kind."""
    if isinstance(before, dict) and isinstance(after, dict):
        return before, after
    return named(before), named(after)


def named(value: Any) -> dict[str, Object] | None:
    """The entries of a list by name; None where it is no list, or the names do not tell the entries apart."""
    if not isinstance(value, list) or not value:
        return None
    names = [text(each.get("name")) if isinstance(each, dict) else "" for each in value]
    if "" in names or len(set(names)) < len(names):
        return None
    return dict(zip(names, value, strict=True))


def escaped(key: object) -> str:
    """A key as a step of a JSON pointer."""
    return str(key).replace("~", "~0").replace("/", "~1")
