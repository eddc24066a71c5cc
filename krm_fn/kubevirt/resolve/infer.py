"""inferFromVolume: the instancetype or preference in the labels of a volume's source.

upstream: pkg/instancetype/infer/handler.go:Infer, shouldIgnoreFailure,
volume.go:fromVolumes, fromDataSource, fromVolumeSnapshot
"""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import Object, Ref, labels_of, metadata, ref_of, text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.facts import ResolutionError
from krm_fn.kubevirt.holders import DATA_VOLUMES, INSTANCE_SPEC
from krm_fn.kubevirt.releases import Bound, Release
from krm_fn.kubevirt.resolve.matcher import API_VERSIONS, Lookup, Matcher


class InferenceSource(Value):
    """A kind of source of a DataVolume or DataSource, and the release since which its labels are read."""

    field: str
    kind: str
    since: Bound = ()


SOURCES = (
    InferenceSource(field="pvc", kind="PersistentVolumeClaim"),
    InferenceSource(field="snapshot", kind="VolumeSnapshot", since=((1, 8, 5), (1, 9))),
)
# Errors that the failure policy Ignore covers: a volume without the information, but not a missing one.
IGNORABLE = frozenset(("unsupported-volume", "unsupported-source", "missing-label"))


class NotInferred(Exception):  # noqa: N818  a fact about the VM on its way out of the chain, not an error of ours
    """The volume names nothing; `error` is the reason."""

    def __init__(self, error: ResolutionError) -> None:
        super().__init__(error.reason)
        self.error = error

    @property
    def ignorable(self) -> bool:
        return self.error.reason in IGNORABLE


def infer(vm: Object, matcher: Matcher, *, namespace: str, lookup: Lookup, release: Release) -> tuple[str, str]:
    """Name and kind from the matcher's volume; the kind is "" if there is none.

    Raises: NotInferred.
    """
    return Chain(vm=vm, matcher=matcher, namespace=namespace, lookup=lookup, release=release).from_volume()


class Chain(Value):
    """The steps from a volume of the VM to the labels that name the instancetype or preference."""

    vm: Object
    matcher: Matcher
    namespace: str
    lookup: Lookup
    release: Release

    @property
    def volume(self) -> str:
        return text(get(self.vm, ("spec", self.matcher.field, "inferFromVolume")))

    def from_volume(self) -> tuple[str, str]:
        volumes = as_list(get(self.vm, (*INSTANCE_SPEC, "volumes")))
        volume = next((each for each in volumes if get(each, ("name",)) == self.volume), None)
        if volume is None:
            names = [text(get(each, ("name",))) for each in volumes]
            near = self.lookup.nearest(self.volume, names)
            known = near or tuple(filter(None, names))
            raise self._failure("unknown-volume", candidates=known, detail=(("near", near),))
        if volume.get("persistentVolumeClaim") is not None:
            return self._from_object(
                "PersistentVolumeClaim", self.namespace, get(volume, ("persistentVolumeClaim", "claimName"))
            )
        if volume.get("dataVolume") is not None:
            return self._from_data_volume(text(get(volume, ("dataVolume", "name"))))
        raise self._failure("unsupported-volume", detail=(("holds", tuple(key for key in volume if key != "name")),))

    def _from_data_volume(self, name: str) -> tuple[str, str]:
        templates = as_list(get(self.vm, DATA_VOLUMES))
        template = next((each for each in templates if isinstance(each, dict) and metadata(each).get("name") == name), None)
        if template is not None:  # its own labels are not read, although the DataVolume will have them
            return self._from_spec(template, Ref(api_version="", kind="DataVolume", name=name, namespace=self.namespace))
        entry = self.lookup.find("DataVolume", self.namespace, name)
        if entry is None:  # CDI removes a finished DataVolume; its PersistentVolumeClaim has the same name
            return self._from_object("PersistentVolumeClaim", self.namespace, name, instead_of="DataVolume")
        return self._labelled(entry) or self._from_spec(entry.obj, ref_of(entry.obj))

    def _from_spec(self, data_volume: Object, ref: Ref) -> tuple[str, str]:
        """From a DataVolume's source, or else from its sourceRef."""
        spec = as_map(data_volume.get("spec"))
        found = self._from_source(spec.get("source"))
        if found:
            return found
        reference = spec.get("sourceRef")
        if reference is None:
            raise self._failure("unsupported-source", wanted=ref, detail=(("holds", tuple(as_map(spec.get("source")))),))
        kind, elsewhere = get(reference, ("kind",)), get(reference, ("namespace",))
        if kind != "DataSource":  # the only kind that is compared by its exact spelling
            raise self._failure("unsupported-source", wanted=ref, detail=(("kind", kind),))
        return self._from_data_source(get(reference, ("name",)), self.namespace if elsewhere is None else elsewhere)

    def _from_data_source(self, name: Any, namespace: Any) -> tuple[str, str]:
        entry = self._found("DataSource", namespace, name)
        found = self._labelled(entry) or self._from_source(get(entry.obj, ("spec", "source")))
        if not found:
            holds = tuple(as_map(get(entry.obj, ("spec", "source"))))
            raise self._failure("unsupported-source", wanted=ref_of(entry.obj), detail=(("holds", holds),))
        return found

    def _from_source(self, source: Any) -> tuple[str, str] | None:
        """From the claim or snapshot that is the source; None if it is something else."""
        for each in SOURCES:
            at = get(source, (each.field,))
            if at is not None and self.release.within(since=each.since):
                return self._from_object(each.kind, get(at, ("namespace",)), get(at, ("name",)))
        return None

    def _from_object(self, kind: str, namespace: Any, name: Any, instead_of: str = "") -> tuple[str, str]:
        """From the labels of an object, which is the last of the chain."""
        entry = self._found(kind, namespace, name, instead_of)
        found = self._labelled(entry)
        if found is None:
            raise self._failure("missing-label", wanted=ref_of(entry.obj), detail=(("label", self.matcher.name_label),))
        return found

    def _labelled(self, entry: Entry) -> tuple[str, str] | None:
        labels = labels_of(entry.obj)
        name = labels.get(self.matcher.name_label)
        return (name, text(labels.get(self.matcher.kind_label))) if isinstance(name, str) else None

    def _found(self, kind: str, namespace: Any, name: Any, instead_of: str = "") -> Entry:
        namespace, name = text(namespace), text(name)
        entry = self.lookup.find(kind, namespace, name)
        if entry is None:
            raise self._failure(
                "missing-source",
                wanted=Ref(api_version=API_VERSIONS[kind], kind=kind, name=name, namespace=namespace),
                detail=(("instead_of", instead_of), ("namespaces", self.lookup.namespaces(kind, name))),
            )
        return entry

    def _failure(self, reason: str, **rest: Any) -> NotInferred:
        return NotInferred(
            ResolutionError(
                matcher=self.matcher.field,
                reason=reason,
                path=("spec", self.matcher.field, "inferFromVolume"),
                current=self.volume,
                upstream="admission",
                **rest,
            )
        )
