"""What uses a file: the kustomizations of its repository that include it, each with the settings and the cluster it is for."""

from __future__ import annotations

import os
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from krm_fn.base.bundle import Bundle
from krm_fn.kubevirt.configuration import release_of
from krm_fn.repositories import sharing
from krm_fn.repositories.sharing import Reach
from krm_fn.sources.files import repository

if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.kubevirt.releases import Release
    from krm_fn.repositories.clusters import TargetSettings
    from krm_fn.repositories.workspace import Workspace
    from krm_fn.sources.source import Source, Sources


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
            describing = [_from_here(offer) for offer in offers if offer.kind in sharing.PLATFORM]
            for folder in self._folders(source) if describing else ():
                yield self._workspace.settings(folder).cluster, describing


def _from_here(offer: sharing.Offer) -> sharing.Offer:
    return offer.but(file=os.path.relpath(offer.file) if offer.file else "", target=os.path.relpath(offer.target or os.curdir))
