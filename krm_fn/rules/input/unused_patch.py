"""An object is only a part of an object, and no kustomization uses it.

What it finds: an object in a folder that lacks what every object of its kind has, such as `spec.template` of a VirtualMachine,
and that is probably a patch. One of these signs is enough: the kustomization of its folder does not use its file; the path of
the file in its repository has a word such as `patch`, `patches` or `overlays`; the object has a directive such as
`$patch: delete`; or, if it has no `spec.template`, a complete object has the same name and not another
namespace, or it has no name. There is one finding for each file.

Why it matters: the object is not checked as a whole. Only the values that it has are compared with the API, and the entries of
its lists, which have to be complete. A patch that no kustomization names has no effect, unless another tool applies it.

Fix: list the file under `patches` of a kustomization, or exclude it. If it is meant as an object, add the missing fields. A
file that is named on the command line is checked as a whole object.

Example:

    # a folder, by its files
    files:
      base/kustomization.yaml: |
        resources: [vm.yaml]
      base/vm.yaml: |
        apiVersion: kubevirt.io/v1
        kind: VirtualMachine
        metadata: {name: web}
        spec: {runStrategy: Always, template: {spec: {domain: {devices: {}}}}}
      base/stop.yaml: |
        apiVersion: kubevirt.io/v1
        kind: VirtualMachine
        metadata: {name: web}
        spec: {runStrategy: Halted}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import dotted
from krm_fn.base.wording import listed
from krm_fn.rules.facts.inputs import InputFacts
from krm_fn.rules.registry import Hit, rule

SHOWN = 3


@rule(severity="info")
def unused_patch(facts: InputFacts) -> Iterator[Hit]:
    for each in facts.parts:
        lacks = [dotted(path) for path in each.paths[:SHOWN]]
        why = f"it has {each.directive}" if each.directive else f"it has no {listed(lacks)}"
        more = f", and so does {each.others} more object{'s' * (each.others > 1)} of the file" if each.others else ""
        yield Hit(
            message=f"this looks like a patch that no kustomization uses{more}: {why}; "
            "name it in a kustomization, or add what it lacks"
        )
