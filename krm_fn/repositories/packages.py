"""Where tools other than kustomize call this program: kpt in the pipeline of a Kptfile, Argo CD as a plugin of an Application.

A package of kpt is a folder of which all files are applied together.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path as FolderPath
from typing import Any, NamedTuple

from krm_fn import config, yamlio
from krm_fn.base.errors import ConfigError, InputError
from krm_fn.base.objects import Object, kind_of, name_of, text
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.base.value import Value
from krm_fn.config.keys import KEYS
from krm_fn.config.repository import read as repository_config
from krm_fn.kubevirt.settings import Config
from krm_fn.repositories import parameters
from krm_fn.repositories.kustomization import joined
from krm_fn.repositories.parameters import JSON, Parameters
from krm_fn.repositories.types import Delivery
from krm_fn.sources.files import is_within, read_found, repository
from krm_fn.sources.steps import ARGOCD, KPT, PROGRAM, Step, is_call, is_own

KPTFILE = "Kptfile"
# The flags of the plugin that are keys of its config.
FLAGS = {f"--{key.flag or parameters.upper(key.name).lower().replace('_', '-')}": key.name for key in KEYS}


class Package(Value):
    """A folder of which all files are applied together. `notes` say what a pipeline calls beside this program."""

    folder: str
    steps: tuple[Step, ...] = ()
    notes: tuple[str, ...] = ()


class Document(NamedTuple):
    """An object with its file and its number there."""

    obj: Object
    file: str
    item: int


def kpt_packages(folders: Iterable[str], within: Sequence[str]) -> dict[str, Package]:
    """The package that each of the folders belongs to: the outermost one, of those below the folders `within`.

    kpt renders the packages in a package before it. upstream: kpt pkg/lib/... render_executor.go:hydrate
    """
    roots: dict[str, str] = {}
    has: dict[str, bool] = {}
    inside: dict[str, dict[str, None]] = {}  # the packages in each of the outermost ones
    for folder in folders:
        around = [each for each in (folder, *above(folder)) if is_below(each, within)]
        has.update({each: os.path.isfile(joined(each, KPTFILE)) for each in around if each not in has})  # noqa: PTH113
        if packages := [each for each in around if has[each]]:
            roots[folder] = packages[-1]
            inside.setdefault(packages[-1], {}).update(dict.fromkeys(packages))
    tops = Inside([repository(each) for each in within])
    made = {root: _package(root, found, tops) for root, found in inside.items()}
    return {folder: made[root] for folder, root in roots.items()}


def _package(root: str, folders: Iterable[str], tops: Inside) -> Package:
    ordered = sorted(folders, key=lambda each: (-each.count("/"), each == "."))
    calls = [each for folder in ordered for each in _calls(folder, tops)]
    foreign = dict.fromkeys(each for each in calls if isinstance(each, str))
    notes = tuple(f"the pipeline of {root} also calls {each}, which is not run here" for each in foreign)
    return Package(folder=root, steps=tuple(each for each in calls if isinstance(each, Step)), notes=notes)


def _calls(folder: str, tops: Inside) -> Iterator[Step | str]:
    """What the pipeline of a Kptfile calls, in order: this program, or the name of another one."""
    found = next((each for each in _documents(joined(folder, KPTFILE), tops) if kind_of(each.obj) == KPTFILE), None)
    pipeline = as_map(found.obj.get("pipeline")) if found else {}
    for key in ("mutators", "validators"):
        for number, each in enumerate(map(as_map, as_list(pipeline.get(key)))):
            given = _function_config(folder, each, found, ("pipeline", key, number), tops) if found else {}
            if not (is_call(each) or is_own(given.get("written"))):
                yield text(each.get("image")) or text(each.get("exec"))
                continue
            selectors, exclude = (tuple(map(as_map, as_list(each.get(name)))) for name in ("selectors", "exclude"))
            own = Step(host=KPT, folder=folder, discards=key == "validators", **given)
            yield own.but(selectors=selectors, exclude=exclude)


def _function_config(folder: str, call: Object, of: Document, at: Path, tops: Inside) -> dict[str, Any]:
    """The functionConfig of a call, with its place: in a file of its own, or the pairs of a ConfigMap."""
    if path := text(call.get("configPath")):
        file = joined(folder, path)
        if found := next(_documents(file, tops), None):
            return {"written": found.obj, "file": file, "item": found.item}
        return {"written": None, "file": of.file, "item": of.item, "path": at}  # no file that may be read
    given = call.get("configMap")
    place = {"file": of.file, "item": of.item, "path": (*at, "configMap") if isinstance(given, dict) else at}
    data = {key: value if isinstance(value, str) else json.dumps(value) for key, value in as_map(given).items()}
    return {"written": {"apiVersion": "v1", "kind": "ConfigMap", "data": data} if data else None, **place}


class Plugin(Value):
    """What an administrator sets for all applications of a plugin: texts of the config's keys, by name."""

    texts: dict[str, str] = {}  # noqa: RUF012  nobody writes into a Value
    isolated: bool = False


def _is_plugin(obj: Object) -> bool:
    words = as_list(as_map(as_map(obj.get("spec")).get("generate")).get("command"))
    return kind_of(obj) == "ConfigManagementPlugin" and is_call({"exec": " ".join(map(text, words))})


def _plugin(obj: Object) -> Plugin:
    generate = as_map(as_map(obj.get("spec")).get("generate"))
    words = [*map(text, as_list(generate.get("command"))), *map(text, as_list(generate.get("args")))]
    texts = {}
    for word, following in zip(words, [*words[1:], ""], strict=True):
        flag, equals, value = word.partition("=")
        if flag in FLAGS:
            texts[FLAGS[flag]] = value if equals else following
    return Plugin(texts=texts, isolated="--isolated" in words)


class Plugins:
    """The plugins of Argo CD that call this program, by the files of a repository; `stated` is the config of a folder.

    No file outside of the folders `tops` counts.
    """

    def __init__(self, files: Iterable[str], tops: Sequence[str], stated: Callable[[str], Config]) -> None:
        self._files, self._inside, self._stated = files, Inside(tops), stated

    def steps(self, folder: str, of: Delivery) -> tuple[Step, ...]:
        """The step of a plugin that an Application names for a folder, if it does. Raises: ConfigError."""
        at = (*of.at[:-1], "plugin")
        given = as_map(get(of.obj, at))
        name = text(given.get("name"))
        plugin = next((known for own, known in self._known.items() if name == own or name.startswith(f"{own}-")), None)
        if plugin is None:
            return ()
        base = self._stated(folder) if not plugin.isolated else Config()
        variables = {f"ARGOCD_ENV_{text(each.get('name'))}": text(each.get("value")) for each in _maps(given.get("env"))}
        try:
            found = parameters.read({**variables, JSON: json.dumps([*_maps(given.get("parameters"))])})
            settings = _laid(base, plugin, folder, self._inside, found)
        except ConfigError as error:
            raise ConfigError(error.message, path=error.path, file=of.file) from None
        context = None if found.context is None else tuple(joined(folder, each) for each in found.context)
        step = Step(host=ARGOCD, settings=settings, namespace=of.namespace, file=of.file, context=context)
        return (step.but(item=of.item, path=(*of.above, *at)),)

    @cached_property
    def _known(self) -> dict[str, Plugin]:
        found = (each for file in self._files for each in _documents(file, self._inside, "ConfigManagementPlugin"))
        return {PROGRAM: Plugin(), **{name_of(each.obj): _plugin(each.obj) for each in found if _is_plugin(each.obj)}}


def _laid(base: Config, plugin: Plugin, folder: str, inside: Inside, given: Parameters) -> Config:
    """The config of a repository or of a file, with what the plugin and the parameters say. Raises: ConfigError."""
    if given.config:
        named = next(_documents(joined(folder, given.config), inside), None)
        base = Config(**repository_config(named.obj if named else {}).stated)
    return given.over(config.with_texts(base, plugin.texts, place=str))


def _maps(value: object) -> Iterator[Object]:
    return (each for each in as_list(value) if isinstance(each, dict))


class Inside:
    """Folders out of which no file is read: who writes them decides where links and paths there lead. None: all is read."""

    def __init__(self, tops: Sequence[str]) -> None:
        self._tops = tuple(map(os.path.realpath, tops))
        self._known: dict[str, bool] = {}

    def has(self, path: str) -> bool:
        """True for a file or a folder below one of the folders, after links are followed."""
        if not self._tops:
            return True
        if os.path.islink(path):  # noqa: PTH114
            return is_within(path, self._tops)
        folder = os.path.dirname(path)  # noqa: PTH120
        if folder not in self._known:
            self._known[folder] = is_within(folder or os.curdir, self._tops)
        return self._known[folder] and is_within(path, self._tops) if ".." in path else self._known[folder]


def _documents(file: str, inside: Inside, word: str = "") -> Iterator[Document]:
    """The objects in a file; none in one that can't be read, or that lacks a word."""
    try:
        data = read_found(file)[0] if inside.has(file) else b""
        items = yamlio.read_stream(data).items if word.encode() in data else []
    except (OSError, InputError):
        return
    yield from (Document(item, file, number) for number, item in enumerate(items) if isinstance(item, dict))


def is_in_package(folder: str) -> bool:
    """True for a folder of a kpt package: kpt applies all files of it."""
    here = FolderPath(folder).resolve()
    return any((each / KPTFILE).is_file() for each in (here, *here.parents))


def above(folder: str) -> Iterator[str]:
    """The folders that a folder is in, from the nearest on, up to the working directory or the root."""
    while folder not in (os.curdir, os.sep, ""):
        folder = os.path.dirname(folder) or os.curdir  # noqa: PTH120
        yield folder


def is_below(folder: str, tops: Iterable[str]) -> bool:
    """True for one of some folders, and for one below them."""
    return any(folder == top or folder.startswith(os.path.join(top, "")) or top == os.curdir for top in tops)  # noqa: PTH118
