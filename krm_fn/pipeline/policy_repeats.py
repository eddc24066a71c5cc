"""VMs that repeat an earlier VM in all that policies read of them, rendered or started.

Policies that say nothing of the first VM say nothing of those that repeat it, so these need not be rendered and started. Two
such VMs differ only in texts that rendering and starting pass on unread (`own_texts`), and that no policy reads where they go.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterable, Sequence
from krm_fn.base.bundle import effective_namespace
from krm_fn.base.objects import kind_of
from krm_fn.base.paths import Path
from krm_fn.pipeline.analysis import VM
from krm_fn.pipeline.equivalents import READINGS, Numbers, Reading, Row, compiled, dumped
from krm_fn.pipeline.own_texts import DOMAIN, EACH, KEY, TEXTS
from krm_fn.policies import reads as reading
from krm_fn.policies.reads import Reads
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.facts.vms import VmFacts

TEMPLATE = ("spec", "template")
NAME = ("metadata", "name")
UUID = (*DOMAIN, "firmware", "uuid")  # made of the name of a VM that sets none


def repeats(facts: BundleFacts, reads: Sequence[Reads]) -> dict[int, int]:
    """The id of the entry of each VM that repeats another one, with the id of the first one's entry.

    `reads` is what policies read of the rendered VM or of its instance. The facts are those of a bundle without presets and
    patches: these choose VMs by texts.
    """
    if any(each.named for each in reads):
        return {}
    paths = [path for each in reads for path in each.verdict]
    read = compiled(_rows(paths, {label for each in reads for label in each.labels}))
    firsts: dict[tuple[Any, ...], int] = {}
    found = {}
    for vm in facts.vms:
        key = _key(vm, read)
        number = id(vm.entry)
        if key is not None and firsts.setdefault(key, number) != number:
            found[number] = firsts[key]
    return found


def _key(vm: VmFacts, read: Reading) -> tuple[Any, ...] | None:
    """All that decides what policies say of a VM; None if that may be more than is looked at here."""
    resolution = vm.resolution
    if kind_of(vm.entry.obj) != VM or resolution.errors:
        return None
    sources = [each and (id(each.spec), each.table) for each in (resolution.instancetype, resolution.preference)]
    given = dumped(read(resolution.vm, {}))
    return None if given is None else (effective_namespace(vm.entry.obj), given, *sources)


def _rows(paths: Iterable[Path], labels: Iterable[str]) -> list[Row]:
    """What is read of the texts of a VM: those at paths that policies read whole, and of labels the ones that are named."""
    kept, found = _labels(frozenset(labels)), []
    for place, sort in TEXTS:
        path = tuple(step for step in place if step != KEY)
        if not any(_meets(goal, each) for goal in _goals(path) for each in paths):
            found.append((path, kept if path[-1] == "labels" else READINGS[sort]))
    return found


def _labels(names: frozenset[str]) -> Reading:
    def read(value: Any, numbers: Numbers) -> Any:
        rest = READINGS["label"](value, numbers)
        return {key: each for key, each in value.items() if key in names} if rest == () else rest

    return read


def _goals(path: Path) -> list[Path]:
    """Where the text at a path of a VM is in the rendered VM, and in the instance."""
    if path == NAME:
        return [NAME, UUID, UUID[len(TEMPLATE) :]]
    return [path, path[len(TEMPLATE) :]] if path[: len(TEMPLATE)] == TEMPLATE else [path]


def _meets(goal: Path, read: Path) -> bool:
    """True if the value at one path may depend on the value at the other one."""
    is_presence = read[-1:] == (reading.PRESENT,)
    steps = read[:-1] if is_presence else read
    if is_presence and len(steps) <= len(goal):
        return False  # a text does not decide whether it is there
    return all(one in (EACH, other) or other == reading.EACH for one, other in zip(goal, steps, strict=False))
