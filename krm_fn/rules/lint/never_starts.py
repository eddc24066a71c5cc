"""KubeVirt lets an object in, and its instances never start.

What it finds: a VM, a pool or a replica set that passes all checks when it is applied, and whose instance never runs.
KubeVirt checks an instance more strictly, with the values of the instancetype, the preference, the presets and its own defaults
in it: the instance has no memory, a disk bus, a watchdog, a video device or a CPU model that its architecture lacks, a disk
that does not work on the bus which it gets by default, a Hyper-V feature without the one that it needs. The API server refuses
its pod for a node selector, a toleration, a probe, an image, a resource or a service account, or for the name of a Secret or a
volume that gets too long in the pod, or that KubeVirt uses there itself. Before 1.9, virt-handler attaches no interface without
a binding. A machine type that passes, and that qemu does not have, is a warning.

Why it matters: the object is applied without an error. The machine then never runs, and only an event of the VM says why.

Fix: do what the message says.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {devices: {}}
          volumes: [{name: root, containerDisk: {image: "quay.io/containerdisks/fedora:40"}}]
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import kind_of
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.refusals import hits_of

# What never starts, by the kind of the object.
MACHINES = {
    "VirtualMachinePool": "its VMs never start",
    "VirtualMachineInstanceReplicaSet": "its instances never start",
}


@rule(severity="error", upstream="pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:Admit")
def never_starts(facts: BundleFacts) -> Iterator[Hit]:
    for each in facts.stopped:
        fact = MACHINES.get(kind_of(each.entry.obj), "it never starts")
        for cause, hit in zip(each.causes, hits_of(each, each.causes), strict=False):  # not more than one rule reports
            message, severity = f"{fact}: {hit.message}", "error" if cause.sure else "warning"
            yield hit.but(message=message, upstream="start", about=each.entry, severity=severity)
