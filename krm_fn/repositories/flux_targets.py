"""What Kustomizations of Flux apply: the folder, with the kustomization that Flux writes there."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from krm_fn.base.objects import Object, text
from krm_fn.base.paths import get
from krm_fn.flux.artifact import Packing
from krm_fn.flux.generator import Begun, begun, generated
from krm_fn.flux.steps import spec_of
from krm_fn.flux.substitution import FluxError
from krm_fn.repositories import delivering
from krm_fn.repositories.discovery import target_of
from krm_fn.repositories.graph import all_below
from krm_fn.repositories.kustomization import joined
from krm_fn.repositories.types import Delivery, Target
from krm_fn.sources.files import content, is_within

if TYPE_CHECKING:
    from krm_fn.repositories.flux_sources import FluxSources


class Kustomizations:
    """The targets of Kustomizations, whose sources are `sources`; `root` is the folder of the repository."""

    def __init__(self, root: str, sources: FluxSources) -> None:
        self._root, self._sources = root, sources
        self._targets: dict[tuple[str, bytes], Target | None] = {}
        self._begun: dict[tuple[str, int], Begun | FluxError] = {}
        self._packings: dict[str | None, Packing] = {}

    def folder(self, obj: Object) -> str:
        """The folder of this repository that a Kustomization applies, "" where it is another's, or not there."""
        path = text(get(obj, ("spec", "path"))) if isinstance(get(obj, ("spec", "path")), str) else ""
        folder = os.path.join(self._root, os.path.normpath("/" + path).lstrip("/")).rstrip("/")  # noqa: PTH118
        is_there = os.path.isdir(folder) and is_within(folder, [self._root])  # noqa: PTH112
        return folder if is_there and self._sources.is_own(obj, path) else ""

    def of(self, own: Delivery) -> Iterator[Target]:
        """The target of a Kustomization, none where no folder is its own; the problem of one says why Flux refuses it."""
        folder = self.folder(own.obj)
        here = joined(".", folder)
        try:
            found = self._target(own.obj, own, folder)
        except FluxError as error:
            problem, inputs = delivering.refused(own, error.message), tuple(sorted(all_below([here])))
            found = Target(here, here, own.file, (), inputs, problem, delivery=own)
        yield from [found] if found else []

    def _target(self, obj: Object, own: Delivery, folder: str) -> Target | None:
        """The target in a folder with the kustomization that Flux writes there. Raises: FluxError."""
        here, packing = joined(".", folder), self._packing(obj)
        is_there = packing.has
        file, manifest = generated(folder, spec_of(obj), self._root, self._begun_in(folder, packing))
        file, made = joined(".", file), json.dumps(manifest).encode()
        own = own._replace(generated=file, text=made, original=content(file) if is_there(Path(file)) else b"")
        if (file, made) not in self._targets:
            with delivering.entered(Target(here, here, file, (), (), delivery=own)):
                found = target_of(here, [self._root])
            inputs = tuple(one for one in found.inputs if one == file or is_there(Path(one))) if found else ()
            self._targets[file, made] = found._replace(inputs=inputs) if found else None
        known = self._targets[file, made]
        return delivering.told(known._replace(delivery=own), self._root) if known else None

    def _begun_in(self, folder: str, packing: Packing) -> Begun:
        """What Flux writes in a folder before it counts what a Kustomization sets. Raises: FluxError."""
        key = folder, id(packing)  # which lives as long as this
        if key not in self._begun:
            try:
                self._begun[key] = begun(folder, packing.has)
            except FluxError as error:
                self._begun[key] = error
        found = self._begun[key]
        if isinstance(found, FluxError):
            raise found
        return found

    def _packing(self, obj: Object) -> Packing:
        """The files that Flux has of the source."""
        ignore = get(self._sources.of(obj), ("spec", "ignore"))
        ignore = ignore if isinstance(ignore, str) else None
        if ignore not in self._packings:
            self._packings[ignore] = Packing(self._root, ignore)
        return self._packings[ignore]
