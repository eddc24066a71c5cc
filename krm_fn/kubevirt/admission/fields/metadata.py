"""Metadata: labels that are reserved for KubeVirt, and annotations that need a feature gate."""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_map, dotted, is_set
from krm_fn.kubevirt.admission.checks import shut
from krm_fn.kubevirt.admission.scope import NOT_SUPPORTED, Cause, Scope

METADATA = "pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:ValidateVirtualMachineInstanceMetadata"

# Labels that only KubeVirt itself may set on an instance.
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

GATED_ANNOTATIONS = (
    ("kubevirt.io/ignitiondata", "ExperimentalIgnitionSupport"),
    ("hooks.kubevirt.io/hookSidecars", "Sidecar"),
)


def foreign_metadata(metadata: Object, at: Path, scope: Scope) -> Iterator[Cause]:
    """Labels and annotations that an instance must not have. `at` is the metadata's place."""
    for label in RESERVED_LABELS.intersection(as_map(metadata.get("labels"))):
        yield Cause(
            path=(*at, "labels", label),
            message=f"label {label} is reserved for KubeVirt; remove it",
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
