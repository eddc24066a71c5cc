"""A VM's instancetype or preference can't be stored.

What it finds: in mode `snapshot`, a VM whose instancetype or preference can't be stored in a ControllerRevision:

- the bundle has a ControllerRevision of that name with another spec;
- the name, or the label with the name of the object, would be longer than the API server allows;
- the VM is pinned to an older ControllerRevision, without the label `instancetype.kubevirt.io/object-version: v1beta1`. It
  must be stored again in the current form, but it already has the new name, or another VM also uses it;
- a reference in the VM's status keeps KubeVirt from storing anything. If the VM starts anyway, this is a warning.

Why it matters: KubeVirt fails in the same way: it stores nothing, and the VM does not start. A ControllerRevision with other
content would change the VM, so the reference stays as it is.

Fix: do what the message says. The name of a ControllerRevision depends on its content, unless both the object and the VM
have a `metadata.uid`. A uid belongs to an object in one cluster: delete it from the files in git.

Example:

    apiVersion: instancetype.kubevirt.io/v1beta1
    kind: VirtualMachineClusterInstancetype
    metadata: {name: large-memory-for-the-databases-of-the-warehouse-in-the-second-region}
    spec: {cpu: {guest: 2}, memory: {guest: 64Gi}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      instancetype: {name: large-memory-for-the-databases-of-the-warehouse-in-the-second-region}
      template: {spec: {domain: {devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Callable, Iterator
from krm_fn.base.objects import metadata, ref_of
from krm_fn.base.paths import get
from krm_fn.kubevirt.resolve.matcher import API_VERSION
from krm_fn.kubevirt.stored_revisions import LONGEST_LABEL, LONGEST_NAME, VERSION, VERSION_LABEL
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.facts.snapshots import Unstored
from krm_fn.rules.registry import Hit, also, rule


@rule(severity="error", upstream="pkg/instancetype/revision/store.go:storeControllerRevision")
def failed_snapshot(facts: BundleFacts) -> Iterator[Hit]:
    for each in facts.unstored:
        path = ("spec", each.matcher)
        yield Hit(
            message=WORDINGS[each.reason](each),
            path=(*each.vm.prefix, *path),
            current=get(each.vm.vm, path),
            about=each.vm.entry,
            severity="warning" if each.reason == "status" else "",
            related=also(each.entry, ("data", "spec") if each.reason == "name-taken" else ("metadata",)),
        )


def _name_taken(each: Unstored) -> str:
    holder = str(ref_of(each.entry.obj)) if each.entry else f"ControllerRevision {each.name}"
    source = each.found.entry.obj if each.found.entry and not each.found.revision else {}
    by_uid = metadata(source).get("uid") and metadata(each.vm.entry.obj).get("uid")
    fix = f"delete metadata.uid of {each.found.ref} to get another name" if by_uid else "delete it if no VM needs it"
    return f"{holder} has the name under which {each.found.ref} would be stored, but another spec; {fix}"


def _no_label(each: Unstored) -> str:
    holder = str(ref_of(each.entry.obj)) if each.entry else f"ControllerRevision {each.name}"
    why = f"lacks the label {VERSION_LABEL}: {VERSION}, and KubeVirt can't store it again, because the new name is the same"
    is_current = each.entry is not None and get(each.entry.obj, ("data", "apiVersion")) == API_VERSION
    return f"{holder} {why}; {'add the label' if is_current else 'refer to a copy of it with another name'}"


def _name_too_long(each: Unstored) -> str:
    why = f"the ControllerRevision's name would have {len(each.name)} characters, and {LONGEST_NAME} are allowed"
    return f"{each.found.ref} can't be stored: {why}; use shorter names"


def _label_too_long(each: Unstored) -> str:
    why = f"its name has {len(each.found.ref.name)} characters, and the label for it allows {LONGEST_LABEL}"
    return f"{each.found.ref} can't be stored: {why}; give it a shorter name"


def _replaced(each: Unstored) -> str:
    other = str(ref_of(each.other.entry.obj)) if each.other else "another VM"
    why = f"KubeVirt stores {each.found.revision}, which has an older form, again for {other} and deletes it"
    return f"{why}, so this VM does not find it; give this VM its own copy"


def _status(each: Unstored) -> str:
    path = f"status.{each.matcher}Ref.controllerRevisionRef"
    why = f"{path} names no ControllerRevision of it, and KubeVirt then stores nothing"
    return f"{each.found.ref} is not stored: {why}; delete the reference to pin the VM"


def _unreadable(each: Unstored) -> str:
    holder = str(ref_of(each.entry.obj)) if each.entry else f"ControllerRevision {each.name}"
    why = f"status.{each.matcher}Ref names {holder}, which this release of KubeVirt can't read"
    return f"{each.found.ref} is not stored: {why}; delete the reference"


WORDINGS: dict[str, Callable[[Unstored], str]] = {
    "name-taken": _name_taken,
    "no-label": _no_label,
    "name-too-long": _name_too_long,
    "label-too-long": _label_too_long,
    "replaced": _replaced,
    "status": _status,
    "unreadable": _unreadable,
}
