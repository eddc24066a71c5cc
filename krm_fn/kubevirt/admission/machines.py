"""What stands around the spec: run strategy, reserved labels, annotations that need a gate.

upstream: pkg/virt-api/webhooks/validating-webhook/admitters/vms-admitter.go
"""

from __future__ import annotations

from krm_fn.base.paths import as_map, dotted, is_set
from krm_fn.base.wording import show
from krm_fn.kubevirt.admission.causes import NOT_SUPPORTED, Cause
from krm_fn.kubevirt.admission.checks import shut, use
from krm_fn.kubevirt.admission.former import migration_threads
from krm_fn.kubevirt.admission.grace import ANNOTATIONS, GRACE_SINCE, SOURCE, graces

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.kubevirt.admission.scope import Scope
    from krm_fn.kubevirt.releases import Version

VMS = "pkg/virt-api/webhooks/validating-webhook/admitters/vms-admitter.go:"
EVICTION = "pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:validateLiveMigration"
METADATA = "pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:ValidateVirtualMachineInstanceMetadata"

RUN_STRATEGIES = ("Halted", "Manual", "Always", "RerunOnFailure", "Once")
WAIT_AS_RECEIVER, RECEIVER_GATE = "WaitAsReceiver", "DecentralizedLiveMigration"
RECEIVER_SINCE: Version = (1, 6)

# Labels that only KubeVirt itself may put on an instance.
RESERVED_LABELS = frozenset(
    (
        "kubevirt.io/created-by",
        "kubevirt.io/migrationJobUID",
        "kubevirt.io/nodeName",
        "kubevirt.io/migrationTargetNodeName",
        "kubevirt.io/schedulable",
        "kubevirt.io/install-strategy",
    )
)

# Fields of an instance's spec that are defaulted, so that a completed one no longer shows that they were empty.
EMPTY_POINTERS = (("evictionStrategy", EVICTION),)

GATED_ANNOTATIONS = (
    ("kubevirt.io/ignitiondata", "ExperimentalIgnitionSupport"),
    ("hooks.kubevirt.io/hookSidecars", "Sidecar"),
)


def empty_pointers(spec: Object, at: Path) -> Iterator[Cause]:
    """Words that Go has a pointer to: empty text is a word there, though not a known one, and no default replaces it."""
    for key, upstream in EMPTY_POINTERS:
        if spec.get(key) == "":
            message = f"{key} is empty; use a known word or remove it"
            yield Cause(path=(*at, key), message=message, upstream=upstream, current="")


def run_strategy(spec: Object, at: Path, scope: Scope) -> Iterator[Cause]:
    """How the VM starts is said once, in a known word; `at` leads to the VM's spec. upstream: validateRunStrategy"""
    running, strategy = spec.get("running"), spec.get("runStrategy")
    place = (*at, "runStrategy")
    if running is not None and strategy is not None:
        yield _cause((*at, "running"), "running and runStrategy exclude each other; remove running", running)
    if running is None and strategy is None:
        yield _cause(place, "runStrategy is missing; set it", named=dotted((*at, "running")))
    if strategy is None or strategy in RUN_STRATEGIES:
        return
    if strategy != WAIT_AS_RECEIVER or not scope.release.within(since=RECEIVER_SINCE):
        yield _cause(place, f"runStrategy {show(strategy)} is not known; {use(RUN_STRATEGIES)}", strategy)
    elif not scope.gate(RECEIVER_GATE):
        message = f"runStrategy {WAIT_AS_RECEIVER} needs the feature gate {RECEIVER_GATE}, which is not open; use another"
        yield _cause(place, message, strategy).but(gate=RECEIVER_GATE)


def _cause(at: Path, message: str, current: object = None, named: str = "") -> Cause:
    cause = Cause(path=at, message=message, upstream_path=named, upstream=VMS + "validateRunStrategy")
    return cause if current is None or isinstance(current, dict | list) else cause.but(current=current)


def instance_metadata(metadata: Object, at: Path, scope: Scope) -> Iterator[Cause]:
    """Labels and annotations that an instance may not bear. `at` is the metadata's place."""
    for label in RESERVED_LABELS.intersection(as_map(metadata.get("labels"))):
        yield Cause(
            path=(*at, "labels", label),
            message=f"label {label} is KubeVirt's own; remove it",
            reason=NOT_SUPPORTED,
            upstream_path=dotted((*at, "labels")),
            upstream=METADATA,
        )
    notes = as_map(metadata.get("annotations"))
    for note, gate in GATED_ANNOTATIONS:
        if is_set(notes.get(note)) and not scope.gate(gate):
            path, named = (*at, "annotations", note), dotted((*at, "annotations"))
            message = shut(f"annotation {note}", gate)
            yield Cause(path=path, message=message, upstream_path=named, upstream=METADATA, gate=gate)
    yield from migration_threads(metadata, at, scope)
    yield from grace_annotations(metadata, at, scope)


def grace_annotations(metadata: Object, at: Path, scope: Scope) -> Iterator[Cause]:
    """Annotations that a Grace GPU cannot bear."""
    notes = as_map(metadata.get("annotations"))
    known = scope.release.within(since=GRACE_SINCE)
    if not known or not any(notes.get(note) == "true" for note in ANNOTATIONS) or not graces(scope)[0]:
        return
    for note, message in ANNOTATIONS.items():
        if notes.get(note) == "true":
            yield Cause(
                path=(*at, "annotations", note),
                message=message,
                upstream_path=f"{dotted(at)}.annotations[{note}]",
                upstream=SOURCE + "validateGraceIOVirtualizationAnnotations",
            )
