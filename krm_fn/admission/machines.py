"""What stands around the spec: run strategy, reserved labels, annotations that need a gate.

upstream: pkg/virt-api/webhooks/validating-webhook/admitters/vms-admitter.go
"""

from __future__ import annotations

from krm_fn.admission.causes import NOT_SUPPORTED, Cause, shown
from krm_fn.admission.checks import shut, use
from krm_fn.admission.grace import ANNOTATIONS, SOURCE, graces
from krm_fn.paths import as_map, dotted, get, is_set

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.admission.scope import Scope
    from krm_fn.paths import Path
    from krm_fn.resource import Object

VMS = "pkg/virt-api/webhooks/validating-webhook/admitters/vms-admitter.go:"
EVICTION = "pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:validateLiveMigration"
METADATA = "pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:ValidateVirtualMachineInstanceMetadata"

RUN_STRATEGIES = ("Halted", "Manual", "Always", "RerunOnFailure", "Once")
WAIT_AS_RECEIVER, RECEIVER_GATE = "WaitAsReceiver", "DecentralizedLiveMigration"

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

# Fields that are defaulted, so that an expanded VM no longer shows that they were empty.
EMPTY_POINTERS = ((("spec", "template", "spec", "evictionStrategy"), EVICTION),)

GATED_ANNOTATIONS = (
    ("kubevirt.io/ignitiondata", "ExperimentalIgnitionSupport"),
    ("hooks.kubevirt.io/hookSidecars", "Sidecar"),
)


def empty_pointers(spec: Object) -> Iterator[Cause]:
    """Words that Go has a pointer to: empty text is a word there, though not a known one, and no default replaces it."""
    for at, upstream in EMPTY_POINTERS:
        if get(spec, at[1:]) == "":
            yield Cause(path=at, message=f"{at[-1]} is empty; use a known word or remove it", upstream=upstream, current="")


def run_strategy(spec: Object, scope: Scope) -> Iterator[Cause]:
    """How the VM starts is said once, in a known word. upstream: validateRunStrategy"""
    running, strategy = spec.get("running"), spec.get("runStrategy")
    if running is not None and strategy is not None:
        yield _cause(("spec", "running"), "running and runStrategy exclude each other; remove running", running)
    if running is None and strategy is None:
        yield _cause(("spec", "runStrategy"), "runStrategy is missing; set it", named="spec.running")
    if strategy is None or strategy in RUN_STRATEGIES:
        return
    if strategy != WAIT_AS_RECEIVER:
        message = f"runStrategy {shown(strategy)} is not known; {use(RUN_STRATEGIES)}"
        yield _cause(("spec", "runStrategy"), message, strategy)
    elif not scope.gate(RECEIVER_GATE):
        message = f"runStrategy {WAIT_AS_RECEIVER} needs the feature gate {RECEIVER_GATE}, which is not open; use another"
        yield _cause(("spec", "runStrategy"), message, strategy)


def _cause(at: Path, message: str, current: object = None, named: str = "") -> Cause:
    cause = Cause(path=at, message=message, upstream_path=named, upstream=VMS + "validateRunStrategy")
    return cause if current is None else cause.but(current=current)


def deprecated_running(spec: Object) -> Iterator[Cause]:
    """The warning about `running`. upstream: pkg/virt-api/webhooks/validating-webhook/admitters/vms-admitter.go:Admit"""
    if spec.get("running") is not None:
        yield Cause(
            path=("spec", "running"),
            message="running is deprecated; use runStrategy Always for true, Halted for false",
            upstream=VMS + "Admit",
            current=spec["running"],
            severity="warning",
        )


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
            yield Cause(path=path, message=shut(f"annotation {note}", gate), upstream_path=named, upstream=METADATA)
    if any(notes.get(note) == "true" for note in ANNOTATIONS) and graces(scope)[0]:
        yield from _grace_annotations(notes, at)


def _grace_annotations(notes: Object, at: Path) -> Iterator[Cause]:
    for note, message in ANNOTATIONS.items():
        if notes.get(note) == "true":
            yield Cause(
                path=(*at, "annotations", note),
                message=message,
                upstream_path=f"{dotted(at)}.annotations[{note}]",
                upstream=SOURCE + "validateGraceIOVirtualizationAnnotations",
            )
