"""What a change does to the data of machines: the disks that are deleted, refused, enlarged or taken over, and the ConfigMaps
and Secrets that a guest reads.

A DataVolume of a VM's dataVolumeTemplates belongs to the VM, and is deleted with it, and so does the claim with the state of
its TPM or EFI. Others belong to the bundle: one that the bundle no longer has is deleted, unless a mark keeps it.
upstream: pkg/virt-controller/watch/vm/vm.go:handleDataVolumes, pkg/controller/controller_ref_manager.go:
ClaimMatchedDataVolumes, pkg/storage/backend-storage/backend-storage.go:createPVC
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator, Mapping
from krm_fn.base.bundle import Bundle, Entry, effective_namespace
from krm_fn.base.objects import Object, annotations_of, group_of, kind_of, labels_of, name_of, text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.base.wording import listed
from krm_fn.changes.owners import POOL, VM, key_of
from krm_fn.changes.scaling import RECREATED, SCALED_IN
from krm_fn.kubevirt.holders import DATA_VOLUMES, POOLED, SERVED
from krm_fn.kubevirt.pods.launch import LaunchContext
from krm_fn.kubevirt.updates.data_volumes import (
    CLAIM,
    DATA_VOLUME,
    READ,
    Edit,
    edit_of_disk,
    edit_of_read,
    readings_of,
    size_of,
)
from krm_fn.kubevirt.updates.machine import World, entries
from krm_fn.kubevirt.updates.pools import keeps_disks
from krm_fn.kubevirt.updates.transition import VOLUMES
from krm_fn.sizing.storage import named_state, state_of, states_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.changes.sides import Side
Named = tuple[str, str, str]  # kind, namespace, name


REMOVED = "removed"
DISKS = {DATA_VOLUME: "cdi.kubevirt.io", CLAIM: ""}
KINDS = {**DISKS, **dict.fromkeys(READ, "")}
# What becomes of an object, beside what its edit does.
DELETED, TAKEN_OVER, STAYS, IGNORED, MISSING = "deleted", "takenOver", "stays", "ignored", "missing"
# Where a claim's name stands in a volume.
CLAIMS = (
    ("persistentVolumeClaim", "claimName"),
    ("dataVolume", "name"),
    ("ephemeral", "persistentVolumeClaim", "claimName"),
    ("memoryDump", "claimName"),
)
SYNC = "argocd.argoproj.io/sync-options"
# Marks of objects that stay in the cluster once the bundle no longer has them: of Flux (a label, too), Argo CD, Helm (and Argo
# CD), of kpt and others that use cli-utils, of kapp. The values are in lower case; Argo CD takes several.
MARKS = {
    "kustomize.toolkit.fluxcd.io/prune": "disabled",
    SYNC: "prune=false",
    "helm.sh/resource-policy": "keep",
    "cli-utils.sigs.k8s.io/on-remove": "keep",
    "client.lifecycle.config.k8s.io/deletion": "detach",
    "kapp.k14s.io/delete-strategy": "orphan",
}


# Marks of objects that are deleted and created anew where their update is refused, and of those whose manifest replaces them.
FORCING = {"kustomize.toolkit.fluxcd.io/force": "enabled", SYNC: "force=true"}
REPLACING = {SYNC: "replace=true"}


def mark_of(obj: Object, marks: Mapping[str, str] = MARKS) -> str:
    """The mark of some that an object has, as it is written; "" for none."""
    found = {**labels_of(obj), **annotations_of(obj)}
    given = ((key, value, text(found.get(key)).lower().split(",")) for key, value in marks.items())
    return next((f"{key}: {found[key]}" for key, value, words in given if value in map(str.strip, words)), "")


def left_by(obj: Object, head: Side) -> str:
    """Why an object stays in the cluster that this side no longer has: a mark, or what delivers it; "" if it does not."""
    return mark_of(obj) or head.delivered.keeps


class Data:
    """The objects with data that differ between both sides."""

    def __init__(self, base: Side, head: Side) -> None:
        self._base, self._head = base, head
        before, after = (_objects(side.analysis.bundle) for side in (base, head))
        keys = {**before, **after}
        self._changed = {key: (before.get(key), after.get(key)) for key in keys if before.get(key) != after.get(key)}
        self._owned: frozenset[tuple[str, str]] | None = None

    def added_to(self, record: Object, old: Entry | None, new: Entry | None) -> Object:
        """The record with what the change does to the machine's data: `data`, and the names of what is deleted: `deletes`."""
        if not self._changed and as_map(record.get("update")).get("sent") is False:
            return record  # neither the machine nor an object that it uses is edited
        found = [*self._of_templates(record, old, new), *self._of_objects(record, old, new)] if old else self._new(new)
        if not found:
            return record
        deleted = [f"{each['kind']}/{each['name']}" for each in found if each["effect"] == DELETED]
        return {**record, "data": found, **({"deletes": deleted} if deleted else {})}

    def _of_templates(self, record: Object, old: Entry, new: Entry | None) -> Iterator[Object]:
        """What becomes of the DataVolumes of a VM that exists."""
        before, after = _templates(old), _templates(new)
        if "leftBy" in record:
            return
        goes = new is None or _is_made_anew(record, new, self._head)
        numbers = "-*" if kind_of(old.obj) == POOL else ""
        if goes:
            yield from self._states(old, numbers)
        for name, spec in before.items():
            if goes:
                yield _deleted(DATA_VOLUME, name + numbers, size_of(DATA_VOLUME, spec))
            elif name not in after and _is_written(record):
                yield _entry(
                    DATA_VOLUME, name, STAYS, "leaves dataVolumeTemplates; KubeVirt keeps it and deletes it with the VM"
                )
            elif spec != after.get(name, spec) and (
                edit := edit_of_disk(DATA_VOLUME, {"spec": spec}, {"spec": after[name]}, self._world(old))
            ):
                yield _entry(
                    DATA_VOLUME, name, IGNORED, "KubeVirt does not change a DataVolume that exists", fields=list(edit.fields)
                )
        if new is not None and not goes and _is_written(record):
            yield from self._taken_over(new, [name for name in after if name not in before])

    def _states(self, old: Entry, numbers: str) -> Iterator[Object]:
        """The claim with what a machine keeps of its TPM and EFI."""
        spec, (namespace, name, _), known = _spec(old, self._base.rendered(old)), key_of(old.obj), self._base.analysis
        around = LaunchContext(
            bundle=known.bundle,
            cluster=known.cluster,
            release=known.release,
            namespace=namespace,
            vm_labels=_vm_labels(old.obj),
        )
        for each in named_state(state_of(spec, around), namespace, name + numbers, known.bundle):
            what = f"the state of its {listed(states_of(spec, around), 'and')}"
            yield _entry(CLAIM, each["name"], DELETED, what, size=each["size"])

    def _new(self, new: Entry | None) -> list[Object]:
        """What a VM that is new takes over."""
        return list(self._taken_over(new, list(_templates(new)))) if new else []

    def _taken_over(self, new: Entry, names: list[str]) -> Iterator[Object]:
        """The disks of the bundle that a new template takes over; a DataVolume that belongs to another VM is not one of them.

        A claim without a DataVolume goes to the one that KubeVirt makes of the template.
        """
        namespace = effective_namespace(new.obj)
        for name in names:
            there = next((kind for kind in DISKS if self._stays(kind, namespace, name)), "")
            if there and (namespace, name) not in self._owned_names():
                yield _entry(
                    there, name, TAKEN_OVER, "is taken over by the template of its name; it is deleted with the VM then"
                )

    def _stays(self, kind: str, namespace: str, name: str) -> bool:
        """True for an object that both sides have."""
        return all(side.analysis.bundle.find(kind, namespace, name) for side in (self._base, self._head))

    def _owned_names(self) -> frozenset[tuple[str, str]]:
        """Namespace and name of the DataVolumes that belong to VMs before the change."""
        if self._owned is None:
            holders = self._base.holders.values()
            self._owned = frozenset((effective_namespace(each.obj), name) for each in holders for name in _templates(each))
        return self._owned

    def _of_objects(self, record: Object, old: Entry, new: Entry | None) -> Iterator[Object]:
        """What becomes of the objects of the bundle that the machine uses."""
        if not self._changed:
            return
        before, after, told = _disks(old), _disks(new), {} if new else _templates(old)
        moves = VOLUMES in as_map(record.get("migration")).get("because", ())
        for name in {**before, **after}:
            for kind in DISKS:
                was, now = self._both(kind, old, name)
                if was and now:
                    yield from _edited(kind, name, edit_of_disk(kind, was, now, self._world(old)))
                elif was and (mark := left_by(was, self._head)) and name in before:
                    yield _entry(kind, name, STAYS, f"leaves the bundle, and stays in the cluster because of {mark}")
                elif was and name in before and name not in told and not (moves and name not in after):
                    yield _deleted(kind, name, size_of(kind, as_map(was.get("spec"))), again=name in _templates(new))
        if new is not None:
            yield from self._of_readings(new)

    def _of_readings(self, new: Entry) -> Iterator[Object]:
        """What becomes of the ConfigMaps and Secrets that the machine reads; of several effects of one object the first."""
        told: dict[tuple[str, str], Object] = {}
        for read in readings_of(_spec(new)):
            was, now = self._both(read.kind, new, read.name)
            if was and now:
                found = _edited(read.kind, read.name, edit_of_read(read, was, now))
            else:
                what = "is removed, but the machine reads it; its next start waits for it"
                goes = was and not left_by(was, self._head)
                found = iter([_entry(read.kind, read.name, MISSING, what)] if goes else [])
            for entry in found:
                told.setdefault((read.kind, read.name), entry)
        yield from told.values()

    def _both(self, kind: str, user: Entry, name: str) -> tuple[Object | None, Object | None]:
        """An object that differs, on both sides; None where there is none, and for one that is the same on both."""
        return self._changed.get((kind, effective_namespace(user.obj), name), (None, None))

    def _world(self, user: Entry) -> World:
        return self._head.world(effective_namespace(user.obj), str(user.obj.get("apiVersion")))


def _objects(bundle: Bundle) -> dict[Named, Object]:
    return {
        (kind, effective_namespace(each.obj), name_of(each.obj)): each.obj
        for kind, group in KINDS.items()
        for each in bundle.of_kind(kind, group)
    }


def _entry(kind: str, name: str, effect: str, message: str, **more: object) -> Object:
    found = {"kind": kind, "name": name, "effect": effect, **more, "message": message}
    return {key: value for key, value in found.items() if value}


def _deleted(kind: str, name: str, size: str, *, again: bool = False) -> Object:
    return _entry(kind, name, DELETED, "the VM makes a new one of its template" if again else "", size=size)


def _edited(kind: str, name: str, edit: Edit | None) -> Iterator[Object]:
    if edit:
        yield _entry(kind, name, edit.effect, edit.what, fields=list(edit.fields), **edit.values)


def _is_written(record: Object) -> bool:
    """True where the new manifest reaches the cluster."""
    return bool(as_map(record.get("update")).get("allowed"))


def _is_made_anew(record: Object, new: Entry, head: Side) -> bool:
    """True where a VM is deleted with its disks, or some VMs of a pool."""
    if {RECREATED, REMOVED} & {*record["effect"]}:
        return True
    return SCALED_IN in record["effect"] and kind_of(new.obj) == POOL and not keeps_disks(new.obj, head.analysis.release)


def _templates(entry: Entry | None) -> dict[str, Object]:
    """The names of the DataVolume templates, each with its spec."""
    row = SERVED[group_of(entry.obj), kind_of(entry.obj)] if entry else None
    if entry is None or row is None or row.vm is None:
        return {}
    found = [as_map(each) for each in as_list(get(entry.obj, row.in_vm(DATA_VOLUMES)))]
    return {name: as_map(each.get("spec")) for each in found if (name := text(as_map(each.get("metadata")).get("name")))}


def _vm_labels(obj: Object) -> Object | None:
    """The labels of an object's VMs; None where it has none."""
    if kind_of(obj) == POOL:
        return labels_of(as_map(get(obj, POOLED)))
    return labels_of(obj) if kind_of(obj) == VM else None


def _spec(entry: Entry, obj: Object | None = None) -> Object:
    """The spec of an object's instances, in another form of the object if that is given."""
    return as_map(get(obj or entry.obj, SERVED[group_of(entry.obj), kind_of(entry.obj)].instance))


def _disks(entry: Entry | None) -> dict[str, None]:
    """The names of the claims that the volumes of a machine have."""
    volumes = entries(_spec(entry), "volumes") if entry else []
    return {name: None for each in volumes for at in CLAIMS if (name := text(get(each, at)))}
