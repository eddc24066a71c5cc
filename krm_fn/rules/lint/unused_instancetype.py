"""Nothing uses an instancetype or preference.

What it finds: an instancetype or preference in the bundle that no VM, no pool, no stored revision and no default label of a
claim or image refers to, although VMs in the bundle could use it: for a namespaced one those in its namespace. Objects that
are marked `config.kubernetes.io/local-config` or have a vendor's label are skipped. So is a bundle without VMs, which is a
library for others. The rule is off with `kubevirt-render check --expanded`, because rendered VMs refer to nothing.

Why it matters: nobody knows whether it may be changed or deleted, and while it is applied it can be chosen by mistake. Often
it remains from a rename, and a VM uses another one by accident.

Fix: delete it, or let the intended VM refer to it. If VMs outside the bundle use it, silence the finding with an ignore.

Example:

    apiVersion: instancetype.kubevirt.io/v1beta1
    kind: VirtualMachineInstancetype
    metadata: {name: small}
    spec: {cpu: {guest: 1}, memory: {guest: 1Gi}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template: {spec: {domain: {devices: {}, memory: {guest: 1Gi}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.bundle import Entry, effective_namespace, is_cluster_kind
from krm_fn.base.objects import LOCAL_CONFIG, annotations_of, labels_of, name_of, text
from krm_fn.base.paths import get
from krm_fn.kubevirt.facts import OPEN
from krm_fn.kubevirt.resolve import MATCHERS, decode
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.labels import defaults

Named = tuple[str, str]  # kind and name: an object in another namespace may use it from there


GROUP = "instancetype.kubevirt.io"
VENDOR = f"{GROUP}/vendor"


@rule(severity="info", unless="unexpanded-vm")
def unused_instancetype(facts: BundleFacts) -> Iterator[Hit]:
    peopled = {effective_namespace(vm.entry.obj) for vm in facts.vms}
    used = _used(facts) if peopled else set()
    errors = (error for vm in facts.vms for error in vm.resolution.errors)
    unclear = {error.matcher for error in errors if error.reason == OPEN and not error.detail}  # it may be any of them
    for matcher in (each for each in MATCHERS if each.field not in unclear):
        for kind in matcher.kinds:
            for entry in facts.bundle.of_kind(kind, GROUP):
                reached = peopled if is_cluster_kind(kind) else peopled & {effective_namespace(entry.obj)}
                name = name_of(entry.obj)
                unused = used.isdisjoint((kind, each) for each in (name, *facts.bundle.former_names(entry)))
                if reached and unused and not _meant_for_others(entry):
                    fact = f"nothing in the bundle uses this {matcher.field}"
                    yield Hit(
                        message=f"{fact}; refer to it, or delete it if nothing else uses it",
                        path=("metadata", "name"),
                        current=name,
                        about=entry,
                    )


def _meant_for_others(entry: Entry) -> bool:
    """True for an object that is not applied, or that a vendor publishes, such as the common instancetypes."""
    return annotations_of(entry.obj).get(LOCAL_CONFIG) is not None or VENDOR in labels_of(entry.obj)


def _used(facts: BundleFacts) -> set[Named]:
    """Kind and name of each one that something refers to."""
    used = {(default.kind, default.name) for default in defaults(facts.bundle)}
    for vm in facts.vms:
        for matcher, found in zip(MATCHERS, (vm.resolution.instancetype, vm.resolution.preference), strict=True):
            if found:
                used.add((found.ref.kind, found.ref.name))
            else:  # something else may be wrong with it
                written = matcher.kind_named(text(get(vm.vm, ("spec", matcher.field, "kind"))))
                used.add((written, text(get(vm.vm, ("spec", matcher.field, "name")))))
    for entry in facts.bundle.of_kind("ControllerRevision", "apps"):
        stored = decode(entry.obj.get("data"), facts.release)
        if not isinstance(stored, str):
            used.add((stored.kind, stored.name))
    return used
