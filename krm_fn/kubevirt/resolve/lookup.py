"""Looks up objects in a bundle as the cluster does: by API group, kind, namespace and name."""

from __future__ import annotations

from krm_fn.base.annotations import Sequence
from krm_fn.base.bundle import Bundle, Entry, effective_namespace
from krm_fn.base.objects import group_of, name_of, previous_names, text
from krm_fn.base.paths import Path, get

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.base.suggestions import Suggestions


# The kinds that resolving reads. Only the group of the apiVersion counts: all versions are read in the same way.
API_VERSIONS = {
    "VirtualMachineInstancetype": "instancetype.kubevirt.io/v1beta1",
    "VirtualMachineClusterInstancetype": "instancetype.kubevirt.io/v1beta1",
    "VirtualMachinePreference": "instancetype.kubevirt.io/v1beta1",
    "VirtualMachineClusterPreference": "instancetype.kubevirt.io/v1beta1",
    "ControllerRevision": "apps/v1",
    "PersistentVolumeClaim": "v1",
    "DataVolume": "cdi.kubevirt.io/v1beta1",
    "DataSource": "cdi.kubevirt.io/v1beta1",
    "VolumeSnapshot": "snapshot.storage.k8s.io/v1",
}
BUNDLE_KINDS = frozenset(API_VERSIONS)

REVISION = "ControllerRevision"
# The places where a VM names its revisions.
PINS: tuple[Path, ...] = (
    ("spec", "instancetype", "revisionName"),
    ("spec", "preference", "revisionName"),
    ("status", "instancetypeRef", "controllerRevisionRef", "name"),
    ("status", "preferenceRef", "controllerRevisionRef", "name"),
)

# Revisions of a VM's own template. They hold no instancetype, so no matcher can mean one of them.
VM_REVISIONS = "revision-start-vm-"


class Lookup:
    """An index over one bundle. It knows the API groups of the kinds, and the other places where a name exists."""

    def __init__(self, bundle: Bundle, api_versions: dict[str, str] = API_VERSIONS) -> None:
        self._bundle = bundle
        self.api_versions = api_versions
        self._namesakes: dict[str, dict[tuple[str, str], Entry]] = {}
        self._places: dict[str, dict[str, dict[str, None]]] = {}
        self._namespaces: dict[tuple[str, str], tuple[str, ...]] = {}
        self._names: dict[tuple[str, str], list[str]] = {}
        self._suggestions: Suggestions | None = None

    def find(self, kind: str, namespace: str, name: str) -> Entry | None:
        """The object; "" is the namespace of cluster kinds. Kinds of the same name in other API groups are skipped."""
        found = self._bundle.find(kind, namespace, name) if name else None
        if found is None or group_of(found.obj) == self._group(kind):
            return found
        return self._of_the_group(kind).get((namespace, name))

    def names(self, kind: str, namespace: str) -> Sequence[str]:
        """The names that a reference in that namespace can have; "" is the namespace of cluster kinds."""
        if (kind, namespace) not in self._names:
            names = [name for name in self._bundle.names(kind, namespace) if self.find(kind, namespace, name)]
            pinned = self._pinned(namespace) if kind == REVISION else ()
            self._names[kind, namespace] = [name for name in names if not name.startswith(VM_REVISIONS) and name not in pinned]
        return self._names[kind, namespace]

    def _pinned(self, namespace: str) -> set[str]:
        """The revisions that VMs of the namespace name. They belong to these VMs, and are not suggested for others."""
        vms = (entry.obj for entry in self._bundle.of_kind("VirtualMachine") if effective_namespace(entry.obj) == namespace)
        return {text(get(vm, path)) for vm in vms for path in PINS}

    def namespaces(self, kind: str, name: str) -> tuple[str, ...]:
        """The namespaces that have an object of that kind and name, sorted."""
        if kind not in self._places:
            places = self._places[kind] = {}
            for entry in self._of(kind):
                places.setdefault(name_of(entry.obj), {})[effective_namespace(entry.obj)] = None
        if name not in self._places[kind]:
            return ()
        if (kind, name) not in self._namespaces:
            self._namespaces[kind, name] = tuple(sorted(self._places[kind][name]))
        return self._namespaces[kind, name]

    def nearest(self, word: str, known: Sequence[str]) -> tuple[str, ...]:
        """At most three similar known words, the nearest first; none if nothing is similar, or after too many comparisons."""
        if self._suggestions is None:
            from krm_fn.base.suggestions import Suggestions  # needed only for misspelt names

            self._suggestions = Suggestions()
        return self._suggestions.nearest(word, known)

    def _of_the_group(self, kind: str) -> dict[tuple[str, str], Entry]:
        if kind not in self._namesakes:
            index = self._namesakes[kind] = {}
            entries = self._bundle.ordered(self._of(kind))
            own = [(entry, "" if "Cluster" in kind else effective_namespace(entry.obj)) for entry in entries]
            for entry, namespace in own:
                index.setdefault((namespace, name_of(entry.obj)), entry)
            for entry, namespace in own:  # a present name has precedence over a former one
                for name in previous_names(entry.obj):
                    index.setdefault((namespace, name), entry)
        return self._namesakes[kind]

    def _of(self, kind: str) -> Sequence[Entry]:
        return self._bundle.of_kind(kind, self._group(kind))

    def _group(self, kind: str) -> str:
        return self.api_versions[kind].rpartition("/")[0]
