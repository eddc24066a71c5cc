"""A VM is pinned to a revision that a cluster created.

What it finds: a `revisionName` that refers to a ControllerRevision in the bundle with signs of a cluster: an owner, or no
label `instancetype.kubevirt.io/object-version: v1beta1`, as older releases stored it. Revisions that `kubevirt-render`
stores (mode `snapshot`) are skipped.

Why it matters: since 1.5 the VM's status names the revision in use, and the cluster writes none into the spec, so a
`revisionName` is there only because somebody copied it. The owner is a VM, identified by its uid. If that VM is deleted or
recreated, the cluster deletes the revision at once, and the VM that is pinned to it does not start. KubeVirt replaces and
deletes a revision without the label, again and again if git restores it.

Fix: delete `revisionName` and the revision; the VM then uses the object as it is. To keep it pinned, store the revision
again with mode `snapshot`.

Example:

    apiVersion: apps/v1
    kind: ControllerRevision
    metadata:
      name: web-small-v1beta1-1
      labels: {instancetype.kubevirt.io/object-version: v1beta1}
      ownerReferences:
      - {apiVersion: kubevirt.io/v1, kind: VirtualMachine, name: web, uid: 7d0b8b4e-0f6f-4b0e-9d3c-0c6f7b1f2a10}
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
      instancetype: {kind: VirtualMachineInstancetype, name: small, revisionName: web-small-v1beta1-1}
      template: {spec: {domain: {devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object, metadata, ref_of
from krm_fn.base.paths import Path, as_list, get
from krm_fn.kubevirt.stored_revisions import VERSION, VERSION_LABEL, is_current
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, also, rule


@rule(severity="warning", since=(1, 5), upstream="pkg/instancetype/upgrade/handler.go:Upgrade")
def copied_revision(facts: BundleFacts) -> Iterator[Hit]:
    for vm in facts.vms:
        for matcher, found in (("instancetype", vm.resolution.instancetype), ("preference", vm.resolution.preference)):
            if found is None or found.entry is None or not found.revision:
                continue
            path: Path = ("spec", matcher, "revisionName")
            written = get(vm.vm, path)
            if written != found.revision.name:
                continue
            mark, place = _mark(found.entry.obj)
            if mark:
                fix = "delete it and revisionName, or store it again with mode snapshot"
                yield Hit(
                    message=f"{ref_of(found.entry.obj)} {mark}; {fix}",
                    path=(*vm.prefix, *path),
                    current=written,
                    about=vm.entry,
                    related=also(found.entry, place),
                )


def _mark(revision: Object) -> tuple[str, Path]:
    """The sign that a cluster created the revision, in words, and its path; "" where there is none."""
    owner = next(iter(as_list(metadata(revision).get("ownerReferences"))), None)
    if owner is not None:
        return "has an owner in a cluster, and is deleted where the owner does not exist", ("metadata", "ownerReferences")
    if not is_current(revision):
        return f"lacks the label {VERSION_LABEL}: {VERSION}, so KubeVirt replaces and deletes it", ("metadata",)
    return "", ()
