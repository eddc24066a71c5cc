"""The objects that deliveries find in files: with their places, and the values that Kustomizations of Flux take from them."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from krm_fn import yamlio
from krm_fn.base.bundle import entries
from krm_fn.base.errors import InputError
from krm_fn.base.objects import kind_of, metadata, name_of, namespace_of, text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.sources.files import SUFFIXES, read_found

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from krm_fn.base.objects import Object
    from krm_fn.repositories.types import Delivery

ENCRYPTED = "sops"
# The version of Flux in what `flux bootstrap` writes, and the first one in which a variable must have a value.
VERSION = re.compile(rb"^ *app\.kubernetes\.io/part-of: flux\n *app\.kubernetes\.io/version: v(\d+)\.(\d+)", re.MULTILINE)
STRICT_SINCE = (2, 9)


class Written(NamedTuple):
    """An object in a file: the number of its document, and where it starts."""

    obj: Object
    file: str
    item: int
    line: int
    column: int


def objects_in(files: Iterable[str]) -> Iterator[Written]:
    """The objects in files; one that can't be read has none."""
    for file in files:
        try:
            found = yamlio.read_stream(text_of(file), file=file)
        except InputError:
            continue  # it is told where the file is judged
        for entry in entries(found.items):
            yield Written(entry.obj, file, entry.item, *found.place(entry.item, entry.path))


def text_of(file: str) -> bytes:
    """The text of a file, b"" for one that can't be read."""
    try:
        return read_found(file)[0]
    except OSError:
        return b""


class Values:
    """The values of variables of a repository with these YAML files; `texts` are those in which Flux may stand."""

    def __init__(self, files: Iterable[str], texts: Mapping[str, bytes]) -> None:
        self._files, self._texts = tuple(files), texts

    def given(self, own: Delivery) -> Delivery:
        """The delivery with the ConfigMaps and Secrets of its variables, as far as git has them."""
        if not own.is_of_flux:
            return own
        given, missing = [], []
        for each in as_list(get(own.obj, ("spec", "postBuild", "substituteFrom"))):
            kind, name = text(as_map(each).get("kind")), text(as_map(each).get("name"))
            found = self._value(kind, name, own)
            if found is None or ENCRYPTED in found:
                missing.append(f"{kind} {name}")
            else:
                given.append({**found, "metadata": {**metadata(found), "namespace": namespace_of(own.obj)}})
        return own._replace(substitutes=tuple(given), missing=tuple(missing), strict=self._is_strict(own.file))

    def _value(self, kind: str, name: str, own: Delivery) -> Object | None:
        """A ConfigMap or a Secret: the nearest one in a file, where a name is there several times."""
        namespace = namespace_of(own.obj)
        found = [
            each
            for each in self._holding(name)
            if kind_of(each.obj) == kind and name_of(each.obj) == name and namespace_of(each.obj) in ("", namespace)
        ]
        return max(found, key=lambda each: _common(each.file, own.file)).obj if found else None

    def _holding(self, name: str) -> list[Written]:
        if name not in self._held:
            files = [file for file in self._files if file.endswith(SUFFIXES) and name.encode() in text_of(file)]
            self._held[name] = list(objects_in(files)) if name else []
        return self._held[name]

    @cached_property
    def _held(self) -> dict[str, list[Written]]:
        return {}

    def _is_strict(self, file: str) -> bool:
        """False where the files of Flux beside a Kustomization are of a release that takes an unset variable as empty."""
        known = self._versions
        return known[max(known, key=lambda each: _common(each, file))] >= STRICT_SINCE if known else True

    @cached_property
    def _versions(self) -> dict[str, tuple[int, int]]:
        """The versions of Flux, by the files that install it."""
        found = {file: VERSION.search(data) for file, data in self._texts.items()}
        return {file: (int(each[1]), int(each[2])) for file, each in found.items() if each}


def _common(one: str, other: str) -> int:
    """The number of folders that two paths begin with."""
    pairs = zip(one.split("/")[:-1], other.split("/")[:-1], strict=False)
    return next((number for number, (left, right) in enumerate(pairs) if left != right), min(one.count("/"), other.count("/")))
