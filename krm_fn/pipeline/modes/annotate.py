"""Mode `annotate`: references stay, and annotations show the objects and sizes that they stand for, for other tools.

A matcher that infers is replaced by the name and kind that it infers, as in admission.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator, Sequence
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, as_list, get
from krm_fn.kubevirt.holders import DOMAIN
from krm_fn.pipeline.modes import PREFIX, annotated, names, referring, replaced
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
