"""Which sources of Flux and Argo CD mean this repository: a delivery names one, and a folder in it."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from krm_fn.argocd.sources import sources_of
from krm_fn.base.expressions import expression
from krm_fn.base.objects import Object, kind_of, name_of, namespace_of, text
from krm_fn.base.paths import as_map, get
from krm_fn.repositories import git
from krm_fn.repositories.flux_values import Near, Written, is_flux, nearest, put_near
from krm_fn.sources.files import inside, is_within

GIT_REPOSITORY = "GitRepository"
SYSTEM = "flux-system"  # the names that `flux bootstrap` gives
# What of a URL stands before the path: the host is the group.
HOST = expression(r"(?:[a-z][a-z0-9+.-]*://)?(?:[^@/]*@)?([^:/]+)(?::\d+(?=/))?[:/]+", re.IGNORECASE)
# Tags, ranges of them, and commits.
FIXED = expression(r"refs/tags/.*|[~^<>=v]*\s*\d+(?:\.(?:\d+|[x*]).*)+|[0-9a-f]{7,40}|[~^<>=*].*")


class FluxSources:
    """The sources that are in git, `found`; `every` are all deliveries, which name these and others."""

    def __init__(self, root: str, found: Sequence[Written], every: Sequence[Written]) -> None:
        self._root, self._sources, self._written = root, found, every
        self._found, self._every = [each.obj for each in found], [each.obj for each in every]

    def is_own(self, obj: Object, path: str, file: str) -> bool:
        """True where the source of a Kustomization in a file is this repository.

        A source that is not in git is the one with which Flux was set up, and no other one has a folder of this name.
        """
        found = self.of(obj, file)
        if not found:
            return True
        if kind_of(found) != GIT_REPOSITORY:
            return os.path.normpath(path or ".") != "." and name_of(found) == SYSTEM
        if not self._addresses:
            return _named_source(obj) == self._main_source
        return self.is_this(text(get(found, ("spec", "url"))))

    def is_this(self, url: str) -> bool:
        """True for the URL of this repository, or of a fork of it; where no URL of it is known, for the one that most name."""
        address = _address(url)
        known = self._addresses or self._main_addresses
        return bool(address) and (address in known or _last(address) in self._forks)

    def other_revision(self, revision: str) -> str:
        """The revision, if it is not at hand: a tag, a commit, or a branch where another one is at hand. Else ""."""
        name = revision.removeprefix("refs/heads/")
        return "" if name in ("", "HEAD") or (name == self._branch and not self._is_fixed(name)) else revision

    def _is_fixed(self, name: str) -> bool:
        return bool(FIXED.fullmatch(name)) and name != git.branch(self._root)

    def revision_of(self, obj: Object, file: str) -> str:
        """The revision that a Kustomization in a file takes of this repository, if it is not at hand."""
        ref = as_map(get(self.of(obj, file), ("spec", "ref")))
        fixed = next((text(ref[key]) for key in ("commit", "name", "semver", "tag") if ref.get(key)), "")
        return fixed if fixed and not fixed.startswith("refs/heads/") else self.other_revision(fixed or text(ref.get("branch")))

    @cached_property
    def _branch(self) -> str:
        """The branch at hand, of those that deliveries name: what is checked out, else what others start from."""
        own = (each for each in self._found if self.is_this(text(get(each, ("spec", "url")))))
        argo = (revision for obj in self._every for url, _, revision in sources_in(obj) if self.is_this(url))
        named = Counter(filter(None, (*(text(get(each, ("spec", "ref", "branch"))) for each in own), *argo)))
        likely = (each for each in (git.branch(self._root), "main", "master") if each in named)
        return next(likely, next((each for each, _ in named.most_common() if not FIXED.fullmatch(each)), ""))

    @cached_property
    def _main_addresses(self) -> frozenset[str]:
        """The address from which most Applications take a folder of this repository."""
        sources = (each for obj in self._every for each in sources_in(obj))
        there = [url for url, path, _ in sources if path is None or os.path.isdir(f"{self._root}/{path}")]  # noqa: PTH112
        return frozenset(each for each, _ in Counter(filter(None, map(_address, there))).most_common(1))

    @cached_property
    def _main_source(self) -> tuple[str, str]:
        """Kind and name of the source of most Kustomizations."""
        return Counter(_named_source(each) for each in self._every if "sourceRef" in as_map(each.get("spec"))).most_common(1)[
            0
        ][0]

    def of(self, obj: Object, file: str, start: str = "") -> Object:
        """The source that a Kustomization in a file names, as far as it is in git: each cluster may have one of the name."""
        named = as_map(get(obj, ("spec", "sourceRef")))
        namespace = text(named.get("namespace")) or namespace_of(obj)
        found = self._named.get(_named_source(obj), {})
        likely = [found[each] for each in (("", namespace) if namespace else found) if each in found]
        near = (each for each in (nearest(one, file, start) for one in likely) if each)
        return min(near, key=lambda each: each[:2], default=(0, 0, {}))[2]

    @cached_property
    def _named(self) -> dict[tuple[str, str], dict[str, Near]]:
        """The sources with their numbers, by kind and name, and by namespace."""
        found: dict[tuple[str, str], dict[str, Near]] = {}
        for number, (obj, file, *_) in enumerate(self._sources):
            by_namespace = found.setdefault((kind_of(obj), name_of(obj)), {})
            put_near(by_namespace.setdefault(namespace_of(obj), {}), file, (number, obj))
        return found

    @cached_property
    def _remotes(self) -> frozenset[str]:
        return frozenset(filter(None, map(_address, git.remotes(self._root))))

    @cached_property
    def _forks(self) -> frozenset[str]:
        """The names of this repository: a fork of it has the same."""
        return frozenset(map(_last, self._remotes))

    @cached_property
    def _addresses(self) -> frozenset[str]:
        """The addresses of this repository: of its remotes, and of the source with which `flux bootstrap` set up a cluster.

        Where no Kustomization names one of them, it has another name by now, or was copied: what applies itself says which.
        """
        known = self._remotes | _urls(each for each in self._found if name_of(each) == SYSTEM)
        named = [(each, self.of(*each[:2])) for each in self._written if is_flux(each.obj)]
        urls = [_urls([source]) for _, source in named if source]
        if len(urls) < len(named) or any(url in known or _last(url) in self._forks for each in urls for url in each):
            return known
        return known | _urls(source for each, source in named if self._is_in_its_folder(each))

    def _is_in_its_folder(self, each: Written) -> bool:
        """True for a Kustomization that applies itself. The root of a repository says nothing."""
        path = text(get(each.obj, ("spec", "path"))) if is_flux(each.obj) else ""
        folder = inside(self._root, path)
        return folder != inside(self._root, "") and is_within(each.file, [os.path.realpath(folder)])


def _urls(found: Iterable[Object]) -> frozenset[str]:
    """The addresses of those sources that are git repositories."""
    of_git = (each for each in found if kind_of(each) == GIT_REPOSITORY)
    return frozenset(filter(None, (_address(text(get(each, ("spec", "url")))) for each in of_git)))


def _last(address: str) -> str:
    return address.rpartition("/")[2]


def _named_source(obj: Object) -> tuple[str, str]:
    named = as_map(get(obj, ("spec", "sourceRef")))
    return text(named.get("kind")), text(named.get("name"))


def sources_in(obj: Object) -> Iterator[tuple[str, str | None, str]]:
    """The URLs that an Application or a set names, each with path and revision; the path is None for a pattern."""
    spec = as_map(obj.get("spec"))
    for of in (spec, as_map(as_map(spec.get("template")).get("spec"))):
        for each in (source.of for source in sources_of({"spec": of})):
            path = each.get("path")
            if isinstance(path, str):
                yield text(each.get("repoURL")), None if "{{" in path else path, text(each.get("targetRevision"))


def _address(url: str) -> str:
    """The host and the path of a URL, in whatever way git reaches it; "" for none."""
    found = HOST.match(url)
    path = url[found.end() :].rstrip("/").removesuffix(".git") if found else ""
    return f"{found[1]}/{path}".lower() if found and path and "\n" not in url else ""
