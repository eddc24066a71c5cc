"""A reference leads to different objects in other targets.

What it finds: a reference of a VM or DataVolume to an object that its own target lacks, while other targets have objects of
that kind, namespace and name with different content. If all of them are equal, or there is only one, it is used.

Why it matters: which of them is in the cluster is unknown. So nothing can be said about the VM, and it is not rendered.

Fix: if the targets are for different clusters, list the clusters with their targets in `.kubevirt-render.yaml`: then each
target sees only the objects of its own cluster. Otherwise delete or rename all but one of the objects.

Example:

    # the objects of other targets, by file
    targets:
      north/types.yaml:
      - apiVersion: instancetype.kubevirt.io/v1beta1
        kind: VirtualMachineClusterInstancetype
        metadata: {name: small}
        spec: {cpu: {guest: 1}, memory: {guest: 1Gi}}
      south/types.yaml:
      - apiVersion: instancetype.kubevirt.io/v1beta1
        kind: VirtualMachineClusterInstancetype
        metadata: {name: small}
        spec: {cpu: {guest: 2}, memory: {guest: 2Gi}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      instancetype: {name: small}
      runStrategy: Always
      template: {spec: {domain: {devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.bundle import Entry
from krm_fn.base.console import file_name
from krm_fn.base.paths import Path
from krm_fn.base.wording import listed
from krm_fn.rules.facts.bundles import AMBIGUOUS, Ambiguous, BundleFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.object_references import missing


@rule(severity="warning")
def ambiguous_reference(facts: BundleFacts) -> Iterator[Hit]:
    yield from _of_matchers(facts)
    if facts.config.mode == "validate":  # nothing else reads these references
        yield from _of_objects(facts)


def _of_matchers(facts: BundleFacts) -> Iterator[Hit]:
    for vm in facts.vms:
        for error in vm.resolution.errors:
            wanted = error.wanted if error.reason == AMBIGUOUS else None
            found = wanted and facts.surroundings.ambiguous_of(wanted.kind, wanted.namespace, wanted.name)
            if found:
                yield _hit(found, vm.entry, (*vm.prefix, *error.path), error.current)


def _of_objects(facts: BundleFacts) -> Iterator[Hit]:
    for (kind, namespace, name, _), references in missing(facts.bundle).items():
        found = facts.surroundings.ambiguous_of(kind, namespace, name)
        if found:
            for reference in references:
                yield _hit(found, reference.owner, reference.path, reference.written)


def _hit(found: Ambiguous, about: Entry, path: Path, current: Any) -> Hit:
    named = f"{found.kind} {found.namespace + '/' if found.namespace else ''}{found.name}"
    where = listed([file_name(each) for each in found.where], "and")
    fix = "list the clusters in .kubevirt-render.yaml, or delete or rename all but one"
    return Hit(
        message=f"{named} is not in this target, and other targets have different ones: {where}; {fix}",
        path=path,
        current=current,
        about=about,
    )
