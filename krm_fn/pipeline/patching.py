"""Patches of the config (RFC 6902), applied in order to the VMs that are rendered; loaded only if there are some."""

from __future__ import annotations

import jsonpatch
import jsonpointer

from krm_fn.base.objects import kind_of, name_of, namespace_of
from krm_fn.base.paths import canonical, copy, get, is_set, number_of_values, put_in
from krm_fn.base.patterns import Patterns
from krm_fn.base.value import Value
from krm_fn.config.patches import compiled
from krm_fn.pipeline.modes import expand
from krm_fn.rules.facts.patches import Patched, Unpatched

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from krm_fn.base.bundle import Entry
    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.config.patches import Patch
    from krm_fn.rules.facts.bundles import BundleFacts
    from krm_fn.rules.facts.vms import VmFacts

MOST_VALUES = 200_000  # in an object; `copy` can double an object with each operation
REFERENCES = (("spec", "instancetype"), ("spec", "preference"))


class _FailedError(Exception):
    def __init__(self, reason: str, operation: int, given: dict[str, Any], value: object) -> None:
        super().__init__(reason)
        self.reason, self.operation, self.given, self.value = reason, operation, given, value


class Applying(Value):
    """The patches of a run, with the time that their expressions may take."""

    patches: tuple[Patch, ...]
    matcher: Patterns


def with_patches(facts: BundleFacts, rendered: BundleFacts) -> BundleFacts:
    """The facts with what the patches make of VMs. `rendered` are the facts of the same bundle in mode `expand`."""
    applying = Applying(patches=compiled(facts.config.patches), matcher=Patterns())
    changes = {id(entry): (path, new) for entry, path, new in expand.changes(rendered)}
    found = [
        _patched(applying, each, _whole(each.entry, changes.get(id(each.entry))))
        for each in rendered.vms
        if each.rendered is not None
    ]
    return facts.but(
        patched=tuple(each for each in found if isinstance(each, Patched)),
        unpatched=tuple(each for each in found if isinstance(each, Unpatched)),
    )


def _whole(entry: Entry, change: tuple[Path, Object] | None) -> Object:
    """The object around a VM as it leaves without patches."""
    whole: Object = put_in(entry.obj, *change) if change else entry.obj
    return whole


def _patched(applying: Applying, vm: VmFacts, rendered: Object) -> Patched | Unpatched | None:
    """None if no patch is for the object, or none changes it."""
    obj = rendered
    for patch in applying.patches:
        selected = patch.target.selects(obj, applying.matcher)
        if selected is None:
            return Unpatched(entry=vm.entry, reason="slow", patch=patch.number)
        if selected:
            try:
                obj = _applied(patch.operations, obj)
            except _FailedError as error:
                return _unpatched(vm.entry, patch, error)
    if obj == rendered:
        return None
    unstable = _unstable(applying, obj, vm.prefix)
    return Patched(entry=vm.entry, obj=obj, repeats=unstable is None, unstable=unstable or 0)


def _unstable(applying: Applying, obj: Object, prefix: Path) -> int | None:
    """The first patch that does not keep its own result, -1 for a reference that a second run would render; else None."""
    if any(is_set(get(obj, (*prefix, *reference))) for reference in REFERENCES):
        return -1
    again = obj
    selecting = [patch for patch in applying.patches if patch.target.selects(obj, applying.matcher)]
    for patch in selecting:
        try:
            again = _applied(patch.operations, again)
        except _FailedError:
            return patch.number
    if again == obj:
        return None
    return next(patch.number for patch in selecting if _applied(patch.operations, obj) != obj)


def _applied(operations: Sequence[dict[str, Any]], obj: Object) -> Object:
    """A new object. Raises: _FailedError with the operation that can't be applied."""
    new: Any = copy(obj)
    for number, given in enumerate(operations):
        try:
            new = _after(given, new)
        except (jsonpatch.JsonPatchConflict, jsonpointer.JsonPointerException):
            raise _FailedError("absent", number, given, new) from None
        except jsonpatch.JsonPatchTestFailed:
            raise _FailedError("test", number, given, new) from None
        except (jsonpatch.JsonPatchException, TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError):
            raise _FailedError("invalid", number, given, new) from None
        if not isinstance(new, dict):
            raise _FailedError("object", number, given, obj)
        if given["op"] == "copy" and number_of_values(new) > MOST_VALUES:
            raise _FailedError("large", number, given, obj)
    if _identity(new) != _identity(obj):
        raise _FailedError("object", len(operations) - 1, operations[-1], obj)
    result: Object = new
    return result


def _after(given: dict[str, Any], obj: Any) -> Any:
    """The object after one operation; it may be changed in place. The library takes 1 and true for equal, so `test` is ours."""
    if given["op"] == "test":
        if canonical(jsonpointer.resolve_pointer(obj, given["path"])) != canonical(given["value"]):
            raise jsonpatch.JsonPatchTestFailed
        return obj
    return jsonpatch.JsonPatch([copy(given)]).apply(obj, in_place=True)


def _identity(obj: Object) -> tuple[object, ...]:
    return obj.get("apiVersion"), kind_of(obj), namespace_of(obj), name_of(obj)


def _unpatched(entry: Entry, patch: Patch, error: _FailedError) -> Unpatched:
    pointer = error.given["path"]
    return Unpatched(
        entry=entry,
        reason=error.reason,
        patch=patch.number,
        operation=error.operation,
        op=error.given["op"],
        path=_path(pointer, error.value),
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
