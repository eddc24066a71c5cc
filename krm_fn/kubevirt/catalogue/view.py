"""The builtin catalogue for people: tables, complete objects, and which of them fit together. The function does not load it."""

from __future__ import annotations

from collections.abc import Sequence

from krm_fn.base import quantity
from krm_fn.base.errors import ConfigError, RenderError
from krm_fn.base.objects import Object
from krm_fn.base.paths import as_map, copy, get, is_set
from krm_fn.base.suggestions import meant
from krm_fn.base.value import Value
from krm_fn.kubevirt import catalogue, releases
from krm_fn.kubevirt.catalogue import INSTANCETYPE, KINDS, PREFERENCE, Span, Version
from krm_fn.kubevirt.expand.requirements import indivisible_vcpus, unmet_requirements
from krm_fn.kubevirt.releases import Release

API_VERSION = "instancetype.kubevirt.io/v1beta1"

# The short names of the kinds, for input and output.
WORDS = {INSTANCETYPE: "instancetype", PREFERENCE: "preference"}


class UnknownNameError(RenderError):
    """The release has no instancetype or preference of that name."""


class CatalogueRow(Value):
    """One line of a table. `vcpus` and `memory` are what an instancetype sets or what a preference requires; "" is nothing."""

    name: str
    kind: str
    vcpus: str
    memory: str
    architecture: str = ""
    disk_bus: str = ""
    interface: str = ""
    traits: tuple[str, ...] = ()


class Trait(Value):
    """A remarkable trait of an object in which `path` is set and not false; `text` may contain the value as `{}`."""

    text: str
    path: tuple[str | int, ...]


TRAITS = {
    INSTANCETYPE: (
        Trait(text="dedicated CPUs", path=("cpu", "dedicatedCPUPlacement")),
        Trait(text="isolated emulator thread", path=("cpu", "isolateEmulatorThread")),
        Trait(text="NUMA passthrough", path=("cpu", "numa", "guestMappingPassthrough")),
        Trait(text="realtime", path=("cpu", "realtime")),
        Trait(text="{} max sockets", path=("cpu", "maxSockets")),
        Trait(text="hugepages {}", path=("memory", "hugepages", "pageSize")),
        Trait(text="{} % overcommit", path=("memory", "overcommitPercent")),
        Trait(text="IO threads {}", path=("ioThreadsPolicy",)),
        Trait(text="GPU {}", path=("gpus", 0, "deviceName")),
        Trait(text="node selector", path=("nodeSelector",)),
    ),
    PREFERENCE: (
        Trait(text="topology {}", path=("cpu", "preferredCPUTopology")),
        Trait(text="multiqueue", path=("devices", "preferredNetworkInterfaceMultiQueue")),
        Trait(text="dedicated IO thread", path=("devices", "preferredDiskDedicatedIoThread")),
        Trait(text="video {}", path=("devices", "preferredVideoType")),
        Trait(text="transitional virtio", path=("devices", "preferredUseVirtioTransitional")),
        Trait(text="EFI", path=("firmware", "preferredEfi")),
        Trait(text="EFI", path=("firmware", "preferredUseEfi")),
        Trait(text="secure boot", path=("firmware", "preferredEfi", "secureBoot")),
        Trait(text="secure boot", path=("firmware", "preferredUseSecureBoot")),
        Trait(text="TPM", path=("devices", "preferredTPM")),
        Trait(text="Hyper-V", path=("features", "preferredHyperv")),
    ),
}


def release_of(text: str) -> Release:
    """The release of `1.9`, `1.6.3` or `v1.6.3`, from the first that has a catalogue.

    Raises: ConfigError for text of another form, and for a minor release that the table does not have.
    """
    known = catalogue.releases()
    try:
        found = releases.parse(text)
    except ConfigError:
        found = None
    if found is None or found.version < known[0]:
        first, last = _dotted(known[0][:2]), releases.MINORS[-1]
        raise ConfigError(
            f"no catalogue for {text!r}; expected a KubeVirt release from {first} to {last}, or a patch release of one"
        )
    return found


def rows(release: Release, kind: str) -> tuple[CatalogueRow, ...]:
    """The table of a kind: the smallest first if names have sizes, otherwise by name."""
    found = catalogue.of(release)
    made = [_row(found, kind, name) for name in found.names(kind)]
    return tuple(sorted(made, key=_by_size) if kind == INSTANCETYPE else made)


def satisfying(preference: str, release: Release) -> tuple[str, ...]:
    """The instancetypes that meet the preference's requirements, and whose vCPUs its topology can spread; smallest first.

    Raises: UnknownNameError.
    """
    wanted = show(preference, release, PREFERENCE)["spec"]
    found = catalogue.of(release)
    return tuple(
        row.name for row in rows(release, INSTANCETYPE) if _meets(as_map(found.find(INSTANCETYPE, row.name)), wanted, release)
    )


def show(name: str, release: Release, kind: str = "") -> Object:
    """A copy of the complete object; of any kind if none is given.

    Raises: UnknownNameError.
    """
    found = catalogue.of(release)
    for each in (kind,) if kind else KINDS:
        spec = found.find(each, name)
        if spec is not None:
            return {"apiVersion": API_VERSION, "kind": each, "metadata": {"name": name}, "spec": copy(spec)}
    raise UnknownNameError(_unknown(name, release, (kind,) if kind else KINDS))


def describe(name: str, release: Release, kind: str = "") -> tuple[tuple[str, str], ...]:
    """The description of a name, as pairs of label and text.

    Raises: UnknownNameError.
    """
    kind = show(name, release, kind)["kind"]
    found = catalogue.of(release)
    row, run = _row(found, kind, name), found.run(kind, name)
    pairs = (
        ("Name", name),
        ("Kind", kind),
        ("vCPUs" if kind == INSTANCETYPE else "vCPUs required", row.vcpus),
        ("Memory" if kind == INSTANCETYPE else "Memory required", row.memory),
        ("Architecture", row.architecture),
        ("Disk bus", row.disk_bus),
        ("Interface", row.interface),
        ("Traits", ", ".join(row.traits)),
        ("In KubeVirt", in_words(catalogue.spans(kind, name))),
        ("With this spec", in_words(catalogue.spans(kind, name, run.form) if run else ())),
    )
    return tuple((label, text) for label, text in pairs if text)


def in_words(spans: Sequence[Span]) -> str:
    """Runs of releases for a sentence: `1.1.0 to 1.3.1, 1.6.0 to 1.9.0`."""
    return ", ".join(_dotted(first) if first == last else f"{_dotted(first)} to {_dotted(last)}" for first, last in spans)


def _dotted(version: Version) -> str:
    return ".".join(map(str, version))


def _row(found: catalogue.Catalogue, kind: str, name: str) -> CatalogueRow:
    spec = as_map(found.find(kind, name))
    base = spec if kind == INSTANCETYPE else as_map(spec.get("requirements"))
    deprecated = ("deprecated",) if found.deprecated(kind, name) else ()
    return CatalogueRow(
        name=name,
        kind=kind,
        vcpus=str(get(base, ("cpu", "guest"), "")),
        memory=str(get(base, ("memory", "guest"), "")),
        architecture=get(base, ("architecture",), "") or get(spec, ("preferredArchitecture",), ""),
        disk_bus=get(spec, ("devices", "preferredDiskBus"), ""),
        interface=get(spec, ("devices", "preferredInterfaceModel"), ""),
        traits=deprecated + tuple(trait.text.format(get(spec, trait.path)) for trait in TRAITS[kind] if _has(spec, trait)),
    )


def _has(spec: Object, trait: Trait) -> bool:
    value = get(spec, trait.path)
    return is_set(value) and value is not False


def _by_size(row: CatalogueRow) -> tuple[str, int, int, str]:
    return row.name.partition(".")[0], _nanos(row.vcpus), _nanos(row.memory), row.name


def _nanos(text: str) -> int:
    amount = quantity.parse(text)
    return amount.nanos if amount else 0


def _meets(instancetype: Object, preference: Object, release: Release) -> bool:
    # The VM chooses the architecture; no instancetype has one.
    vm = {"architecture": get(preference, ("requirements", "architecture"))}
    unmet = unmet_requirements(vm, instancetype=instancetype, preference=preference, release=release)
    return not unmet and not indivisible_vcpus(instancetype, preference, release)


def _unknown(name: str, release: Release, kinds: Sequence[str]) -> str:
    fact = f"KubeVirt {release} has no builtin {' or '.join(WORDS[kind] for kind in kinds)} {name!r}"
    for kind in kinds:
        if elsewhere := catalogue.spans(kind, name):
            return f"{fact}; it is in KubeVirt {in_words(elsewhere)}; choose one of these with --kubevirt-version"
    known = {each: kind for kind in kinds for each in catalogue.names(kind)}
    here = tuple(each for kind in kinds for each in catalogue.of(release).names(kind))
    near = meant(name, here) or meant(name, tuple(known))
    if not near:
        return f"{fact}; `kubevirt-render catalogue list` lists all names"
    return f"{fact}; did you mean {near} (in KubeVirt {in_words(catalogue.spans(known[near], near))})?"
