"""The origins that kustomize writes into what it builds: taken out of the text, they say where each object comes from."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from krm_fn.sources.reading import Given

if TYPE_CHECKING:
    from krm_fn.repositories.building import Built
    from krm_fn.repositories.types import Target

SEPARATOR = b"\n---\n"
# An object's origin, as kustomize writes it: among the annotations of its metadata, in an order of their own.
METADATA = re.compile(rb"^metadata:\n(?:  .*\n)*?  annotations:\n", re.MULTILINE)
ORIGIN = re.compile(rb"(?:    .*\n)*?(    config\.kubernetes\.io/origin: \|\n((?:      .*\n)+))")
PATH = re.compile(rb"^ *(?:path|configuredIn): (.*)$", re.MULTILINE)
REPO = re.compile(rb"^ *repo: ", re.MULTILINE)
ANNOTATIONS = b"  annotations:\n"


def given_of(target: Target, built: Built) -> Given:
    """The text that was built of a target, with the file that each object comes from."""
    parts, files = [], []
    for part in built.data.split(SEPARATOR) if built.data.strip() else ():
        text, path = without_origin(part + b"\n" if not part.endswith(b"\n") else part)
        parts.append(text)
        files.append(built.file(path) if path else "")
    return Given(data=b"---\n".join(parts), folder=target.folder, origins=tuple(files))


def without_origin(text: bytes) -> tuple[bytes, str]:
    """The text of an object without its origin, and the path in that; "" where it has none, or one in another repository."""
    metadata = METADATA.search(text)
    origin = ORIGIN.match(text, metadata.end()) if metadata else None
    if metadata is None or origin is None:
        return text, ""
    path = PATH.search(origin[2])
    start, end = origin.span(1)
    alone = start == metadata.end() and not text.startswith(b"    ", end)
    if alone:
        start -= len(ANNOTATIONS)
    return text[:start] + text[end:], path[1].decode() if path and not REPO.search(origin[2]) else ""
