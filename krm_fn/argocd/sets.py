"""The Applications that an ApplicationSet makes: its generators give parameters, and its template is filled with each.

upstream: argo-cd applicationset/generators, applicationset/utils/utils.go, applicationset/controllers/template
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from krm_fn import yamlio
from krm_fn.argocd.functions import normalize, shown
from krm_fn.argocd.parameters import (
    Fits,
    completed,
    flat,
    is_selected,
    key_of,
    laid_over,
    numbered,
    of_files,
    of_folders,
    unique,
)
from krm_fn.argocd.sources import APPLICATION, ArgoError, UnknownError
from krm_fn.argocd.templates import rendered
from krm_fn.base.encoding import from_base64
from krm_fn.base.errors import InputError
from krm_fn.base.expressions import expression
from krm_fn.base.objects import Object, annotations_of, kind_of, labels_of, metadata, namespace_of, text
from krm_fn.base.paths import as_list, as_map
from krm_fn.base.work import Budget, SpentError
from krm_fn.kubevirt.updates.stored_form import patched
from krm_fn.sources.files import is_within, read_found

Parameters = dict[str, Any]


CLUSTER_LABEL = b"argocd.argoproj.io/secret-type"
HERE, SERVER = "in-cluster", "https://kubernetes.default.svc"
TAG = expression(r"\{\{(.*?)\}\}", re.DOTALL)
TEMPLATED = expression(r"\{\{.*\}\}")
GENERATORS = ("list", "clusters", "git", "matrix", "merge")
# The work of one ApplicationSet, the levels of generators in one another, and the Applications that count.
UNITS, DEEPEST, MOST, OF_PARAMETER = 4_000_000, 8, 2_000, 8
NO_SECRETS = "its generator clusters takes Secrets that are not in git; name the clusters in the config"
TOO_MUCH = "its generators make too much; let them make fewer Applications"


class KnownCluster(NamedTuple):
    """A cluster that Argo CD knows; `is_whole` is false where only its name is known."""

    name: str
    server: str
    project: str = ""
    labels: dict[str, str] = {}  # noqa: RUF012  nobody writes into it
    annotations: dict[str, str] = {}  # noqa: RUF012
    is_whole: bool = True


class Made(NamedTuple):
    """What an ApplicationSet makes, as far as it is known, and what is wrong and what is not known, in words."""

    applications: tuple[Object, ...]
    wrong: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def clusters(objects: Iterable[Object], named: Iterable[str]) -> list[KnownCluster]:
    """The clusters of Secrets, else those of which the config has the names."""
    found = {}
    for obj in objects:
        if kind_of(obj) == "Secret" and labels_of(obj).get(CLUSTER_LABEL.decode()) == "cluster":
            data = {
                key: (from_base64(text(value)) or b"").decode(errors="replace")
                for key, value in as_map(obj.get("data")).items()
            }
            data |= {key: text(value) for key, value in as_map(obj.get("stringData")).items()}
            name, server, project = (data.get(key, "") for key in ("name", "server", "project"))
            found[name] = KnownCluster(name, server, project, labels_of(obj), annotations_of(obj))
    return [found[name] for name in sorted(found)] or [KnownCluster(name, name, is_whole=False) for name in named]


class Sets:
    """What ApplicationSets of the repository `root` make. `is_own` is true of its URL."""

    def __init__(self, root: str, is_own: Callable[[str], bool], known: Sequence[KnownCluster]) -> None:
        self._root, self._is_own, self.clusters = root, is_own, known
        self._listed: tuple[list[str], list[str]] | None = None

    def destination(self, application: Object) -> str:
        """The name of the cluster that an Application is for, "" for the one that Argo CD is in."""
        given = as_map(as_map(application.get("spec")).get("destination"))
        name, server = text(given.get("name")), text(given.get("server")).rstrip("/")
        if not name:
            likely = (each.name for each in self.clusters if each.server.rstrip("/") == server)
            name = HERE if server == SERVER else next(likely, server.partition("://")[2] or server)
        return "" if name == HERE else name

    def of(self, of: Object) -> Made:
        """What an ApplicationSet makes."""
        spec, found = as_map(of.get("spec")), []
        said: dict[bool, list[str]] = {False: [], True: []}
        making = _Making(self, spec)
        for generator in map(as_map, as_list(spec.get("generators"))):
            try:
                for each in making.of(generator):
                    making.count()
                    found.append(self._application(of, making, *each))
            except ArgoError as error:
                said[isinstance(error, UnknownError)].append(error.message)
            except SpentError:
                said[True].append(TOO_MUCH)
                break
        said[True] += making.unknown
        wrong, unknown = (tuple(dict.fromkeys(each)) for each in said.values())
        return Made(tuple(found), wrong, unknown)

    def _application(self, of: Object, making: _Making, parameters: Parameters, template: Object) -> Object:
        made = making.filled(template, parameters)
        spec = as_map(of.get("spec"))
        if patch := spec.get("templatePatch"):
            project = {"spec": {"project": as_map(made.get("spec")).get("project")}}
            changes = _read(making.replaced(text(patch), parameters).encode(), "templatePatch")
            if not isinstance(changes, dict):
                raise ArgoError("its templatePatch makes no map; expected parts of an Application")
            made = patched(patched(made, changes), project)
        names = {key: value for key, value in metadata(made).items() if key != "namespace"}
        space = {"namespace": namespace_of(of)} if namespace_of(of) else {}
        return {"apiVersion": of.get("apiVersion"), "kind": APPLICATION, **made, "metadata": {**names, **space}}

    def repository(self, git: Object) -> tuple[list[str], list[str]]:
        """The folders and the files of this repository. Raises: ArgoError where a generator reads another one."""
        if not self._is_own(text(git.get("repoURL"))):
            raise UnknownError(
                f"its generator reads {text(git.get('repoURL')) or 'a repository'}, which is not this repository"
            )
        if self._listed is None:
            self._listed = _listed(self._root)
        return self._listed

    def text(self, path: str) -> bytes:
        """The text of a file of this repository, b"" for one that leads out of it."""
        file = f"{self._root}/{path}"
        return read_found(file)[0] if is_within(file, [self._root]) else b""


def _listed(root: str) -> tuple[list[str], list[str]]:
    """Its folders and files. Hidden ones are left out: git has few of them, and tools keep much in theirs."""
    folders, files = [], []
    for above, inner, names in os.walk(root):
        inner[:] = [name for name in inner if not name.startswith(".")]
        here = above[len(root) :].strip(os.sep).replace(os.sep, "/")
        files += [f"{here}/{name}".lstrip("/") for name in names if not name.startswith(".")]
        folders += [here] if here else []
    return sorted(folders, key=lambda each: each.split("/")), sorted(files)


class _Making:
    """One ApplicationSet that is read."""

    def __init__(self, sets: Sets, spec: Object) -> None:
        self._sets, self._spec, self._budget = sets, spec, Budget(UNITS)
        self.unknown: list[str] = []
        self._made = 0
        self._is_go = spec.get("goTemplate") is True
        self._strict = "missingkey=error" in as_list(spec.get("goTemplateOptions"))

    def count(self) -> None:
        """One more Application is made. Raises: SpentError."""
        self._made += 1
        if self._made > MOST:
            raise SpentError

    def of(self, generator: Object) -> Iterator[tuple[Parameters, Object]]:
        """The parameters of a generator, each with the template for it. Raises: ArgoError, SpentError."""
        kind = _kind(generator)
        own = as_map(as_map(generator[kind]).get("template"))
        template = completed(own, as_map(self._spec.get("template")))
        return ((each, template) for each in self._parameters(generator, 0))

    def replaced(self, written: str, parameters: Parameters) -> str:
        """A text with parameters in it."""
        self._budget.spend(1 + len(written) // 8)
        if self._is_go:
            return rendered(written, parameters, self._budget, strict=self._strict)
        if not TEMPLATED.search(written):
            return written
        made = TAG.sub(lambda found: value if isinstance(value := parameters.get(found[1].strip()), str) else found[0], written)
        self._budget.spend(len(made) // 8)
        return made

    def filled(self, value: Any, parameters: Parameters) -> Any:
        """A template with parameters in its texts and keys."""
        if not parameters:
            return value
        if isinstance(value, dict):
            return {self.replaced(shown(key), parameters): self.filled(each, parameters) for key, each in value.items()}
        if isinstance(value, list):
            return [self.filled(each, parameters) for each in value]
        return self.replaced(value, parameters) if isinstance(value, str) else value

    def _parameters(self, generator: Object, depth: int) -> list[Parameters]:
        """The parameters of a generator that its selector leaves."""
        kind = _kind(generator)
        if depth > DEEPEST:
            raise ArgoError("its generators stand too deep in one another")
        makes = {"list": self._list, "clusters": self._clusters, "git": self._git}
        given = as_map(generator[kind])
        found = makes[kind](given) if kind in makes else self._combined(kind, given, depth)
        self._budget.spend(OF_PARAMETER * sum(1 + len(each) for each in found))
        selector = as_map(generator.get("selector"))
        return [each for each in found if is_selected(flat(each), selector)] if selector else found

    def _list(self, given: Object) -> list[Parameters]:
        elements = [as_map(each) for each in as_list(given.get("elements"))]
        found = elements if self._is_go else [_of_element(each) for each in elements]
        if written := text(given.get("elementsYaml")):
            found = [*found, *map(as_map, as_list(_read(written.encode(), "elementsYaml")))]
        return [*map(numbered, found)]

    def _clusters(self, given: Object) -> list[Parameters]:
        selector, known = as_map(given.get("selector")), self._sets.clusters
        is_open = not known or (selector and not all(each.is_whole for each in known))
        if selector and is_open:
            raise UnknownError(NO_SECRETS)
        self.unknown += [NO_SECRETS] if is_open else []
        found = [self._of_cluster(each) for each in known if is_selected(each.labels, selector)]
        if not selector and all(each.server.rstrip("/") != SERVER for each in known) and all(each.is_whole for each in known):
            found.append({"name": HERE, "nameNormalized": HERE, "server": SERVER, "project": ""})
        found = [self._with_values(each, given) for each in found]
        return [{"clusters": found}] if given.get("flatList") else found

    def _of_cluster(self, each: KnownCluster) -> Parameters:
        plain = {"name": each.name, "nameNormalized": normalize(each.name), "server": each.server, "project": each.project}
        known = {"annotations": each.annotations, "labels": each.labels}
        if self._is_go:
            return {**plain, "metadata": {key: value for key, value in known.items() if value}}
        return {**plain, **{f"metadata.{of}.{key}": value for of, pairs in known.items() for key, value in pairs.items()}}

    def _with_values(self, parameters: Parameters, given: Object) -> Parameters:
        values = {key: self.replaced(shown(value), parameters) for key, value in as_map(given.get("values")).items()}
        if self._is_go:
            return {**parameters, **({"values": values} if values else {})}
        return {**parameters, **{f"values.{key}": value for key, value in values.items()}}

    def _git(self, given: Object) -> list[Parameters]:
        folders, files = self._sets.repository(given)
        asked = [as_map(each) for each in as_list(given.get("directories"))]
        if asked:
            chosen = self._chosen(folders, asked, of_folders)
            return [self._with_values(self._of_path(each, given), given) for each in chosen]
        asked = [as_map(each) for each in as_list(given.get("files"))]
        return [one for each in self._chosen(files, asked, of_files) for one in self._of_file(each, given)]

    def _chosen(self, paths: Sequence[str], asked: list[Object], reading: Callable[[str], Fits]) -> list[str]:
        """The paths that are asked for; what is excluded counts more."""
        self._budget.spend(len(paths) * len(asked))
        patterns = [(reading(text(each.get("path"))), bool(each.get("exclude"))) for each in asked]
        taking, leaving = ([fits for fits, out in patterns if out is is_out] for is_out in (False, True))
        return [path for path in paths if any(fits(path) for fits in taking) and not any(fits(path) for fits in leaving)]

    def _of_file(self, path: str, given: Object) -> Iterator[Parameters]:
        data = self._sets.text(path)
        self._budget.spend(1 + len(data))
        found = _read(data, path)
        folder, _, name = path.rpartition("/")
        place = self._of_path(folder or ".", given, name)
        for each in map(as_map, found if isinstance(found, list) else [found]):
            own = numbered(each) if self._is_go else {key: shown(value) for key, value in flat(numbered(each)).items()}
            yield self._with_values({**own, **place}, given)

    def _of_path(self, path: str, given: Object, file: str = "") -> Parameters:
        base, prefix = path.rpartition("/")[2], text(given.get("pathParamPrefix"))
        known = {"path": path, "basename": base, "basenameNormalized": normalize(base)}
        known |= {"filename": file, "filenameNormalized": normalize(file)} if file else {}
        if self._is_go:
            nested = {"path": {**known, "segments": path.split("/")}}
            return {prefix: nested} if prefix else nested
        at = f"{prefix}.path" if prefix else "path"
        flat = {at if key == "path" else f"{at}.{key}": value for key, value in known.items()}
        return {**flat, **{f"{at}[{number}]": step for number, step in enumerate(path.split("/")) if step}}

    def _combined(self, kind: str, given: Object, depth: int) -> list[Parameters]:
        parts = [as_map(each) for each in as_list(given.get("generators"))]
        if len(parts) < 2 or (kind == "matrix" and len(parts) > 2):
            raise ArgoError(f"its generator {kind} has {len(parts)} generators; expected two{' or more' * (kind == 'merge')}")
        if kind == "matrix":
            return [*chain.from_iterable(self._crossed(one, parts[1], depth) for one in self._parameters(parts[0], depth + 1))]
        return self._merged(as_list(given.get("mergeKeys")), [self._parameters(each, depth + 1) for each in parts])

    def _crossed(self, one: Parameters, other: Object, depth: int) -> Iterator[Parameters]:
        for each in self._parameters(self.filled(other, one), depth + 1):
            self._budget.spend(1 + len(one) + len(each))
            if self._is_go:
                yield laid_over(each, one)
                continue
            if differing := next((key for key in one if key in each and one[key] != each[key]), None):
                raise ArgoError(f"both generators of its matrix give {differing}, with other values")
            yield {**one, **each}

    def _merged(self, keys: list[Any], sets: list[list[Parameters]]) -> list[Parameters]:
        if not keys:
            raise ArgoError("its generator merge has no mergeKeys")
        base, *others = ({key_of(each, keys): each for each in unique(found, keys)} for found in sets)
        for other in others:
            base = {key: laid_over(each, other[key], deep=self._is_go) if key in other else each for key, each in base.items()}
        return list(base.values())


def _kind(generator: Object) -> str:
    kinds = [key for key, value in generator.items() if key != "selector" and value is not None]
    if len(kinds) != 1:
        raise ArgoError(
            "a generator has no kind" if not kinds else f"a generator has the kinds {' and '.join(kinds)}; expected one"
        )
    if kinds[0] not in GENERATORS:
        raise UnknownError(f"what its generator {kinds[0]} finds is not in git")
    return kinds[0]


def _of_element(element: Object) -> Parameters:
    """An element of a list without Go templates: all of its values are texts."""
    made: Parameters = {}
    for key, value in element.items():
        pairs = (
            {f"values.{name}": each for name, each in value.items()}
            if key == "values" and isinstance(value, dict)
            else {key: value}
        )
        if wrong := next((name for name, each in pairs.items() if not isinstance(each, str)), None):
            raise ArgoError(f"the value of {wrong} in its generator list is no text; quote it, or use goTemplate")
        made |= pairs
    return made


def _read(data: bytes, of: str) -> Any:
    try:
        found = yamlio.read_stream(data).items
    except InputError as error:
        raise ArgoError(f"{of} can't be read: {error.message}") from None
    return found[0] if found else {}
