"""The effective changes of a VM for people: what its guest has and gets, when, and which edit makes the difference."""

from __future__ import annotations

from krm_fn.base.annotations import Sequence
from krm_fn.base.objects import Object
from krm_fn.base.paths import get, is_set
from krm_fn.base.quantity import parse
from krm_fn.base.redaction import redact
from krm_fn.base.value import Value
from krm_fn.changes.causes import CauseSide, EditSources, side_of_machine
from krm_fn.kubevirt.holders import TEMPLATE
from krm_fn.kubevirt.instance import stable_uuid
from krm_fn.kubevirt.updates.machine import Running
from krm_fn.kubevirt.updates.references import Difference, compared

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.changes.owners import Owner
    from krm_fn.kubevirt.updates.transition import Transition


# What KubeVirt draws for a VM that does not set it, below FIRMWARE, and how such a value is called.
DRAWN_KEYS, FIRMWARE, DRAWN = ("serial", "uuid"), ("spec", "domain", "firmware"), "drawn by KubeVirt"
TOPOLOGY = tuple(f"/spec/domain/cpu/{key}" for key in ("sockets", "cores", "threads"))
# Keys below which amounts stand, and keys of users' own texts.
AMOUNTS, NAMED = frozenset(("memory", "resources")), frozenset(("labels", "annotations", "nodeSelector"))
# When a change takes effect. NEW: in machines that are created from now on.
LIVE, MIGRATION, RESTART, NEXT_START, NEW = "live", "migration", "restart", "nextStart", "new"


class GuestPart(Value):
    """A part of a guest: its word, and the places below which it stands in an instance; `moves`: it needs a migration."""

    word: str
    below: tuple[str, ...]
    moves: bool = False


# The first row that fits counts.
PARTS = (
    GuestPart(word="CPU hotplug limit", below=("/spec/domain/cpu/maxSockets",)),
    GuestPart(word="memory hotplug limit", below=("/spec/domain/memory/maxGuest",)),
    GuestPart(word="CPU", below=("/spec/domain/cpu/sockets",), moves=True),
    GuestPart(word="CPU", below=("/spec/domain/cpu", "/spec/domain/ioThreads")),
    GuestPart(word="memory", below=("/spec/domain/memory/guest",), moves=True),
    GuestPart(word="memory", below=("/spec/domain/memory",)),
    GuestPart(word="resources of the pod", below=("/spec/domain/resources",), moves=True),
    GuestPart(word="network", below=("/spec/networks", "/spec/domain/devices/interfaces"), moves=True),
    GuestPart(word="storage", below=("/spec/volumes", "/spec/domain/devices/disks", "/spec/domain/devices/filesystems")),
    GuestPart(word="devices", below=("/spec/domain/devices",)),
    GuestPart(word="firmware", below=("/spec/domain/firmware", "/spec/domain/launchSecurity")),
    GuestPart(
        word="machine", below=("/spec/domain/machine", "/spec/domain/features", "/spec/domain/clock", "/spec/architecture")
    ),
    GuestPart(
        word="scheduling",
        below=(
            "/spec/nodeSelector",
            "/spec/affinity",
            "/spec/tolerations",
            "/spec/topologySpreadConstraints",
            "/spec/schedulerName",
            "/spec/priorityClassName",
            "/spec/evictionStrategy",
        ),
    ),
    GuestPart(word="labels and annotations", below=("/labels", "/annotations")),
    GuestPart(word="other", below=("",)),
)


def part_of(pointer: str) -> GuestPart:
    """The part of the guest that a path belongs to."""
    return next(part for part in PARTS if any(_is_below(pointer, place) for place in part.below))


def _is_below(pointer: str, place: str) -> bool:
    return pointer.startswith(place) and pointer[len(place) : len(place) + 1] in ("", "/", "[")


def changes(found: Transition, owner: Owner, *, replaced: bool = False) -> list[Object]:
    """The effective changes, by path: `path`, `part`, `old`, `new`, `when`, `causes`. Secrets are hidden.

    What KubeVirt draws at random is no change, unless the manifest sets it, or is put in the place of the VM (`replaced`).
    """
    timed = [each for each in _timed(found) if replaced or not _is_drawn(each[0], found)]
    if not timed:
        return []
    base = side_of_machine(found.base, found.origin, owner, found.first)
    head = side_of_machine(found.after, found.world, owner, found.last)
    sources, drawn = EditSources.between(base, head), _drawn(found)
    return [_without(drawn, _described(difference, when, sources)) for difference, when in timed]


def _is_drawn(difference: Difference, found: Transition) -> bool:
    """True for a value of the firmware that KubeVirt draws, and that no manifest sets."""
    at = difference.pointer.rpartition("/")
    if at[0] != "/" + "/".join(FIRMWARE):
        return False
    return at[2] in DRAWN_KEYS and not any(_written(vm, at[2]) for vm in (found.old, found.new))


def _drawn(found: Transition) -> frozenset[str]:
    """The values of the firmware that KubeVirt drew for the VM on either side. That of the VM's name is none of them."""
    drawn = {
        value
        for vm, machine in ((found.old, found.base), (found.new, found.after))
        for key in DRAWN_KEYS
        if not _written(vm, key) and isinstance(value := get(machine.vm, (*TEMPLATE, *FIRMWARE, key)), str)
    }
    return frozenset(drawn - {stable_uuid(found.base.name)})


def _written(vm: Object, key: str) -> bool:
    return is_set(get(vm, (*TEMPLATE, *FIRMWARE, key)))


def _without(drawn: frozenset[str], change: Object) -> Object:
    """The change with words in place of values that were drawn."""
    if drawn.isdisjoint(each for each in (change.get("old"), change.get("new")) if isinstance(each, str)):
        return change
    causes = [_without(drawn, cause) for cause in change.get("causes", ())]
    worded = {key: DRAWN for key in ("old", "new") if change.get(key) in drawn}
    return {**change, **worded, **({"causes": causes} if causes else {})}


def changes_between(was: Running, now: Running, sides: tuple[CauseSide, CauseSide], when: str) -> list[Object]:
    """The same for two instances that are made of both sides."""
    found = differing(was.seen, now.seen)
    sources = EditSources.between(*sides) if found else EditSources(edits=())
    return [_described(difference, when, sources) for difference in found]


def differing(before: Object, after: Object) -> list[Difference]:
    """The differences without amounts that are only written in another way, such as 1Gi and 1024Mi.

    A topology that is unset is 1; it is no difference beside others.
    """
    found = [each for each in compared(before, after) if not _is_the_same_amount(each)]
    others = [each for each in found if each.pointer not in TOPOLOGY or (each.before or 1) != (each.after or 1)]
    return others or found


def _is_the_same_amount(difference: Difference) -> bool:
    if AMOUNTS.isdisjoint(difference.steps) or not NAMED.isdisjoint(difference.steps):
        return False
    before, after = parse(difference.before), parse(difference.after)
    return bool(before and after and before.nanos == after.nanos)


def _timed(found: Transition) -> list[tuple[Difference, str]]:
    """The differences between what the guest has and what it gets, each with the time when it takes effect."""
    was = found.base.running or found.first.running
    last = found.last.running
    if was is None:
        return []
    if found.base.running is None or found.head.running is None or found.after.running is None:
        return [(each, NEXT_START) for each in differing(was.seen, last.seen)] if last else []
    now = found.after.running
    at_once = [(each, _at_once(each, found)) for each in differing(was.seen, now.seen)]
    later = RESTART if found.head.restart else NEXT_START
    return at_once + ([(each, later) for each in differing(now.seen, last.seen)] if last else [])


def _at_once(difference: Difference, found: Transition) -> str:
    moves = part_of(difference.pointer).moves or difference.pointer.startswith("/spec/volumes")
    return MIGRATION if moves and found.needs_migration else LIVE


def _described(difference: Difference, when: str, sources: EditSources) -> Object:
    shown: Object = {"path": difference.pointer, "part": part_of(difference.pointer).word}
    values = {"old": difference.before, "new": difference.after}
    shown |= {key: redact(value, difference.steps) for key, value in values.items() if value is not None}
    return {**shown, "when": when, "causes": sources.causes(difference)}


def guest(found: Transition) -> Object:
    """The guest's vCPUs and memory where they change: `{"vcpus": {"old": 2, "new": 4}, …}`."""
    return guest_change(found.base.running or found.first.running, found.last.running)


def guest_change(was: Running | None, now: Running | None) -> Object:
    """The same for two instances."""
    sizes = [size_of(each.spec) if each else {} for each in (was, now)]
    return size_change(*sizes) if all(sizes) else {}


def size_change(old: Object, new: Object) -> Object:
    """What differs between two sizes."""
    return {
        key: {side: size[key] for side, size in (("old", old), ("new", new)) if key in size}
        for key in ("vcpus", "memory")
        if _amount(old.get(key)) != _amount(new.get(key))
    }


def _amount(value: object) -> object:
    amount = parse(value)
    return amount.nanos if amount else value


def size_of(spec: Object) -> Object:
    """The vCPUs and the memory of an instance's guest."""
    cpu = get(spec, ("domain", "cpu"), {})
    size = {"vcpus": _product([cpu.get(key) or 1 for key in ("sockets", "cores", "threads")])}
    memory = get(spec, ("domain", "memory", "guest"))
    return {**size, "memory": memory} if isinstance(memory, str) else size


def _product(numbers: Sequence[int]) -> int:
    product = 1
    for number in numbers:
        product *= number
    return product
