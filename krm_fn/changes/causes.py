"""Where a difference between two instances of a VM comes from: which edit of which object makes it.

An instance is made of a VM, an instancetype, a preference, the settings of the cluster and a release. To find the cause of a
difference, the instance is made again with one of them from the other side. The one that makes the difference is the cause.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Callable, Iterable, Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import as_map, copy, drop, get, put
from krm_fn.base.redaction import redact
from krm_fn.base.value import Value
from krm_fn.kubevirt.facts import Found, Resolution
from krm_fn.kubevirt.updates.lone_instances import made_from
from krm_fn.kubevirt.updates.machine import Machine, World
from krm_fn.kubevirt.updates.references import ENTRY, Difference, compared, find
from krm_fn.kubevirt.updates.starting import Start, made_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.changes.owners import Owner


VM, INSTANCETYPE, PREFERENCE, CLUSTER, RELEASE = "vm", "instancetype", "preference", "kubevirt", "release"


class CauseSide(Value):
    """What an instance is made of on one side: each source by its word, and what makes an instance of all of them.

    `written` is the VM as the API server has it, {} if an instance is made without one. `made` is the instance, if it is known.
    """

    owner: Owner
    parts: dict[str, Any]
    make: Callable[[dict[str, Any]], Object | None]
    written: Object
    made: Object | None = None

    def instance(self, changed: dict[str, Any]) -> Object | None:
        """The instance with some sources from elsewhere, None where none can be made."""
        return self.make({**self.parts, **changed}) if changed or self.made is None else self.made


def side_of_machine(machine: Machine, world: World, owner: Owner, start: Start) -> CauseSide:
    """The side of a VM; `start` is one of its starts, which the machine may have left behind."""
    found = find(machine, world)
    known = start.running.seen if start.running and start.found == found else None
    parts = {VM: found.vm, INSTANCETYPE: found.instancetype, PREFERENCE: found.preference}

    def make(given: dict[str, Any]) -> Object | None:
        resolution = Resolution(vm=given[VM], instancetype=given[INSTANCETYPE], preference=given[PREFERENCE])
        made = made_of(resolution, machine, world.but(cluster=given[CLUSTER], release=given[RELEASE]))
        return made.seen if made else None

    return CauseSide(owner=owner, parts={**parts, **_of_world(world)}, make=make, written=machine.vm, made=known)


def side_of_template(template: Object, world: World, owner: Owner) -> CauseSide:
    """The side of a template, or of an instance without an owner."""
    vm = {"spec": {"template": template}}
    parts = {VM: vm, INSTANCETYPE: None, PREFERENCE: None}

    def make(given: dict[str, Any]) -> Object | None:
        around = world.but(cluster=given[CLUSTER], release=given[RELEASE])
        made = made_from(given[VM]["spec"]["template"], owner.name, owner.namespace, around)
        return made.seen if made else None

    return CauseSide(owner=owner, parts={**parts, **_of_world(world)}, make=make, written={})


def _of_world(world: World) -> Object:
    return {CLUSTER: world.cluster, RELEASE: world.release}


class EditSources(Value):
    """The edits between two sides."""

    edits: tuple[CauseEdit, ...]

    @classmethod
    def between(cls, base: CauseSide, head: CauseSide) -> EditSources:
        """The edits from one side to the other. A single one is not tried: all that differs comes of it."""
        before = base.instance({})
        edits = tuple(_edits(base, head)) if before is not None else ()
        return cls(edits=tuple(_tried(edit, base, head, before) for edit in edits) if before and len(edits) > 1 else edits)

    def causes(self, difference: Difference) -> list[Object]:
        """The edits that give the new value, else those that make the difference, else the first of all."""
        giving = [edit.cause for edit in self.edits if _reach(edit.gives, difference)]
        making = giving or [edit.cause for edit in self.edits if _reach(edit.makes, difference)]
        return making or [edit.cause for edit in self.edits][:1]


class CauseEdit(Value):
    """One edit: the cause as it is shown, and the paths of the instance that it changes by itself.

    `changed` are the sources of the old side that it replaces, {} for an edit inside a list. `without` are those of the new
    side in which it is missing. `gives`: the paths whose values the new side would not have without it. A VM that gets an
    instancetype gives up its own size in the same change, so neither edit makes a VM by itself, but the instancetype gives the
    size.
    """

    cause: Object
    changed: Object
    without: Object = {}  # noqa: RUF012  nobody writes into a Value
    makes: frozenset[str] = frozenset()
    gives: frozenset[str] = frozenset()


def _edits(base: CauseSide, head: CauseSide) -> Iterator[CauseEdit]:
    yield from _of_vm(base, head)
    for field in (INSTANCETYPE, PREFERENCE):
        yield from _of_reference(field, base, head)
    if base.parts[CLUSTER] != head.parts[CLUSTER]:
        yield from _of_cluster(base, head)
    if base.parts[RELEASE] != head.parts[RELEASE]:
        cause = {"source": RELEASE, "old": str(base.parts[RELEASE]), "new": str(head.parts[RELEASE])}
        yield CauseEdit(cause=cause, changed={RELEASE: head.parts[RELEASE]})


def _tried(edit: CauseEdit, base: CauseSide, head: CauseSide, before: Object) -> CauseEdit:
    """The edit with all that it makes and gives."""
    after = head.instance({}) if edit.without else None
    gives = _differing(head, edit.without, after) if after is not None else frozenset()
    return edit.but(makes=edit.makes | _differing(base, edit.changed, before), gives=gives)


def _differing(side: CauseSide, changed: Object, before: Object) -> frozenset[str]:
    """The paths at which the instance is another one with some sources from elsewhere."""
    after = side.instance(changed) if changed else None
    return frozenset(each.pointer for each in compared(before, after)) if after is not None else frozenset()


def _of_vm(base: CauseSide, head: CauseSide) -> Iterator[CauseEdit]:
    """The edits of the VM's template: each shows at the same place in the instance, and where defaults follow from it."""
    owner, old, new = head.owner, _template(base), _template(head)
    for each in compared(old, new):
        makes = frozenset((each.pointer.removeprefix("/metadata"),))
        changed: Object = {}
        if ENTRY not in each.steps:
            spec = {**base.parts[VM]["spec"], "template": _with_field(old, new, each.steps)}
            changed = {VM: {**base.parts[VM], "spec": spec}}
        cause = _of_owner(owner, owner.template + _dotted(each.pointer))
        yield CauseEdit(cause={**cause, **_values(each)}, changed=changed, makes=makes)


def _template(side: CauseSide) -> Object:
    template = as_map(get(side.parts[VM], ("spec", "template")))
    return {"metadata": as_map(template.get("metadata")), "spec": as_map(template.get("spec"))}


def _values(edited: Difference) -> Object:
    """Both values of an edited field; secrets are hidden."""
    values = {"old": edited.before, "new": edited.after}
    return {key: redact(value, edited.steps) for key, value in values.items() if value is not None}


def _of_owner(owner: Owner, field: str) -> Object:
    return _object(owner.kind, owner.namespace, owner.name, field.removeprefix("."), owner.source)


def _object(kind: str, namespace: str, name: str, field: str, source: str) -> Object:
    shown = {"source": source, "kind": kind, "namespace": namespace, "name": name, "field": field}
    return {key: value for key, value in shown.items() if value}


def _dotted(pointer: str) -> str:
    return pointer.replace("/", ".").replace("~1", "/").replace("~0", "~")


def _of_reference(field: str, base: CauseSide, head: CauseSide) -> Iterator[CauseEdit]:
    """The edits of a matcher, else those of the object that it names."""
    old, new = base.parts[field], head.parts[field]
    moved = _moved(field, base.written, head.written)
    if moved:
        changed = {field: new, VM: _with_matcher(field, base, head)}
        cause = _of_owner(head.owner, f"{head.owner.vm}.spec.{field}{moved}")
        without = {field: old, VM: _with_matcher(field, head, base)}
        yield CauseEdit(cause={**cause, **_matched(field, moved, base, head)}, changed=changed, without=without)
    elif old is not None and new is not None and old.spec != new.spec:
        for each in compared(old.spec, new.spec):
            spec = _with_field(old.spec, new.spec, each.steps)
            cause = _of_found(new, "spec" + _dotted(each.pointer), field)
            yield CauseEdit(cause={**cause, **_values(each)}, changed={field: old.but(spec=spec)})


def _of_found(found: Found, field: str, source: str) -> Object:
    """The object that a field was edited in: the revision, the catalogue's object, or the bundle's."""
    if found.revision:
        field = f"data.{field}"
        return {**_object("ControllerRevision", found.revision.namespace, found.revision.name, field, "revision"), "of": source}
    shown = _object(found.ref.kind, found.ref.namespace, found.ref.name, field, source)
    return {**shown, "source": "catalogue", "of": source} if found.origin == "catalogue" else shown


def _moved(field: str, base: Object, head: Object) -> str:
    """The key of the matcher that was edited, with a dot before it; "" where none was."""
    old, new = (as_map(get(vm, ("spec", field))) for vm in (base, head))
    keys = [key for key in ("name", "kind", "revisionName", "inferFromVolume") if old.get(key) != new.get(key)]
    return f".{keys[0]}" if keys else ""


def _matched(field: str, moved: str, base: CauseSide, head: CauseSide) -> Object:
    """The old and the new value of the key of a matcher that was edited."""
    path = ("spec", field, moved.removeprefix("."))
    values = {side: get(each.written, path) for side, each in (("old", base), ("new", head))}
    return {side: value for side, value in values.items() if value is not None}


def _with_matcher(field: str, base: CauseSide, head: CauseSide) -> Object:
    """The VM of the base with the matcher of the head."""
    spec = {key: value for key, value in base.parts[VM]["spec"].items() if key != field}
    matcher = get(head.parts[VM], ("spec", field))
    if matcher is not None:
        spec[field] = matcher
    return {**base.parts[VM], "spec": spec}


def _with_field(old: Object, new: Object, steps: tuple[str | int, ...]) -> Object:
    """A spec with one field of another one; a list is taken as a whole."""
    path = steps[: steps.index(ENTRY)] if ENTRY in steps else steps
    spec: Object = copy(old)
    value = get(new, path)
    if value is not None:
        put(spec, path, copy(value))
    else:
        drop(spec, path)
    return spec


def _of_cluster(base: CauseSide, head: CauseSide) -> Iterator[CauseEdit]:
    old, new = base.parts[CLUSTER].configuration, head.parts[CLUSTER].configuration
    for each in compared(old, new):
        cluster = base.parts[CLUSTER].but(configuration=_with_field(old, new, each.steps))
        cause = {"source": CLUSTER, "kind": "KubeVirt", "field": "spec.configuration" + _dotted(each.pointer)}
        yield CauseEdit(cause={**cause, **_values(each)}, changed={CLUSTER: cluster})


def _reach(pointers: Iterable[str], difference: Difference) -> bool:
    return any(_touch(pointer, difference.pointer) for pointer in pointers)


def _touch(one: str, other: str) -> bool:
    """True where one path is the other, or stands above it."""
    shorter, longer = sorted((one, other), key=len)
    return longer.startswith(shorter) and longer[len(shorter) : len(shorter) + 1] in ("", "/", "[")
