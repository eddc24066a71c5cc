"""What gives values to a VM beside the VM itself: parts of objects, each with its fields, which can be left out.

An input is the part as it is written: a spec, the data of a stored revision in whichever form, the domain of a preset, a
configuration, or the patches of the config. So a field of an input is a field in the user's file.
"""

from __future__ import annotations

from krm_fn.base.bundle import Bundle, effective_namespace
from krm_fn.base.encoding import from_base64
from krm_fn.base.objects import labels_of
from krm_fn.base.paths import as_map, get, is_set, put_in
from krm_fn.base.targets import Index
from krm_fn.base.value import Value
from krm_fn.findings.limits import Budget
from krm_fn.kubevirt.configuration import kubevirt_of
from krm_fn.kubevirt.holders import template_path
from krm_fn.pipeline.analysis import cluster_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from krm_fn.base.bundle import Entry
    from krm_fn.base.objects import Object
    from krm_fn.base.paths import Path
    from krm_fn.kubevirt.facts import Found, Resolution
    from krm_fn.kubevirt.presets import Group
    from krm_fn.pipeline.analysis import Analysis

INSTANCETYPE, PREFERENCE, PRESET, CONFIGURATION, PATCH = "instancetype", "preference", "preset", "configuration", "patch"
MATCHERS = (INSTANCETYPE, PREFERENCE)
DATA: Path = ("data",)
ENCODED: Path = ("data", "spec")
KUBEVIRT: Path = ("spec", "configuration")
HYPERCONVERGED: Path = ("spec",)
PRESET_DOMAIN: Path = ("spec", "domain")
# The fields of one input that are looked at. Those that KubeVirt deploys have some fifty.
MOST_FIELDS = 300
MOST_APPLIED = 30_000  # operations of patches for one VM, where each of those that are looked at is left out once
REMEMBERED = 5_000
# How often presets may be applied for instances that are rendered without a field: beyond a few of them, all are for each.
FEW_PRESETS, MOST_PRESETS = 10, 50_000
TOO_MANY = f"presets match instances so often that explain applies them more than {MOST_PRESETS:,} times"


class World(Value):
    """What a VM is rendered with. `held` is the object that describes the cluster, `given` the configuration of the config."""

    analysis: Analysis
    resolution: Resolution | None
    held: Object | None = None
    given: Object | None = None


class Input(Value):
    """A part of an object: `tree` is its value, `root` its place in the object in `entry`; no entry: it is in no file.

    `found` is the instancetype or preference that it belongs to. `encoded`: the value at `root` is a text that holds the tree.
    `paths` are those of its fields in the tree.
    """

    kind: str
    tree: Any
    root: Path
    paths: tuple[Path, ...]
    entry: Entry | None = None
    found: Found | None = None
    encoded: bool = False


class Inputs:
    """The inputs of the VMs and instances of one bundle. What several VMs refer to is read once."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._known: dict[tuple[Any, ...], tuple[Found, Input]] = {}  # a kept object keeps its id
        self._rest = tuple(_configurations(analysis))
        self._presets = Budget(MOST_PRESETS, f"{TOO_MANY}; narrow the selectors of the presets, or name fewer files")
        self._targets = Index(each["target"] for each in analysis.settings.patches)

    def of(self, entry: Entry, resolution: Resolution | None) -> tuple[Input, ...]:
        """The inputs of a VM, or of an instance if there is no resolution, in the order in which they are applied."""
        found = self._found(resolution) if resolution else ()
        patches = self._patches(entry) if resolution else ()
        return (*found, *_presets(self._analysis, entry), *self._rest, *patches)

    def count(self, presets: int) -> None:
        """Count so many presets that are applied once more. Raises: InputError."""
        self._presets.take(max(presets - FEW_PRESETS, 0))

    def narrowed(self, entry: Entry) -> Analysis:
        """The analysis of the bundle with the patches alone that may be for an object."""
        settings = self._analysis.settings
        if not settings.patches:
            return self._analysis
        near = tuple(settings.patches[number] for number in self._targets.near(entry.obj))
        return self._analysis.but(settings=settings.but(patches=near))

    def _patches(self, entry: Entry) -> Iterator[Input]:
        """The patches of `narrowed`, by their numbers in the config."""
        patches = self._analysis.settings.patches
        tree = {number: dict(enumerate(patches[number]["patch"])) for number in self._targets.near(entry.obj)}
        paths: list[Path] = [(number, one) for number, below in tree.items() for one in below]
        if paths:
            most = min(MOST_FIELDS, max(MOST_APPLIED // len(paths), 1))
            yield Input(kind=PATCH, tree=tree, root=("spec", "patches"), paths=tuple(paths[:most]))

    def _found(self, resolution: Resolution) -> Iterator[Input]:
        old = get(resolution.vm, ("spec", "flavor")) is not None
        for kind in MATCHERS:
            found = getattr(resolution, kind)
            if found is None:
                continue
            key = kind, id(found.spec), id(found.entry), old
            if key not in self._known:
                if len(self._known) >= REMEMBERED:
                    self._known.clear()
                self._known[key] = found, _of_found(kind, found, old=old)
            yield self._known[key][1]


def _of_found(kind: str, found: Found, *, old: bool) -> Input:
    common: dict[str, Any] = {"kind": kind, "entry": found.entry, "found": found}
    if found.revision is None or found.entry is None:
        return Input(tree=found.spec, root=found.root, paths=fields(found.spec), **common)
    data = as_map(found.entry.obj.get("data"))
    if old or not isinstance(data.get("spec"), dict):  # a text, or what only flavors have
        tree = found.spec if old else _decoded(data.get("spec"))
        return Input(tree=tree, root=ENCODED, paths=fields(tree), encoded=True, **common)
    paths = tuple(path for path in fields(data) if path[0] == "spec" and len(path) > 1)
    return Input(tree=data, root=DATA, paths=paths, **common)


def _decoded(text: Any) -> Object:
    """The spec in the base64 text of an old revision; empty if there is none."""
    import json  # few bundles have such a revision

    raw = from_base64(text) if isinstance(text, str) else None
    try:
        return as_map(json.loads(raw)) if raw else {}
    except (ValueError, RecursionError):
        return {}


def _encoded(spec: Object) -> str:
    import base64
    import json

    return base64.b64encode(json.dumps(spec).encode()).decode()


def _presets(analysis: Analysis, entry: Entry) -> Iterator[Input]:
    """The presets that match the labels of an object's instance."""
    at = template_path(entry.obj)
    if not analysis.presets or at is None:
        return
    group = analysis.presets.seen_by(entry.obj["apiVersion"], effective_namespace(entry.obj))
    for number in sorted(group.numbers(labels_of(get(entry.obj, at) if at else entry.obj))):
        preset = group.presets[number].entry
        tree = as_map(get(preset.obj, PRESET_DOMAIN))
        yield Input(kind=PRESET, tree=tree, root=PRESET_DOMAIN, paths=fields(tree), entry=preset)


def _configurations(analysis: Analysis) -> Iterator[Input]:
    given, (held, root) = analysis.settings.configuration, cluster_entry(analysis.bundle)
    if given:
        yield Input(kind=CONFIGURATION, tree=given, root=KUBEVIRT, paths=fields(given))
    if held:
        tree = as_map(get(held.obj, root))
        yield Input(kind=CONFIGURATION, tree=tree, root=root, paths=fields(tree), entry=held)


def cluster_entry(bundle: Bundle) -> tuple[Entry | None, Path]:
    """The object that describes the cluster, and the place of its settings."""
    held = kubevirt_of(bundle)
    if held:
        return held, KUBEVIRT
    operators = bundle.ordered(bundle.of_kind("HyperConverged", "hco.kubevirt.io"))
    return (operators[0], HYPERCONVERGED) if operators else (None, ())


def world_of(analysis: Analysis, resolution: Resolution | None) -> World:
    """What a VM is rendered with when nothing is left out."""
    held, _ = cluster_entry(analysis.bundle)
    given = analysis.settings.configuration
    return World(analysis=analysis, resolution=resolution, held=held.obj if held else None, given=given)


def changed(world: World, inputs: Iterable[tuple[Input, Any]]) -> World | None:
    """The world in which inputs have other trees; None if one of them can't be read."""
    for each, tree in inputs:
        other = CHANGES[each.kind](world, each, tree)
        if other is None:
            return None
        world = other
    return world


def _with_found(world: World, given: Input, tree: Any) -> World | None:
    if world.resolution is None or given.found is None:
        return None
    spec, flavored = tree, get(world.resolution.vm, ("spec", "flavor")) is not None
    if given.root in (DATA, ENCODED) and given.entry and not flavored:
        from krm_fn.kubevirt.resolve.revision import decode  # most VMs name no revision

        data = {**given.entry.obj["data"], "spec": _encoded(tree)} if given.encoded else tree
        payload = decode(data, world.analysis.release, asking=given.kind)
        if isinstance(payload, str):
            return None
        spec = payload.spec
    return world.but(resolution=world.resolution.but(**{given.kind: given.found.but(spec=spec)}))


def _with_preset(world: World, given: Input, tree: Any) -> World | None:
    if given.entry is None or not world.analysis.presets:
        return None
    other = given.entry.but(obj=put_in(given.entry.obj, given.root, tree))
    return world.but(analysis=world.analysis.but(presets=Replaced(world.analysis.presets, given.entry, other)))


class Replaced:
    """Presets of which one is another."""

    def __init__(self, presets: Any, old: Entry, new: Entry) -> None:
        self._presets, self._old, self._new = presets, old, new

    def seen_by(self, api_version: str, namespace: str) -> Group:
        from krm_fn.kubevirt.presets import Group

        entries = [preset.entry for preset in self._presets.seen_by(api_version, namespace).presets]
        return Group(self._new if entry is self._old else entry for entry in entries)


def _with_configuration(world: World, given: Input, tree: Any) -> World:
    world = world.but(given=tree) if given.entry is None else world.but(held=put_in(world.held, given.root, tree))
    analysis = world.analysis
    settings = analysis.settings.but(configuration=world.given)
    cluster = cluster_of(Bundle([world.held] if world.held else []), settings, analysis.release)
    return world.but(analysis=analysis.but(cluster=cluster, settings=settings))


def _with_patches(world: World, given: Input, tree: Any) -> World:
    analysis = world.analysis
    patches = tuple(
        {**each, "patch": [tree[number][one] for one in sorted(tree.get(number, ()))]}
        for number, each in zip(given.tree, analysis.settings.patches, strict=True)
    )
    return world.but(analysis=analysis.but(settings=analysis.settings.but(patches=patches)))


CHANGES: dict[str, Callable[[World, Input, Any], World | None]] = {
    INSTANCETYPE: _with_found,
    PREFERENCE: _with_found,
    PRESET: _with_preset,
    CONFIGURATION: _with_configuration,
    PATCH: _with_patches,
}


def fields(value: Any) -> tuple[Path, ...]:
    """The paths of the values of a part that can be left out: those of maps; a list is one value."""
    found: list[Path] = []
    waiting: list[tuple[Path, Any]] = [((), value)]
    while waiting and len(found) < MOST_FIELDS:
        at, each = waiting.pop()
        if isinstance(each, dict) and each:
            waiting.extend(((*at, key), below) for key, below in reversed(each.items()) if is_set(below))
        elif at:
            found.append(at)
    return tuple(found)


def without(value: Any, path: Path) -> Any:
    """A value without the one at a path of maps; what does not lead there is shared."""
    if not isinstance(value, dict) or path[0] not in value:
        return value
    if len(path) == 1:
        return {key: below for key, below in value.items() if key != path[0]}
    return {**value, path[0]: without(value[path[0]], path[1:])}
