"""Where the values of VMs come from, as plain data."""

from __future__ import annotations

from krm_fn import config
from krm_fn.base.bundle import Bundle, effective_namespace
from krm_fn.base.errors import InputError
from krm_fn.base.objects import kind_of, name_of, ref_of
from krm_fn.base.paths import as_map, dotted, get, leaves, with_integers
from krm_fn.base.redaction import redact
from krm_fn.base.value import Value
from krm_fn.explaining.attribution import CONFIGURATION, DEFAULT, MATCHERS, PRESET, VM
from krm_fn.explaining.machines import Machine
from krm_fn.explaining.sharing import Sharing
from krm_fn.kubevirt.configuration import kubevirt_of
from krm_fn.kubevirt.holders import DOMAIN
from krm_fn.pipeline.analysis import analysis_of
from krm_fn.rules.facts.bundles import NO_SURROUNDINGS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from krm_fn.base.bundle import Entry
    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.explaining.attribution import Leaf, Source
    from krm_fn.kubevirt.facts import Found
    from krm_fn.kubevirt.settings import Config
    from krm_fn.rules.facts.bundles import Surroundings

CPU = (*DOMAIN, "cpu")
TOPOLOGY = ("sockets", "cores", "threads")
CATALOGUE = "catalogue"


def explain(resource_list: Object) -> Object:
    """Where each value of each rendered VM comes from: `{"vms": [record, …]}`. The argument is left as it was.

    Raises: ConfigError where the functionConfig is wrong, InputError where `items` is no list.
    """
    settings = config.read(resource_list.get("functionConfig"))
    items = resource_list.get("items")
    if items is not None and not isinstance(items, list | tuple):
        raise InputError("items is no list")
    return {"vms": list(records(Bundle([with_integers(item) for item in items or []]), settings))}


def every(_: Entry) -> bool:
    return True


def records(
    bundle: Bundle,
    settings: Config,
    surroundings: Surroundings = NO_SURROUNDINGS,
    wanted: Callable[[Entry], bool] = every,
) -> Iterator[Object]:
    """The records of the wanted VMs, and of the templates of wanted pools, in the order of the bundle."""
    return (each.record for each in explained(bundle, settings, surroundings, wanted))


class Explained(Value):
    """A VM, or the template of a pool at `prefix`: its record, and the rendered VM, None if it can't be rendered."""

    entry: Entry
    prefix: Path
    record: Object
    rendered: Object | None = None


def explained(
    bundle: Bundle,
    settings: Config,
    surroundings: Surroundings = NO_SURROUNDINGS,
    wanted: Callable[[Entry], bool] = every,
) -> Iterator[Explained]:
    """The same with the rendered VMs."""
    analysis = analysis_of(bundle, settings.but(mode="expand"), surroundings)
    resolver, sharing = analysis.resolver(), Sharing()
    for entry in filter(wanted, bundle.entries):
        resolved = None if bundle.is_context(entry.item) else analysis.resolved(entry, resolver)
        if resolved:
            prefix, _, resolution = resolved
            machine = Machine(analysis=analysis, entry=entry, prefix=prefix, resolution=resolution)
            vm = machine.rendered()
            yield Explained(entry=entry, prefix=prefix, record=_Record(machine, vm).shown(sharing), rendered=vm)


class _Record:
    """The record of one VM."""

    def __init__(self, machine: Machine, vm: Object | None) -> None:
        self._machine = machine
        self._rendered = None if vm is None else dict(leaves(vm))

    def shown(self, sharing: Sharing) -> Object:
        """The record as plain data. A VM that can't be rendered has `error` in place of `fields`."""
        machine, entry = self._machine, self._machine.entry
        about = {"kind": kind_of(entry.obj), "namespace": effective_namespace(entry.obj), "name": name_of(entry.obj)}
        found = {kind: getattr(machine.resolution, kind) for kind in MATCHERS}
        shown = {
            **about,
            **self._place(entry),
            "release": str(machine.analysis.release),
            **{kind: self._of_found(each) for kind, each in found.items() if each},
        }
        if self._rendered is None:
            return {**shown, "error": "the VM can't be rendered; `check` says why"}
        return {**shown, "fields": [self._field(leaf) for leaf in sharing.leaves(machine, self._rendered)]}

    def _field(self, leaf: Leaf) -> Object:
        path = (*self._machine.prefix, *leaf.path)
        shown: Object = {"path": dotted(path), "value": redact(leaf.value, path), "source": self._source(leaf.source)}
        if leaf.beside:
            shown["beside"] = [self._source(each) for each in leaf.beside]
        if leaf.lost:
            shown["lost"] = [{**self._source(each), "wanted": redact(value, path)} for each, value in leaf.lost]
        if how := self._how(leaf):
            shown["how"] = how
        return shown

    def _source(self, source: Source) -> Object:
        """What gives a value, as plain data: `from`, the object, the field there, and its place among the items."""
        analysis = self._machine.analysis
        if source.kind == DEFAULT:
            return {"from": DEFAULT, "release": str(analysis.release)}
        if source.kind == VM:
            entry = self._machine.entry
            return {
                "from": VM,
                **self._named(entry),
                "field": dotted((*self._machine.prefix, *source.field)),
                **self._place(entry),
            }
        if source.kind == CONFIGURATION:
            held = kubevirt_of(analysis.bundle)
            about = {**self._named(held), **self._place(held)} if held else {}
            return {"from": CONFIGURATION, **about, "field": dotted(("spec", "configuration", *source.field))}
        if source.kind == PRESET:
            return {"from": PRESET}
        found = getattr(self._machine.resolution, source.kind)
        field = (*found.root, *source.field)
        way = ("data",) if found.revision else ()
        return {
            "from": source.kind,
            **self._of_found(found),
            "field": dotted((*way, *field)),
            "value": redact(source.value, field),
        }

    def _of_found(self, found: Found) -> Object:
        """An instancetype or preference: its object, and where it was found."""
        shown: Object = {"kind": found.ref.kind, "namespace": found.ref.namespace, "name": found.ref.name}
        if found.revision:
            shown["revision"] = found.revision.name
        if found.origin == CATALOGUE:
            shown["catalogue"] = str(self._machine.analysis.release)
        shown = {key: value for key, value in shown.items() if value}
        return {**shown, **(self._place(found.entry) if found.entry else {})}

    def _named(self, entry: Entry) -> Object:
        ref = ref_of(entry.obj)
        shown = {"kind": ref.kind, "namespace": ref.namespace, "name": ref.name}
        return {key: value for key, value in shown.items() if value}

    def _place(self, entry: Entry) -> Object:
        """The place of an object: the number of its item, and file and index where they are known."""
        file, index = self._machine.analysis.bundle.place(entry.item)
        return {"item": entry.item, **({"file": file, "index": index} if file else {})}

    def _how(self, leaf: Leaf) -> str:
        """How a number of the topology was worked out; "" for other values."""
        found = self._machine.resolution.instancetype
        if leaf.path[:-1] != CPU or leaf.path[-1] not in TOPOLOGY or not found or leaf.source.kind == VM:
            return ""
        guest = get(found.spec, ("cpu", "guest"))
        rendered = self._rendered or {}
        parts = [_counted(rendered[(*CPU, each)], each) for each in TOPOLOGY if (*CPU, each) in rendered]
        how = f"{guest} vCPUs of the instancetype as {', '.join(parts)}"
        preference = self._machine.resolution.preference
        cpu = as_map(as_map(preference.spec if preference else None).get("cpu"))
        words = [f"topology {cpu['preferredCPUTopology']}"] if cpu.get("preferredCPUTopology") else []
        spread = as_map(cpu.get("spreadOptions"))
        words += [f"{key} {spread[key]}" for key in ("across", "ratio") if spread.get(key)]
        return f"{how}; the preference wants {', '.join(words)}" if words else how


def _counted(number: Any, plural: str) -> str:
    return f"{number} {plural[:-1] if number == 1 else plural}"
