"""The settings of a KubeVirtConfiguration, by the names that any of the known releases has for them."""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import Path
from krm_fn.kubevirt.schema.table import forms

ROOT = "v1.KubeVirtConfiguration"


def settings_of(word: str) -> dict[str, str]:
    """The fields of a structure, each with the word of its type; none for what is no structure. See `schema.table`."""
    if word[0] in "[{" or "." not in word:
        return {}
    return {field.removesuffix("!"): known[-1][2] for field, known in forms(word.removesuffix("?")).items()}


def unknown(value: object, word: str = ROOT, path: Path = ()) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """The keys in a value of a type that no release has there: the path of each, and the names that are known there."""
    if isinstance(value, list) and word[0] == "[":
        for index, item in enumerate(value):
            yield from unknown(item, word[1:-1], (*path, index))
    elif isinstance(value, dict) and word[0] == "{":
        for key, below in value.items():
            yield from unknown(below, word[1:-1], (*path, key))
    elif isinstance(value, dict) and (known := settings_of(word)):
        for key, below in value.items():
            if key in known:
                yield from unknown(below, known[key], (*path, key))
            else:
                yield (*path, str(key)), tuple(known)


def homes(name: str, word: str = ROOT, path: Path = ()) -> Iterator[Path]:
    """The paths of the maps that have a setting of that name; what stands in lists and maps of any keys is left out."""
    known = settings_of(word)
    if name in known:
        yield path
    for field, below in known.items():
        yield from homes(name, below, (*path, field))
