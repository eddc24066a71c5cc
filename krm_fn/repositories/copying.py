"""A target is built from a copy of its files if it lists this program as a function, or has objects that only functions get.

The copy has neither: the program is not listed, and kustomize prints the objects.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING

from krm_fn import yamlio
from krm_fn.base.errors import InputError
from krm_fn.base.objects import group_of, text
from krm_fn.base.paths import as_list
from krm_fn.repositories.kustomization import PLUGINS, RESOURCES, is_inline, joined
from krm_fn.sources.files import read_found

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from krm_fn.base.objects import Object
    from krm_fn.repositories.types import Kustomization, Target

GROUP = "kubevirt-render.dev"
# kustomize gives functions the objects with this annotation, and leaves them out of what it prints. The VMs of a target may
# refer to them wherever this program renders it, so the copy has another annotation in its place.
LOCAL, KEPT = b"config.kubernetes.io/local-config", b"kubevirt-render.dev/local-config"


def own_functions(kustomizations: Iterable[Kustomization]) -> dict[str, str]:
    """The texts of files that differ without this program's own functions, by file; none where no kustomization lists one."""
    found = list(kustomizations)
    if not any(each.obj.get(key) for each in found for key in PLUGINS):
        return {}
    return _Stripped(found).texts()


def has_local(target: Target) -> bool:
    """True if a file of the target may have an object that only functions get."""
    return any(LOCAL in read_found(file)[0] for file in target.inputs if os.path.isfile(file))  # noqa: PTH113


def copied(target: Target, kustomizations: Iterable[Kustomization], texts: Mapping[str, str], folder: Path) -> tuple[Path, str]:
    """A copy of a target's files, some with other texts, and the folder whose copy it is: the one that holds all of them."""
    files = [file for file in target.inputs if os.path.isfile(file)]  # noqa: PTH113
    whole = {file: os.path.abspath(file) for file in files}  # noqa: PTH100
    folders = [os.path.realpath(each.folder) for each in kustomizations]
    original = os.path.commonpath([*folders, *map(os.path.dirname, map(_real, files))])
    for file in whole:
        copy = folder / os.path.relpath(_real(file), original)
        copy.parent.mkdir(parents=True, exist_ok=True)
        data = texts[file].encode() if file in texts else read_found(file)[0]
        copy.write_bytes(data.replace(LOCAL, KEPT))
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
        self._plugins = set(self._folders_of_plugins(kustomizations))
        self._texts: dict[str, str] = {}

    def texts(self) -> dict[str, str]:
        for each in self._by_folder.values():
            obj = self._stripped(each)
            if obj != each.obj:
                self._texts[each.file] = json.dumps(obj)
        return self._texts

    def _folders_of_plugins(self, kustomizations: Iterable[Kustomization]) -> Iterator[str]:
        """The folders of the kustomizations that make functions."""
        waiting = [each.path for one in kustomizations for each in one.includes if each.role in PLUGINS]
        seen: set[str] = set()
        for folder in waiting:
            if folder in self._by_folder and folder not in seen:
                seen.add(folder)
                waiting += [each.path for each in self._by_folder[folder].includes]
                yield folder

    def _stripped(self, one: Kustomization) -> Object:
        """The object of a kustomization without own functions."""
        keys = (*PLUGINS, *RESOURCES) if one.folder in self._plugins else PLUGINS
        changed = {key: self._kept(as_list(one.obj[key]), one.folder) for key in keys if one.obj.get(key)}
        return {key: changed.get(key, value) for key, value in one.obj.items() if changed.get(key, True)}

    def _kept(self, entries: list[Any], folder: str) -> list[Any]:
        kept = (self._entry(text(each), folder) if text(each) else each for each in entries)
        return [each for each in kept if each != ""]

    def _entry(self, written: str, folder: str) -> str:
        """The entry as it stays, "" where nothing of it does."""
        if is_inline(written):
            return _without_own(written)
        path = joined(folder, written)
        if path in self._by_folder:
            return "" if not self._makes_some(path) else written
        try:
            before = read_found(path)[0].decode()
        except (OSError, UnicodeDecodeError):
            return written
        after = _without_own(before)
        if after and after != before:
            self._texts[path] = after
        return written if after else ""

    def _makes_some(self, folder: str) -> bool:
        """False where nothing stays of a kustomization that makes functions."""
        one = self._by_folder[folder]
        before = [key for key in (*PLUGINS, *RESOURCES) if one.obj.get(key)]
        return not before or any(key in self._stripped(one) for key in before)


def _without_own(written: str) -> str:
    """A text without the documents that configure this program; "" where no other is in it."""
    try:
        items = [item for item in yamlio.read_stream(written.encode()).items if item is not None]
    except InputError:
        return written
    others = [item for item in items if not (isinstance(item, dict) and group_of(item) == GROUP)]
    if len(others) == len(items):
        return written
    return "\n---\n".join(json.dumps(item) for item in others)
