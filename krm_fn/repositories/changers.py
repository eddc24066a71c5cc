"""Whether a kustomization changes an object that it includes: by a patch, a replacement or a transformer. Pure.

Labels, annotations, names and namespaces don't count: an object with other ones is rendered as before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from krm_fn import yamlio
from krm_fn.base.errors import InputError
from krm_fn.base.objects import group_of, kind_of, name_of, text
from krm_fn.base.paths import as_list, as_map
from krm_fn.repositories.kustomization import is_inline, joined
from krm_fn.repositories.writers import is_meant

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from krm_fn.base.objects import Object
    from krm_fn.repositories.types import Kustomization
    from krm_fn.repositories.writers import Patch, Texts, Wanted

OWN = "kubevirt-render.dev"
# The transformers of kustomize that change nothing that counts.
HARMLESS = frozenset(
    f"{word}Transformer"
    for word in ("Annotations", "Hash", "ImageTag", "Label", "Namespace", "Prefix", "PrefixSuffix", "Suffix")
)
ABOUT = ("/metadata/labels", "/metadata/annotations")  # how the pointers begin that don't count


def changer(of: Kustomization, patches: Iterable[Patch], wanted: Wanted, texts: Texts) -> str:
    """The file of the first part of a kustomization that may change an object; "" where none does."""
    for patch in patches:
        if any(_changes(each, patch.target, wanted) for each in patch.items):
            return patch.origin.file
    return next(_others(of, wanted, texts), "")


def _changes(patch: Any, target: Object, wanted: Wanted) -> bool:
    if target and not is_meant(target.get("kind"), target.get("name"), wanted):
        return False
    if isinstance(patch, list):
        return any(not text(as_map(each).get("path")).startswith(ABOUT) for each in patch)
    if not isinstance(patch, dict):
        return False
    named = kind_of(patch) == kind_of(wanted.obj) and name_of(patch) in wanted.names
    return (bool(target) or named) and not patch.keys() <= {"apiVersion", "kind", "metadata"}


def _others(of: Kustomization, wanted: Wanted, texts: Texts) -> Iterator[str]:
    """The files of replacements and transformers that may change an object."""
    for file, each in _objects(of, "replacements", texts):
        selected = [as_map(as_map(target).get("select")) for target in as_list(as_map(each).get("targets"))]
        if any(is_meant(select.get("kind"), select.get("name"), wanted) for select in selected):
            yield file
    for file, each in _objects(of, "transformers", texts):
        target = as_map(as_map(each).get("target"))
        if not _is_harmless(each) and is_meant(target.get("kind"), target.get("name"), wanted):
            yield file


def _is_harmless(transformer: object) -> bool:
    return isinstance(transformer, dict) and (group_of(transformer) == OWN or kind_of(transformer) in HARMLESS)


def _objects(of: Kustomization, key: str, texts: Texts) -> Iterator[tuple[str, Any]]:
    """What a list of a kustomization holds, in place or in files, with the file of each."""
    for entry in as_list(of.obj.get(key)):
        path = text(entry) or text(as_map(entry).get("path"))
        if path and is_inline(path):
            yield from ((of.file, each) for each in _read(path))
        elif path:
            file = joined(of.folder, path)
            found = texts(file)
            # the result of a folder is not known
            yield from ((file, each) for item in (found.items if found else [{}]) for each in (as_list(item) or [item]))
        else:
            yield of.file, entry


def _read(written: str) -> list[Any]:
    try:
        return list(yamlio.read_stream(written.encode()).items)
    except InputError:
        return []
