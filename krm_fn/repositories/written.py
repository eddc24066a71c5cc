"""The files of a kustomization that is not built, as they are written: whether it counts that it is not, and their objects.

Of what a build would do, only the namespaces are set that kustomizations name. Names stay as they are, and patches are not
applied. What a build would add or change is not known, so that findings which it might take away are left out.
"""

from __future__ import annotations

import copy
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from krm_fn.base.bundle import entries, is_cluster_kind, is_list
from krm_fn.base.expressions import expression
from krm_fn.base.objects import Object, group_of, kind_of, name_of, text
from krm_fn.base.paths import as_list, as_map
from krm_fn.config.repository import NAME
from krm_fn.kubevirt.api_versions import HOMES, NEIGHBOURS
from krm_fn.repositories import building
from krm_fn.repositories.graph import all_below
from krm_fn.repositories.kustomization import RESOURCES, from_here, joined, linked
from krm_fn.repositories.types import Discovery, Kustomization, Problem, Target
from krm_fn.sources import reading
from krm_fn.sources.files import GIT, KUSTOMIZATIONS, SUFFIXES, TEMPLATES, content, is_file, is_unsaved
from krm_fn.sources.reading import NothingFoundError
from krm_fn.sources.salvage import Lost, repairing
from krm_fn.sources.source import ANY, Source, Sources, may_hide

Placed = tuple[str, str]  # a file, and the namespace that kustomizations set there, "" for none


GROUP = "kubevirt.io"
# What a text has in which an object of KubeVirt stands, with any API version, or something that VMs use of other targets.
# Labels of nodes, comments and roles that name the group are none of these.
OTHERS = ("NetworkAttachmentDefinition", "KubevirtMachine")
NAMED = "|".join((*OTHERS, *HOMES, *(kind for kinds in NEIGHBOURS.values() for kind in kinds)))
COUNTING = expression(
    rb"""\bkubevirt\.io/v\d|\bstorageclass\.kubevirt\.io/|\bgroup["']?\s*:[^#\n]*\bkubevirt\.io|kind["']?\s*:\s*["']?(?:%b)"""
    % NAMED.encode()
)
# It is about VMs where the group is among its rules.
POLICY = expression(rb"""kind["']?\s*:\s*["']?ValidatingAdmissionPolicy""")
# The files of a chart that helm prints, also of the charts in it.
PRINTED = expression(rf"/(?:{TEMPLATES}|crds)/")
# Why a target is not built that whoever wrote it has seen to, or that a tool may build which is more patient, or less strict.
DOUBTFUL = frozenset(("key", "unclear", "made", "slow", "late", "restricted"))
# The keys of a kustomization with patches, and the kind that a strategic merge patch names.
PATCHES = ("patches", "patchesStrategicMerge", "patchesJson6902")
OF_PATCH = expression(r"""^["']?kind["']?\s*:\s*["']?(\w+)""", re.MULTILINE)
# Keys of a kustomization that neither take an object away nor change one.
COLLECTING = frozenset(("apiVersion", "kind", "metadata", "resources", "bases", "namespace"))
# Keys of a kustomization that neither add an object nor change one in a way that findings depend on.
HARMLESS = frozenset(
    (
        *("apiVersion", "kind", "metadata", *RESOURCES, "namespace", "commonAnnotations", "generatorOptions"),
        *("buildMetadata", "sortOptions", "configurations", "crds", "openapi"),
    )
)


def counts(target: Target, problem: Problem | None = None) -> bool:
    """True if objects of KubeVirt, or what VMs use of other targets, may be in the files of a target, or beside them.

    Only the texts are looked at. What a target refers to elsewhere is not known; the files beside it say what it is about. Of a
    kustomization that can't be read, all files below its folder may be parts.
    """
    problem = problem or target.problem
    if problem and problem.reason in DOUBTFUL:
        return True
    beside = {file for folder in target.kustomizations for file in _listed(folder)}
    unread = [os.path.dirname(problem.file) or os.curdir] if problem and problem.reason == "unreadable" else []  # noqa: PTH120
    below = (file for file in all_below(unread) if not os.path.islink(file))  # noqa: PTH114
    others = (file for file in (*sorted(beside), *below) if file.endswith((*SUFFIXES, *KUSTOMIZATIONS)))
    return any(map(may_hold, dict.fromkeys((*target.inputs, *others))))


def may_count(target: Target) -> bool:
    """True also of a target that refers to what is not there, or not here, or that composes objects: that may be anything."""
    lacks = any(not (os.path.exists(file) or is_unsaved(file)) for file in target.inputs)  # noqa: PTH110
    return bool(target.problem) or target.composes or lacks or counts(target)


def unjudged(folders: Iterable[str], found: Discovery, built: Iterable[str]) -> Iterator[str]:
    """The files below folders that may hold objects that count, and that nothing judges.

    They are hidden, or of other projects, or of charts, or excluded, or kustomizations name them as data. `built` are the
    folders of the charts that are built: what helm prints of their templates, and those of charts in them, is judged.
    """
    judged = frozenset(map(os.path.realpath, found.judged))
    charts = tuple(os.path.join(os.path.realpath(folder), "") for folder in built)  # noqa: PTH118
    for file in _below(dict.fromkeys(map(os.path.realpath, folders))):
        is_printed = file.startswith(charts) and PRINTED.search(file)
        if file not in judged and not is_printed and may_hold(file):
            yield from_here(file)


def _below(folders: Iterable[str]) -> Iterator[str]:
    """The YAML and JSON files below folders, sorted in each of these, without links, and without the git folder and configs."""
    for folder in folders:
        for above, inner, names in os.walk(folder):
            inner[:] = sorted(name for name in inner if name != GIT)
            files = (os.path.join(above, name) for name in sorted(names) if name.endswith(SUFFIXES) and name != NAME)  # noqa: PTH118
            yield from (file for file in files if not os.path.islink(file))  # noqa: PTH114


def may_hold(file: str) -> bool:
    """True where the text of a file `mentions` something; False also for one that can't be read."""
    return mentions(content(file))


def mentions(text: bytes) -> bool:
    """True where a text has an object that counts, or hides one."""
    group = GROUP.encode()
    return bool(COUNTING.search(text) or (group in text and POLICY.search(text)) or may_hide(text, group))


def _listed(folder: str) -> Iterator[str]:
    """The files right in a folder, links left out: they may lead anywhere."""
    with os.scandir(folder) as found:
        yield from (joined(folder, entry.name) for entry in found if entry.is_file(follow_symlinks=False))


def has_kubevirt(found: Sources) -> bool:
    """True if one of the objects is of KubeVirt."""
    return any(_is_of_kubevirt(entry.obj) for entry in entries(found.items))


def _is_of_kubevirt(obj: Object) -> bool:
    return f".{group_of(obj)}".endswith(f".{GROUP}")


def resources_of(target: Target) -> frozenset[str]:
    """The files that the kustomizations of a target have as resources."""
    return frozenset(file for file, _ in _resources(target, {each.folder: each for each in building.kustomizations_of(target)}))


def dropped(target: Target, found: Sources, affixes: Iterable[tuple[str, str]]) -> Sources:
    """The objects of KubeVirt in the files of a target that are not in what was `found`, which was built of it.

    What is built of an object has its kind, and its name with one of the affixes, or comes from its file.
    """
    changes = any(not each.obj.keys() <= COLLECTING for each in building.kustomizations_of(target))
    whole = read(target, []) if changes else None
    rest: dict[tuple[str, str], list[str]] = {}
    for item, (file, _) in zip(found.items, found.places, strict=True) if whole else ():
        rest.setdefault((kind_of(item), name_of(item)), []).append(os.path.realpath(file))
    missing = []
    for source, number, obj in _of_kubevirt(whole) if whole else ():
        names = (f"{prefix}{name_of(obj)}{suffix}" for prefix, suffix in (*affixes, ("", "")))
        same = next(filter(None, (rest.get((kind_of(obj), name)) for name in names)), None)
        if same is None:
            missing.append((source, number, kind_of(obj)))
        else:
            same.pop()
    renamed = Counter((kind, file) for (kind, _), files in rest.items() for file in files)
    lacks: dict[str, set[int]] = {}
    for source, number, kind in missing:
        renamed[kind, os.path.realpath(source.file)] -= 1
        if renamed[kind, os.path.realpath(source.file)] < 0:
            lacks.setdefault(source.file, set()).add(number)
    parts = [each.but(objects=tuple(sorted(lacks.get(each.file, ())))) for each in whole.sources] if whole else []
    return Sources(sources=tuple(parts))


def _of_kubevirt(found: Sources) -> Iterator[tuple[Source, int, Object]]:
    """The objects of KubeVirt, each with its source and the number of its document."""
    for source in found.sources:
        for number in source.objects:
            own = entries([source.text.items[number]])
            yield from ((source, number, each.obj) for each in own if _is_of_kubevirt(each.obj))


def read(target: Target, lost: list[Lost]) -> Sources | None:
    """The objects in the files that a target has as resources; documents that can't be read go into `lost`.

    None if there are no objects.
    """
    kustomizations, inputs = {each.folder: each for each in building.kustomizations_of(target)}, frozenset(target.inputs)
    placed = list(dict.fromkeys(_resources(target, kustomizations)))
    parts = [
        part.but(sources=tuple(_with_namespace(source, namespace) for source in part.sources))
        for namespace in dict.fromkeys(namespace for _, namespace in placed)
        if (part := _read([file for file, own in placed if own == namespace], lost))
    ]
    sources = tuple(source for part in parts for source in part.sources)
    if not any(source.objects for source in sources):
        return None
    known = {*kustomizations, *(source.file for source in sources)}
    named = {each.path for one in kustomizations.values() for each in one.includes if each.role in RESOURCES}
    lacks = any(path not in known and linked(path) not in known for path in named)
    return Sources(
        sources=sources,
        skipped=tuple(each for part in parts for each in part.skipped),
        in_part=lacks or any(map(_adds_or_changes, kustomizations.values())),
        patched=frozenset(kind for each in kustomizations.values() for kind in _patched(each, inputs)),
    )


def _read(files: Sequence[str], lost: list[Lost]) -> Sources | None:
    try:
        return reading.read((), found=files, repair=repairing(lost, frozenset()), reports=True)
    except NothingFoundError:
        return None


def _resources(target: Target, known: dict[str, Kustomization]) -> Iterator[Placed]:
    """The files that the kustomizations of a target have as resources, each with the namespace that is set on the way to it."""
    waiting, inputs = [(target.folder, "")], frozenset(target.inputs)
    seen: set[Placed] = set()
    while waiting:
        folder, outer = waiting.pop()
        if (folder, outer) in seen or folder not in known:
            continue
        seen.add((folder, outer))
        own = known[folder]
        namespace = outer or text(own.obj.get("namespace"))
        below = []
        for path in (each.path for each in own.includes if each.role in RESOURCES):
            if os.path.isdir(path):  # noqa: PTH112
                below.append((path if path in known else linked(path), namespace))
            elif path in inputs and is_file(path):  # what leads out of the repository is no input
                yield path, namespace
        waiting += reversed(below)


def _adds_or_changes(kustomization: Kustomization) -> bool:
    """True if a kustomization does more than to put objects together."""
    return bool(kustomization.remote) or any(value and key not in HARMLESS for key, value in kustomization.obj.items())


def _patched(kustomization: Kustomization, inputs: frozenset[str]) -> Iterator[str]:
    """The kinds of what the patches of a kustomization change, with ANY for those that are not known.

    Only `inputs` are read: what leads out of the repository is none.
    """
    for patch in (each for key in PATCHES for each in as_list(kustomization.obj.get(key))):
        own = as_map(patch)
        kind = text(as_map(own.get("target")).get("kind"))
        body = patch if isinstance(patch, str) else text(own.get("patch")) or text(own.get("path"))
        file = joined(kustomization.folder, body) if "\n" not in body else ""
        if file in inputs and is_file(file):
            body = content(file).decode(errors="replace")
        yield from [kind] if kind.isalnum() else OF_PATCH.findall(body) or [ANY]


def _with_namespace(source: Source, namespace: str) -> Source:
    """The text with a namespace in its objects; the places in it stay."""
    if not namespace:
        return source
    placed = copy.copy(source.text)
    objects = frozenset(source.objects)
    placed.items = [_in(item, namespace) if number in objects else item for number, item in enumerate(source.text.items)]
    return source.but(text=placed)


def _in(obj: Any, namespace: str) -> Any:
    if not isinstance(obj, dict) or is_cluster_kind(text(obj.get("kind"))):
        return obj
    if is_list(obj):
        return {**obj, "items": [_in(each, namespace) for each in as_list(obj["items"])]}
    return {**obj, "metadata": {**as_map(obj.get("metadata")), "namespace": namespace}}
