"""What the machines of one target need, by kind, namespace and name; and where an editor shows it, behind their names.

A machine is found by what one of its files calls it: a build may have changed its namespace and name. Where the file has only a
reference, such as to an instancetype, the size that is effective is shown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from krm_fn.base import quantity
from krm_fn.base.bundle import effective_namespace, entries
from krm_fn.base.errors import RenderError
from krm_fn.base.objects import Object, group_of, kind_of, name_of
from krm_fn.base.paths import as_map
from krm_fn.kubevirt.holders import HOLDERS
from krm_fn.lsp.answers import Hint
from krm_fn.lsp.index import namespace_of
from krm_fn.pipeline.capacity import demands_of, facts_of
from krm_fn.pipeline.surroundings import bundle_of

if TYPE_CHECKING:
    from krm_fn.lsp.outline import Outline, OutlineEntry
    from krm_fn.repositories.homes import Material
    from krm_fn.sources.source import Sources
Key = tuple[str, str, str]


GIB = 1024**3
MIB = 1024**2


def records(material: Material) -> dict[Key, Object]:
    """The records of `capacity` for all machines of a unit; empty where they can't be made."""
    found, beside = material.found, material.surroundings
    bundle = bundle_of(found.items, found.places, found.units, beside)
    try:
        facts = facts_of(bundle, material.settings.config, surroundings=beside)
        made = [each.record for each in demands_of(facts, migrations=True)]
    except RenderError:
        return {}
    return {(each["kind"], each["namespace"], each["name"]): each for each in made}


def size(record: Object) -> str:
    """The guest's size in words: `4 vCPUs, 8 GiB`; "" where it is not known."""
    parts = []
    if record.get("vcpus"):
        parts.append(f"{record['vcpus']} vCPU{'s' * (record['vcpus'] != 1)}")
    if record.get("memory"):
        parts.append(memory(record["memory"]))
    return ", ".join(parts)


def of_spec(spec: Object) -> str:
    """The size that the spec of an instancetype gives, or a preference's requirements ask for: `4 vCPUs, 8 GiB`; or ""."""
    cpu, guest = as_map(spec.get("cpu")).get("guest"), as_map(spec.get("memory")).get("guest")
    words = [f"{cpu} vCPU{'s' * (cpu != 1)}"] if cpu else []
    return ", ".join([*words, memory(guest)] if guest else words)


def why_unknown(record: Object) -> str:
    """Why a machine has no size: `refused: …`, `unknown: …`."""
    for key in ("refused", "unknown"):
        if record.get(key):
            return f"{key}: {record[key][0]}"
    return "size not known"


def topology(record: Object) -> str:
    """The guest's topology: `4 sockets, 2 cores, 1 thread`; "" where it is not known."""
    found = as_map(record.get("topology"))
    words = [f"{found[f'{word}s']} {word}{'s' * (found[f'{word}s'] != 1)}" for word in WORDS if found.get(f"{word}s")]
    return ", ".join(words)


WORDS = ("socket", "core", "thread")


def pod(record: Object) -> str:
    """What the pod requests: `1 CPU, 4.2 GiB`; why there is none; "" where nothing is known."""
    if record.get("podError"):
        return str(record["podError"])
    requests = as_map(as_map(record.get("pod")).get("requests"))
    parts = [f"{requests['cpu']} CPU"] if requests.get("cpu") else []
    return ", ".join([*parts, memory(requests["memory"])] if requests.get("memory") else parts)


def memory(written: object) -> str:
    """A quantity of bytes as people read it: `8 GiB`, `512 MiB`."""
    found = quantity.parse(written)
    if found is None:
        return str(written)
    number = found.nanos // 10**9
    for unit, name in ((GIB, "GiB"), (MIB, "MiB")):
        if number >= unit:
            return f"{round(number / unit, 1):g} {name}"
    return f"{number} bytes"


def hints(
    outline: Outline, record_of: Callable[[Key], Object | None], first: int, last: int, given: Callable[[Object], str]
) -> Iterator[Hint]:
    """The hints between two lines, both included.

    `record_of` returns what `capacity` says of a machine, `given` the size that the instancetype of a machine's record gives:
    it is shown for a machine that is refused.
    """
    for root in outline.objects:
        if root.line > last or root.last < first:
            continue
        holder = HOLDERS.get((root.text("apiVersion").rpartition("/")[0], root.text("kind")))
        name = root.at(("metadata", "name"))
        record = record_of((root.text("kind"), namespace_of(root), name.value)) if holder and name else None
        if not holder or not record or not name:
            continue
        if words := size(record) or given(record):
            matcher = root.at((*holder.in_vm(("spec", "instancetype")), "name")) if holder.vm is not None else None
            yield from _hint(matcher or name, words, first, last)
        if words := topology(record):
            preference = root.at((*holder.in_vm(("spec", "preference")), "name")) if holder.vm is not None else None
            yield from _hint(preference, words, first, last)


def _hint(entry: OutlineEntry | None, text: str, first: int, last: int) -> Iterator[Hint]:
    if entry and first <= entry.line <= last:
        yield Hint(line=entry.line, character=entry.end, text=text)


def key_of(obj: Object) -> Key:
    """Kind, namespace and name of a machine."""
    return kind_of(obj), effective_namespace(obj), name_of(obj)


class Machines:
    """The machines of a target, for questions about one of its files."""

    def __init__(self, found: Sources, file: str) -> None:
        self._here: dict[str, list[Object]] = {}
        self._by_name: dict[tuple[str, str], list[Object]] = {}
        places = found.places
        machines = [each for each in entries(found.items) if (group_of(each.obj), kind_of(each.obj)) in HOLDERS]
        for each in machines:
            if places[each.item][0] == file:
                self._here.setdefault(kind_of(each.obj), []).append(each.obj)
        others = (each.obj for each in machines if kind_of(each.obj) not in self._here)  # for a patch
        for obj in (*(obj for here in self._here.values() for obj in here), *others):
            self._by_name.setdefault((kind_of(obj), name_of(obj)), []).append(obj)

    def called(self, key: Key) -> Object | None:
        """The machine that the file has under a key."""
        kind, namespace, name = key
        named, here = self._by_name.get((kind, name), []), self._here.get(kind, [])
        fitting = (obj for obj in named if effective_namespace(obj) == namespace)
        alone = here[0] if len(here) == 1 else None
        return next(fitting, named[0] if named else alone)
