"""The origins that kustomize writes into what it builds: taken out of the text, they say where each object comes from."""

from __future__ import annotations

import re
from functools import cached_property

from krm_fn.base import bundle
from krm_fn.base.objects import kind_of, name_of
from krm_fn.repositories import written
from krm_fn.repositories.building import Built
from krm_fn.repositories.types import Target
from krm_fn.sources.reading import Given

SEPARATOR = b"\n---\n"
# An object's origin, as kustomize writes it: among the annotations of its metadata, in an order of their own.
METADATA = re.compile(rb"^metadata:\n(?:  .*\n)*?  annotations:\n", re.MULTILINE)
ORIGIN = re.compile(rb"(?:    .*\n)*?(    config\.kubernetes\.io/origin: \|\n((?:      .*\n)+))")
PATH = re.compile(rb"^ *(?:path|configuredIn): (.*)$", re.MULTILINE)
TRANSFORMER = re.compile(rb"^ *kind: \w*Transformer$", re.MULTILINE)
REPO = re.compile(rb"^ *repo: ", re.MULTILINE)
ANNOTATIONS = b"  annotations:\n"
KIND, NAME = re.compile(rb"^kind: (.*)$", re.MULTILINE), re.compile(rb"^metadata:\n(?:  .*\n)*?  name: (.*)$", re.MULTILINE)


def given_of(target: Target, built: Built) -> Given:
    """The text that was built of a target, with the file that each object comes from.

    Where kustomize does not say that, or a patch removes what it says, it is a file that has the object, by kind and name.
    """
    parts, files, names, sources = [], [], [], _Sources(target)
    for part in built.data.split(SEPARATOR) if built.data.strip() else ():
        text, path = without_origin(part + b"\n" if not part.endswith(b"\n") else part)
        parts.append(text)
        name, file = sources.of(text) if path is None or built.steps else ("", "")
        files.append(file if path is None else path and built.file(path))
        names.append(name)
    return Given(data=b"---\n".join(parts), folder=target.folder, origins=tuple(files), names=tuple(names))


class _Sources:
    """The objects in the files that a target has as resources, read when one is asked for."""

    def __init__(self, target: Target) -> None:
        self._target = target

    def of(self, text: bytes) -> tuple[str, str]:
        """The name and the file of the object of which another one was built; "" where that is not known."""
        kind, name = (
            found[1].decode(errors="replace").strip() if found else "" for found in (KIND.search(text), NAME.search(text))
        )
        of_kind = self._found.get(kind, {})
        if name in of_kind:
            return name, of_kind[name]
        likely = [(own, file) for own, file in of_kind.items() if own and own in name]  # a prefix, a suffix or a hash was added
        longest = max((len(own) for own, _ in likely), default=0)
        nearest = [each for each in likely if len(each[0]) == longest]
        return nearest[0] if len(nearest) == 1 else ("", "")

    @cached_property
    def _found(self) -> dict[str, dict[str, str]]:
        """The file of each object, by its kind and its name."""
        found: dict[str, dict[str, str]] = {}
        sources = written.read(self._target, [])
        for source in sources.sources if sources else ():
            for entry in bundle.entries(source.items):
                found.setdefault(kind_of(entry.obj), {}).setdefault(name_of(entry.obj), source.file)
        return found


def without_origin(text: bytes) -> tuple[bytes, str | None]:
    """The text of an object without its origin, and the path in that: None where it names none, "" for another repository.

    After a patch of all annotations, kustomize names the transformer that made the object: that is no origin.
    """
    metadata = METADATA.search(text)
    origin = ORIGIN.match(text, metadata.end()) if metadata else None
    if metadata is None or origin is None:
        return text, None
    path = PATH.search(origin[2])
    start, end = origin.span(1)
    alone = start == metadata.end() and not text.startswith(b"    ", end)
    if alone:
        start -= len(ANNOTATIONS)
    text = text[:start] + text[end:]
    if TRANSFORMER.search(origin[2]):
        return text, None
    return text, path[1].decode() if path and not REPO.search(origin[2]) else ""
