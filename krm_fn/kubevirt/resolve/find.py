"""Finds the instancetype or preference that a matcher names: a stored revision, an object of the bundle, or the catalogue."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Sequence
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import Object, Ref, labels_of, ref_of, text
from krm_fn.base.paths import Path, as_map, dotted, get
from krm_fn.base.value import Value
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.facts import OPEN, Found, ResolutionError
from krm_fn.kubevirt.releases import Release, Version
from krm_fn.kubevirt.resolve import revision as revisions
from krm_fn.kubevirt.resolve.matcher import API_VERSIONS, Lookup, Matcher, stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    class ReleaseCatalogue(Protocol):
        """The cluster-wide instancetypes and preferences of a release."""

        def find(self, kind: str, name: str) -> Object | None: ...
        def names(self, kind: str) -> Sequence[str]: ...
        def elsewhere(self, kind: str, name: str) -> Sequence[tuple[Version, Version]]: ...


OBJECT_NAME_LABEL = "instancetype.kubevirt.io/object-name"
# The release since which the status of the VM names the revision in use, and since which only one for the same name counts.
STATUS_READ_SINCE = (1, 5)
STATUS_LABEL_CHECKED_SINCE = (1, 5, 2)


# The number of found objects and revisions that are kept. In a large list, each of them is read again when it is needed.
# What each form of placeholder has, for which nothing more is loaded.
MARKS = ("$", "{{", "<", "__")
REMEMBERED = 2_500


class ReadMatcher(Value):
    """A matcher of one VM after reading: `kind` as written, `namespace` that of the VM."""

    matcher: Matcher
    name: str
    kind: str
    namespace: str

    @property
    def path(self) -> Path:
        return "spec", self.matcher.field


class Finder:
    """Finds the objects that matchers of one bundle name. The last results are kept."""

    def __init__(self, *, lookup: Lookup, release: Release, catalogue: ReleaseCatalogue | None) -> None:
        self._lookup, self._release, self._catalogue = lookup, release, catalogue
        self._named: dict[tuple[str, str, str, str], Found | ResolutionError] = {}
        self._cluster_names: dict[str, list[str]] = {}
        self._payloads: dict[tuple[str, str, str], revisions.Payload | str] = {}

    def find(self, vm: Object, matcher: Matcher, namespace: str) -> Found | ResolutionError:
        """The object that the matcher of `vm` names. It must have passed `matcher.faults` and have no `inferFromVolume`.

        upstream: pkg/instancetype/find/spec.go:Find, pkg/instancetype/find/revision.go:Find
        """
        written = as_map(get(vm, ("spec", matcher.field)))
        name, kind = text(written.get("name")), text(written.get("kind"))
        wanted = ReadMatcher(matcher=matcher, name=name, kind=kind, namespace=namespace)
        pinned = text(written.get("revisionName"))
        if pinned:  # nobody checks to which object the revision belongs
            return self._stored(wanted, pinned, (*wanted.path, "revisionName"))
        path = ("status", matcher.status, "controllerRevisionRef", "name")
        remembered = self._remembered(wanted, text(get(vm, path)))
        return self._stored(wanted, remembered, path) if remembered else self._by_name(wanted)

    def _remembered(self, wanted: ReadMatcher, name: str) -> str:
        """The revision that the VM's status names; "" if the release does not read it, or if the matcher has changed since."""
        if not name or not self._release.within(since=STATUS_READ_SINCE):
            return ""
        entry = self._lookup.find("ControllerRevision", wanted.namespace, name)
        if entry is None or not self._release.within(since=STATUS_LABEL_CHECKED_SINCE):
            return name
        return name if labels_of(entry.obj).get(OBJECT_NAME_LABEL) == wanted.name else ""

    def _stored(self, wanted: ReadMatcher, name: str, path: Path) -> Found | ResolutionError:
        """The content of the ControllerRevision of that name; `path` is the place of the name in the VM."""
        entry = self._lookup.find("ControllerRevision", wanted.namespace, name)
        if entry is None:
            return self._missing(wanted, name, path)
        payload, revision = self._payload(entry, wanted, name), ref_of(entry.obj)
        if isinstance(payload, str):
            return self._error(wanted, payload, path, name, target=revision)
        if payload.matcher.field != (wanted.matcher.payload or wanted.matcher.field):
            holds = (("holds", payload.matcher.field),)
            return self._error(wanted, "revision-of-another-object", path, name, target=revision, detail=holds)
        kind = payload.kind or wanted.matcher.kind_named(wanted.kind) or wanted.matcher.cluster_kind
        ref = self._ref(kind, payload.name or wanted.name, wanted.namespace)
        return Found(spec=payload.spec, ref=ref, origin="revision", entry=entry, revision=revision)

    def _payload(self, entry: Entry, wanted: ReadMatcher, name: str) -> revisions.Payload | str:
        key = wanted.matcher.payload or wanted.matcher.field, wanted.namespace, name
        if key not in self._payloads:
            if len(self._payloads) >= REMEMBERED:
                self._payloads.clear()
            self._payloads[key] = revisions.decode(entry.obj.get("data"), self._release, asking=key[0])
        return self._payloads[key]

    def _missing(self, wanted: ReadMatcher, name: str, path: Path) -> ResolutionError:
        kind, namespace = "ControllerRevision", wanted.namespace
        return self._error(
            wanted,
            "revision-missing",
            path,
            name,
            target=Ref(api_version=API_VERSIONS[kind], kind=kind, name=name, namespace=namespace),
            candidates=self._lookup.nearest(name, self._lookup.names(kind, namespace)),
            detail=(("namespaces", self._lookup.namespaces(kind, name)),),
        )

    def _by_name(self, wanted: ReadMatcher) -> Found | ResolutionError:
        key = wanted.matcher.field, wanted.kind, wanted.namespace, wanted.name
        if key not in self._named:
            kind = wanted.matcher.kind_named(wanted.kind)
            found = self._object(kind, wanted.namespace, wanted.name) if kind else None
            if len(self._named) >= REMEMBERED:
                self._named.clear()
            self._named[key] = (found and self._open(wanted, found)) or found or self._unresolved(wanted, kind)
        return self._named[key]

    def _open(self, wanted: ReadMatcher, found: Found) -> ResolutionError | None:
        """Why nobody can tell what the object sets: its vCPUs are placeholders."""
        cpu = as_map(found.spec.get("cpu"))
        if not any(mark in value for value in cpu.values() if isinstance(value, str) for mark in MARKS):
            return None
        from krm_fn.base.placeholders import open_values  # needed for few objects

        for path, word in open_values(cpu, ("spec", "cpu")):
            place = (("place", f"{dotted(path)} of {found.ref}"),)
            error = self._error(wanted, OPEN, (*wanted.path, "name"), word, target=found.ref, may_exist=True)
            return error.but(upstream="", detail=place)
        return None

    def _object(self, kind: str, namespace: str, name: str) -> Found | None:
        """The object of the bundle, or of the catalogue, which has only cluster kinds."""
        cluster = "Cluster" in kind
        entry = self._lookup.find(kind, "" if cluster else namespace, name)
        if entry is not None:
            return Found(spec=as_map(entry.obj.get("spec")), ref=ref_of(entry.obj), origin="bundle", entry=entry)
        spec = self._catalogue.find(kind, name) if self._catalogue and cluster and name else None
        return None if spec is None else Found(spec=spec, ref=self._ref(kind, name, ""), origin="catalogue")

    def _unresolved(self, wanted: ReadMatcher, kind: str) -> ResolutionError:
        """Why no object is found: the kind is not valid, or the name exists elsewhere, or nowhere."""
        from krm_fn.base.placeholders import placeholders  # needed only for what is not found

        name, matcher = wanted.name, wanted.matcher
        others = [other for other in matcher.kinds if other != kind and self._object(other, wanted.namespace, name)]
        if filled := next(filter(placeholders, (wanted.kind, name)), None):
            path = (*wanted.path, "kind" if filled == wanted.kind else "name")
            target = self._ref(kind, name, wanted.namespace) if kind else None
            return self._error(wanted, OPEN, path, filled, target=target, may_exist=True).but(upstream="")
        if not kind:
            meant = tuple(others) or self._lookup.nearest(wanted.kind, matcher.kinds)
            detail = (("kind", wanted.kind),)
            return self._error(wanted, "unexpected-kind", (*wanted.path, "kind"), wanted.kind, candidates=meant, detail=detail)
        target = self._ref(kind, name, wanted.namespace)
        if others:
            path, written = (*wanted.path, "kind"), wanted.kind or UNSET
            return self._error(wanted, "wrong-kind", path, written, target=target, candidates=tuple(others))
        path = (*wanted.path, "name")
        elsewhere = () if "Cluster" in kind else self._lookup.namespaces(kind, name)
        if elsewhere:
            return self._error(wanted, "wrong-namespace", path, name, target=target, candidates=elsewhere)
        near = self._lookup.nearest(name, self._names(kind, wanted.namespace))
        shipped = tuple(self._catalogue.elsewhere(kind, name)) if self._catalogue and "Cluster" in kind else ()
        rest = {"detail": (("shipped", shipped),)} if shipped else {}
        return self._error(wanted, "unknown-name", path, name, target=target, candidates=near, **rest)

    def _names(self, kind: str, namespace: str) -> Sequence[str]:
        if "Cluster" not in kind:
            return self._lookup.names(kind, namespace)
        if kind not in self._cluster_names:
            shipped = self._catalogue.names(kind) if self._catalogue else ()
            self._cluster_names[kind] = list(dict.fromkeys((*self._lookup.names(kind, ""), *shipped)))
        return self._cluster_names[kind]

    def _error(
        self, wanted: ReadMatcher, reason: str, path: Path, current: Any, *, target: Ref | None = None, **rest: Any
    ) -> ResolutionError:
        field, upstream = wanted.matcher.field, stage(self._release)
        return ResolutionError(
            matcher=field, reason=reason, path=path, current=current, wanted=target, upstream=upstream, **rest
        )

    def _ref(self, kind: str, name: str, namespace: str) -> Ref:
        api_version = self._lookup.api_versions.get(kind) or API_VERSIONS[kind]  # a flavor's revision may hold an instancetype
        return Ref(api_version=api_version, kind=kind, name=name, namespace="" if "Cluster" in kind else namespace)
