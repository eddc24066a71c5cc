"""The files of folders that hold objects of their own, the kustomizations that change these, and the clusters they are for.

Patches, generators, values and the like look as objects do, and are none. A file that a kustomization includes holds objects;
what overlays change there must not be written as if it were final. That is a patch, a replacement or a transformer. Labels,
annotations, names and namespaces don't count: an object with other ones is rendered as before.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from krm_fn import yamlio
from krm_fn.base.bundle import Bundle
from krm_fn.base.errors import InputError
from krm_fn.base.objects import Object, group_of, kind_of, name_of, text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.kubevirt.configuration import release_of
from krm_fn.kubevirt.holders import vm_path
from krm_fn.kubevirt.releases import Release
from krm_fn.repositories import sharing
from krm_fn.repositories.kustomization import FILES, RESOURCES, is_inline, joined, plugin_folders, read
from krm_fn.repositories.names import PLATFORM
from krm_fn.repositories.origins import Layer, Origins
from krm_fn.repositories.sharing import Reach
from krm_fn.repositories.types import Discovery, Kustomization, Target
from krm_fn.repositories.writers import SoughtValue, WrittenPatch, is_meant
from krm_fn.sources.files import folder_of, is_within, repository
from krm_fn.sources.places import MATCHERS
from krm_fn.sources.reading import stream
from krm_fn.sources.source import Source, Sources

if TYPE_CHECKING:
    from krm_fn.repositories.clusters import TargetSettings
    from krm_fn.repositories.workspace import Workspace
    from krm_fn.repositories.writers import Texts


OWN = "kubevirt-render.dev"
# The transformers of kustomize that change nothing that counts.
HARMLESS = frozenset(
    f"{word}Transformer"
    for word in ("Annotations", "Hash", "ImageTag", "Label", "Namespace", "Prefix", "PrefixSuffix", "Suffix")
)
ABOUT = ("/metadata/labels", "/metadata/annotations")  # how the pointers begin that don't count


def changer(of: Kustomization, patches: Iterable[WrittenPatch], wanted: SoughtValue, texts: Texts) -> str:
    """The file of the first part of a kustomization that may change an object; "" where none does."""
    for patch in patches:
        if any(_changes(each, patch.target, wanted) for each in patch.items):
            return patch.origin.file
    return next(_others(of, wanted, texts), "")


def _changes(patch: Any, target: Object, wanted: SoughtValue) -> bool:
    if target and not is_meant(target.get("kind"), target.get("name"), wanted):
        return False
    if isinstance(patch, list):
        return any(not text(as_map(each).get("path")).startswith(ABOUT) for each in patch)
    if not isinstance(patch, dict):
        return False
    named = kind_of(patch) == kind_of(wanted.obj) and name_of(patch) in wanted.names
    return (bool(target) or named) and not patch.keys() <= {"apiVersion", "kind", "metadata"}


def _others(of: Kustomization, wanted: SoughtValue, texts: Texts) -> Iterator[str]:
    """The files of replacements and transformers that may change an object."""
    for file, each in _objects(of, "replacements", texts):
        selected = [as_map(as_map(target).get("select")) for target in as_list(as_map(each).get("targets"))]
        if any(is_meant(select.get("kind"), select.get("name"), wanted) for select in selected):
            yield file
    for file, each in _objects(of, "transformers", texts):
        target = as_map(as_map(each).get("target"))
        if not _is_harmless(each) and is_meant(target.get("kind"), target.get("name"), wanted):
            yield file


def _is_harmless(transformer: object) -> bool:
    return isinstance(transformer, dict) and (group_of(transformer) == OWN or kind_of(transformer) in HARMLESS)


def _objects(of: Kustomization, key: str, texts: Texts) -> Iterator[tuple[str, Any]]:
    """What a list of a kustomization holds, in place or in files, with the file of each."""
    for entry in as_list(of.obj.get(key)):
        path = text(entry) or text(as_map(entry).get("path"))
        if path and is_inline(path):
            yield from ((of.file, each) for each in _read(path))
        elif path:
            file = joined(of.folder, path)
            found = texts(file)
            # the result of a folder is not known
            yield from ((file, each) for item in (found.items if found else [{}]) for each in (as_list(item) or [item]))
        else:
            yield of.file, entry


def _read(written: str) -> list[Any]:
    try:
        return list(yamlio.read_stream(written.encode()).items)
    except InputError:
        return []


class Files(NamedTuple):
    """The files below folders, sorted: those with objects of their own, and those that are other parts of kustomizations."""

    own: tuple[str, ...]
    parts: tuple[str, ...]


class Alteration(NamedTuple):
    """What changes an object on its way to a target: a file, and the object in question, such as the instancetype of a VM."""

    file: str
    kind: str
    name: str


def own_files(found: Discovery, folders: Sequence[str], *, follow: bool = False) -> Files:
    """The files below these folders, in which `found` was found. Without `follow`, links may not lead out of them."""
    tops = [joined(".", folder) for folder in folders]
    reals = [os.path.realpath(folder) for folder in folders]
    below, here = tuple(os.path.join(top, "") for top in tops), "." in tops  # noqa: PTH118
    used = [file for file in found.used if file.startswith(below) or (here and not file.startswith(("/", "../")))]
    used = [file for file in used if follow or is_within(file, reals)]
    resources = _resources(found.used)
    own = {*found.files, *(file for file in used if os.path.realpath(file) in resources)}
    parts = [file for file in used if file not in own and file.rpartition("/")[2] not in FILES]
    return Files(tuple(sorted(own, key=_steps)), tuple(sorted(parts, key=_steps)))


def _steps(file: str) -> list[str]:
    """What a file is sorted by, so that it comes as a walk through the folders finds it."""
    return file.split("/")


def _resources(used: Iterable[str]) -> set[str]:
    """The files that kustomizations name as resources, and in no other role; links are followed."""
    found = [read(folder_of(file), file) for file in sorted(used) if file.rpartition("/")[2] in FILES]
    kustomizations = [each.kustomization for each in found if each]
    by_folder = {each.folder: each for each in kustomizations}
    plugins = set(plugin_folders(by_folder))
    resources, others = set[str](), set[str]()
    for each in kustomizations:
        for one in each.includes:
            holds = one.role in RESOURCES and each.folder not in plugins
            (resources if holds else others).add(os.path.realpath(one.path))
        others.update(os.path.realpath(path) for path in each.uses)
    return resources - others


class Bases:
    """The objects of files that targets include, and what changes them there."""

    def __init__(self, targets: Iterable[Target]) -> None:
        targets = list(targets)
        inputs = {file for target in targets for file in target.inputs}
        self._texts = cache(lambda file: stream(file) if file in inputs else None)  # each run reads files of its own
        self._targets = [
            (Origins(target, self._texts), {os.path.realpath(file): file for file in target.inputs}) for target in targets
        ]

    def change(self, file: str, obj: Object) -> Alteration | None:
        """What changes an object of a file, or an object that it refers to, in one of the targets; None where nothing does."""
        real = os.path.realpath(file)
        for origins, inputs in self._targets:
            for way in origins.ways(inputs[real]) if real in inputs else ():
                if found := self._change(obj, way, origins):
                    return found
        return None

    def _change(self, obj: Object, way: list[Layer], origins: Origins) -> Alteration | None:
        others = ((other, frozenset((name_of(other),))) for other in _referred(obj))
        for each, names in ((obj, origins.names(obj, way)), *others):
            for layer in way:
                wanted = SoughtValue(each, names, (), None)
                if file := changer(layer.kustomization, origins.patches(layer), wanted, self._texts):
                    return Alteration(file, kind_of(each), name_of(each))
        return None


def _referred(obj: Object) -> Iterator[Object]:
    """The instancetype and the preference that an object refers to, as far as that names them."""
    at = vm_path(obj)
    for matcher in MATCHERS if at is not None else ():
        found = get(obj, (*(at or ()), *matcher))
        name = text(found.get("name")) if isinstance(found, dict) else ""
        if name:
            kind = text(found.get("kind")).lower()
            of_cluster = "Cluster" if not kind or "cluster" in kind else ""
            yield {"kind": f"VirtualMachine{of_cluster}{matcher[-1].capitalize()}", "metadata": {"name": name}}


class Use(NamedTuple):
    """One use of a file: the folder from which it is applied, the settings there, and the release of the cluster."""

    folder: str
    settings: TargetSettings
    release: Release


class Uses:
    """The uses of the texts that were read. The objects among them that describe a cluster name its release."""

    def __init__(self, workspace: Workspace, found: Sources) -> None:
        self._workspace, self._found = workspace, found

    def oldest(self, source: Source) -> Use:
        """Of the uses of a text, that of the oldest release. Raises: ConfigError."""
        return min(map(self._use, self._folders(source)), key=lambda use: use.release.version)

    def _use(self, folder: str) -> Use:
        settings = self._workspace.settings(folder)
        offered = self._offered.get(settings.cluster)
        reach = Reach(namespaces=frozenset(), words=frozenset(), folder=folder)
        nearest = sharing.taken_by(reach, offered) if offered else sharing.NOTHING
        bundles = [Bundle([each.obj for each in nearest.offers])]
        if offered and nearest.ambiguous:
            bundles = [Bundle([offer.obj]) for key in offered.platform for offer in offered.variants(key)]
        releases = [release_of(bundle, settings.config) for bundle in bundles]
        return Use(folder, settings, min(releases, key=lambda each: each.version))

    def _folders(self, source: Source) -> list[str]:
        """From where a text is applied: its own folder, where no kustomization includes it."""
        own = source.folder or os.path.dirname(source.file) or os.curdir  # noqa: PTH120
        return self._including.get(os.path.realpath(source.file), [own]) if source.file else [own]

    @cached_property
    def _including(self) -> dict[str, list[str]]:
        """The folders of the kustomizations that include a file and that no other one uses, by the file's real path."""
        files = {os.path.realpath(source.file) for source in self._found.sources if source.file}
        including: dict[str, list[str]] = {}
        for root in dict.fromkeys(repository(os.path.dirname(file)) for file in files):  # noqa: PTH120
            for target in self._workspace.around(root).found.targets:
                for file in files.intersection(map(os.path.realpath, target.inputs)):
                    including.setdefault(file, []).append(os.path.relpath(target.folder))
        return including

    @cached_property
    def _offered(self) -> dict[str, sharing.Offered]:
        return sharing.offered_by_cluster(self._offers())

    def _offers(self) -> Iterator[tuple[str, list[sharing.Offer]]]:
        """By the name of a cluster, the objects that describe it."""
        for source in self._found.sources:
            offers = sharing.offers(source.items, source.folder or source.file, source.places)
            describing = [_from_here(offer) for offer in offers if offer.kind in PLATFORM]
            for folder in self._folders(source) if describing else ():
                yield self._workspace.settings(folder).cluster, describing


def _from_here(offer: sharing.Offer) -> sharing.Offer:
    return offer.but(file=os.path.relpath(offer.file) if offer.file else "", target=os.path.relpath(offer.target or os.curdir))
