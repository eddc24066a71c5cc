"""What the VMs of a bundle refer to, and what that refers to in turn: the nodes and edges of a graph.

And values that many rows have in common, kept once, with their numbers.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from krm_fn.base.bundle import Bundle, Entry, effective_namespace, is_cluster_kind
from krm_fn.base.objects import Object, kind_of, name_of, text
from krm_fn.base.paths import EACH, Path, as_list, as_map, get
from krm_fn.base.redaction import redact
from krm_fn.base.value import Value
from krm_fn.kubevirt.holders import DATA_VOLUMES, HOLDERS, INSTANCE_SPEC, holder_of
from krm_fn.rules.shared.available_objects import available_objects
from krm_fn.rules.shared.object_references import OWNERS, ReferenceField, places_of, tree_of, wanted

Key = tuple[str, str, str]  # kind, namespace ("" for what has none), name


IMAGE = "Image"
# The matchers of a VM, and the kinds that they mean where they name none.
CLUSTER_KINDS = {"instancetype": "VirtualMachineClusterInstancetype", "preference": "VirtualMachineClusterPreference"}
# What has an object: the bundle, the catalogue of a release, or another object that makes it.
BUNDLE, CATALOGUE, MADE, ELSEWHERE = "bundle", "catalogue", "made", "elsewhere"
_IMAGE = ReferenceField(place=("volumes", EACH, "containerDisk", "image"), kind=IMAGE)
# The trees of the references of each kind that is in the graph.
TREES = {
    kind: tree_of((*rows, *(((owner.instance, (_IMAGE,)),) if (owner := HOLDERS.get((group, kind))) else ())))
    for (group, kind), rows in OWNERS.items()
    if (group, kind) in HOLDERS or group == "cdi.kubevirt.io"
}


class ShownReference(Value):
    """A reference: from one object to another, and the field that has it. `state` says what has the object."""

    user: Key
    used: Key
    role: str
    state: str
    file: str = ""


def key_of(obj: Object) -> Key:
    """What tells an object from others."""
    kind = kind_of(obj)
    return kind, "" if is_cluster_kind(kind) else effective_namespace(obj), name_of(obj)


def uses_of(bundle: Bundle, machines: Iterable[tuple[Entry, Object]]) -> list[ShownReference]:
    """The references of machines, each with the record of its sources, and of the volumes of the bundle."""
    found: dict[ShownReference, None] = {}
    for entry, record in machines:
        found.update(dict.fromkeys(_of_matchers(bundle, entry, record)))
        found.update(dict.fromkeys(_of_fields(bundle, entry)))
    for kind in ("DataVolume", "DataSource"):
        for entry in bundle.of_kind(kind, "cdi.kubevirt.io"):
            found.update(dict.fromkeys(_of_fields(bundle, entry)))
    return list(found)


def _of_matchers(bundle: Bundle, entry: Entry, record: Object) -> Iterator[ShownReference]:
    """The instancetype and the preference, and the revisions that store them."""
    user = key_of(entry.obj)
    holder = holder_of(entry.obj)
    for matcher, usual in CLUSTER_KINDS.items():
        found = record.get(matcher)
        if not found:
            written = as_map(get(entry.obj, (*(holder.vm or ()), "spec", matcher))) if holder else {}
            if isinstance(name := written.get("name"), str) and name:
                kind = text(written.get("kind")) or usual
                yield ShownReference(user=user, used=(kind, "", name), role=matcher, state=ELSEWHERE)
            continue
        used = (found["kind"], found.get("namespace", ""), found["name"])
        state = CATALOGUE if "catalogue" in found else BUNDLE
        if "revision" in found:
            revision = ("ControllerRevision", user[1], found["revision"])
            yield ShownReference(user=user, used=revision, role=matcher, state=state, file=found.get("file", ""))
            user_of_object, state = revision, BUNDLE if bundle.find(*used) else ELSEWHERE
            yield ShownReference(user=user_of_object, used=used, role="stores", state=state)
        else:
            yield ShownReference(user=user, used=used, role=matcher, state=state, file=found.get("file", ""))


def _of_fields(bundle: Bundle, entry: Entry) -> Iterator[ShownReference]:
    """What the fields of an object name: volumes, networks, Secrets and the like."""
    user, namespace = key_of(entry.obj), effective_namespace(entry.obj)
    for path, row, around in places_of(entry.obj, TREES.get(user[0], {})):
        named = wanted(row, around, path[-1], namespace)
        if named:
            used = (IMAGE, "", redact(named[2])) if row.kind == IMAGE else named[:3]
            yield _use(bundle, user, used, _role(entry.obj, path))
    for template in as_list(get(entry.obj, _templates(entry.obj))):
        name = name_of(as_map(template))
        if name:
            yield ShownReference(user=user, used=("DataVolume", namespace, name), role="creates", state=MADE)


def _templates(obj: Object) -> Path:
    holder = holder_of(obj)
    return holder.in_vm(DATA_VOLUMES) if holder else ("none",)


def _use(bundle: Bundle, user: Key, used: Key, role: str) -> ShownReference:
    if used[0] == IMAGE:
        return ShownReference(user=user, used=used, role=role, state=ELSEWHERE)
    entry = bundle.find(*used)
    if entry:
        return ShownReference(user=user, used=used, role=role, state=BUNDLE, file=bundle.place(entry.item)[0])
    made = available_objects(bundle).has(*used)
    return ShownReference(user=user, used=used, role=role, state=MADE if made else ELSEWHERE)


def _role(obj: Object, path: Path) -> str:
    """The part of an object that refers: `volume root`, `network data`, or the key before the name."""
    for number, step in enumerate(path[:-1]):
        if isinstance(step, int):
            around: Any = path[number - 1]
            name = as_map(get(obj, path[: number + 1])).get("name")
            word = str(around).removesuffix("s") if isinstance(around, str) else ""
            return f"{word} {name}" if isinstance(name, str) and name else word
    keys = [step for step in path if isinstance(step, str) and step not in ("spec", "name", *INSTANCE_SPEC)]
    return keys[-1] if keys else ""


Kept = TypeVar("Kept", bound="Hashable")


class ValueTable(Generic[Kept]):
    """Values by their numbers, in the order in which they came first."""

    def __init__(self, *first: Kept) -> None:
        self._numbers: dict[Kept, int] = {value: number for number, value in enumerate(first)}

    def number(self, value: Kept) -> int:
        """The number of a value, which is kept."""
        return self._numbers.setdefault(value, len(self._numbers))

    @property
    def values(self) -> list[Kept]:
        return list(self._numbers)


class Tables:
    """What machines and findings have in common.

    `lines` are a text and the number of its path, `origins` the origins of values: word, name, text, notes. The first one is
    the machine's own manifest. `patterns` are the origins of all lines of a machine, `steps` the lines of its file, from the
    first one on. `figures` are a number and the text for it, `pods` are JSON.
    """

    def __init__(self) -> None:
        self.words: ValueTable[str] = ValueTable("")
        self.paths: ValueTable[str] = ValueTable()
        self.lines: ValueTable[tuple[str, int]] = ValueTable()
        self.origins: ValueTable[tuple[int, str, str, tuple[str, ...]]] = ValueTable((self.words.number("vm"), "", "", ()))
        self.patterns: ValueTable[tuple[int, ...]] = ValueTable(())
        self.steps: ValueTable[tuple[int, ...]] = ValueTable(())
        self.figures: ValueTable[tuple[float, str]] = ValueTable()
        self.pods: ValueTable[str] = ValueTable(json.dumps({}))

    def shown(self) -> Object:
        """The tables as plain data."""
        tables = {name: table.values for name, table in vars(self).items()}
        return {**tables, "pods": [json.loads(pod) for pod in self.pods.values]}
