"""Patches of the config (RFC 6902), applied in order to the VMs that are rendered; loaded only if there are some."""

from __future__ import annotations

import jsonpatch
import jsonpointer

from krm_fn.base.annotations import Any, Iterator, Sequence
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import Object, kind_of, name_of, namespace_of
from krm_fn.base.paths import Path, canonical, copy, get, is_set, number_of_values, put_in
from krm_fn.base.regex import Patterns
from krm_fn.base.value import Value
from krm_fn.base.work import Budget, SpentError
from krm_fn.config.patches import Patch, Patches
from krm_fn.kubevirt.settings import Config
from krm_fn.pipeline.modes import expand
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.facts.patches import Patched, Unpatched

MOST_VALUES = 200_000  # in an object; `copy` can double an object with each operation
REFERENCES = (("spec", "instancetype"), ("spec", "preference"))
# The work of the patches of a run: to begin with, and for each VM. A comparison, and a value that `copy` looks at.
UNITS, OF_VM, OF_COMPARISON, OF_VALUE = 3_000_000, 1_500, 4, 4
ABSENT: Any = object()
OPERATIONS = {
    "add": jsonpatch.AddOperation,
    "remove": jsonpatch.RemoveOperation,
    "replace": jsonpatch.ReplaceOperation,
    "move": jsonpatch.MoveOperation,
    "copy": jsonpatch.CopyOperation,
}
BYTES = 8  # that are compared in a unit


class _FailedError(Exception):
    """An operation that can't be applied. `value` is what it was applied to, None for the object before its patch."""

    def __init__(self, reason: str, operation: int, given: dict[str, Any], value: object) -> None:
        super().__init__(reason)
        self.reason, self.operation, self.given, self.value = reason, operation, given, value


class WrittenPlace(Value):
    """A place that an operation may have changed, with its value before, `ABSENT` for none, and after."""

    patch: int
    operation: int
    place: Path
    before: Any
    after: Any


class Applying(Value):
    """The patches of a run, with the work that they and their expressions may take.

    `again`: it is looked up whether the patches would give the same result once more. `written` gets what each operation
    changes, if somebody asks.
    """

    patches: Patches
    work: Budget
    matcher: Patterns
    again: bool = False
    written: list[WrittenPlace] | None = None

    def selected(self, patch: Patch, obj: Object) -> bool | None:
        """Whether a patch is for the object, None where that can't be found out. Raises: SpentError."""
        self.work.spend(OF_COMPARISON * patch.target.size)
        return patch.target.selects(obj, self.matcher)


def with_patches(facts: BundleFacts, rendered: BundleFacts) -> BundleFacts:
    """The facts with what the patches make of VMs. `rendered` are the facts of the same bundle in mode `expand`."""
    applying = applying_of(facts.config, len(rendered.vms)).but(again=True)
    changes = {id(entry): (path, new) for entry, path, new in expand.changes(rendered)}
    found = [
        patched(applying, each.entry, each.prefix, _whole(each.entry, changes.get(id(each.entry))))
        for each in rendered.vms
        if each.rendered is not None
    ]
    return facts.but(
        patched=tuple(each for each in found if isinstance(each, Patched)),
        unpatched=tuple(each for each in found if isinstance(each, Unpatched)),
    )


def applying_of(settings: Config, vms: int) -> Applying:
    """The patches of a config, for so many VMs."""
    return Applying(patches=Patches(settings.patches), work=Budget(UNITS + OF_VM * vms), matcher=Patterns())


def _whole(entry: Entry, change: tuple[Path, Object] | None) -> Object:
    """The object around a VM as it leaves without patches."""
    whole: Object = put_in(entry.obj, *change) if change else entry.obj
    return whole


def patched(applying: Applying, entry: Entry, prefix: Path, rendered: Object) -> Patched | Unpatched | None:
    """What patches make of a rendered object, whose VM is at `prefix`; None if no patch is for it, or none changes it.

    Where the work is spent, no patch is applied to this VM and those after it.
    """
    try:
        applying.work.spend(0)
        return _patched(applying, entry, prefix, rendered)
    except SpentError:
        return Unpatched(entry=entry, reason="work")


def _patched(applying: Applying, entry: Entry, prefix: Path, rendered: Object) -> Patched | Unpatched | None:
    """As `patched`. Raises: SpentError."""
    obj = rendered
    applied: list[Patch] = []
    near = applying.patches.near(rendered)  # no patch changes the texts that decide this
    applying.work.spend(len(near))
    for patch in near:
        selected = applying.selected(patch, obj)
        if selected is None:
            return Unpatched(entry=entry, reason="slow", patch=patch.number)
        if selected:
            try:
                obj = _applied(patch, obj if applied else _copied(obj, applying), applying)
            except _FailedError as error:
                value = _before(applied, rendered, applying) if error.value is None else error.value
                return _unpatched(entry, patch, error, value)
            applied.append(patch)
    if obj == rendered:
        return None
    unstable = _unstable(applying, obj, prefix) if applying.again else None
    return Patched(entry=entry, obj=obj, repeats=unstable is None, unstable=unstable or 0)


def _copied(obj: Object, applying: Applying) -> Object:
    applying.work.spend(number_of_values(obj))
    new: Object = copy(obj)
    return new


def _before(applied: Sequence[Patch], rendered: Object, applying: Applying) -> Object:
    """The object as the patches have left it that were applied."""
    obj = _copied(rendered, applying)
    for patch in applied:
        obj = _applied(patch, obj, applying)
    return obj


def _unstable(applying: Applying, obj: Object, prefix: Path) -> int | None:
    """The first patch that does not keep its own result, -1 for a reference that a second run would render; else None."""
    if any(is_set(get(obj, (*prefix, *reference))) for reference in REFERENCES):
        return -1
    again = _copied(obj, applying)
    selecting = [patch for patch in applying.patches.near(obj) if applying.selected(patch, obj)]
    for patch in selecting:
        try:
            again = _applied(patch, again, applying)
        except _FailedError:
            return patch.number
    if again == obj:
        return None
    return next(patch.number for patch in selecting if _applied(patch, _copied(obj, applying), applying) != obj)


def _applied(patch: Patch, obj: Object, applying: Applying) -> Object:
    """The object after a patch; the given one may be changed. Raises: SpentError; _FailedError with the operation that can't be
    applied."""
    applying.work.spend(patch.cost)
    new, identity = obj, _identity(obj)
    for number, given in enumerate(patch.operations):
        try:
            places = [] if applying.written is None else list(_places(given, new))
            seen = [(place, copy(get(new, place, ABSENT))) for place in places]
            new = _after(given, new, applying.work)
        except (jsonpatch.JsonPatchConflict, jsonpointer.JsonPointerException):
            raise _FailedError("absent", number, given, new) from None
        except jsonpatch.JsonPatchTestFailed:
            raise _FailedError("test", number, given, new) from None
        except (jsonpatch.JsonPatchException, TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError):
            raise _FailedError("invalid", number, given, new) from None
        if not isinstance(new, dict):
            raise _FailedError("object", number, given, None)
        if applying.written is not None:
            applying.written.extend(_written(patch.number, number, seen, new))
        if given["op"] == "copy":
            values = number_of_values(new)
            applying.work.spend(OF_VALUE * values)
            if values > MOST_VALUES:
                raise _FailedError("large", number, given, None)
    if _identity(new) != identity:
        raise _FailedError("object", len(patch.operations) - 1, patch.operations[-1], None)
    return new


def _after(given: dict[str, Any], obj: Any, work: Budget) -> Any:
    """The object after one operation; it may be changed in place. The library takes 1 and true for equal, so `test` is ours."""
    if given["op"] == "test":
        found = canonical(jsonpointer.resolve_pointer(obj, given["path"]))
        work.spend(len(found) // BYTES)
        if found != canonical(given["value"]):
            raise jsonpatch.JsonPatchTestFailed
        return obj
    return OPERATIONS[given["op"]](copy(given)).apply(obj)


def _written(patch: int, operation: int, seen: Sequence[tuple[Path, Any]], obj: Object) -> Iterator[WrittenPlace]:
    for place, before in seen:
        after = copy(get(obj, place, ABSENT))
        yield WrittenPlace(patch=patch, operation=operation, place=place, before=before, after=after)


def _places(given: dict[str, Any], obj: Any) -> Iterator[Path]:
    """The places that an operation changes: an entry moves those behind it, so its list is one."""
    for pointer in [given["path"]] if given["op"] != "move" else [given["from"], given["path"]]:
        *_, last = parts = jsonpointer.JsonPointer(pointer).parts or [""]
        around = _path("/" + "/".join(map(jsonpointer.escape, parts[:-1])), obj) if parts[:-1] else ()
        yield (*around, last) if isinstance(get(obj, around), dict) and len(around) == len(parts) - 1 else around


def _identity(obj: Object) -> tuple[object, ...]:
    return obj.get("apiVersion"), kind_of(obj), namespace_of(obj), name_of(obj)


def _unpatched(entry: Entry, patch: Patch, error: _FailedError, value: object) -> Unpatched:
    pointer = error.given["path"]
    return Unpatched(
        entry=entry,
        reason=error.reason,
        patch=patch.number,
        operation=error.operation,
        op=error.given["op"],
        path=_path(pointer, value),
        pointer=pointer,
    )


def _path(pointer: str, value: Any) -> Path:
    """The place of a pointer, as far as it exists."""
    steps: list[str | int] = []
    for part in jsonpointer.JsonPointer(pointer).parts:
        step: str | int = int(part) if isinstance(value, list) and part.isdecimal() and len(part) < 9 else part
        if get(value, (step,)) is None:
            break
        steps.append(step)
        value = get(value, (step,))
    return tuple(steps)
