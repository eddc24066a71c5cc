"""The access modes of claims, as far as the bundle says them: of PersistentVolumeClaims, DataVolumes and their templates.

upstream: containerized-data-importer pkg/controller/datavolume/util.go, pkg/controller/common/util.go
"""

from __future__ import annotations

from krm_fn.base.annotations import Callable, Iterator, Sequence
from krm_fn.base.bundle import Bundle, Entry, effective_namespace
from krm_fn.base.external import CLAIM, PROFILE, covering
from krm_fn.base.objects import Object, annotations_of, kind_of, name_of, text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.kubevirt.expand.admitted import with_storage_classes
from krm_fn.kubevirt.facts import Resolution
from krm_fn.kubevirt.holders import DATA_VOLUMES, RENDERED
from krm_fn.kubevirt.releases import Release

# What a VM refers to, None where that is not known.
Resolved = Callable[[Entry], Resolution | None]


SHARED = "ReadWriteMany"
HOLDERS = {row.kind: row for row in RENDERED}
OF_PROFILE = "FromStorageProfile"
# The classes that CDI takes where none is named: the first of these annotations that a class has.
DEFAULT_CLASS = ("storageclass.kubevirt.io/is-default-virt-class", "storageclass.kubernetes.io/is-default-class")


class Claims:
    """The claims of a bundle. `resolved` finds what a VM refers to: a preference names the storage class of templates.

    External objects may state the access modes of claims and of storage profiles that the bundle lacks.
    """

    def __init__(self, bundle: Bundle, release: Release, resolved: Resolved) -> None:
        self._bundle, self._release, self._resolved = bundle, release, resolved
        self._templates: dict[tuple[str, str], Entry] | None = None
        self._default: str | None = None
        self._profiles: dict[str, Object] | None = None

    def is_shared(self, namespace: str, name: str) -> bool | None:
        """True for a claim that several nodes can write, None where nothing says its access modes."""
        modes = self.modes(namespace, name)
        return None if modes is None else SHARED in modes

    def modes(self, namespace: str, name: str) -> Sequence[str] | None:
        """The access modes of a claim, None where nothing says them. The claim comes first, then what would make it."""
        entry = self._bundle.find(CLAIM, namespace, name)
        if entry:
            return _modes(as_map(entry.obj.get("spec")))
        for stated in covering(self._bundle.external, CLAIM, namespace, name):
            if stated.access_modes:
                return stated.access_modes
        entry = self._bundle.find("DataVolume", namespace, name)
        spec = as_map(entry.obj.get("spec")) if entry else self._template(namespace, name)
        return self._of_data_volume(spec) if spec else None

    def _template(self, namespace: str, name: str) -> Object:
        """The spec of the DataVolume template of that name, with the storage class of the VM's preference."""
        if self._templates is None:
            self._templates = dict(self._named_templates())
        entry = self._templates.get((namespace, name))
        if entry is None:
            return {}
        found = self._resolved(entry)
        vm = found.vm if found else as_map(get(entry.obj, HOLDERS[kind_of(entry.obj)].in_vm(())))
        preference = found.preference.spec if found and found.preference else {}
        templates = as_list(get(with_storage_classes(vm, preference, self._release), DATA_VOLUMES))
        return next((as_map(get(each, ("spec",))) for each in templates if get(each, ("metadata", "name")) == name), {})

    def _named_templates(self) -> Iterator[tuple[tuple[str, str], Entry]]:
        """The names of all templates, each with the VM that has it; of two of one name the first counts, so it comes last."""
        for holder in RENDERED:
            for entry in reversed(self._bundle.ordered(self._bundle.of_kind(holder.kind, holder.group))):
                for template in as_list(get(entry.obj, holder.in_vm(DATA_VOLUMES))):
                    name = text(get(template, ("metadata", "name")))
                    if name:
                        yield (effective_namespace(entry.obj), name), entry

    def _of_data_volume(self, spec: Object) -> Sequence[str] | None:
        if spec.get("pvc") is not None:
            return _modes(as_map(spec["pvc"]))
        storage = as_map(spec.get("storage"))
        return _modes(storage) or self._of_profile(storage)

    def _of_profile(self, storage: Object) -> Sequence[str] | None:
        """The access modes that the StorageProfile of the class has for the volume's mode."""
        name = storage.get("storageClassName")
        if self._profiles is None:
            self._profiles = {name_of(entry.obj): entry.obj for entry in self._bundle.of_kind(PROFILE)}
        called = text(name) if name is not None else self._default_class()
        profile = self._profiles.get(called)
        parts = (get(profile, (part, "claimPropertySets")) for part in ("status", "spec"))
        sets = next(filter(None, map(as_list, parts)), []) if profile else self._stated_sets(called)
        mode = text(storage.get("volumeMode"))
        wanted = [each for each in map(as_map, sets) if mode in ("", OF_PROFILE) or each.get("volumeMode") == mode]
        return _modes(wanted[0]) if wanted else None

    def _stated_sets(self, name: str) -> list[Object]:
        """What is stated of the profile of a class, in the form in which a profile has it."""
        of_class = covering(self._bundle.external, PROFILE, "", name) if name else []
        return [{"accessModes": [*each.access_modes], "volumeMode": each.volume_mode} for each in of_class]

    def _default_class(self) -> str:
        """The name of the class that CDI takes where none is named; "" where nothing says which class is a default."""
        if self._default is None:
            stated = (entry.name for each in self._bundle.external for entry in each.entries if entry.is_default)
            self._default = next(filter(None, (*map(self._newest, DEFAULT_CLASS), *stated)), "")
        return self._default

    def _newest(self, annotation: str) -> str:
        classes = [entry.obj for entry in self._bundle.of_kind("StorageClass")]
        marked = sorted((obj for obj in classes if annotations_of(obj).get(annotation) == "true"), key=name_of)
        times = [text(get(obj, ("metadata", "creationTimestamp"))) for obj in marked]
        return name_of(marked[times.index(max(times))]) if marked else ""


def _modes(spec: Object) -> Sequence[str] | None:
    """The access modes that a spec states, None for none."""
    return [text(mode) for mode in as_list(spec.get("accessModes"))] or None
