"""What Kustomizations of Flux name beside a folder: a source, which may mean this repository, and values of variables."""

from __future__ import annotations

import os
import re
from collections import Counter
from functools import cached_property
from typing import TYPE_CHECKING

from krm_fn.base.objects import kind_of, name_of, namespace_of, text
from krm_fn.base.paths import as_map, get
from krm_fn.repositories import git

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from krm_fn.base.objects import Object
    from krm_fn.repositories.types import Written

GIT_REPOSITORY = "GitRepository"
SYSTEM = "flux-system"  # the names that `flux bootstrap` gives
# The version of Flux in what `flux bootstrap` writes, and the first one in which a variable must have a value.
VERSION = re.compile(rb"^ *app\.kubernetes\.io/part-of: flux\n *app\.kubernetes\.io/version: v(\d+)\.(\d+)", re.MULTILINE)
STRICT_SINCE = (2, 9)
# What a text has in which values stand; SOPS marks what it encrypts.
HOLDING = re.compile(rb"""kind["']?\s*:\s*["']?(?:ConfigMap|Secret)\b""")
ENCRYPTED = "sops"
# What of a URL stands before the path: the host is the group.
HOST = re.compile(r"(?:[a-z][a-z0-9+.-]*://)?(?:[^@/]*@)?([^:/]+)(?::\d+(?=/))?[:/]+", re.IGNORECASE)


class Sources:
    """The sources that are in git, `found`; `every` are all Kustomizations, which name these and others."""

    def __init__(self, root: str, found: Sequence[Object], every: Sequence[Object]) -> None:
        self._root, self._found, self._every = root, found, every

    def is_own(self, obj: Object, path: str) -> bool:
        """True where the source of a Kustomization is this repository.

        A source that is not in git is the one with which Flux was set up, and no other one has a folder of this name.
        """
        found = self.of(obj)
        if not found:
            return True
        if kind_of(found) != GIT_REPOSITORY:
            return os.path.normpath(path or ".") != "." and name_of(found) == SYSTEM
        if not self._addresses:
            return _named_source(obj) == self._main_source
        address = _address(text(get(found, ("spec", "url"))))
        return address in self._addresses or address.rpartition("/")[2] in self._forks

    @cached_property
    def _main_source(self) -> tuple[str, str]:
        """Kind and name of the source of most Kustomizations."""
        return Counter(_named_source(each) for each in self._every).most_common(1)[0][0]

    def of(self, obj: Object) -> Object:
        """The source that a Kustomization names, as far as it is in git."""
        named = as_map(get(obj, ("spec", "sourceRef")))
        namespace = text(named.get("namespace")) or namespace_of(obj)
        for each in self._by_name.get((text(named.get("kind")), text(named.get("name"))), ()):
            if not (namespace and namespace_of(each)) or namespace_of(each) == namespace:
                return each
        return {}

    @cached_property
    def _by_name(self) -> dict[tuple[str, str], list[Object]]:
        """The first source of each namespace, by kind and name."""
        found: dict[tuple[str, str], dict[str, Object]] = {}
        for each in self._found:
            found.setdefault((kind_of(each), name_of(each)), {}).setdefault(namespace_of(each), each)
        return {key: list(each.values()) for key, each in found.items()}

    @cached_property
    def _remotes(self) -> frozenset[str]:
        return frozenset(filter(None, map(_address, git.remotes(self._root))))

    @cached_property
    def _forks(self) -> frozenset[str]:
        """The names of this repository: a fork of it has the same."""
        return frozenset(each.rpartition("/")[2] for each in self._remotes)

    @cached_property
    def _addresses(self) -> frozenset[str]:
        """The addresses of this repository: of its remotes, and of the source with which `flux bootstrap` set up a cluster."""
        own = [each for each in self._found if kind_of(each) == GIT_REPOSITORY and name_of(each) == SYSTEM]
        return self._remotes | frozenset(filter(None, (_address(text(get(each, ("spec", "url")))) for each in own)))


class Values:
    """The ConfigMaps and Secrets of variables, `found`, and the release of Flux, of which `texts` has files."""

    def __init__(self, found: Iterable[Written], texts: Mapping[str, bytes]) -> None:
        self._found = found
        versions = {file: VERSION.search(data) for file, data in texts.items()}
        self._versions = {file: (int(each[1]), int(each[2])) for file, each in versions.items() if each}

    def of(self, kind: str, name: str, namespace: str, file: str) -> Object | None:
        """A ConfigMap or a Secret, the one nearest to a file of those of a name; None where no value is known."""
        found = [each for within in dict.fromkeys(("", namespace)) for each in self._held.get((kind, name, within), ())]
        nearest = max(found, key=lambda each: _common(each.file, file)).obj if found else None
        return None if nearest is None or ENCRYPTED in nearest else nearest

    @cached_property
    def _held(self) -> dict[tuple[str, str, str], list[Written]]:
        held: dict[tuple[str, str, str], list[Written]] = {}
        for each in self._found:
            held.setdefault((kind_of(each.obj), name_of(each.obj), namespace_of(each.obj)), []).append(each)
        return held

    def are_strict(self, file: str) -> bool:
        """False where the files of Flux beside a Kustomization are of a release that takes an unset variable as empty."""
        known = self._versions
        return known[max(known, key=lambda each: _common(each, file))] >= STRICT_SINCE if known else True


def _named_source(obj: Object) -> tuple[str, str]:
    named = as_map(get(obj, ("spec", "sourceRef")))
    return text(named.get("kind")), text(named.get("name"))


def _address(url: str) -> str:
    """The host and the path of a URL, in whatever way git reaches it; "" for none."""
    found = HOST.match(url)
    path = url[found.end() :].rstrip("/").removesuffix(".git") if found else ""
    return f"{found[1]}/{path}".lower() if found and path and "\n" not in url else ""


def _common(one: str, other: str) -> int:
    """The number of folders that two paths begin with."""
    pairs = zip(one.split("/")[:-1], other.split("/")[:-1], strict=False)
    return next((number for number, (left, right) in enumerate(pairs) if left != right), min(one.count("/"), other.count("/")))
