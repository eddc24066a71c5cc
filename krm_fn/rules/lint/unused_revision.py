"""No VM uses a stored instancetype or preference.

What it finds: a ControllerRevision in the bundle that contains an instancetype or preference and that no VM in its namespace
refers to. Revisions of other origin, such as `revision-start-vm-*`, are skipped. So is a namespace in which a VM refers to a
revision that does not exist: it may mean one of these. The rule is off with `kubevirt-render check --expanded`, because
rendered VMs refer to nothing.

Why it matters: it remains from a VM that is gone or now uses another one, and it misleads readers of the folder.

Fix: delete it, or let the intended VM refer to it.

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

from krm_fn.base.annotations import Iterator
from krm_fn.base.bundle import effective_namespace
from krm_fn.base.objects import Object, name_of, text
from krm_fn.base.paths import get
from krm_fn.kubevirt.resolve import decode
from krm_fn.kubevirt.resolve.matcher import PINS
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule

STARTED = "revision-start-vm-"


@rule(severity="info", unless="unexpanded-vm")
def unused_revision(facts: BundleFacts) -> Iterator[Hit]:
    used = {(effective_namespace(vm.entry.obj), name) for vm in facts.vms for name in _named(vm.vm)}
    missed = set(_missed(facts))
    for entry in facts.bundle.of_kind("ControllerRevision", "apps"):
        name = name_of(entry.obj)
        ours = not name.startswith(STARTED) and not isinstance(decode(entry.obj.get("data"), facts.release), str)
        namespace = effective_namespace(entry.obj)
        if ours and namespace not in missed and (namespace, name) not in used:
            yield Hit(
                message="no VM in the bundle refers to this revision; refer to it, or delete it if nothing else uses it",
                path=("metadata", "name"),
                current=name,
                about=entry,
            )


def _named(vm: Object) -> Iterator[str]:
    """The names of the revisions that a VM refers to."""
    for top, *way in PINS:
        if top in vm:
            yield text(get(vm[top], tuple(way)))


def _missed(facts: BundleFacts) -> Iterator[str]:
    """The namespaces in which a VM refers to a revision that does not exist: it may mean any unused one."""
    for vm in facts.vms:
        if any(error.reason == "revision-missing" for error in vm.resolution.errors):
            yield effective_namespace(vm.entry.obj)
