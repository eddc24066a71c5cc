"""An instancetype or preference can't be inferred from a volume.

What it finds: an `inferFromVolume` that yields no name. The VM has no volume of that name; the volume is neither a
PersistentVolumeClaim nor a DataVolume; an object in the chain (claim, DataVolume, DataSource, VolumeSnapshot) is not in the
bundle; or the last of them has no label `instancetype.kubevirt.io/default-instancetype` (`…/default-preference`). For files
of a folder that no kustomization uses, an absent object is a warning: the cluster may have it.

Why it matters: KubeVirt's webhook refuses the VM. `inferFromVolumeFailurePolicy: Ignore` covers only a volume that provides
no name. A missing volume or object is still an error.

Fix: set `name` (and `kind`) instead of `inferFromVolume`, which also keeps the cluster from changing the manifest; or add
the missing object or label.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      preference: {inferFromVolume: root}
      template:
        spec:
          domain: {devices: {}}
          volumes: [{name: root, containerDisk: {image: quay.io/containerdisks/fedora}}]
"""

from __future__ import annotations

from krm_fn.base.annotations import Callable, Iterator
from krm_fn.base.wording import brief, listed
from krm_fn.kubevirt.facts import ResolutionError
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.resolution_errors import detail, errors, hit, the_one, to_add


@rule(severity="error", upstream="pkg/instancetype/infer/volume.go:fromVolumes")
def failed_inference(facts: VmFacts) -> Iterator[Hit]:
    for error in errors(facts, tuple(WORDINGS)):
        yield hit(error, WORDINGS[error.reason](error), the_one(detail(error, "near") or ()))


def _instead(error: ResolutionError) -> str:
    return f"set spec.{error.matcher}.name instead of inferFromVolume"


def _unknown_volume(error: ResolutionError) -> str:
    known = f"use {listed(error.candidates)}, or {_instead(error)}" if error.candidates else _instead(error)
    return f"the VM has no volume {error.current} to infer the {error.matcher} from; {known}"


def _unsupported_volume(error: ResolutionError) -> str:
    holds = listed(detail(error, "holds"), "and")
    why = f"its source is {holds}" if holds else "it has no source"
    return (
        f"no {error.matcher} can be inferred from volume {error.current}: {why}; "
        f"infer it from a persistentVolumeClaim or dataVolume, or {_instead(error)}"
    )


def _unsupported_source(error: ResolutionError) -> str:
    holds, kind = detail(error, "holds"), detail(error, "kind")
    if holds is None:
        why = f"the kind of its sourceRef is {brief(kind)}, expected DataSource" if kind else "its sourceRef has no kind"
    else:
        why = f"its source {listed(holds, 'and')} has no labels" if holds else "it has no source"
    return f"no {error.matcher} can be inferred from {error.wanted}: {why}; {_instead(error)}"


def _missing_label(error: ResolutionError) -> str:
    return (
        f"{error.wanted}, the source of volume {error.current}, has no label {detail(error, 'label')}; "
        f"add it, or {_instead(error)}"
    )


def _empty_label(error: ResolutionError) -> str:
    where = f"the source of volume {error.current}"
    return f"the label {detail(error, 'label')} of {where} is empty; set it to a name, or {_instead(error)}"


def _missing_source(error: ResolutionError) -> str:
    other, elsewhere = detail(error, "instead_of"), detail(error, "namespaces")
    nor = f", and neither is a {other} of that name" if other else ""
    but = f" (namespace {listed(elsewhere, 'and')} has one)" if elsewhere else ""
    found = f"{error.wanted}, the source of volume {error.current}, is not in the bundle{nor}{but}"
    return f"{found}; {to_add(error) if error.may_exist else 'add it'}, or {_instead(error)}"


WORDINGS: dict[str, Callable[[ResolutionError], str]] = {
    "unknown-volume": _unknown_volume,
    "unsupported-volume": _unsupported_volume,
    "unsupported-source": _unsupported_source,
    "missing-label": _missing_label,
    "empty-label": _empty_label,
    "missing-source": _missing_source,
}
