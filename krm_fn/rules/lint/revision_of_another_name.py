"""A VM is pinned to a revision of another instancetype or preference than it names.

What it finds: a `revisionName` that refers to a ControllerRevision in the bundle with an object of another name than `name`
beside it.

Why it matters: KubeVirt uses the revision and never looks at `name`. So the VM has another size, or other devices, than its
file says, and a changed `name` changes nothing. Manifests that were taken from a cluster have such pairs.

Fix: delete `revisionName`, or store the object that is meant with mode `snapshot`. If the revision is right, correct `name`.

Example:

    apiVersion: apps/v1
    kind: ControllerRevision
    metadata: {name: web-small-1, labels: {instancetype.kubevirt.io/object-version: v1beta1}}
    data:
      apiVersion: instancetype.kubevirt.io/v1beta1
      kind: VirtualMachineInstancetype
      metadata: {name: small}
      spec: {cpu: {guest: 1}, memory: {guest: 2Gi}}
    revision: 0
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      instancetype: {kind: VirtualMachineInstancetype, name: large, revisionName: web-small-1}
      template: {spec: {domain: {devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import unaffixed
from krm_fn.base.paths import Path, get
from krm_fn.base.placeholders import is_filled_in
from krm_fn.kubevirt.facts import Found
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, also, rule

HELD: Path = ("data", "metadata", "name")


@rule(severity="warning", upstream="pkg/instancetype/find/instancetype.go:Find")
def revision_of_another_name(facts: BundleFacts) -> Iterator[Hit]:
    affixes = facts.bundle.affixes
    for vm in facts.vms:
        for matcher, found in (("instancetype", vm.resolution.instancetype), ("preference", vm.resolution.preference)):
            path: Path = ("spec", matcher)
            name, written = (get(vm.vm, (*path, key)) for key in ("name", "revisionName"))
            if found is None or found.revision is None or found.revision.name != written or not isinstance(name, str):
                continue
            held = found.ref.name
            if held and held != name and held not in unaffixed(name, affixes) and not is_filled_in(name):
                fact = f"{found.revision} holds {_sized(found)}, and KubeVirt uses it without a look at name: {name}"
                yield Hit(
                    message=f"{fact}; delete revisionName, or set name to {held}",
                    path=(*vm.prefix, *path, "revisionName"),
                    current=written,
                    about=vm.entry,
                    related=also(found.entry, HELD),
                )


def _sized(found: Found) -> str:
    """The object that the revision holds, with the size that it gives, if it gives one."""
    vcpus, memory = get(found.spec, ("cpu", "guest")), get(found.spec, ("memory", "guest"))
    size = f" ({vcpus} vCPU{'s'[: vcpus != 1]}, {memory})" if type(vcpus) is int and isinstance(memory, str) else ""
    return f"{found.ref}{size}"
