"""What the kustomizations in a folder say about the files around them. Nothing is built.

A patch is no object. A resource that a kustomization patches is not finished. And two objects of one name clash only where
something applies both: one kustomization, or one folder that no kustomization splits up.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from krm_fn.base.objects import kind_of, name_of, text
from krm_fn.base.paths import as_list, as_map

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from krm_fn.base.objects import Object

# In the order in which kustomize looks for them.
FILES = ("kustomization.yaml", "kustomization.yml", "Kustomization")
INCLUDES = ("resources", "bases", "components")
EXPRESSION = frozenset(".*+?()[]{}\\^$")  # what makes a text more than a plain word
GENERATORS = ("configMapGenerator", "secretGenerator")
PATCHES = ("patches", "patchesStrategicMerge", "patchesJson6902")
# With any of these the objects leave a kustomization under other names, in another namespace, or with other contents.
CHANGES = (*PATCHES, "components", "namespace", "namePrefix", "nameSuffix", "transformers", "replacements")


class Layout:
    """The kustomizations of the files that were read.

    `texts` are the texts of all files, and `kustomizations` the objects in those that are named as kustomizations are; both by
    path, as the command reads them.
    """

    def __init__(self, texts: Mapping[str, bytes], kustomizations: Mapping[str, Object]) -> None:
        self._texts = {_absolute(file): data for file, data in texts.items()}
        self._objects = {_folder_of(_absolute(file)): obj for file, obj in kustomizations.items()}
        self._includes = {folder: frozenset(_included(obj, folder)) for folder, obj in self._objects.items()}
        self._above: dict[str, list[str]] = {}  # the kustomizations that include a file or a folder
        for folder, included in self._includes.items():
            for path in included:
                self._above.setdefault(path, []).append(folder)
        self._found: dict[tuple[tuple[str, ...], bool], frozenset[str]] = {}  # what `_builders` found
        self._patches = {path for folder, obj in self._objects.items() for path in _patch_files(obj, folder)}

    def is_patch(self, file: str) -> bool:
        """True where a kustomization names the file as a patch, and none names it as a resource."""
        path = _absolute(file)
        return path in self._patches and path not in self._above

    def units(self, file: str) -> frozenset[str]:
        """What applies the objects of a file: the folders of the kustomizations that build it.

        Where none does, its own folder; the file alone where a kustomization there leaves it out.
        """
        path = _absolute(file)
        folder = _folder_of(path)
        alone = path if folder in self._objects else folder + os.sep
        return self._builders(path, changed=False) or frozenset((alone,))

    def is_patched(self, file: str, obj: Object, place: str = "") -> bool:
        """True where a patch of a kustomization that builds the file may change the object, and has `place` in its text."""
        builders = self._builders(_absolute(file), changed=True)
        return any(
            self._may_hit(patch, folder, obj) and place.encode() in self._content(patch, folder)
            for builder in builders
            for folder in self._with_components(builder, ())
            for patch in _patches(self._objects[folder])
        )

    def generated(self, file: str) -> frozenset[str]:
        """The names of the ConfigMaps and Secrets that the kustomizations which build a file generate."""
        builders = self._builders(_absolute(file), changed=True)
        return frozenset(name for folder in builders for name in _generated(self._objects[folder]))

    def _builders(self, path: str, *, changed: bool) -> frozenset[str]:
        """The kustomizations that build a file; unless `changed`, only those that get its objects as they are written."""
        direct = tuple(self._above.get(path, ()))
        if (direct, changed) not in self._found:
            found: set[str] = set()
            wanted = [*direct]
            while wanted:
                folder = wanted.pop()
                if folder not in found:
                    found.add(folder)
                    if changed or not any(self._objects[folder].get(key) for key in CHANGES):
                        wanted += self._above.get(folder, ())
            self._found[direct, changed] = frozenset(found)
        return self._found[direct, changed]

    def _with_components(self, folder: str, seen: tuple[str, ...]) -> Iterator[str]:
        """The folder of a kustomization and those of its components."""
        if folder in self._objects and folder not in seen:
            yield folder
            for path in as_list(self._objects[folder].get("components")):
                yield from self._with_components(_at(folder, path), (*seen, folder))

    def _may_hit(self, patch: object, folder: str, obj: Object) -> bool:
        """True unless the patch is for another kind or name; `patch` is a map with a target, or a path or text."""
        target = as_map(as_map(patch).get("target"))
        if target:
            return may_match(target.get("kind"), kind_of(obj)) and may_match(target.get("name"), name_of(obj))
        content = self._content(patch, folder)
        return kind_of(obj).encode() in content and name_of(obj).encode() in content

    def _content(self, patch: object, folder: str) -> bytes:
        """The text of a patch, which stands in a file or in place."""
        body = as_map(patch).get("patch") or as_map(patch).get("path") or patch
        return self._texts.get(_at(folder, body), text(body).encode())


def _included(obj: Object, folder: str) -> Iterator[str]:
    for key in INCLUDES:
        for path in as_list(obj.get(key)):
            yield _at(folder, path)


def _generated(obj: Object) -> Iterator[str]:
    for key in GENERATORS:
        for generator in as_list(obj.get(key)):
            yield text(as_map(generator).get("name"))


def _patches(obj: Object) -> Iterator[object]:
    for key in PATCHES:
        yield from as_list(obj.get(key))


def _patch_files(obj: Object, folder: str) -> Iterator[str]:
    for patch in _patches(obj):
        yield _at(folder, as_map(patch).get("path") or patch)


def _at(folder: str, path: object) -> str:
    """Where a path of a kustomization leads; "" where it is none, such as a patch that is written in place."""
    found = text(path)
    return os.path.normpath(os.path.join(folder, found)) if found and "\n" not in found else ""  # noqa: PTH118


def may_match(pattern: object, value: str) -> bool:
    """False where a target's expression surely doesn't fit. It may be a stranger's, so only plain words are compared."""
    return not pattern or any(value == part or EXPRESSION.intersection(part) for part in text(pattern).split("|"))


def _absolute(file: str) -> str:
    return os.path.abspath(file)  # noqa: PTH100  links stay what they are


def _folder_of(path: str) -> str:
    return os.path.dirname(path)  # noqa: PTH120
