"""The files that `--output-dir` writes: one for each target and each source file of it, at places that depend on nothing else.

What a target is made of keeps its path below the target. What comes from elsewhere, such as a base, has its path below the
folder that holds all that the command was called with. An object that no file holds gets a file of its own.
"""

from __future__ import annotations

import hashlib
import os
import re
from typing import TYPE_CHECKING, NamedTuple

from krm_fn import yamlio
from krm_fn.base.objects import kind_of, name_of, namespace_of
from krm_fn.cli import joining, outputs
from krm_fn.sources.files import KUSTOMIZATIONS, SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    from krm_fn.pipeline.stages import Outcome
    from krm_fn.sources.source import Source, Sources

YAML = (".yaml", ".yml")
UNUSUAL = re.compile(r"[^a-z0-9._-]+")
LONGEST = 200  # characters of a file's name


class Piece(NamedTuple):
    """A text, and the file that it comes from; where no file holds it, `name` is a name for it.

    `is_built`: kustomize wrote the text, as YAML.
    """

    data: bytes
    file: str = ""
    name: str = ""
    is_built: bool = False


def pieces(found: Sources, outcome: Outcome) -> list[Piece]:
    """The rendered objects of a unit by the files that they come from, in order."""
    more, last = outputs.inserted(found, outcome)
    pairs = enumerate(outputs.rendered(found, outcome))
    of_sources = [piece for number, (source, items) in pairs for piece in _of_source(source, items, more[number])]
    return [*of_sources, *(Piece(yamlio.dump(item).encode(), name=_name(item)) for item in last)]


def _of_source(source: Source, items: Sequence[Any], more: dict[int, list[Any]]) -> Iterator[Piece]:
    for (file, name), numbers in _groups(source, items).items():
        part = source.but(objects=tuple(source.objects[number] for number in numbers))
        before = {place: more[number] for place, number in enumerate(numbers) if number in more}
        chunks = outputs.chunks_of(part, [items[number] for number in numbers], before)
        yield Piece(joining.joined(chunks), file, name, is_built=not source.file)


def _groups(source: Source, items: Sequence[Any]) -> dict[tuple[str, str], list[int]]:
    """The numbers of the objects of a source, by their file or, where no file holds them, by their own names."""
    groups: dict[tuple[str, str], list[int]] = {}
    for number, (file, _) in enumerate(source.places):
        generated = not file or (not source.file and os.path.basename(file) in KUSTOMIZATIONS)  # noqa: PTH119
        key = ("", _name(items[number])) if generated else (file, "")
        groups.setdefault(key, []).append(number)
    return groups


def _name(item: Any) -> str:
    """The name of a file for one object: `kind_namespace_name.yaml`."""
    words = (kind_of(item), namespace_of(item), name_of(item))
    name = "_".join(UNUSUAL.sub("-", word.lower()) for word in words if word)
    if len(name) > LONGEST:
        name = f"{name[:LONGEST]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return f"{name}.yaml"


class Laid(NamedTuple):
    """The pieces of one target; `target` is its folder, "" for files that no kustomization uses."""

    target: str
    pieces: Sequence[Piece]


def laid_out(units: Iterable[Laid], top: str) -> dict[str, bytes]:
    """The texts by their paths in the folder; two that would have one path get different ones.

    `top` is the folder from which paths run.
    """
    files: dict[str, bytes] = {}
    taken: set[str] = set()
    for unit in units:
        for piece in unit.pieces:
            path = _free(_path(piece, unit.target, top), taken)
            taken.add(path.casefold())
            files[path] = piece.data
    return files


def folder_of(target: str, top: str) -> str:
    """The path of a target in the folder, "" for that of the folder itself."""
    return "/".join(_steps(os.path.relpath(target, top))) if target else ""


def _path(piece: Piece, target: str, top: str) -> str:
    folder = folder_of(target, top)
    if piece.name:
        return f"{folder}/{piece.name}" if folder else piece.name
    below = os.path.relpath(piece.file, target or top)
    steps = _steps(below if not below.startswith("..") else os.path.relpath(piece.file, top))
    return "/".join(filter(None, (folder, *steps[:-1], _with_suffix(steps[-1], piece))))


def _steps(path: str) -> list[str]:
    """The parts of a path, none of which leads up or hides what is there."""
    parts = (part.lstrip(".") for part in path.replace(os.sep, "/").split("/"))
    return [part.encode(errors="surrogateescape").decode(errors="replace") for part in parts if part]


def _with_suffix(name: str, piece: Piece) -> str:
    allowed = YAML if piece.is_built else SUFFIXES
    if name.endswith(allowed):
        return name
    return (name.removesuffix(".json") if piece.is_built else name) + ".yaml"


def _free(path: str, taken: set[str]) -> str:
    """The path, with a number where it is taken; files of both spellings, `A` and `a`, are one on some machines."""
    stem, suffix = os.path.splitext(path)  # noqa: PTH122
    number = 1
    while path.casefold() in taken:
        number += 1
        path = f"{stem}-{number}{suffix}"
    return path
