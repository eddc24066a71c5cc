"""The two matchers of a VirtualMachine, `spec.instancetype` and `spec.preference`: their valid forms, and their kinds."""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import is_set
from krm_fn.base.value import Value
from krm_fn.kubevirt.facts import ResolutionError
from krm_fn.kubevirt.releases import NEWEST, Release

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
