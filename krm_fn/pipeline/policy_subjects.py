"""What policies are evaluated on: objects as they are written, VMs as they are rendered, their instances and pods."""

from __future__ import annotations

from krm_fn.base.bundle import effective_namespace
from krm_fn.base.objects import labels_of
from krm_fn.base.paths import get
from krm_fn.base.value import Value
from krm_fn.config.schema_policies import INSTANCE, POD, RENDERED, WRITTEN
from krm_fn.pipeline.facts import gather

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from krm_fn.base.bundle import Entry
    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.rules.facts.bundles import BundleFacts
    from krm_fn.rules.facts.vms import VmFacts


class Subject(Value):
    """One value to evaluate. `entry` is the object that it comes from, `prefix` the path to the VM in that object.

    `state` is one of `config.schema_policies.STATES`.
    """

    entry: Entry
    state: str
    value: Any
    prefix: Path = ()


class Subjects:
    """The subjects of a bundle, each sort made when it is first wanted. VMs that can't be rendered are left out."""

    def __init__(self, facts: BundleFacts) -> None:
        self._facts = facts
        self._made: dict[str, tuple[Subject, ...]] = {}
        self._started: BundleFacts | None = None
        self._labels: dict[str, Object] | None = None

    def on(self, state: str) -> tuple[Subject, ...]:
        """The subjects of a state."""
        makers: dict[str, Callable[[], Iterator[Subject]]] = {
            WRITTEN: self._written,
            RENDERED: self._rendered,
            INSTANCE: self._instances,
            POD: self._pods,
        }
        if state not in self._made:
            self._made[state] = tuple(makers[state]())
        return self._made[state]

    def namespace_labels(self, namespace: str) -> Object:
        """The labels of a namespace in the bundle; empty if the bundle does not have it."""
        if self._labels is None:
            named = self._facts.bundle.of_kind("Namespace", "")
            self._labels = {str(get(each.obj, ("metadata", "name"))): labels_of(each.obj) for each in named}
        return self._labels.get(namespace, {})

    def _written(self) -> Iterator[Subject]:
        return (Subject(entry=entry, state=WRITTEN, value=entry.obj) for entry in self._facts.bundle.entries)

    def _rendered(self) -> Iterator[Subject]:
        facts = self._facts
        for vm in rendered_facts(facts).vms:
            if vm.rendered is not None:
                yield Subject(entry=vm.entry, state=RENDERED, value=vm.rendered, prefix=vm.prefix)

    def _instances(self) -> Iterator[Subject]:
        for vm in self._starting().vms:
            if vm.instance is not None:
                yield Subject(entry=vm.entry, state=INSTANCE, value=vm.instance, prefix=vm.prefix)

    def _pods(self) -> Iterator[Subject]:
        for vm in self._starting().vms:
            pod = self._pod(vm)
            if pod is not None:
                yield Subject(entry=vm.entry, state=POD, value=pod, prefix=vm.prefix)

    def _pod(self, vm: VmFacts) -> Object | None:
        from krm_fn.kubevirt.pods import Around, PodError, launcher_pod

        facts, namespace = self._facts, effective_namespace(vm.entry.obj)
        if vm.instance is None:
            return None
        around = Around(bundle=facts.bundle, cluster=facts.cluster, release=facts.release, namespace=namespace)
        try:
            return launcher_pod(vm.instance, around)
        except PodError:
            return None  # the rules about the instance say why

    def _starting(self) -> BundleFacts:
        if self._started is None:
            self._started = _gathered(self._facts, instances="include")
        return self._started


def rendered_facts(facts: BundleFacts) -> BundleFacts:
    """The facts of the same bundle in mode `expand`, with the config's patches applied to the VMs.

    VMs to which they can't be applied are left out.
    """
    patched = {id(each.entry): each.obj for each in facts.patched}
    failed = {id(each.entry) for each in facts.unpatched}
    expanding = facts if facts.config.mode == "expand" else _gathered(facts, instances="omit")
    vms = [
        vm.but(rendered=get(patched[id(vm.entry)], vm.prefix)) if id(vm.entry) in patched else vm
        for vm in expanding.vms
        if id(vm.entry) not in failed
    ]
    return expanding.but(vms=tuple(vms)) if patched or failed else expanding


def _gathered(facts: BundleFacts, instances: str) -> BundleFacts:
    config = facts.config.but(mode="expand", instances=instances)
    return gather(facts.bundle, config, facts.surroundings)
