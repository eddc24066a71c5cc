"""A VM is pinned to a stored form that the object has since left behind.

What it finds: a VM that takes its instancetype or preference from a ControllerRevision, while the object that was stored is in
the bundle (or in the release's catalogue) with another spec by now.

Why it matters: the VM keeps the stored form until the revision is dropped, whatever the object says. A change of the
instancetype in git then reaches new VMs only, and nobody sees which ones.

Fix: drop `revisionName` (and the reference in the status) so that the VM takes the object as it is, or leave it if the VM is
meant to stay as it was.

Example:

    apiVersion: instancetype.kubevirt.io/v1beta1
    kind: VirtualMachineInstancetype
    metadata: {name: small}
    spec: {cpu: {guest: 2}, memory: {guest: 2Gi}}
    ---
    apiVersion: apps/v1
    kind: ControllerRevision
    metadata: {name: web-small-v1beta1-1}
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

from krm_fn.paths import as_map, get, leaves
from krm_fn.quantity import canonical
from krm_fn.rules import Hit, also, path_text, rule, show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.bundle import Entry
    from krm_fn.facts import BundleFacts, Found, VmFacts
    from krm_fn.paths import Path
    from krm_fn.resource import Object

SHOWN = 3


@rule(severity="warning")
def outdated_revision(facts: BundleFacts) -> Iterator[Hit]:
    for vm in facts.vms:
        for matcher, found in (("instancetype", vm.resolution.instancetype), ("preference", vm.resolution.preference)):
            if found is None or not found.revision:
                continue
            live = _live(facts, found)
            changed = _changed(found.spec, as_map(live.obj.get("spec"))) if live else []
            if changed:
                path, name = _place(vm, matcher)
                older = f"{found.revision} holds an older {found.ref}"
                yield Hit(
                    message=f"{older}: {_told(changed)}; drop the revision to take the new one",
                    path=path,
                    current=name,
                    about=vm.entry,
                    related=(*also(live, ("spec", *changed[0][0])), *also(found.entry, ("data", "spec", *changed[0][0]))),
                )


def _live(facts: BundleFacts, found: Found) -> Entry | None:
    """The stored object as it is now, None where it is gone."""
    return facts.bundle.find(found.ref.kind, found.ref.namespace or "", found.ref.name)


def _changed(stored: Object, live: Object) -> list[tuple[Path, object, object]]:
    """The places where two specs differ: path, stored value, live value; one that only spells a quantity otherwise is none."""
    old, new = dict(leaves(stored)), dict(leaves(live))
    paths = dict.fromkeys((*old, *new))
    return [(path, old.get(path), new.get(path)) for path in paths if canonical(old.get(path)) != canonical(new.get(path))]


def _told(changed: list[tuple[Path, object, object]]) -> str:
    told = [f"{path_text(path)} {show(old, path)}, now {show(new, path)}" for path, old, new in changed[:SHOWN]]
    return ", ".join([*told, *([f"{len(changed) - SHOWN} more"] if len(changed) > SHOWN else [])])


def _place(vm: VmFacts, matcher: str) -> tuple[Path, object]:
    """The place that names the revision, and the name."""
    own: Path = ("spec", matcher, "revisionName")
    path = own if get(vm.vm, own) else ("status", f"{matcher}Ref", "controllerRevisionRef", "name")
    return (*vm.prefix, *path), get(vm.vm, path)
