"""Which object of the bundle may be proposed in place of a missing one.

The name must be a misspelling (`krm_fn.base.suggestions`), and it must be safe to follow the proposal: no machine or workload
uses the object, it is neither the object with the reference nor one that this object creates, and a snapshot to restore is one
of the VM that is restored.
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.bundle import Bundle, Entry, effective_namespace
from krm_fn.base.objects import group_of, kind_of, name_of, text
from krm_fn.base.paths import EACH, Path, as_list, get
from krm_fn.base.suggestions import Suggestions
from krm_fn.kubevirt.holders import DATA_VOLUMES, RENDERED, SERVED
from krm_fn.rules.shared.available_objects import MAKERS, NAME, available_objects
from krm_fn.rules.shared.object_references import INSTANCE, Fields, ReferenceField, places_of, tree_of, wanted
from krm_fn.rules.shared.views import shared

Named = tuple[str, str, str]  # kind, namespace, name


POD = (
    ReferenceField(place=("volumes", EACH, "persistentVolumeClaim", "claimName"), kind="PersistentVolumeClaim"),
    ReferenceField(place=("volumes", EACH, "secret", "secretName"), kind="Secret"),
    ReferenceField(place=("volumes", EACH, "configMap", "name"), kind="ConfigMap"),
    ReferenceField(place=("serviceAccountName",), kind="ServiceAccount"),
)
POD_TEMPLATE: Path = ("spec", "template", "spec")
# Where the kinds that use objects have the spec that refers to them.
USERS: dict[tuple[str, str], Fields] = {
    **{key: ((holder.instance, INSTANCE),) for key, holder in SERVED.items()},
    ("", "Pod"): ((("spec",), POD),),
    ("batch", "CronJob"): ((("spec", "jobTemplate", *POD_TEMPLATE), POD),),
    ("batch", "Job"): ((POD_TEMPLATE, POD),),
    ("apps", "Deployment"): ((POD_TEMPLATE, POD),),
    ("apps", "StatefulSet"): ((POD_TEMPLATE, POD),),
    ("apps", "DaemonSet"): ((POD_TEMPLATE, POD),),
}
# A DataVolume and its claim are one disk.
SAME = {"DataVolume": "PersistentVolumeClaim"}
SNAPSHOT, RESTORE = "VirtualMachineSnapshot", "VirtualMachineRestore"


class Proposals:
    """The proposals for the references in one bundle."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle, self._there, self._suggestions = bundle, available_objects(bundle), Suggestions()

    def name(self, missing: Named, owner: Entry) -> str:
        """The name to write in the owner in place of a missing object's; "" where no name is safe to write.

        For an object that kustomize renamed it may be the earlier name, if that is nearer: the owner was written with it.
        """
        kind, namespace, name = missing
        known = self._there.all_names(kind, namespace)
        near = self._suggestions.of(name, known)
        if not near:
            return ""
        names = {(SAME.get(kind, kind), namespace, each) for each in known[near]}
        taken = not names.isdisjoint(shared(self._bundle, used)) or not names.isdisjoint(_own(owner))
        return "" if taken or self._of_another(kind, namespace, known[near], owner) else near

    def _of_another(self, kind: str, namespace: str, names: tuple[str, ...], owner: Entry) -> bool:
        """True for a snapshot of a VM other than the one that the owner restores."""
        if kind != SNAPSHOT or kind_of(owner.obj) != RESTORE:
            return False
        target = get(owner.obj, ("spec", "target", "name"))
        found = (self._bundle.find(kind, namespace, name) for name in names)
        return any(each is not None and get(each.obj, ("spec", "source", "name")) != target for each in found)


def used(bundle: Bundle) -> frozenset[Named]:
    """The objects that machines and workloads of the bundle use; a DataVolume counts as its claim."""
    return frozenset((SAME.get(kind, kind), namespace, name) for kind, namespace, name in _used(bundle))


def _used(bundle: Bundle) -> Iterator[Named]:
    for (group, kind), rows in USERS.items():
        tree = tree_of(rows)
        for entry in bundle.of_kind(kind, group):
            namespace = effective_namespace(entry.obj)
            for path, row, around in places_of(entry.obj, tree):
                found = wanted(row, around, path[-1], namespace)
                if found:
                    yield found[:3]
    for holder in RENDERED:
        for entry in bundle.of_kind(holder.kind, holder.group):
            for template in as_list(get(entry.obj, holder.in_vm(DATA_VOLUMES))):
                yield "DataVolume", effective_namespace(entry.obj), text(get(template, NAME))


def _own(owner: Entry) -> set[Named]:
    """The owner itself, and the objects that it creates."""
    kind, namespace = kind_of(owner.obj), effective_namespace(owner.obj)
    found = {(SAME.get(kind, kind), namespace, name_of(owner.obj))}
    for maker in MAKERS:
        if (maker.kind, maker.group) == (kind, group_of(owner.obj)):
            found |= {(SAME.get(maker.makes, maker.makes), namespace, text(get(owner.obj, path))) for path in maker.names}
    return found
