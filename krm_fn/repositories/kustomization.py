"""What one kustomization names, by role: the keys of kustomize 4.5 to 5.8, deprecated ones among them.

`read` reads one from its file, with what is wrong before anything is built. All else reads nothing.
upstream: kustomize api/types/kustomization.go:Kustomization
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from krm_fn import yamlio
from krm_fn.base.errors import InputError
from krm_fn.base.expressions import expression
from krm_fn.base.objects import Object, group_of, kind_of, text
from krm_fn.base.paths import Path, as_list, as_map, dotted, leaves
from krm_fn.base.redaction import holds_secret
from krm_fn.repositories import plugins
from krm_fn.repositories.types import FileReference, Kustomization, Problem
from krm_fn.sources.files import KUSTOMIZATIONS as FILES
from krm_fn.sources.files import UNREADABLE, read_found

if TYPE_CHECKING:
    from krm_fn.yamlio import StreamText
Named = Iterator[tuple[str, Path]]


GROUP = "kustomize.config.k8s.io"
KINDS = ("", "Kustomization", "Component")
COMPONENT = "Component"
__all__ = ["FILES", "is_inline", "is_kustomization", "is_remote", "joined", "kustomization"]

# Lists of files, or of folders with a kustomization.
RESOURCES = ("resources", "bases", "components")
PLUGINS = ("generators", "transformers", "validators")
# Where files are named alone: a list of paths; a list of maps with a path; a list of generators of ConfigMaps and Secrets.
LISTS = ("patchesStrategicMerge", "crds", "configurations")
WITH_PATH = ("patches", "patchesJson6902", "replacements")
GENERATORS = ("configMapGenerator", "secretGenerator")
# Where the objects in a file are data, and no part of what is built.
DATA = (*GENERATORS, "generators", "crds", "configurations", "openapi", "helmCharts", "helmChartInflationGenerator")
# Where a kustomization may make a kind of parts, so that no file has it whole; and the key of replacements that does.
COMPOSING = ("configurations", "crds", "generators", "transformers", "helmCharts", "helmChartInflationGenerator")
PART = "delimiter"
CHARTS = "charts"  # the folder of Helm charts, unless `helmGlobals.chartHome` names another
# How references to other machines look: to files, and to git repositories in all the forms that kustomize takes.
REMOTE = expression(r"(?:git::|gh:|[A-Za-z][A-Za-z0-9+.-]*://|[\w.-]+@[\w.-]+[:/]|(?:www\.)?github\.com[:/])", re.IGNORECASE)
REMOTE_INSIDE = expression(r"\.git(?:[/?]|$)|/_git/|[?&](?:ref|version|timeout|submodules)=")


def is_kustomization(obj: object) -> bool:
    """True for an object that kustomize builds; a file of that name may hold an object of Flux."""
    return isinstance(obj, dict) and group_of(obj) in ("", GROUP) and kind_of(obj) in KINDS


def is_remote(path: str) -> bool:
    """True for a reference to another machine."""
    return bool(REMOTE.match(path) or REMOTE_INSIDE.search(path))


def kustomization(obj: Object, folder: str, file: str, base: str | None = None) -> Kustomization:
    """What a kustomization in this folder and file names. Paths that leave the folder run from `base`, where links lead to."""
    here = _Here(folder, folder if base is None else base)
    includes = [*here.local(_included(obj)), *here.local(_plugin_files(obj))]
    files = [*here.local(_files(obj)), *here.local(_of_inline_plugins(obj))]
    charts = [*here.local(_charts(obj))]
    component = kind_of(obj) == COMPONENT
    named = (tuple(includes), tuple(files), tuple(charts), tuple(here.remote))
    return Kustomization(folder, file, obj, component, *named, refused=_refused(obj))


def _refused(obj: Object) -> FileReference | None:
    """What kustomize and helm read in another way than it looks: a key, a flag, a plugin. The role is the reason."""
    if key := plugins.misspelt(obj):
        return FileReference("key", key, (key,) if key in obj else ())
    if unclear := next((at for at, written in _plugins(obj) if plugins.is_unclear(written)), None):
        return FileReference("unclear", dotted(unclear), unclear)
    of_plugins = ((at, each) for at, each in inline_plugins(obj) if plugins.is_chart(each))
    for at, chart in (*(((key,), obj[key]) for key in plugins.OF_CHARTS if obj.get(key)), *of_plugins):
        if word := plugins.flag((chart,)):
            return FileReference("flag", word, at)
    return None


def composes(obj: Object) -> bool:
    """True for a kustomization that may make objects of a kind which no file of it shows."""
    of_parts = (plugins.folded(step) in ("path", PART) for at, _ in leaves(obj.get("replacements")) for step in at)
    patches = [
        *_texts(obj, ("patchesStrategicMerge",)),
        *_in_each(obj, "patches", "patch"),
        *_in_each(obj, "patchesJson6902", "patch"),
    ]
    escaped = ("\\" in patch for patch, _ in patches)  # it is read twice, and so are its escapes
    return any(obj.get(key) for key in COMPOSING) or any(of_parts) or any(escaped)


def is_inline(written: str) -> bool:
    """True for an object that is written in place of the path of a file."""
    return ("\n" in written or written.lstrip().startswith("{") or ": " in written) and not REMOTE.match(written)


def named_from(folder: str, base: str, written: str) -> str:
    """Where a path leads from a folder; `base` is the folder that links lead to, from which kustomize goes up."""
    return joined(base if ".." in written and os.path.normpath(written).startswith("..") else folder, written)


def plugin_files(plugin: Object, folder: str, base: str) -> tuple[list[str], list[str]]:
    """The files that a generator, a transformer or a validator names, and its references to other machines."""
    named = [each for each in plugins.files(plugin) if each and "\0" not in each and not is_inline(each)]
    return [named_from(folder, base, each) for each in named if not is_remote(each)], [
        each for each in named if is_remote(each)
    ]


class _Here:
    """The folder from which paths run, by both its names; `remote` collects the references to other machines."""

    def __init__(self, folder: str, base: str) -> None:
        self.folder, self.base = folder, base
        self.remote: list[FileReference] = []

    def local(self, named: Named) -> Iterator[FileReference]:
        """The references to what is on this machine."""
        for written, at in named:
            role = str(at[0])
            if is_remote(written):
                self.remote.append(FileReference(role, written, at))
            elif written and "\0" not in written:
                yield FileReference(role, named_from(self.folder, self.base, written), at)


def joined(folder: str, path: str) -> str:
    """Where a path leads that runs from a folder: as a path from the working directory."""
    if not path.startswith((".", "/")) and "/." not in path and "//" not in path and not path.endswith("/") and os.sep == "/":
        return f"{folder}/{path}" if folder not in ("", ".") else path  # as nearly all are
    found = os.path.normpath(os.path.join(folder, path))  # noqa: PTH118
    if found.startswith(("..", os.sep)):
        found = from_here(found)
    return found if os.sep == "/" else found.replace(os.sep, "/")


def from_here(path: str) -> str:
    """A path from the working directory to what is below it, else the path as it is."""
    here, found = os.path.join(os.getcwd(), ""), os.path.abspath(path)  # noqa: PTH100, PTH109, PTH118
    return found[len(here) :] or "." if os.path.join(found, "").startswith(here) else path  # noqa: PTH118


def named_root(folder: str, root: str) -> str:
    """The root of the repository that a folder is in, as a path that begins as that of the folder."""
    return joined(folder, os.path.relpath(os.path.realpath(root), os.path.realpath(folder)))


def _included(obj: Object) -> Named:
    for key in RESOURCES:
        yield from _texts(obj, (key,))


def _plugins(obj: Object) -> Iterator[tuple[Path, str]]:
    for key in PLUGINS:
        for written, at in _texts(obj, (key,)):
            yield at, written


def _plugin_files(obj: Object) -> Named:
    return ((written, at) for at, written in _plugins(obj) if not plugins.objects(written))


def inline_plugins(obj: Object) -> Iterator[tuple[Path, Object]]:
    """The plugins that stand in a kustomization, each with the place of its text."""
    return ((at, each) for at, written in _plugins(obj) for each in plugins.objects(written))


def _of_inline_plugins(obj: Object) -> Named:
    return ((each, at) for at, plugin in inline_plugins(obj) for each in plugins.files(plugin) if not is_inline(each))


def _files(obj: Object) -> Named:
    for key in (
        *LISTS,
        *WITH_PATH,
    ):  # kustomize refuses the path of a patch without its key, and yet it is no object of its own
        yield from ((written, at) for written, at in _texts(obj, (key,)) if not is_inline(written))
    for key in WITH_PATH:
        yield from _in_each(obj, key, "path")
    yield from _text(as_map(obj.get("openapi")), "path", ("openapi",))
    for key in GENERATORS:
        yield from _generated_from(obj, key)
    yield from _values(obj)


def _generated_from(obj: Object, key: str) -> Named:
    """The files of which ConfigMaps or Secrets are made; `name=path` gives the name that a file has there."""
    for number, each in enumerate(as_list(obj.get(key))):
        for written, at in _texts(as_map(each), ("files",)):
            yield written.partition("=")[2] or written, (key, number, *at)
        for written, at in (*_texts(as_map(each), ("envs",)), *_text(as_map(each), "env")):
            yield written, (key, number, *at)


def _values(obj: Object) -> Named:
    """The values of Helm charts."""
    yield from _in_each(obj, "helmCharts", "valuesFile")
    for number, each in enumerate(as_list(obj.get("helmCharts"))):
        for written, at in _texts(as_map(each), ("additionalValuesFiles",)):
            yield written, ("helmCharts", number, *at)
    yield from _in_each(obj, "helmChartInflationGenerator", "values")


def _charts(obj: Object) -> Named:
    """The folders of Helm charts: that of each chart, below the folder of all of them."""
    home = text(as_map(obj.get("helmGlobals")).get("chartHome")) or CHARTS
    for at, plugin in inline_plugins(obj):
        if plugins.is_chart(plugin) and (name := text(plugin.get("name"))):
            yield f"{text(plugin.get('chartHome')) or CHARTS}/{name}", at
    for number, each in enumerate(as_list(obj.get("helmCharts"))):
        if name := text(as_map(each).get("name")):
            yield f"{home}/{name}", ("helmCharts", number, "name")
    for number, each in enumerate(as_list(obj.get("helmChartInflationGenerator"))):
        if name := text(as_map(each).get("chartName")):
            own = text(as_map(each).get("chartHome")) or home
            yield f"{own}/{name}", ("helmChartInflationGenerator", number, "chartName")


def _in_each(obj: Object, key: str, inner: str) -> Named:
    for number, each in enumerate(as_list(obj.get(key))):
        yield from _text(as_map(each), inner, (key, number))


def _texts(obj: Object, path: tuple[str]) -> Named:
    for number, each in enumerate(as_list(obj.get(path[0]))):
        if written := text(each):
            yield written, (*path, number)


def _text(obj: Object, key: str, around: Path = ()) -> Named:
    if written := text(obj.get(key)):
        yield written, (*around, key)


def plugin_folders(by_folder: Mapping[str, Kustomization]) -> Iterator[str]:
    """The folders of the kustomizations that make generators, transformers and validators."""
    waiting = [one.path for each in by_folder.values() for one in each.includes if one.role in PLUGINS]
    seen: set[str] = set()
    for folder in waiting:
        if folder in by_folder and folder not in seen:
            seen.add(folder)
            waiting += [one.path for one in by_folder[folder].includes]
            yield folder


class ReadKustomization(NamedTuple):
    """A kustomization and its text; what can't be read names nothing."""

    kustomization: Kustomization
    text: StreamText | None = None
    problem: Problem | None = None


def read(folder: str, file: str) -> ReadKustomization | None:
    """The kustomization in a file; None where the file holds another object, such as one of Flux."""
    try:
        text = yamlio.read_stream(read_found(file)[0], file=file)
    except OSError as error:
        return _unread(folder, Problem(file=file, reason="unreadable", detail=error.strerror or UNREADABLE))
    except InputError as error:
        problem = Problem(file=file, reason="unreadable", detail=error.message, line=error.line, column=error.column)
        return _unread(folder, problem)
    objects = [item for item in text.items if item is not None]
    if not objects:
        return ReadKustomization(kustomization({}, folder, file), text)  # kustomize says what is wrong with it
    if not (is_kustomization(objects[0]) or (isinstance(objects[0], dict) and plugins.misspelt(objects[0]))):
        return None
    found = kustomization(objects[0], folder, file, linked(folder))
    return ReadKustomization(found, text, referring(found, text, found.refused.role, found.refused) if found.refused else None)


def linked(path: str) -> str:
    """Where a path leads when links are followed, as a path from the working directory."""
    return joined(".", os.path.realpath(path))


def _unread(folder: str, problem: Problem) -> ReadKustomization:
    return ReadKustomization(kustomization({}, folder, problem.file), problem=problem)


def referring(found: Kustomization, text: StreamText | None, reason: str, each: FileReference) -> Problem:
    """A problem with a reference, at its place."""
    line, column = place(text, each.at)
    shown = "a URL with a password" if holds_secret(each.path) else each.path
    return Problem(file=found.file, reason=reason, detail=shown, line=line, column=column)


def place(text: StreamText | None, at: Path) -> tuple[int, int]:
    """Line and column of a place in a kustomization, which is the first object of its text."""
    if text is None:
        return 0, 0
    first = next(number for number, item in enumerate(text.items) if item is not None)
    return text.place(first, at)
