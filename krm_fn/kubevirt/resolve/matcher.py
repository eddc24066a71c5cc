"""The two matchers of a VirtualMachine, `spec.instancetype` and `spec.preference`: their valid forms, and their kinds.

Objects of a bundle are looked up as the cluster does: by API group, kind, namespace and name.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator, Sequence
from krm_fn.base.bundle import Bundle, Entry, effective_namespace
from krm_fn.base.objects import Object, group_of, name_of, previous_names, text
from krm_fn.base.paths import Path, get, is_set
from krm_fn.base.value import Value
from krm_fn.kubevirt.facts import ResolutionError
from krm_fn.kubevirt.releases import NEWEST, Release

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.base.suggestions import Suggestions


GROUP = "instancetype.kubevirt.io"
API_VERSION = f"{GROUP}/v1beta1"

# Since this release, only the expander fails if a matcher cannot be resolved; before, admission refused the VM.
ADMITTED_UNRESOLVED_SINCE = (1, 6)
# Before this release, admission wrote the kind that an empty one means into the VM.
KIND_WRITTEN_UNTIL = (1, 7)

# Since this release a matcher has a failure policy; before, the API server dropped the field.
POLICY_SINCE = (1, 1)

IGNORE = "Ignore"
POLICIES = (IGNORE, "Reject")
TEXT_FIELDS = ("name", "kind", "revisionName", "inferFromVolume", "inferFromVolumeFailurePolicy")


class Matcher(Value):
    """One of the two matchers: its field in the VM's spec, the kinds it may name, and the labels for inference.

    `status` is the field in the VM's status with the ControllerRevision in use; `payload` is the field of the matcher whose
    revisions it reads, "" for its own.
    """

    field: str
    kind: str
    cluster_kind: str
    name_label: str
    kind_label: str
    status: str
    payload: str = ""

    @property
    def kinds(self) -> tuple[str, str]:
        return self.kind, self.cluster_kind

    def kind_named(self, written: str) -> str:
        """The kind for a matcher's `kind`, in any case, singular or plural; "" if it is not valid.

        upstream: pkg/instancetype/find/spec.go:Find, pkg/instancetype/preference/find/spec.go:FindPreference
        """
        if not written:
            return self.cluster_kind
        folded = written.lower().removesuffix("s")
        return next((kind for kind in self.kinds if kind.lower() == folded), "")


INSTANCETYPE = Matcher(
    field="instancetype",
    kind="VirtualMachineInstancetype",
    cluster_kind="VirtualMachineClusterInstancetype",
    name_label=f"{GROUP}/default-instancetype",
    kind_label=f"{GROUP}/default-instancetype-kind",
    status="instancetypeRef",
)
PREFERENCE = Matcher(
    field="preference",
    kind="VirtualMachinePreference",
    cluster_kind="VirtualMachineClusterPreference",
    name_label=f"{GROUP}/default-preference",
    kind_label=f"{GROUP}/default-preference-kind",
    status="preferenceRef",
)
MATCHERS = (INSTANCETYPE, PREFERENCE)


def stage(release: Release) -> str:
    """Which part of KubeVirt fails in that release if a matcher cannot be resolved: "admission" or "expand".

    upstream: pkg/instancetype/webhooks/vm/admitter.go:ApplyToVM
    """
    return "expand" if release.within(since=ADMITTED_UNRESOLVED_SINCE) else "admission"


def inferred(matcher: Matcher, *, name: str, kind: str, release: Release) -> Object:
    """The matcher that admission stores instead of one with `inferFromVolume`; empty values are not written."""
    if not kind and release.within(until=KIND_WRITTEN_UNTIL):
        kind = matcher.cluster_kind.lower()
    return {key: value for key, value in (("name", name), ("kind", kind)) if value}


def policy_of(written: Object, release: Release) -> str | None:
    """The failure policy that counts in the release; None if there is none."""
    policy: str | None = written.get("inferFromVolumeFailurePolicy") if release.within(since=POLICY_SINCE) else None
    return policy


def faults(matcher: Matcher, written: Any, release: Release = NEWEST) -> Iterator[ResolutionError]:
    """The errors for which admission refuses a matcher, before it looks up objects.

    upstream: pkg/instancetype/webhooks/vm/mutator.go:validateInstancetypeMatcher, validatePreferenceMatcher
    """
    if not isinstance(written, dict):
        yield _fault(matcher, "bad-shape", current=written)
        return
    misshapen = [key for key in TEXT_FIELDS if written.get(key) is not None and not isinstance(written[key], str)]
    for key in misshapen:
        yield _fault(matcher, "bad-shape", key, current=written[key])
    if not misshapen:
        yield from _contradictions(matcher, written, release)


def _contradictions(matcher: Matcher, written: Object, release: Release) -> Iterator[ResolutionError]:
    volume = text(written.get("inferFromVolume"))
    if not volume and not is_set(written.get("name")):
        yield _fault(matcher, "no-name", current=written)
    for key, reason in (("name", "name-and-inference"), ("kind", "kind-and-inference")):
        if volume and is_set(written.get(key)):
            yield _fault(matcher, reason, key, current=written[key], detail=(("volume", volume),))
    policy = policy_of(written, release)
    # An empty policy is a pointer to an empty string in Go, so it differs from no policy.
    if policy is not None and policy not in POLICIES:
        meant = tuple(known for known in POLICIES if known.lower() == policy.lower())
        yield _fault(matcher, "bad-policy", "inferFromVolumeFailurePolicy", current=policy, candidates=meant or POLICIES)


def _fault(matcher: Matcher, reason: str, *below: str, **rest: Any) -> ResolutionError:
    path = ("spec", matcher.field, *below)
    return ResolutionError(matcher=matcher.field, reason=reason, path=path, upstream="admission", **rest)


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
