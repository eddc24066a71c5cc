"""VMs that repeat another one: they differ from it only in what judging doesn't read.

Most VMs of many differ in names, addresses and user data (`own_texts`). `READINGS` says of each sort of text what schema,
expansion and admission read of it: nothing, which others are the same, or what a check says of it. A VM that has
no finding by itself is sound. So are all VMs of which judging reads the same, and no stage looks at them again.

The rules about the whole bundle look at every VM all the same. `tests/pipeline/test_equivalents.py` holds the rows.
"""

from __future__ import annotations

import marshal

from krm_fn.base.paths import get
from krm_fn.kubevirt.admission.fields.interfaces import RESERVED_MAC
from krm_fn.kubevirt.admission.fields.metadata import RESERVED_LABELS
from krm_fn.kubevirt.admission.fields.volumes import LONGEST_CLOUD_INIT
from krm_fn.kubevirt.admission.formats import bare_mac_length, base64_length, is_label, is_serial, mac_length
from krm_fn.kubevirt.schema.checking import check
from krm_fn.pipeline.own_texts import EACH, KEY, TEXTS
from krm_fn.pipeline.refusals import refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from krm_fn.base.bundle import Entry
    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.kubevirt.facts import Resolution
    from krm_fn.kubevirt.resolve import Resolver
    from krm_fn.pipeline.analysis import Analysis
    from krm_fn.rules.facts import VmFacts

    Numbers = dict[str, int]
    Reading = Callable[[Any, Numbers], Any]
    Row = tuple[Path, Reading]
    Resolved = tuple[Any, ...]

LONGEST_SERIAL = 256
OWN = "kubevirt.io"
REMEMBERED = 20_000
PATIENCE = 50  # VMs that need not repeat another for looking for one to go on
LARGEST = 1 << 16  # values and characters of text: what is larger repeats none, for it would be remembered in bytes
FORMAT = 2  # of marshal: from 3 on what it writes depends on who else holds a value


def nothing(value: Any, _: Numbers) -> Any:
    """A text that nobody reads."""
    return () if type(value) is str else value


def which(value: Any, names: Numbers) -> Any:
    """A name that is only compared with others of its kind."""
    return (names.setdefault(value, len(names)),) if type(value) is str and value else value


def only(*judge: Callable[[str], object]) -> Reading:
    """A text of which only that is read."""
    return lambda value, _: tuple([each(value) for each in judge]) if type(value) is str else value


def texts(value: Any, _: Numbers) -> Any:
    """A map of texts that nobody reads."""
    return () if _is_of_texts(value) else value


def labels(value: Any, _: Numbers) -> Any:
    """Labels that nobody reads but for KubeVirt's own."""
    return () if _is_of_texts(value) and RESERVED_LABELS.isdisjoint(value) else value


def notes(value: Any, _: Numbers) -> Any:
    """Annotations that nobody reads but for KubeVirt's own."""
    if not _is_of_texts(value):
        return value
    return {key: text if key.partition("/")[0].endswith(OWN) else () for key, text in value.items()}


def _is_of_texts(value: Any) -> bool:
    if type(value) is not dict:
        return False
    for key, text in value.items():  # noqa: SIM110  maps are small: `all` costs more than what it asks
        if type(key) is not str or type(text) is not str:
            return False
    return True


def _is_too_long(text: str) -> bool:
    return len(text.encode(errors="replace")) > LONGEST_CLOUD_INIT


def _is_sound_base64(text: str) -> bool:
    return base64_length(text)[1]


def _is_too_long_base64(text: str) -> bool:
    return base64_length(text)[0] > LONGEST_CLOUD_INIT


# What judging reads of each sort of text.
READINGS: dict[str, Reading] = {
    "name": nothing,
    "note": texts,
    "label": labels,
    "reference": which,
    "hostname": only(bool, is_label),
    "mac": only(bool, mac_length, bare_mac_length, RESERVED_MAC.__eq__),
    "uuid": nothing,
    "serial": only(bool, is_serial, lambda text: len(text.encode(errors="replace")) > LONGEST_SERIAL),
    "data": only(bool, _is_too_long),
    "base64": only(bool, _is_sound_base64, _is_too_long_base64),
    "secret": only(bool),
}
# Of a map of texts it is the map that is read.
ROWS: tuple[Row, ...] = tuple((tuple(step for step in path if step != KEY), READINGS[sort]) for path, sort in TEXTS)
# The names of what a VM refers to, once that is known.
REFERENCES: tuple[Row, ...] = tuple(
    (("spec", matcher, key), nothing) for matcher in ("instancetype", "preference") for key in ("name", "revisionName")
)
# Of an instancetype or preference, where the VM's template has no annotations to be compared with.
SPECS: tuple[Row, ...] = ((("annotations",), notes),)


def compiled(rows: Iterable[Row]) -> Reading:
    """One reading of all that the rows are about; everything else is read as it is."""
    below: dict[str | int, list[Row]] = {}
    for (*path, last), reading in rows:
        step = path[0] if path else last
        below.setdefault(step, []).append(((*path[1:], last) if path else (), reading))
    readings = {step: inner[0][1] if inner[0][0] == () else compiled(inner) for step, inner in below.items()}
    reading_of, of_each = readings.get, readings.get(EACH)

    def of_map(value: Any, names: Numbers) -> Any:
        if type(value) is not dict:
            return value
        read = value
        for key in value:
            reading = reading_of(key)
            if reading:
                if read is value:
                    read = value.copy()
                read[key] = reading(value[key], names)
        return read

    def of_list(value: Any, names: Numbers) -> Any:
        return [of_each(each, names) for each in value] if of_each and type(value) is list else value

    return of_list if of_each else of_map


read, unnamed, noted = compiled(ROWS), compiled(REFERENCES), compiled(SPECS)


def dumped(value: Any) -> bytes | None:
    """The value in bytes that no other value has, None where it is no plain data, or large."""
    return None if is_large(value) else marshalled(value)


def is_large(value: Any) -> bool:
    """True where it holds more than so many values, or its texts together are longer."""
    length, values = 0, [value]
    for each in values:
        kind = type(each)
        if kind is dict:
            values += each.values()
        elif kind is str:
            length += len(each)
        elif kind is list:
            values += each
    return length + len(values) > LARGEST


def marshalled(value: Any) -> bytes | None:
    """The value as bytes, None where it is no plain data or large; the caller knows that only its keys can make it large."""
    try:
        data = marshal.dumps(value, FORMAT)
    except ValueError:
        return None
    return data if len(data) <= 8 * LARGEST else None


class Equivalents:
    """The sound VMs of a bundle so far.

    A VM repeats one that refers to the same, or to what is alike in all that judging reads of it.
    """

    def __init__(self, analysis: Analysis, resolver: Resolver) -> None:
        self._analysis, self._resolver = analysis, resolver
        self._referring: dict[bytes, VmFacts] = {}
        self._resolved: dict[Resolved, VmFacts] = {}
        self._specs: dict[int, tuple[Object, bytes | None]] = {}
        self._looked_up = self._hits = 0

    @property
    def pay(self) -> bool:
        """False once fewer than half of the VMs, but for the first ones, repeated another."""
        return 2 * self._hits >= self._looked_up - PATIENCE

    def facts(self, entry: Entry) -> VmFacts | None:
        """The facts of the VM that an object is; None where it is none that is rendered."""
        if not self.pay:
            return self._analysis.vm(entry, self._resolver)
        self._looked_up += 1
        read_of = read(entry.obj, {})
        key = dumped(read_of)
        first = self._referring.get(key) if key else None
        if first:
            return self._repeating(first, entry, first.resolution.but(vm=entry.obj))
        found = self._analysis.resolved(entry, self._resolver)
        if found is None:
            return None
        resolution = found[2]
        if key is None or resolution.errors or resolution.vm is not entry.obj:
            return self._analysis.of_vm(entry, *found)
        resolved = self._key(read_of, resolution)
        first = self._resolved.get(resolved) if resolved else None
        facts = self._repeating(first, entry, resolution) if first else self._judged(self._analysis.of_vm(entry, *found))
        if facts.sound:
            self._remember(facts, key, resolved)
        return facts

    def _key(self, read_of: Object, resolution: Resolution) -> Resolved | None:
        """What judging reads of a VM and of what it refers to, but for the names of that; None where it refers to nothing.

        None too where the template has annotations: those of an instancetype are compared with them.
        """
        found = resolution.instancetype, resolution.preference
        specs = [each and self._spec(each.spec) for each in found]
        unknown = any(each and not spec for each, spec in zip(found, specs, strict=True))
        if unknown or not any(specs) or get(read_of, ("spec", "template", "metadata", "annotations")):
            return None
        return marshalled(unnamed(read_of, {})), *specs, *(each and each.table for each in found)

    def _spec(self, spec: Object) -> bytes | None:
        """What judging reads of the spec of an instancetype or preference, None of one that is no plain data."""
        known = self._specs.get(id(spec))
        if known is None:
            known = self._specs[id(spec)] = spec, dumped(noted(spec, {}))  # the spec too, so that no other gets its id
        return known[1]

    def _remember(self, facts: VmFacts, key: bytes, resolved: Resolved | None) -> None:
        if len(self._referring) >= REMEMBERED:
            self._referring.clear()
            self._resolved.clear()
            self._specs.clear()
        self._referring[key] = facts
        if resolved:
            self._resolved.setdefault(resolved, facts)

    def _repeating(self, first: VmFacts, entry: Entry, resolution: Resolution) -> VmFacts:
        """The facts of a VM that repeats a sound one."""
        self._hits += 1
        return first.but(entry=entry, vm=entry.obj, resolution=resolution, admitted=entry.obj, expansion=None, rendered=None)

    def _judged(self, facts: VmFacts) -> VmFacts:
        """The facts of a VM, with whether it is sound."""
        flawed = facts.troubled or any(True for _ in check(facts.entry.obj, facts.release))
        return facts.but(sound=not flawed and refused(facts) is None)
