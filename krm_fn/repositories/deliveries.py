"""What delivers parts of a repository: Kustomizations and HelmReleases of Flux, Applications and ApplicationSets of Argo CD.

They are found from those that a cluster starts with down to those that others apply. What applies one of them may change it. So
this is built, if something that counts comes of the other.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Container, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from krm_fn import yamlio
from krm_fn.argocd.sources import GROUP as ARGO
from krm_fn.base.errors import InputError
from krm_fn.base.objects import Object, kind_of, text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.base.work import Budget, SpentError
from krm_fn.repositories import charts, delivering, written
from krm_fn.repositories.appliers import Appliers
from krm_fn.repositories.building import Builder
from krm_fn.repositories.discovery import size_of
from krm_fn.repositories.flux_targets import made_of_chart
from krm_fn.repositories.flux_values import (
    DELIVERING,
    Place,
    Written,
    is_argo,
    matched,
    may_apply,
    other_cluster,
    starts,
)
from krm_fn.repositories.types import Delivery, Discovery, Target, full_name
from krm_fn.sources.files import SUFFIXES, content, folder_of

# The steps of Flux and of Argo CD in the order in which they are taken: a key of what a delivery says, and the word for it.
STEPS = {
    "targetNamespace": "namespace",
    "namespace": "namespace",
    "namePrefix": "prefix",
    "nameSuffix": "suffix",
    "patches": "patches",
    "components": "components",
    "images": "images",
    "replicas": "replicas",
    "commonLabels": "labels",
    "commonAnnotations": "annotations",
    "valueFiles": "values",
    "values": "values",
    "valuesObject": "values",
    "parameters": "parameters",
    "fileParameters": "parameters",
    "valuesFrom": "values",
    "postRenderers": "patches",
    "postBuild": "substitution",
    "commonMetadata": "metadata",
}
# How objects are applied, by the options of an Application: the first that it has counts.
MANNERS = {"Replace=true": "replace", "ServerSideApply=true": "server-side apply"}
# How often deliveries may apply files and one another, of which one that is followed counts as many, how many in a row, and
# how many bytes again: each cluster of a fleet takes the same files.
MOST, FOLLOWED, DEEPEST, MOST_BYTES = 1_000_000, 100, 64, 64_000_000
REPEATED = f"deliveries apply the same very often, or more than {DEEPEST} in a row; apply each once"


class How(NamedTuple):
    """How what applies others is built: the program, None for none, its seconds, and whether charts are built, too.

    `clusters` are the names of known clusters. `whole`: values of Secrets are shown.
    """

    using: Builder | None
    timeout: float
    helm: bool
    clusters: tuple[str, ...]
    whole: bool = False


class Deliveries:
    """What is delivered of a repository. `root` is its folder, and `files` are its YAML files, by paths that begin alike.

    `search` finds its kustomizations that no other one uses, and its charts, each as it is when nothing delivers it.
    """

    def __init__(self, root: str, files: Iterable[str], search: Callable[[], Discovery], how: How) -> None:
        self._root, self._files, self._search, self._how = os.path.realpath(root), tuple(files), search, how
        self._named = root
        self._texts: dict[str, bytes] = {}  # those of Kustomizations and sources
        self._counts = False
        for file in self._files:
            data = content(file)
            self._counts = self._counts or written.mentions(data)
            if DELIVERING.search(data):
                self._texts[file] = data
        self._appliers = Appliers(self._root, self._files, self._texts, how.clusters, whole=how.whole)
        self._raws: dict[Place, tuple[Target, ...]] = {}
        self._counting: dict[tuple[str, str, bytes, tuple[str, ...]], bool] = {}
        self._objects: dict[str, list[tuple[Object, str]] | None] = {}
        self._done: set[str] = set()  # the deliveries that were followed, each as its cluster gets it
        self._spend = Budget(MOST).spend

    def deliveries(self) -> Iterator[Target]:
        """The targets that are applied and that may hold something that counts, a target for each time that it is applied.

        Raises: InputError where deliveries apply one another too often.
        """
        seen: dict[tuple[object, ...], list[Target]] = {}
        read, reread = set[str](), Budget(MOST_BYTES)
        try:
            for each in self._found if self._counts and self._needed else ():
                for target in self._applied(each, self._appliers.cluster(each), ()):
                    same = seen.setdefault((target.file, *(target.delivery or ())[1:3]), [])
                    if target not in same:  # two may apply it alike
                        same.append(target)
                        reread.spend(sum(map(size_of, read.intersection(target.inputs))))
                        read.update(target.inputs)
                        yield target
        except SpentError:
            first = self._written[0]
            raise InputError(REPEATED, file=first.file, line=first.line, column=first.column) from None

    @property
    def elsewhere(self) -> Iterator[Target]:
        """What is applied that is not at hand, such as another revision or a chart: nothing of it is judged."""
        return self._appliers.elsewhere if self._counts else iter(())

    @property
    def names(self) -> frozenset[tuple[str, str]]:
        """Kind and name of each delivery in git, also of those that apply nothing which counts."""
        return frozenset((kind_of(each.obj), full_name(each.obj)) for each in self._appliers.every)

    @property
    def _found(self) -> Iterator[Written]:
        """The deliveries that no other one applies: those of Argo CD as a kustomization or a chart makes them that has them."""
        roots = self._roots
        used: set[Place] = set()
        for target in self._plain:
            own = [each for each in self._below(target) if each[1:3] in roots and is_argo(each.obj)]
            is_open = target.is_chart or any(each[1:3] in self._needed for each in own)
            if is_open and target.folder not in self._delivered:
                used.update(each[1:3] for each in own)
                yield from self._changed(own, target)
        yield from (each for key, each in roots.items() if key not in used)

    @cached_property
    def _delivered(self) -> frozenset[str]:
        """The folders that deliveries apply as they are written."""
        return frozenset(target.folder for each in self._written for target in self._raw(each))

    @cached_property
    def _plain(self) -> tuple[Target, ...]:
        """The kustomizations and charts that may make deliveries of Argo CD."""
        found = self._search() if any(ARGO.encode() in data for data in self._texts.values()) else Discovery()
        return (*found.targets, *found.charts)

    @cached_property
    def _written(self) -> list[Written]:
        """The deliveries of this repository, as they are written."""
        return [each for each in self._appliers.every if self._appliers.is_own(each.obj, each.file)]

    @cached_property
    def _roots(self) -> dict[Place, Written]:
        """The deliveries that no other one applies; of those that apply one another, the first."""
        written = {each[1:3]: each for each in self._written}
        return {key: written[key] for key in starts(self._edges)}

    @cached_property
    def _edges(self) -> dict[Place, list[Place]]:
        """The deliveries that each one applies, as they are written."""
        return {each[1:3]: [below[1:3] for below in self._below(*self._raw(each))] for each in self._written}

    @cached_property
    def _needed(self) -> frozenset[Place]:
        """The deliveries of which something may come that counts."""
        above: dict[Place, list[Place]] = {}
        for key, every in self._edges.items():
            for below in every:
                above.setdefault(below, []).append(key)
        plain = {file for target in self._plain for file in target.inputs}
        waiting = [each[1:3] for each in self._written if self._may_give(each, plain)]
        found = set(waiting)
        while waiting:
            new = [key for key in above.get(waiting.pop(), ()) if key not in found]
            found.update(new)
            waiting += new
        return frozenset(found)

    def _may_give(self, each: Written, plain: Container[str]) -> bool:
        """True for a delivery that itself may apply something that counts: also one that a kustomization completes."""
        targets = self._raw(each)
        is_open = not targets and is_argo(each.obj) and each.file in plain
        return (
            is_open
            or self._appliers.is_open(each.obj, each.file)
            or any(self._may_count(target) or self._makes_others(target) for target in targets)
        )

    def _applied(self, each: Written, cluster: str, above: tuple[Place, ...]) -> Iterator[Target]:
        """What a delivery applies, itself and by others; nothing where one like it was followed already."""
        start = above[0][0] if above else each.file
        own = json.dumps([cluster, folder_of(start), *each[1:3], each.obj], sort_keys=True, default=str)
        if own in self._done:
            return
        self._done.add(own)
        self._spend(FOLLOWED if len(above) < DEEPEST else MOST)
        apart = {*above, each[1:3]}
        for found in self._called(each.obj, each, cluster, start):
            target = found._replace(delivery=found.delivery and self._appliers.values.given(found.delivery))
            every = self._below(target)
            # Of one that is not built, the parts are judged, as far as they are built.
            if self._may_count(target) and not (target.problem and every):
                yield target
            left_out = {one[1:3] for one in every if one[1:3] not in self._needed or one[1:3] in apart}
            is_above = len(left_out) < len(every) or self._makes_others(target)
            for one in self._changed(every, target) if is_above else ():
                if one[1:3] not in left_out:
                    yield from self._applied(one, other_cluster(one.obj) or cluster, (*above, each[1:3]))

    def _makes_others(self, target: Target) -> bool:
        """True for a chart whose templates may make deliveries."""
        is_built = target.is_chart and self._how.helm
        return is_built and any(may_apply(content(file)) for file in target.inputs if file.endswith(SUFFIXES))

    def _below(self, *targets: Target) -> list[Written]:
        """The deliveries in the files of targets, as they are written."""
        files = self._by_file.keys() & {file for target in targets for file in target.inputs}
        numbers = sorted(number for file in files for number in self._by_file[file])
        self._spend(len(numbers))
        return [self._written[number] for number in numbers]

    @cached_property
    def _by_file(self) -> dict[str, list[int]]:
        """The numbers of the deliveries in each file."""
        found: dict[str, list[int]] = {}
        for number, each in enumerate(self._written):
            found.setdefault(each.file, []).append(number)
        return found

    def _changed(self, below: list[Written], target: Target) -> Iterator[Written]:
        """The deliveries as the cluster gets them from the target that applies them."""
        if target.is_files:
            yield from (each._replace(obj=delivering.placed(each.obj, target)) for each in below)
            return
        found = [*self._made(target)] if target.is_chart else self._built(target)
        if found is None:
            yield from below
            return
        for obj, file, own in matched(below, ((obj, file) for obj, file in found if self._appliers.is_own(obj, file))):
            if own or target.is_chart:
                placed = delivering.placed(obj, target)
                yield own._replace(obj=placed) if own else Written(placed, file, 0, 1, 1)

    def _built(self, target: Target) -> list[tuple[Object, str]] | None:
        """The objects that kustomize makes of a target, each with its file; None where it makes none."""
        own = target.delivery
        known = own and [own.generated, own.text.decode(), own.obj.get("spec"), own.substitutes, own.strict]
        key = json.dumps([target.file, known], default=str)
        if key not in self._objects:
            made = delivering.objects(target, self._how.using, self._how.timeout) if self._how.using else None
            items = [item for item in yamlio.read_stream(made.data).items if item is not None] if made else []
            self._objects[key] = list(zip(items, made.origins, strict=True)) if made else None
        return self._objects[key]

    def _made(self, target: Target) -> Iterator[tuple[Object, str]]:
        """The same for a chart."""
        data = made_of_chart(target, self._how.using, self._how.timeout) if self._makes_others(target) else b""
        for source in charts.read_built(target, data, []).sources if isinstance(data, bytes) else ():
            yield from zip(source.items, (file for file, _ in source.places), strict=True)

    def _may_count(self, target: Target) -> bool:
        """True for a target that may hold something that counts."""
        key = target.folder, target.file, target.delivery.text if target.delivery else b"", target.inputs
        if key not in self._counting:
            self._spend(len(target.inputs))
            self._counting[key] = delivering.may_count(target)
        return self._counting[key]

    def _raw(self, each: Written) -> tuple[Target, ...]:
        """The targets that a delivery applies as it is written."""
        if each[1:3] not in self._raws:
            self._raws[each[1:3]] = tuple(self._called(each.obj, each))
        return self._raws[each[1:3]]

    def _called(self, obj: Object, each: Written, cluster: str = "", start: str = "") -> Iterator[Target]:
        """The targets that a delivery applies, by paths that begin as the files do."""
        for target in self._appliers.targets_of(obj, each, cluster, start=start):
            yield target if self._named in (os.curdir, self._root) else delivering.moved(target, self._root, self._named)


def row_of(target: Target, cluster: str, hosts: Iterable[str] = ()) -> Object:
    """What `kubevirt-render deliveries` shows of a target that a delivery applies.

    `cluster` is the one that the config names, `hosts` are what runs our own steps.
    """
    own = target.delivery
    if own is None:
        return {}
    at = ("spec",) if own.release and own.tool == "Flux" else own.at
    options = as_map(get(own.obj, at))
    words = ["files" if target.is_files else "build", *(word for key, word in STEPS.items() if options.get(key)), *hosts]
    return {
        "cluster": cluster or ("" if own.tool == "Flux" else own.cluster),
        "by": kind_of(own.obj),
        "delivery": own.name,
        "namespace": own.namespace or text(options.get("targetNamespace")),
        "steps": [] if own.revision else [*dict.fromkeys([*words, *(["namespace"] if own.namespace else [])])],
        **manner_of(own),
        "file": own.file,
        "path": target.folder,
        "suspended": own.is_suspended,
        "revision": own.revision,
        "unknown": [*own.missing, *([target.problem.detail] if target.problem else [])],
    }


def manner_of(own: Delivery) -> Object:
    """How the objects are applied, and whether those that are gone from git are deleted."""
    spec = as_map(own.obj.get("spec"))
    if own.is_of_flux:
        manner = "recreate" if spec.get("force") is True else "server-side apply"
        return {"manner": manner, "prune": spec.get("prune") is True, "createsNamespace": False}
    if own.tool == "Flux":
        install = as_map(spec.get("install"))
        manner = "client-side apply" if install.get("serverSideApply") is False else "server-side apply"
        return {"manner": manner, "prune": True, "createsNamespace": install.get("createNamespace") is True}
    policy = as_map(spec.get("syncPolicy"))
    chosen = [*map(text, as_list(policy.get("syncOptions")))]
    manner = next((word for option, word in MANNERS.items() if option in chosen), "client-side apply")
    prune = as_map(policy.get("automated")).get("prune") is True and not {"Prune=false", "Prune=confirm"} & {*chosen}
    return {"manner": manner, "prune": prune, "createsNamespace": "CreateNamespace=true" in chosen}
