"""A Service that is meant for a VM selects no pod.

What it finds: a Service whose selector matches the pods of nothing in the bundle, and that is meant for a VM, a pool, a replica
set or an instance of its namespace: that has the labels outside of its template, or only some of them, or has the name of the
Service, or the selector has its name as a value. Also a Service whose VM is in another namespace. It is only an info if nothing
but a label of KubeVirt in the selector, such as `kubevirt.io/domain`, says that a VM is meant. Other Services are skipped,
because their pods may come from elsewhere, and so are labels with placeholders.

Why it matters: KubeVirt copies the labels of `spec.template.metadata` to the virt-launcher pod, and not those of the VM itself.
The Service has no endpoints then: connections to it are refused, and nothing says why. kustomize's `commonLabels` changes
selectors and the VM's own labels, but no VM template.

Fix: write the labels of the selector to `spec.template.metadata.labels` of the VM, or correct the selector. Every pod of a VM
has the label `vm.kubevirt.io/name`.

Example:

    apiVersion: v1
    kind: Service
    metadata: {name: web}
    spec: {selector: {app: web}, ports: [{port: 80}]}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web, labels: {app: web}}
    spec:
      runStrategy: Always
      template: {spec: {domain: {memory: {guest: 1Gi}, devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import Path, as_map, dotted, get
from krm_fn.base.wording import listed
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, also, rule
from krm_fn.rules.shared.machines import MachineSpec
from krm_fn.rules.shared.services import LABELS, Labels, Service, outer_labels, selection

SELECTOR: Path = ("spec", "selector")


@rule(severity="warning", upstream="pkg/virt-controller/services/template.go:podLabels")
def service_without_vm(facts: BundleFacts) -> Iterator[Hit]:
    found = selection(facts.bundle)
    for service in found.lost:
        machine = found.meant_by(service)
        if machine:
            yield _hit(service, _words(service, machine)).but(related=also(machine.entry, _labels_path(machine)))
        elif service.is_of_machines and found.has_machines(service.namespace):
            fact = f"no VM in the bundle has {_shown(service.selector)} in the labels of its template"
            yield _hit(service, f"{fact}; correct the selector, unless the VM is created elsewhere").but(severity="info")


def _words(service: Service, machine: MachineSpec) -> str:
    """The fact and the fix."""
    place, labels = dotted(_labels_path(machine)), as_map(get(machine.entry.obj, _labels_path(machine)))
    lacking = {key: value for key, value in service.selector.items() if labels.get(key) != value}
    if not lacking:
        fix = "move one to the namespace of the other"
        return f"{machine} has {_shown(service.selector)}, but is in another namespace than the Service; {fix}"
    outside = outer_labels(machine)
    if lacking.items() <= outside.items():
        fact = f"{machine} has {_shown(lacking)} only in its own labels, which KubeVirt does not copy to the pod"
        return f"{fact}; add {'it' if len(lacking) == 1 else 'them'} to {place} of the VM"
    others = {key: labels[key] for key in lacking if key in labels}
    fact = f"{machine} has {_shown(others)}, not" if others else f"{machine} lacks"
    return f"{fact} {_shown(lacking)} in {place}; correct the selector, or the labels of the VM"


def _labels_path(machine: MachineSpec) -> Path:
    return (*machine.path[:-1], *LABELS)


def _shown(labels: Labels) -> str:
    return listed([f"{key}={value}" for key, value in labels.items()], "and")


def _hit(service: Service, words: str) -> Hit:
    return Hit(message=f"the Service selects no pod: {words}", path=SELECTOR, about=service.entry)
