"""The Kustomizations of Flux in a repository, from the one that a cluster starts with down to those that others apply.

A Kustomization may be changed by the one that applies it. So this one is built, if something that counts comes of the other.
"""

from __future__ import annotations

import json
import os
import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from krm_fn import yamlio
from krm_fn.base.bundle import entries
from krm_fn.base.errors import InputError
from krm_fn.base.objects import group_of, kind_of, metadata, name_of, namespace_of, text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.flux.artifact import Packing
from krm_fn.flux.generator import generated
from krm_fn.flux.steps import spec_of
from krm_fn.flux.substitution import FluxError
from krm_fn.repositories import delivering, written
from krm_fn.repositories.discovery import target_of
from krm_fn.repositories.flux_sources import Sources
from krm_fn.repositories.graph import all_below
from krm_fn.repositories.kustomization import joined
from krm_fn.repositories.types import Delivery, Target
from krm_fn.sources.files import SUFFIXES, is_within, read_found

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from krm_fn.base.objects import Object
    from krm_fn.repositories.building import Builder
    from krm_fn.repositories.types import Problem

    Near = dict[str, tuple[int, Any]]  # by folder

FLUX, SOURCES = "kustomize.toolkit.fluxcd.io", "source.toolkit.fluxcd.io"
KUSTOMIZATION = "Kustomization"
ENCRYPTED = "sops"
# What a text has in which a Kustomization or a source stands.
APPLYING = re.compile(rb"""apiVersion["']?\s*:\s*["']?kustomize\.toolkit\.fluxcd\.io/""")
SOURCE = re.compile(rb"""kind["']?\s*:\s*["']?(?:GitRepository|OCIRepository|Bucket|ExternalArtifact)\b""")
HOLDING = re.compile(rb"""kind["']?\s*:\s*["']?(?:ConfigMap|Secret)\b""")
OF_FLUX = re.compile(rb"""apiVersion["']?\s*:\s*["']?(?:kustomize|source)\.toolkit\.fluxcd\.io/|part-of: flux$""", re.MULTILINE)
# The version of Flux in what `flux bootstrap` writes, and the first one in which a variable must have a value.
VERSION = re.compile(rb"^ *app\.kubernetes\.io/part-of: flux\n *app\.kubernetes\.io/version: v(\d+)\.(\d+)", re.MULTILINE)
STRICT_SINCE = (2, 9)
CLUSTER = re.compile(r"(?:^|/)clusters/([^/]+)(?=/)")
SECRET_OF_CLUSTER = "-kubeconfig"  # noqa: S105  how Cluster API names the Secrets of its clusters


class Written(NamedTuple):
    """An object in a file: the number of its document, and where it starts."""

    obj: Object
    file: str
    item: int
    line: int
    column: int


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
        self._raws: dict[tuple[str, int], Target | None] = {}
        self._needed: dict[tuple[str, int], bool] = {}
        self._packings: dict[str | None, Packing] = {}

    def deliveries(self) -> Iterator[Target]:
        """The targets that Flux applies and that may hold something that counts, a target for each time that it is applied."""
        if not (self._counts and any(map(self._is_needed, self._written))):
            return
        seen: dict[tuple[object, ...], list[Target]] = {}
        for each in self._roots:
            for target in self._applied(each, self._cluster(each), ()):
                same = seen.setdefault((target.file, *(target.delivery or ())[1:3]), [])
                if target not in same:  # two may apply it alike
                    same.append(target)
                    yield target

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
        applied = {below[1:3]: each for each in self._written for below in self._below(self._raw(each)) if below != each}
        roots = [each for each in self._written if each[1:3] not in applied]
        reached = {each[1:3] for each in roots}
        waiting = list(roots)
        for each in self._written:
            while waiting:
                below = [one for one in self._below(self._raw(waiting.pop())) if one[1:3] not in reached]
                reached.update(one[1:3] for one in below)
                waiting += below
            if each[1:3] not in reached:
                roots.append(each)
                reached.add(each[1:3])
                waiting.append(each)
        return roots

    def _applied(self, each: Written, cluster: str, above: tuple[Written, ...]) -> Iterator[Target]:
        """What a Kustomization applies, itself and by others."""
        target = self._target(each.obj, each, cluster)
        if target is None or target.delivery is None:
            return
        target = target._replace(delivery=self._with_values(target.delivery))
        every, apart = self._below(target), {up[1:3] for up in (*above, each)}
        if _may_count(target) and not (target.problem and every):  # else the parts of it are judged, as far as they are built
            yield target
        below = [one for one in every if self._is_needed(one) and one[1:3] not in apart]
        for one in self._changed(below, target) if below else ():
            yield from self._applied(one, _other_cluster(one.obj) or cluster, (*above, each))

    def _below(self, target: Target | None) -> list[Written]:
        """The Kustomizations in the files of a target, as they are written."""
        inputs = frozenset(target.inputs) if target else frozenset()
        found = [each for file in inputs & self._in_files.keys() for each in self._in_files[file]]
        return [each for _, each in sorted(found, key=lambda pair: pair[0])]

    @cached_property
    def _in_files(self) -> dict[str, list[tuple[int, Written]]]:
        """The Kustomizations of each file, with their numbers."""
        found: dict[str, list[tuple[int, Written]]] = {}
        for number, each in enumerate(self._written):
            found.setdefault(each.file, []).append((number, each))
        return found

    def _changed(self, below: list[Written], target: Target) -> Iterator[Written]:
        """The Kustomizations as the cluster gets them from the target that applies them."""
        made = delivering.objects(target, self._using, self._timeout) if self._using else None
        if made is None:
            yield from below
            return
        items = [item for item in yamlio.read_stream(made.data).items if item is not None]
        left: dict[str, dict[int, Written]] = {}  # by file, with their numbers
        named: dict[tuple[str, str], list[int]] = {}
        for number, each in enumerate(below):
            left.setdefault(each.file, {})[number] = each
            named.setdefault((each.file, name_of(each.obj)), []).append(number)
        for obj, file in zip(items, made.origins, strict=True):
            likely = left.get(file) if _is_flux(obj) else None
            if likely and self._folder(obj):
                own = next((each for each in named.get((file, name_of(obj)), ()) if each in likely), next(iter(likely)))
                yield likely.pop(own)._replace(obj=obj)

    def _is_needed(self, each: Written) -> bool:
        """True for a Kustomization of which something may come that counts."""
        if each[1:3] not in self._needed:
            self._needed[each[1:3]] = False  # one that applies itself
            target = self._raw(each)
            own = target is not None and _may_count(target)
            self._needed[each[1:3]] = own or any(map(self._is_needed, self._below(target)))
        return self._needed[each[1:3]]

    def _folder(self, obj: Object) -> str:
        """The folder of this repository that a Kustomization applies, "" where it is another's, or not there."""
        path = text(get(obj, ("spec", "path"))) if isinstance(get(obj, ("spec", "path")), str) else ""
        folder = Path(self._root, os.path.normpath("/" + path).lstrip("/"))
        return (
            str(folder) if folder.is_dir() and is_within(str(folder), [self._root]) and self._sources.is_own(obj, path) else ""
        )

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
        here, is_there = joined(".", folder), self._is_there(obj)
        file, manifest = generated(folder, spec_of(obj), self._root, is_there)
        file, made = joined(".", file), json.dumps(manifest).encode()
        own = own._replace(generated=file, text=made, original=_read(file) if is_within(file, [self._root]) else b"")
        if (file, made) not in self._targets:
            with delivering.entered(Target(here, here, file, (), (), delivery=own)):
                found = target_of(here, [self._root])
            inputs = tuple(one for one in found.inputs if one == file or is_there(Path(one))) if found else ()
            self._targets[file, made] = (
                found._replace(inputs=inputs, problem=_shown(found, file, self._root)) if found else None
            )
        known = self._targets[file, made]
        return known._replace(delivery=own) if known else None

    def _is_there(self, obj: Object) -> Callable[[Path], bool]:
        """True of the files that Flux has of the source."""
        ignore = get(self._sources.of(obj), ("spec", "ignore"))
        ignore = ignore if isinstance(ignore, str) else None
        if ignore not in self._packings:
            self._packings[ignore] = Packing(self._root, ignore)
        return self._packings[ignore].has

    def _with_values(self, own: Delivery) -> Delivery:
        """The delivery with the ConfigMaps and Secrets of its variables, as far as git has them."""
        given, missing = [], []
        for each in as_list(get(own.obj, ("spec", "postBuild", "substituteFrom"))):
            kind, name = text(as_map(each).get("kind")), text(as_map(each).get("name"))
            found = self._values(kind, name, own)
            if found is None or ENCRYPTED in found:
                missing.append(f"{kind} {name}")
            else:
                given.append({**found, "metadata": {**metadata(found), "namespace": namespace_of(own.obj)}})
        return own._replace(substitutes=tuple(given), missing=tuple(missing), strict=self._is_strict(own.file))

    def _values(self, kind: str, name: str, own: Delivery) -> Object | None:
        """A ConfigMap or a Secret: the nearest one in a file, where a name is there several times."""
        namespaces = dict.fromkeys(("", namespace_of(own.obj)))
        found = [near for each in namespaces if (near := _nearest(self._held.get((kind, name, each), {}), own.file))]
        return min(found)[2].obj if found and name else None

    @cached_property
    def _held(self) -> dict[tuple[str, str, str], Near]:
        """The ConfigMaps and Secrets of the repository by kind, name and namespace."""
        files = (file for file in self._files if file.endswith(SUFFIXES) and HOLDING.search(_read(file)))
        found: dict[tuple[str, str, str], Near] = {}
        for number, each in enumerate(self._objects(files)):
            key = kind_of(each.obj), name_of(each.obj), namespace_of(each.obj)
            _put_near(found.setdefault(key, {}), each.file, (number, each))
        return found

    def _is_strict(self, file: str) -> bool:
        """False where the files of Flux beside a Kustomization are of a release that takes an unset variable as empty."""
        found = _nearest(self._versions, file)
        return not found or found[2] >= STRICT_SINCE

    @cached_property
    def _versions(self) -> Near:
        """The versions of Flux that files install."""
        found: Near = {}
        for number, (file, data) in enumerate(self._texts.items()):
            if each := VERSION.search(data):
                _put_near(found, file, (number, (int(each[1]), int(each[2]))))
        return found

    def _cluster(self, each: Written) -> str:
        """The cluster of a Kustomization that no other one applies: the folder that `flux bootstrap` made for it."""
        if other := _other_cluster(each.obj):
            return other
        file = os.path.relpath(os.path.realpath(each.file), self._root).replace(os.sep, "/")
        found = CLUSTER.search(file)
        return found[1] if found else ""


def _may_count(target: Target) -> bool:
    with delivering.entered(target):
        return written.may_count(target)


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


def _put_near(found: Near, file: str, value: tuple[int, Any]) -> None:
    """Note what a file has, with its number, at each folder that the file is in: the first one of a folder counts."""
    for folder in _around(file):
        found.setdefault(folder, value)


def _nearest(found: Near, file: str) -> tuple[int, int, Any] | None:
    """Of what files have, that of the file with the most folders in common from the beginning on; of several, the first one.

    In front stand how far it is away, and its number.
    """
    return next(((away, *found[folder]) for away, folder in enumerate(_around(file)) if folder in found), None)


def _around(file: str) -> Iterator[str]:
    """The folders that a file is in, from the nearest on, and "" around all."""
    while file:
        file = file.rpartition("/")[0]
        yield file


def _read(file: str) -> bytes:
    try:
        return read_found(file)[0]
    except OSError:
        return b""
