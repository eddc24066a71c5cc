"""What KubeVirt's webhooks refuse in a bundle: every object of a kind they look at, as they would get it.

upstream: pkg/virt-api/webhooks/validating-webhook
"""

from __future__ import annotations

from krm_fn.admission import admit_vm
from krm_fn.admission.objects import KINDS, admit_object
from krm_fn.facts import AdmissionFacts
from krm_fn.instance.defaults import set_webhook_defaults
from krm_fn.paths import as_map, copy, get
from krm_fn.resource import group_of, kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.admission import Cause
    from krm_fn.bundle import Entry
    from krm_fn.facts import BundleFacts, VmFacts
    from krm_fn.resource import Object

INSTANCE = ("kubevirt.io", "VirtualMachineInstance")


def examine(facts: BundleFacts) -> Iterator[AdmissionFacts]:
    """What the webhooks refuse of each object; objects with nothing to refuse are left out.

    The facts must be those of mode `validate`: a VM's expansion is then what admission makes of it.
    """
    presets = {(each.entry.item, each.entry.path): each.rendered for each in facts.instances}
    for vm in facts.vms:
        if not vm.prefix:
            yield from _of_vm(vm)
    for entry in facts.bundle.entries:
        kind = group_of(entry.obj), kind_of(entry.obj)
        if kind in KINDS:
            given = presets.get((entry.item, entry.path), entry.obj)
            completed = _completed(given, facts) if kind == INSTANCE else None
            causes = admit_object(entry.obj, completed=completed, cluster=facts.cluster, release=facts.release)
            yield from _of_entry(entry, causes, facts)


def _of_vm(vm: VmFacts) -> Iterator[AdmissionFacts]:
    expanded = vm.expansion.vm if vm.expansion else None
    causes = admit_vm(vm.resolution.vm, expanded=expanded, cluster=vm.cluster, release=vm.release)
    if causes:
        yield AdmissionFacts(entry=vm.entry, causes=causes, release=vm.release)


def _of_entry(entry: Entry, causes: tuple[Cause, ...], facts: BundleFacts) -> Iterator[AdmissionFacts]:
    if causes:
        yield AdmissionFacts(entry=entry, causes=causes, release=facts.release)


def _completed(instance: Object, facts: BundleFacts) -> Object:
    """The instance with the defaults that the mutating webhook sets; as it is where its shape leaves no room for them."""
    spec = copy(as_map(instance.get("spec")))
    if not isinstance(get(spec, ("domain",)), dict):
        return instance
    set_webhook_defaults(spec, cluster=facts.cluster, release=facts.release)
    return {**instance, "spec": spec}
