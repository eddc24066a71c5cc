"""A VM is pinned to an older version of an object.

What it finds: a VM that takes its instancetype or preference from a ControllerRevision, while the stored object is in the
bundle (or in the release's catalogue) with another spec.

Why it matters: the VM keeps the stored version until the revision is removed, whatever the object contains. A change of the
instancetype in git then reaches only new VMs, and nobody sees which ones.

Fix: remove `revisionName` (and the reference in the status) so that the VM uses the object as it is, or leave it if the VM
must stay as it was.

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

from itertools import islice

from krm_fn.base.annotations import Iterator
from krm_fn.base.bundle import Entry
from krm_fn.base.paths import Path, as_map, get, leaves
from krm_fn.base.quantity import canonical
from krm_fn.base.wording import show
from krm_fn.kubevirt.facts import Found
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.registry import Hit, also, path_text, rule

Change = tuple[Path, object, object]  # the path, the stored value, the live value
Leaves = dict[Path, object]


SHOWN = 3


@rule(severity="warning")
def outdated_revision(facts: BundleFacts) -> Iterator[Hit]:
    compared = Compared()
    for vm in facts.vms:
        for matcher, found in (("instancetype", vm.resolution.instancetype), ("preference", vm.resolution.preference)):
            live = _live(facts, found) if found is not None and found.revision else None
            if found is None or live is None:
                continue
            changed, number = compared.changes(found.spec, live.obj.get("spec"))
            if number:
                path, name = _place(vm, matcher)
                older = f"{found.revision} contains an older {found.ref}"
                yield Hit(
                    message=f"{older}: {_changes(changed, number)}; remove the reference to the revision to use the new one",
                    path=path,
                    current=name,
                    about=vm.entry,
                    related=(*also(live, ("spec", *changed[0][0])), *also(found.entry, ("data", "spec", *changed[0][0]))),
                )


def _live(facts: BundleFacts, found: Found) -> Entry | None:
    """The stored object as it is now, None where it no longer exists."""
    return facts.bundle.find(found.ref.kind, found.ref.namespace or "", found.ref.name)


class Compared:
    """Specs that were compared: many VMs refer to the same, and many revisions are older than one."""

    def __init__(self) -> None:
        self._leaves: dict[int, Leaves] = {}
        self._changes: dict[tuple[int, int], tuple[list[Change], int]] = {}

    def changes(self, old: object, new: object) -> tuple[list[Change], int]:
        """The first places where two specs of the bundle differ, and how many there are."""
        key = id(old), id(new)
        if key not in self._changes:
            self._changes[key] = _changed(self._of(old), self._of(new))
        return self._changes[key]

    def _of(self, spec: object) -> Leaves:
        if id(spec) not in self._leaves:
            self._leaves[id(spec)] = {path: value for path, value in leaves(as_map(spec)) if value is not None}
        return self._leaves[id(spec)]


def _changed(old: Leaves, new: Leaves) -> tuple[list[Change], int]:
    """The changes: those of the old spec come first. A quantity that is only written in another way is not a change.

    No more of the new spec is looked at than the old one has.
    """
    there = sum(path in new for path in old)
    differing = [path for path, value in old.items() if value != new.get(path) and canonical(value) != canonical(new.get(path))]
    added = (path for path in new if path not in old)
    first = [*differing[:SHOWN], *islice(added, max(SHOWN - len(differing), 0))]
    return [(path, old.get(path), new.get(path)) for path in first], len(differing) + len(new) - there


def _changes(changed: list[Change], number: int) -> str:
    shown = [f"{path_text(path)} {show(old, path)}, now {show(new, path)}" for path, old, new in changed]
    return ", ".join([*shown, *([f"{number - SHOWN} more"] if number > SHOWN else [])])


def _place(vm: VmFacts, matcher: str) -> tuple[Path, object]:
    """The path of the field that names the revision, and the name."""
    own: Path = ("spec", matcher, "revisionName")
    path = own if get(vm.vm, own) else ("status", f"{matcher}Ref", "controllerRevisionRef", "name")
    return (*vm.prefix, *path), get(vm.vm, path)
