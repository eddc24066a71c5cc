"""A target is built from a copy of its files if it lists this program as a function, or has objects that only functions get.

The copy has neither: the program is not listed, and kustomize prints the objects.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

from krm_fn import yamlio
from krm_fn.base.errors import InputError
from krm_fn.base.objects import Object, text
from krm_fn.base.paths import as_list, as_map, get, put
from krm_fn.repositories.kustomization import (
    GENERATORS,
    PLUGINS,
    RESOURCES,
    is_inline,
    is_remote,
    joined,
    kustomization,
    linked,
    plugin_folders,
)
from krm_fn.repositories.types import Kustomization, Target
from krm_fn.sources.files import is_file, is_within, read_found
from krm_fn.sources.steps import GROUP, KUSTOMIZE, Step, is_own

# kustomize refuses a kustomization that has nothing else, as a component has that only lists this program.
HEAD = frozenset(("apiVersion", "kind", "metadata"))
# kustomize gives functions the objects with this annotation, and leaves them out of what it prints. The VMs of a target may
# refer to them wherever this program renders it, so the copy has another annotation in its place.
VALUES = "values.yaml"  # what kustomize reads of a chart itself
GATHERED = ".kubevirt-render"  # where a copy has files that stand elsewhere
ADDRESSED = frozenset(("patchesStrategicMerge", "patchesJson6902", "replacements", "vars"))  # what needs certain objects
LOCAL, KEPT = b"config.kubernetes.io/local-config", f"{GROUP}/local-config".encode()


class OwnFunctions(NamedTuple):
    """This program's own functions in kustomizations.

    `texts` are the texts of files that differ without them, by file. `steps` are those among the transformers, in the order in
    which kustomize calls them.
    """

    texts: dict[str, str]
    steps: tuple[Step, ...]


def own_functions(kustomizations: Iterable[Kustomization]) -> OwnFunctions:
    """This program's own functions; none where no kustomization lists one."""
    found = list(kustomizations)
    if not any(each.obj.get(key) for each in found for key in PLUGINS):
        return OwnFunctions({}, ())
    stripped = _Stripped(found)
    texts = stripped.texts()
    return OwnFunctions(texts, tuple(each for one in reversed(found) for each in stripped.steps.get(one.folder, ())))


def without_remote(kustomizations: Iterable[Kustomization], texts: dict[str, str]) -> None:
    """Put the kustomizations that include what is on other machines into `texts`, without that, and without what kustomize
    refuses where an object is not there.
    """
    for one in kustomizations:
        obj: Object = json.loads(texts[one.file]) if one.file in texts else one.obj
        here = {key: [each for each in as_list(obj[key]) if not is_remote(text(each))] for key in RESOURCES if obj.get(key)}
        if any(here[key] != obj[key] for key in here):
            here["patches"] = [each for each in as_list(obj.get("patches")) if as_map(each).get("target")]
            left = {key: value for key, value in {**obj, **here}.items() if key not in ADDRESSED}
            texts[one.file] = json.dumps(_never_empty(left))


def _never_empty(obj: Object) -> Object:
    """What is left of a kustomization, with something that kustomize does not refuse where nothing is."""
    left = {key: value for key, value in obj.items() if value != []}
    return left if left.keys() - HEAD else {**left, "generatorOptions": {}}


def has_local(target: Target) -> bool:
    """True if a file of the target may have an object that only functions get."""
    return any(LOCAL in read_found(file)[0] for file in filter(is_file, target.inputs))


def gathered(kustomizations: Iterable[Kustomization], texts: dict[str, str]) -> dict[tuple[str, str], str]:
    """The files that stand elsewhere than below the kustomization that names them, by its real folder and a new place there.

    The kustomizations that name the new places go into `texts`. A plugin names its files itself, and keeps what it names.
    """
    moved: dict[tuple[str, str], str] = {}
    for one in kustomizations:
        real = os.path.realpath(one.folder)

        def is_apart(file: str, real: str = real) -> bool:
            return not is_within(os.path.dirname(_real(file)), [real])  # noqa: PTH120

        def place_of(file: str, real: str = real) -> str:
            place = f"{GATHERED}/{len(moved)}/{os.path.basename(file)}"  # noqa: PTH119
            moved[real, place] = file
            return place

        obj = json.loads(texts[one.file]) if one.file in texts else deepcopy(one.obj)
        named = kustomization(obj, one.folder, one.file, linked(one.folder))
        for each in (*named.includes, *named.files):
            written = get(obj, each.at)
            if isinstance(written, str) and not is_inline(written) and os.path.isfile(each.path) and is_apart(each.path):  # noqa: PTH113
                name, equals, _ = written.rpartition("=")
                place = place_of(each.path)
                put(obj, each.at, name + equals + place if each.role in GENERATORS else place)
        for each in named.charts:
            values, chart = f"{each.path}/{VALUES}", get(obj, each.at[:-1])
            if each.role == "helmCharts" and not chart.get("valuesFile") and os.path.isfile(values) and is_apart(values):  # noqa: PTH113
                chart["valuesFile"] = place_of(values)
        if obj != one.obj:
            texts[one.file] = json.dumps(obj)
    return moved


def moved_to(copy: Path, original: str, moved: Mapping[tuple[str, str], str]) -> Iterator[tuple[Path, str]]:
    """The new place of each file that is moved, in the copy of a folder, and the file."""
    return ((copy / os.path.relpath(real, original + os.sep) / place, file) for (real, place), file in moved.items())


def copied(
    target: Target, texts: Mapping[str, str], folder: Path, moved: Mapping[tuple[str, str], str], *, local: bool = True
) -> tuple[Path, str]:
    """A copy of a target's files, some with other texts, and the folder whose copy it is.

    That is the root of all files, so that a path that leads up and out of the target leads to nothing else here than there.
    `moved` are files at other places, too. With `local`, objects that only functions get are kept.
    """
    files = list(filter(is_file, target.inputs))
    original = Path(target.folder).resolve().anchor.rstrip(os.sep)
    places = ((folder / os.path.relpath(_real(file), original + os.sep), file) for file in files)
    for copy, file in (*places, *moved_to(folder, original, moved)):
        copy.parent.mkdir(parents=True, exist_ok=True)
        data = texts[file].encode() if file in texts else read_found(file)[0]
        copy.write_bytes(data.replace(LOCAL, KEPT) if local else data)
    return folder, original


def as_before(built: bytes) -> bytes:
    """What was built of a copy, with the annotations of the original."""
    return built.replace(KEPT, LOCAL)


def _real(file: str) -> str:
    """A whole path to a file: links of folders are followed, that of the file itself is not."""
    folder, name = os.path.split(file)
    return os.path.join(os.path.realpath(folder), name)  # noqa: PTH118


class _Stripped:
    """Kustomizations without this program's own functions."""

    def __init__(self, kustomizations: list[Kustomization]) -> None:
        self._by_folder = {each.folder: each for each in kustomizations}
        self._plugins = set(plugin_folders(self._by_folder))
        self._texts: dict[str, str] = {}
        self.steps: dict[str, list[Step]] = {}  # by the folder of the kustomization that lists them

    def texts(self) -> dict[str, str]:
        for each in self._by_folder.values():
            obj = self._stripped(each)
            if obj != each.obj:
                self._texts[each.file] = json.dumps(obj)
        return self._texts

    def _stripped(self, one: Kustomization) -> Object:
        """The object of a kustomization without own functions."""
        keys = (*PLUGINS, *RESOURCES) if one.folder in self._plugins else PLUGINS
        changed: dict[str, Any] = {}
        steps: list[Step] = []
        for key in keys:
            if one.obj.get(key):
                own: list[Step] = []
                changed[key] = self._kept(key, one, own)
                steps += own if key not in ("generators", "validators") else ()
        self.steps[one.folder] = steps
        left = {key: changed.get(key, value) for key, value in one.obj.items() if changed.get(key, True)}
        return one.obj if left == one.obj else _never_empty(left)

    def _kept(self, key: str, one: Kustomization, own: list[Step]) -> list[Any]:
        entries = enumerate(as_list(one.obj[key]))
        kept = (self._entry(text(each), one, (key, number), own) if text(each) else each for number, each in entries)
        return [each for each in kept if each != ""]

    def _entry(self, written: str, one: Kustomization, at: tuple[str, int], own: list[Step]) -> str:
        """The entry as it stays, "" where nothing of it does; what configures this program goes into `own`."""
        if is_inline(written):
            after, mine = _without_own(written)
            own += (Step(host=KUSTOMIZE, written=each, file=one.file, path=at, inside=(number, ())) for number, each in mine)
            return after
        path = joined(one.folder, written)
        if path in self._by_folder:
            return "" if not self._makes_some(path) else written
        try:
            before = read_found(path)[0].decode()
        except (OSError, UnicodeDecodeError):
            return written
        after, mine = _without_own(before)
        own += (Step(host=KUSTOMIZE, written=each, file=path, item=number) for number, each in mine)
        if after and after != before:
            self._texts[path] = after
        return written if after else ""

    def _makes_some(self, folder: str) -> bool:
        """False where nothing stays of a kustomization that makes functions."""
        one = self._by_folder[folder]
        before = [key for key in (*PLUGINS, *RESOURCES) if one.obj.get(key)]
        return not before or any(key in self._stripped(one) for key in before)


def _without_own(written: str) -> tuple[str, list[tuple[int, Object]]]:
    """A text without the documents that configure this program, "" where no other is in it; and these, with their numbers."""
    try:
        items = list(yamlio.read_stream(written.encode()).items)
    except InputError:
        return written, []
    mine = [(number, item) for number, item in enumerate(items) if is_own(item)]
    if not mine:
        return written, []
    others = [item for item in items if item is not None and all(item is not each for _, each in mine)]
    return "\n---\n".join(json.dumps(item) for item in others), mine
