"""A name is too long for the labels that KubeVirt makes of it.

What it finds: a VM, an instance, or the VMs of a pool with a name of more than 63 characters, and an instancetype or a
preference with such a name that a VM in the bundle uses. Before KubeVirt 1.4 also a VirtualMachineExport, and
before 1.7 one with a name of exactly 53 characters.

Why it matters: the API server accepts the object, and refuses what KubeVirt makes of it. KubeVirt stores what a VM refers to in
a ControllerRevision with the name as a label, so a VM with such an instancetype never starts. A migration has the VM's name as
a label, so the VM can't be live-migrated, and a drain of its node waits or shuts it down. The pod and the Service of an export
have its name as a label, and of 53 characters KubeVirt makes the name of a pod that begins with a dash: the export stays
pending.

Fix: use a name of at most 63 characters.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: the-first-web-server-of-the-department-for-accounting-in-frankfurt}
    spec:
      runStrategy: Always
      template: {spec: {domain: {memory: {guest: 1Gi}, devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import name_of
from krm_fn.base.paths import Path, get
from krm_fn.base.placeholders import is_filled_in
from krm_fn.kubevirt.updates.transition import LONGEST
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, also, rule
from krm_fn.rules.shared.machines import machines

NAME: Path = ("metadata", "name")
# Before these releases an export of a name that has too many characters, or just so many, gets no pod.
# upstream: pkg/storage/export/export/export.go:getExportLabelValue
SHORTENED = (1, 4)
# upstream: pkg/storage/export/export/export.go:getExportPodName
DASHED, DASHED_UNTIL = 53, (1, 7)


@rule(severity="warning", worst="error", upstream="pkg/instancetype/revision/store.go:Store")
def name_too_long(facts: BundleFacts) -> Iterator[Hit]:
    for machine in machines(facts.bundle):
        name = name_of(machine.entry.obj)
        number = f"-{machine.copies - 1}" if machine.pooled else ""
        if len(name + number) > LONGEST and not is_filled_in(name) and (machine.vm or machine.is_instance):
            fact = f"the name{' and its number' if number else ''} have" if number else "the name has"
            fact = (
                f"{fact} {len(name + number)} characters, and a migration takes only {LONGEST}: the VM can't be live-migrated"
            )
            yield Hit(message=f"{fact}; shorten it", path=NAME, current=name, about=machine.entry)
    yield from _of_matchers(facts)
    yield from _of_exports(facts)


def _of_exports(facts: BundleFacts) -> Iterator[Hit]:
    for entry in facts.bundle.of_kind("VirtualMachineExport", "export.kubevirt.io"):
        name = name_of(entry.obj)
        if is_filled_in(name):
            continue
        if len(name) > LONGEST and facts.release.within(until=SHORTENED):
            fact = f"the name has {len(name)} characters, and a label only {LONGEST}: the export gets no pod and stays pending"
        elif len(name) == DASHED and facts.release.within(until=DASHED_UNTIL):
            fact = f"the name has {DASHED} characters, so that its pod's name would begin with a dash: the export stays pending"
        else:
            continue
        yield Hit(message=f"{fact}; shorten it", path=NAME, current=name, about=entry, severity="error")


def _of_matchers(facts: BundleFacts) -> Iterator[Hit]:
    for vm in facts.vms:
        for matcher, found in (("instancetype", vm.resolution.instancetype), ("preference", vm.resolution.preference)):
            if found and found.revision is None and len(found.ref.name) > LONGEST and not is_filled_in(found.ref.name):
                path: Path = (*vm.prefix, "spec", matcher, "name")
                fact = f"the name of the {matcher} has {len(found.ref.name)} characters, and a label only {LONGEST}"
                yield Hit(
                    message=f"{fact}: KubeVirt can't store it, and the VM does not start; shorten it",
                    path=path,
                    current=get(vm.entry.obj, path),
                    about=vm.entry,
                    severity="error",
                    related=also(found.entry, NAME),
                )
