"""A stored instancetype or preference that no VM uses.

What it finds: a ControllerRevision in the bundle that holds an instancetype or preference and that no VM of its namespace
refers to. Revisions of other makers, such as `revision-start-vm-*`, are passed over, and what a misspelt reference may mean.

Why it matters: it is a left-over of a VM that is gone or takes another one by now, and it misleads whoever reads the folder.

Fix: delete it, or point the VM at it that is meant to use it.

Example:

    apiVersion: apps/v1
    kind: ControllerRevision
    metadata: {name: web-small-v1beta1-1}
    data:
      apiVersion: instancetype.kubevirt.io/v1beta1
      kind: VirtualMachineInstancetype
      metadata: {name: small}
      spec: {cpu: {guest: 1}, memory: {guest: 2Gi}}
    revision: 0
"""

from __future__ import annotations

from krm_fn.bundle import effective_namespace
from krm_fn.paths import get
from krm_fn.resolve import decode
from krm_fn.resource import name_of, text
from krm_fn.rules import Hit, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.facts import BundleFacts
    from krm_fn.paths import Path
    from krm_fn.resource import Object

STARTED = "revision-start-vm-"
# Where a VM names one: the key at its top, and what leads on from there.
NAMED: tuple[tuple[str, Path], ...] = (
    ("spec", ("instancetype", "revisionName")),
    ("spec", ("preference", "revisionName")),
    ("status", ("instancetypeRef", "controllerRevisionRef", "name")),
    ("status", ("preferenceRef", "controllerRevisionRef", "name")),
)


@rule(severity="info")
def unused_revision(facts: BundleFacts) -> Iterator[Hit]:
    used = {(effective_namespace(vm.entry.obj), name) for vm in facts.vms for name in _named(vm.vm)}
    used.update(_meant(facts))
    for entry in facts.bundle.of_kind("ControllerRevision", "apps"):
        name = name_of(entry.obj)
        ours = not name.startswith(STARTED) and not isinstance(decode(entry.obj.get("data"), facts.release), str)
        if ours and (effective_namespace(entry.obj), name) not in used:
            yield Hit(
                message="no VM of the bundle refers to this revision; delete it, or point the VM at it that is meant to use it",
                path=("metadata", "name"),
                current=name,
                about=entry,
            )


def _named(vm: Object) -> Iterator[str]:
    """The revisions that a VM names."""
    for top, way in NAMED:
        if top in vm:
            yield text(get(vm[top], way))


def _meant(facts: BundleFacts) -> Iterator[tuple[str, str]]:
    """Namespace and name of the revisions that are the likest to one that a VM misses: it may be a slip."""
    for vm in facts.vms:
        for error in vm.resolution.errors:
            if error.reason == "revision-missing" and error.candidates:
                yield effective_namespace(vm.entry.obj), error.candidates[0]
