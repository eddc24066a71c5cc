"""The Kustomizations of Flux in a repository, from the one that a cluster starts with down to those that others apply.

A Kustomization may be changed by the one that applies it. So this one is built, if something that counts comes of the other.
"""

from __future__ import annotations

import json
import os
import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from krm_fn import yamlio
from krm_fn.base.bundle import entries
from krm_fn.base.errors import InputError
from krm_fn.base.objects import group_of, kind_of, metadata, name_of, namespace_of, text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.base.work import Budget, SpentError
from krm_fn.flux.artifact import Packing
from krm_fn.flux.generator import begun, generated
from krm_fn.flux.steps import spec_of
from krm_fn.flux.substitution import FluxError
from krm_fn.repositories import delivering, written
from krm_fn.repositories.discovery import target_of
from krm_fn.repositories.flux_sources import HOLDING, Sources, Values
from krm_fn.repositories.graph import all_below
from krm_fn.repositories.kustomization import joined
from krm_fn.repositories.types import Delivery, Target, Written
from krm_fn.sources.files import SUFFIXES, is_within, read_found

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from krm_fn.base.objects import Object
    from krm_fn.flux.generator import Begun
    from krm_fn.repositories.building import Builder
    from krm_fn.repositories.types import Problem
    from krm_fn.sources.reading import Given

    Key = tuple[str, int]  # the file of an object, and the number of its document

FLUX, SOURCES = "kustomize.toolkit.fluxcd.io", "source.toolkit.fluxcd.io"
KUSTOMIZATION = "Kustomization"
# What a text has in which a Kustomization or a source stands.
APPLYING = re.compile(rb"""apiVersion["']?\s*:\s*["']?kustomize\.toolkit\.fluxcd\.io/""")
SOURCE = re.compile(rb"""kind["']?\s*:\s*["']?(?:GitRepository|OCIRepository|Bucket|ExternalArtifact)\b""")
OF_FLUX = re.compile(rb"""apiVersion["']?\s*:\s*["']?(?:kustomize|source)\.toolkit\.fluxcd\.io/|part-of: flux$""", re.MULTILINE)
CLUSTER = re.compile(r"(?:^|/)clusters/([^/]+)(?=/)")
SECRET_OF_CLUSTER = "-kubeconfig"  # noqa: S105  how Cluster API names the Secrets of its clusters


# How often Kustomizations may apply files and one another, of which one that is followed counts as many, and how many in a row.
MOST, FOLLOWED, DEEPEST = 1_000_000, 100, 64


class Flux:
    """What Flux applies of a repository. `files` are its YAML files, `using` builds what others apply, None for nothing."""

    def __init__(self, root: str, files: Iterable[str], using: Builder | None, timeout: float) -> None:
        self._root, self._using, self._timeout, self._files = os.path.realpath(root), using, timeout, tuple(files)
        self._texts: dict[str, bytes] = {}  # those of Kustomizations and sources
        self._counts = False
        for file in self._files:
            data = _read(file)
            self._counts = self._counts or written.mentions(data)
            if OF_FLUX.search(data):
                self._texts[file] = data
        self._targets: dict[tuple[str, bytes], Target | None] = {}
        self._counting: dict[tuple[str, str, bytes], bool] = {}
        self._raws: dict[Key, Target | None] = {}
        self._begun: dict[tuple[str, int], Begun | FluxError] = {}
        self._built: dict[str, Given | None] = {}
        self._packings: dict[str | None, Packing] = {}
        self._done: set[str] = set()  # the Kustomizations that were followed, each as its cluster gets it
        self._spend = Budget(MOST).spend

    def deliveries(self) -> Iterator[Target]:
        """The targets that Flux applies and that may hold something that counts, a target for each time that it is applied.

        Raises: InputError where Kustomizations apply one another too often.
        """
        try:
            for each in self._roots if self._counts and self._needed else ():
                yield from self._applied(each, self._cluster(each), ())
        except SpentError:
            first = self._written[0]
            problem = f"Kustomizations apply the same very often, or more than {DEEPEST} in a row; apply each once"
            raise InputError(problem, file=first.file, line=first.line, column=first.column) from None

    @cached_property
    def _written(self) -> list[Written]:
        """The Kustomizations, as they are written."""
        return [each for each in self._every if self._folder(each.obj)]

    @cached_property
    def _every(self) -> list[Written]:
        """These, and those that apply folders of other repositories."""
        files = (file for file, data in self._texts.items() if APPLYING.search(data))
        return [each for each in self._objects(files) if _is_flux(each.obj)]

    @cached_property
    def _sources(self) -> Sources:
        """The sources that are in git."""
        files = (file for file, data in self._texts.items() if SOURCE.search(data))
        found = [each.obj for each in self._objects(files) if group_of(each.obj) == SOURCES]
        return Sources(self._root, found, [each.obj for each in self._every])

    def _objects(self, files: Iterable[str]) -> Iterator[Written]:
        for file in files:
            try:
                found = yamlio.read_stream(_read(file), file=file)
            except InputError:
                continue  # it is told where the file is judged
            for entry in entries(found.items):
                yield Written(entry.obj, file, entry.item, *found.place(entry.item, entry.path))

    @cached_property
    def _roots(self) -> list[Written]:
        """The Kustomizations that no other one applies; of those that apply one another, the first."""
        applied = {below for key, every in self._edges.items() for below in every if below != key}
        roots = [each for each in self._written if each[1:3] not in applied]
        reached = {each[1:3] for each in roots}
        waiting = list(reached)
        for each in self._written:
            while waiting:
                below = [key for key in self._edges[waiting.pop()] if key not in reached]
                reached.update(below)
                waiting += below
            if each[1:3] not in reached:
                roots.append(each)
                reached.add(each[1:3])
                waiting.append(each[1:3])
        return roots

    @cached_property
    def _edges(self) -> dict[Key, list[Key]]:
        """The Kustomizations that each one applies, as they are written."""
        return {each[1:3]: [below[1:3] for below in self._below(self._raw(each))] for each in self._written}

    @cached_property
    def _needed(self) -> frozenset[Key]:
        """The Kustomizations of which something may come that counts."""
        above: dict[Key, list[Key]] = {}
        for key, every in self._edges.items():
            for below in every:
                above.setdefault(below, []).append(key)
        waiting = [each[1:3] for each in self._written if (target := self._raw(each)) and self._may_count(target)]
        found = set(waiting)
        while waiting:
            new = [key for key in above.get(waiting.pop(), ()) if key not in found]
            found.update(new)
            waiting += new
        return frozenset(found)

    def _applied(self, each: Written, cluster: str, above: tuple[Key, ...]) -> Iterator[Target]:
        """What a Kustomization applies, itself and by others; nothing where one like it was followed already."""
        own = json.dumps([cluster, *each[1:3], each.obj], default=str)
        if own in self._done:
            return
        self._done.add(own)
        self._spend(FOLLOWED if len(above) < DEEPEST else MOST)
        target = self._target(each.obj, each, cluster)
        if target is None or target.delivery is None:
            return
        target = target._replace(delivery=self._with_values(target.delivery))
        every, apart = self._below(target), {*above, each[1:3]}
        if self._may_count(target) and not (
            target.problem and every
        ):  # else the parts of it are judged, as far as they are built
            yield target
        below = [one for one in every if one[1:3] in self._needed and one[1:3] not in apart]
        for one in self._changed(below, target) if below else ():
            yield from self._applied(one, _other_cluster(one.obj) or cluster, (*above, each[1:3]))

    def _below(self, target: Target | None) -> list[Written]:
        """The Kustomizations in the files of a target, as they are written."""
        files = self._by_file.keys() & frozenset(target.inputs if target else ())
        numbers = [number for file in files for number in self._by_file[file]]
        self._spend(len(numbers))
        return [self._written[number] for number in sorted(numbers)]

    @cached_property
    def _by_file(self) -> dict[str, list[int]]:
        """The numbers of the Kustomizations in each file."""
        found: dict[str, list[int]] = {}
        for number, each in enumerate(self._written):
            found.setdefault(each.file, []).append(number)
        return found

    def _changed(self, below: list[Written], target: Target) -> Iterator[Written]:
        """The Kustomizations as the cluster gets them from the target that applies them."""
        made = self._objects_of(target)
        if made is None:
            yield from below
            return
        items = [item for item in yamlio.read_stream(made.data).items if item is not None]
        left: dict[str, list[Written]] = {}
        for each in below:
            left.setdefault(each.file, []).append(each)
        for obj, file in zip(items, made.origins, strict=True):
            likely = left.get(file) if _is_flux(obj) else None
            if likely and self._folder(obj):
                self._spend(len(likely))
                own = next((each for each in likely if name_of(each.obj) == name_of(obj)), likely[0])
                likely.remove(own)
                yield own._replace(obj=obj)

    def _objects_of(self, target: Target) -> Given | None:
        """What a target that applies others makes, None where that is not known."""
        own = target.delivery
        if own is None or self._using is None:
            return None
        key = json.dumps([own.generated, own.text.decode(), own.obj.get("spec"), own.substitutes, own.strict], default=str)
        if key not in self._built:
            self._built[key] = delivering.objects(target, self._using, self._timeout)
        return self._built[key]

    def _folder(self, obj: Object) -> str:
        """The folder of this repository that a Kustomization applies, "" where it is another's, or not there."""
        path = text(get(obj, ("spec", "path"))) if isinstance(get(obj, ("spec", "path")), str) else ""
        folder = os.path.join(self._root, os.path.normpath("/" + path).lstrip("/")).rstrip("/")  # noqa: PTH118
        is_there = os.path.isdir(folder) and is_within(folder, [self._root])  # noqa: PTH112
        return folder if is_there and self._sources.is_own(obj, path) else ""

    def _raw(self, each: Written) -> Target | None:
        """The target that a Kustomization applies as it is written."""
        if each[1:3] not in self._raws:
            self._raws[each[1:3]] = self._target(each.obj, each)
        return self._raws[each[1:3]]

    def _target(self, obj: Object, each: Written, cluster: str = "") -> Target | None:
        """The target that a Kustomization applies; its problem says where Flux refuses it."""
        folder = self._folder(obj)
        own = Delivery(obj, each.file, each.item, each.line, each.column, "", b"", b"", cluster=cluster)
        here = joined(".", folder)
        try:
            return self._found(obj, own, folder)
        except FluxError as error:
            problem, inputs = delivering.refused(own, error), tuple(sorted(all_below([here])))
            return Target(here, here, each.file, (), inputs, problem, delivery=own)

    def _found(self, obj: Object, own: Delivery, folder: str) -> Target | None:
        """The target in a folder with the kustomization that Flux writes there. Raises: FluxError."""
        here, packing = joined(".", folder), self._packing(obj)
        is_there = packing.has
        file, manifest = generated(folder, spec_of(obj), self._root, self._begun_in(folder, packing))
        file, made = joined(".", file), json.dumps(manifest).encode()
        own = own._replace(generated=file, text=made, original=_read(file) if is_there(Path(file)) else b"")
        if (file, made) not in self._targets:
            with delivering.entered(Target(here, here, file, (), (), delivery=own)):
                found = target_of(here, [self._root])
            inputs = tuple(one for one in found.inputs if one == file or is_there(Path(one))) if found else ()
            self._targets[file, made] = (
                found._replace(inputs=inputs, problem=_shown(found, file, self._root)) if found else None
            )
        known = self._targets[file, made]
        return known._replace(delivery=own) if known else None

    def _may_count(self, target: Target) -> bool:
        """True for a target that may hold something that counts."""
        key = target.folder, target.file, target.delivery.text if target.delivery else b""
        if key not in self._counting:
            self._spend(len(target.inputs))
            with delivering.entered(target):
                self._counting[key] = written.may_count(target)
        return self._counting[key]

    def _begun_in(self, folder: str, packing: Packing) -> Begun:
        """What Flux writes in a folder before it counts what a Kustomization sets. Raises: FluxError."""
        key = folder, id(packing)
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

    def _with_values(self, own: Delivery) -> Delivery:
        """The delivery with the ConfigMaps and Secrets of its variables, as far as git has them."""
        asked = map(as_map, as_list(get(own.obj, ("spec", "postBuild", "substituteFrom"))))
        named = dict.fromkeys((text(each.get("kind")), text(each.get("name"))) for each in reversed([*asked]))
        given, missing = [], []
        for kind, name in reversed(named):  # of what is named again, the last time counts
            found = self._values.of(kind, name, namespace_of(own.obj), own.file)
            if found is None:
                missing.append(f"{kind} {name}")
            else:
                given.append({**found, "metadata": {**metadata(found), "namespace": namespace_of(own.obj)}})
        return own._replace(substitutes=tuple(given), missing=tuple(missing), strict=self._values.are_strict(own.file))

    @cached_property
    def _values(self) -> Values:
        files = (file for file in self._files if file.endswith(SUFFIXES) and HOLDING.search(_read(file)))
        return Values(self._objects(files), self._texts)

    def _cluster(self, each: Written) -> str:
        """The cluster of a Kustomization that no other one applies: the folder that `flux bootstrap` made for it."""
        if other := _other_cluster(each.obj):
            return other
        file = os.path.relpath(os.path.realpath(each.file), self._root).replace(os.sep, "/")
        found = CLUSTER.search(file)
        return found[1] if found else ""


def _shown(target: Target, generated: str, root: str) -> Problem | None:
    """The problem of a target at its place in what users write, and not in the kustomization that Flux writes."""
    problem = target.problem
    if problem is None or problem.file != generated:
        return problem
    own = target_of(target.folder, [root])
    is_same = own and own.problem and (own.problem.reason, own.problem.detail) == (problem.reason, problem.detail)
    return own.problem if own and is_same else problem.but(line=0, column=0)


def _is_flux(obj: Object) -> bool:
    return kind_of(obj) == KUSTOMIZATION and group_of(obj) == FLUX


def _other_cluster(obj: Object) -> str:
    """The name of another cluster that a Kustomization is for, "" where it is for the one that it is in."""
    config = as_map(get(obj, ("spec", "kubeConfig")))
    named = (text(as_map(config.get(key)).get("name")) for key in ("secretRef", "configMapRef"))
    return next(filter(None, named), "").removesuffix(SECRET_OF_CLUSTER)


def _read(file: str) -> bytes:
    try:
        return read_found(file)[0]
    except OSError:
        return b""
