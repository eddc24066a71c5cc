"""Equivalent VMs: they differ from an earlier VM only in texts that judging does not read.

If there are many VMs, most of them differ in names, addresses and user data (`TEXTS`). `READINGS` says for each sort of
text what schema, expansion and admission read of it: nothing, whether it equals others, or the result of a check. A VM without
findings of its own is sound. All VMs in which judging reads the same are sound too, so no stage checks them again.

The rules about the complete bundle still read every VM. `tests/pipeline/test_equivalents.py` checks the rows.
"""

from __future__ import annotations

import marshal

from krm_fn.base.annotations import Any, Callable, Iterable
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, get
from krm_fn.kubevirt.admission.fields.interfaces import RESERVED_MAC
from krm_fn.kubevirt.admission.fields.metadata import RESERVED_LABELS
from krm_fn.kubevirt.admission.fields.volumes import LONGEST_CLOUD_INIT
from krm_fn.kubevirt.admission.formats import bare_mac_length, base64_length, is_label, is_serial, mac_length
from krm_fn.kubevirt.facts import Resolution
from krm_fn.kubevirt.resolve import Resolver
from krm_fn.kubevirt.schema.checking import check
from krm_fn.pipeline.analysis import Analysis
from krm_fn.pipeline.refusals import refused
from krm_fn.pipeline.stopped import starts
from krm_fn.rules.facts.vms import VmFacts

EACH = "*"  # any entry of a list
KEY = ""  # at the end, any key of a map

SPEC: Path = ("spec", "template", "spec")
DOMAIN: Path = (*SPEC, "domain")
VOLUME: Path = (*SPEC, "volumes", EACH)

TEXTS: tuple[tuple[Path, str], ...] = (
    (("metadata", "name"), "name"),
    (("metadata", "labels", KEY), "note"),
    (("metadata", "annotations", KEY), "note"),
    (("spec", "dataVolumeTemplates", EACH, "metadata", "name"), "reference"),
    (("spec", "template", "metadata", "labels", KEY), "label"),
    ((*SPEC, "hostname"), "hostname"),
    ((*DOMAIN, "devices", "interfaces", EACH, "macAddress"), "mac"),
    ((*DOMAIN, "firmware", "uuid"), "uuid"),
    ((*DOMAIN, "firmware", "serial"), "serial"),
    ((*VOLUME, "dataVolume", "name"), "reference"),
    ((*VOLUME, "persistentVolumeClaim", "claimName"), "reference"),
    *(
        ((*VOLUME, source, *place), sort)
        for source in ("cloudInitNoCloud", "cloudInitConfigDrive")
        for place, sort in (
            (("userData",), "data"),
            (("userDataBase64",), "base64"),
            (("secretRef", "name"), "secret"),
            (("networkData",), "data"),
            (("networkDataBase64",), "base64"),
            (("networkDataSecretRef", "name"), "secret"),
        )
    ),
)


Numbers = dict[str, int]
Reading = Callable[[Any, Numbers], Any]
Row = tuple[Path, Reading]
Resolved = tuple[Any, ...]


LONGEST_SERIAL = 256
OWN = "kubevirt.io"
REMEMBERED = 20_000
PATIENCE = 50  # VMs after which the search stops, if too few of them repeat another VM
LARGEST = 1 << 16  # values, and characters of text; a larger VM repeats none, because its bytes would have to be kept
FORMAT = 2  # of marshal: from 3 on, the output depends on other references to a value


def nothing(value: Any, _: Numbers) -> Any:
    """A text that nobody reads."""
    return () if type(value) is str else value


def which(value: Any, names: Numbers) -> Any:
    """A name that is only compared with others of its kind."""
    return (names.setdefault(value, len(names)),) if type(value) is str and value else value


def only(*judge: Callable[[str], object]) -> Reading:
    """A text of which only the results of these checks are read."""
    return lambda value, _: tuple([each(value) for each in judge]) if type(value) is str else value


def texts(value: Any, _: Numbers) -> Any:
    """A map of texts that nobody reads."""
    return () if _is_of_texts(value) else value


def labels(value: Any, _: Numbers) -> Any:
    """Labels that nobody reads, except KubeVirt's own."""
    return () if _is_of_texts(value) and RESERVED_LABELS.isdisjoint(value) else value


def notes(value: Any, _: Numbers) -> Any:
    """Annotations that nobody reads, except KubeVirt's own."""
    if not _is_of_texts(value):
        return value
    return {key: text if key.partition("/")[0].endswith(OWN) else () for key, text in value.items()}


def _is_of_texts(value: Any) -> bool:
    if type(value) is not dict:
        return False
    for key, text in value.items():  # noqa: SIM110  maps are small, so `all` would take longer
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
# For a map of texts, the row is about the map.
ROWS: tuple[Row, ...] = tuple((tuple(step for step in path if step != KEY), READINGS[sort]) for path, sort in TEXTS)
# The names of references, which are not read once the objects are known.
REFERENCES: tuple[Row, ...] = tuple(
    (("spec", matcher, key), nothing) for matcher in ("instancetype", "preference") for key in ("name", "revisionName")
)
# For an instancetype or preference, if the VM's template has no annotations to compare with.
SPECS: tuple[Row, ...] = ((("annotations",), notes),)


def compiled(rows: Iterable[Row]) -> Reading:
    """One reading for all rows; every other value is read as it is."""
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
    """The bytes that identify a value; None if it is large or no plain data."""
    return None if is_large(value) else marshalled(value)


def is_large(value: Any) -> bool:
    """True if it has more than LARGEST values, or its texts together are longer than that."""
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
    """The value as bytes; None if it is large or no plain data. The caller knows that only its keys can make it large."""
    try:
        data = marshal.dumps(value, FORMAT)
    except ValueError:
        return None
    return data if len(data) <= 8 * LARGEST else None


class Equivalents:
    """The sound VMs of a bundle so far.

    A VM repeats another one if both refer to the same objects, or to objects in which judging reads the same.
    """

    def __init__(self, analysis: Analysis, resolver: Resolver) -> None:
        self._analysis, self._resolver = analysis, resolver
        self._referring: dict[bytes, VmFacts] = {}
        self._resolved: dict[Resolved, VmFacts] = {}
        self._specs: dict[int, tuple[Object, bytes | None]] = {}
        self._looked_up = self._hits = 0

    @property
    def pay(self) -> bool:
        """False once fewer than half of the VMs after the first ones repeated another one."""
        return 2 * self._hits >= self._looked_up - PATIENCE

    def facts(self, entry: Entry) -> VmFacts | None:
        """The facts of the VM in an object; None if it has no VM that is rendered."""
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
        facts = (
            self._repeating(first, entry, resolution) if first else judged(self._analysis, self._analysis.of_vm(entry, *found))
        )
        if facts.sound:
            self._remember(facts, key, resolved)
        return facts

    def _key(self, read_of: Object, resolution: Resolution) -> Resolved | None:
        """What judging reads of a VM and of the objects that it refers to, without their names; None if it refers to none.

        None also if the template has annotations, because those of an instancetype are compared with them.
        """
        found = resolution.instancetype, resolution.preference
        specs = [each and self._spec(each.spec) for each in found]
        unknown = any(each and not spec for each, spec in zip(found, specs, strict=True))
        if unknown or not any(specs) or get(read_of, ("spec", "template", "metadata", "annotations")):
            return None
        return marshalled(unnamed(read_of, {})), *specs, *(each and each.table for each in found)

    def _spec(self, spec: Object) -> bytes | None:
        """What judging reads of the spec of an instancetype or preference; None if it is no plain data."""
        known = self._specs.get(id(spec))
        if known is None:
            known = self._specs[id(spec)] = spec, dumped(noted(spec, {}))  # a kept spec keeps its id
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


def judged(analysis: Analysis, facts: VmFacts) -> VmFacts:
    """The facts of a VM, including whether it is sound."""
    flawed = facts.troubled or any(True for _ in check(facts.entry.obj, facts.release))
    return facts.but(sound=not flawed and refused(facts) is None and starts(facts, analysis.bundle))
