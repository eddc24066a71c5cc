"""Mode `annotate`: references stay, and annotations show the objects and sizes that they stand for, for other tools.

A matcher that infers is replaced by the name and kind that it infers, as in admission.

And annotations of any mode with what the pod of each VM needs, for tools that do not render: policies, cost, schedulers. The
mode is applied before; a VM without a pod stays as the mode wrote it.
"""

from __future__ import annotations

import json

from krm_fn.base.annotations import Any, Iterator, Sequence
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_list, get, put_in
from krm_fn.kubevirt.holders import DOMAIN
from krm_fn.pipeline.modes import PREFIX, annotated, names, referring, replaced
from krm_fn.pipeline.starts import Starts
from krm_fn.rules.facts.bundles import BundleFacts


def apply(items: Sequence[Any], facts: BundleFacts) -> list[Any]:
    return replaced(items, changes(facts))


def changes(facts: BundleFacts) -> Iterator[tuple[Entry, Path, Object]]:
    for each in facts.vms:
        vm = referring(each, facts)
        if each.resolution.errors or each.rendered is None:
            continue
        if each.expansion:
            vm = annotated(vm, {**names(each), **sizes(each.rendered)})
        if vm is not each.vm:
            yield each.entry, each.prefix, vm


def sizes(vm: Object) -> dict[str, str]:
    """Annotations with a rendered VM's vCPUs, guest memory and number of GPUs, if they are set."""
    domain = get(vm, DOMAIN, {})
    notes = {}
    topology = [get(domain, ("cpu", part)) or 1 for part in ("cores", "sockets", "threads")]
    if get(domain, ("cpu",)) is not None and all(isinstance(part, int) for part in topology):
        notes[PREFIX + "vcpus"] = str(topology[0] * topology[1] * topology[2])
    memory = get(domain, ("memory", "guest"))
    if memory is not None:
        notes[PREFIX + "memory"] = str(memory)
    gpus = as_list(get(domain, ("devices", "gpus")))
    if gpus:
        notes[PREFIX + "gpus"] = str(len(gpus))
    return notes


# What the pod's amounts of the most asked resources are called.
SINGLE = {
    "pod-cpu": ("requests", "cpu"),
    "pod-memory": ("requests", "memory"),
    "pod-cpu-limit": ("limits", "cpu"),
    "pod-memory-limit": ("limits", "memory"),
    "pod-memory-overhead": ("memoryOverhead",),
    "pod-qos-class": ("qosClass",),
}
# All of them, as JSON.
WHOLE = {"pod-requests": "requests", "pod-limits": "limits"}


def added(items: Sequence[Any], facts: BundleFacts) -> list[Any]:
    """The items with the annotations at each VM that starts, and at the VM in each pool."""
    starts, found = Starts(facts), list(items)
    for vm in facts.vms:
        if vm.resolution.errors or vm.rendered is None:
            continue
        launched = starts.of_vm(vm)
        notes = notes_of(launched.result.get("pod", {})) if launched else {}
        if notes:
            path = (*vm.entry.path, *vm.prefix)
            item = found[vm.entry.item]
            found[vm.entry.item] = put_in(item, path, annotated(get(item, path), notes))
    return found


def notes_of(pod: Object) -> dict[str, str]:
    """The annotations of a pod, as KubeVirt renders it."""
    single = {name: get(pod, path) for name, path in SINGLE.items()}
    whole = {name: pod.get(key) for name, key in WHOLE.items()}
    notes = {**single, **{name: json.dumps(amounts, sort_keys=True) for name, amounts in whole.items() if amounts}}
    return {PREFIX + name: value for name, value in notes.items() if value is not None}
