"""The start of the instances of a bundle, and the pods that come of it.

Most VMs of many differ in what no pod depends on, such as names, addresses and user data. What another VM of the same namespace
leads to, which is alike in all the rest and refers to the same, is not worked out once more.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.bundle import Entry, effective_namespace
from krm_fn.base.objects import Object, labels_of
from krm_fn.base.paths import as_list, get
from krm_fn.kubevirt.holders import Holder
from krm_fn.kubevirt.migratability import Assessment, assessed
from krm_fn.kubevirt.pods import LaunchContext
from krm_fn.kubevirt.pods.launch import Launch
from krm_fn.pipeline.equivalents import KEY, TEXTS, Reading, Row, compiled, dumped, notes, nothing
from krm_fn.pipeline.stopped import Instances
from krm_fn.rules.facts.admission import AdmissionFacts
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.sizing import limit_ranges
from krm_fn.sizing.demands import Launched, launched

VERBOSITY = "logVerbosity"  # the only label that a pod depends on
TRACKED_BY = "changedBlockTrackingLabelSelectors"
DISKS = ("spec", "template", "spec", "domain", "devices", "disks")


def verbosity(value: Any, _: object) -> Any:
    """Labels of which a pod depends on one only."""
    return {VERBOSITY: value[VERBOSITY]} if type(value) is dict and VERBOSITY in value else ()


def _missing(_: Any, __: object) -> Any:
    return ()


# What a pod depends on, of each text that a VM has of its own. Presets are chosen by labels: with some, nothing is left out.
READINGS = {"label": verbosity, "note": _missing}
PLACES = [(tuple(step for step in path if step != KEY), READINGS.get(sort, nothing)) for path, sort in TEXTS]
# What starts a VM, and what it is that it has.
OTHERS: list[Row] = [
    (("spec", "template", "metadata", "annotations"), notes),
    (("spec", "runStrategy"), _missing),
    (("spec", "running"), _missing),
    (("status",), _missing),
]
read = compiled([*PLACES, *OTHERS])


class Starts:
    """Starts the instances of a bundle. `migrations`: what an instance leads to includes what its migrations depend on.

    `instances` are those of the bundle where some are known already.
    """

    def __init__(self, facts: BundleFacts, instances: Instances | None = None, *, migrations: bool = False) -> None:
        self._facts, self._migrations = facts, migrations
        self.ranges = limit_ranges.by_namespace(facts.bundle)
        self.instances = instances or Instances(facts)
        self._known: dict[tuple[Any, ...], Launched | None] = {}
        self._assessed: dict[tuple[Any, ...] | None, Assessment | None] = {}
        self._specs: dict[int, Object] = {}

    def of_vm(self, vm: VmFacts) -> Launched | None:
        """What a VM leads to, None where no instance starts."""
        key = self.key(vm)
        if key is None:
            return self._of_vm(vm)
        if key not in self._known:
            self._known[key] = self._of_vm(vm)
        return self._known[key]

    def assessment(self, vm: VmFacts) -> Assessment | None:
        """What migrations of a VM's instance depend on, None where none starts. No pod is worked out."""
        key = self.key(vm)
        if key is None or key not in self._assessed:
            instance, namespace = self.instances.of_vm(vm), effective_namespace(vm.entry.obj)
            self._assessed[key] = None if instance is None else assessed(Launch(instance, self._around(namespace)))
        return self._assessed[key]

    def key(self, vm: VmFacts, reading: Reading = read) -> tuple[Any, ...] | None:
        """All that the pod of a VM depends on, None where that may be more than is looked at here.

        `reading` may leave out more.
        """
        given = vm.resolution.vm
        reserved = any(get(disk, ("lun", "reservation")) for disk in as_list(get(given, DISKS)))
        if self.instances.presets or reserved:
            return None
        labels = labels_of(given) if self._facts.cluster.setting(TRACKED_BY) else None
        found = dumped({**reading(given, {}), "metadata": (), "labels": labels})
        sources = [each.spec for each in (vm.resolution.instancetype, vm.resolution.preference) if each]
        self._specs.update({id(spec): spec for spec in sources})  # so that no other gets its id
        tables = [each and each.table for each in (vm.resolution.instancetype, vm.resolution.preference)]
        return None if found is None else (effective_namespace(vm.entry.obj), found, *tables, *map(id, sources))

    def _of_vm(self, vm: VmFacts) -> Launched | None:
        known = _refused(self.instances.known_refusal(vm))
        if known and not self._migrations:
            return known
        instance = self.instances.of_vm(vm)
        if instance is None:
            return None
        around = self._around(effective_namespace(vm.entry.obj), labels_of(vm.resolution.vm))
        return self._launched(instance, around, self.instances.refusal(vm, instance))

    def _around(self, namespace: str, vm_labels: Object | None = None) -> LaunchContext:
        facts = self._facts
        return LaunchContext(
            bundle=facts.bundle, cluster=facts.cluster, release=facts.release, namespace=namespace, vm_labels=vm_labels
        )

    def _launched(self, instance: Object, around: LaunchContext, refused: AdmissionFacts | None) -> Launched:
        found = _refused(refused) or launched(instance, around, self.ranges.get(around.namespace, ()))
        return found.but(assessment=assessed(Launch(instance, around))) if self._migrations else found

    def of_instance(self, entry: Entry, holder: Holder, given: Object) -> Launched:
        """What an instance with its presets leads to, that stands for itself or that a replica set makes."""
        instance = self.instances.completed(given)
        refused = self.instances.refusal_of(entry, holder, instance)
        return self._launched(instance, self._around(effective_namespace(entry.obj)), refused)


def _refused(found: AdmissionFacts | None) -> Launched | None:
    """What an instance leads to that surely does not start; None for another one."""
    why = tuple(cause.message for cause in found.causes if cause.sure) if found else ()
    return Launched(guest={}, result={}, refused=why) if why else None
