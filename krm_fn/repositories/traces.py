"""The origins that kustomize writes into what it builds: taken out of the text, they say where each object comes from.

What was built can wait in a file, with its origins.
"""

from __future__ import annotations

import json
import os
import re
from typing import TYPE_CHECKING

from krm_fn.repositories.types import Problem
from krm_fn.sources import reading

if TYPE_CHECKING:
    from krm_fn.repositories.building import Built
    from krm_fn.repositories.types import Target
    from krm_fn.sources.reading import Sources

SEPARATOR = b"\n---\n"
# An object's origin, as kustomize writes it: among the annotations of its metadata, in an order of their own.
METADATA = re.compile(rb"^metadata:\n(?:  .*\n)*?  annotations:\n", re.MULTILINE)
ORIGIN = re.compile(rb"(?:    .*\n)*?(    config\.kubernetes\.io/origin: \|\n((?:      .*\n)+))")
PATH = re.compile(rb"^ *(?:path|configuredIn): (.*)$", re.MULTILINE)
REPO = re.compile(rb"^ *repo: ", re.MULTILINE)
ANNOTATIONS = b"  annotations:\n"


def read_built(target: Target, built: Built) -> Sources:
    """What was built of a target, each object with the file that it comes from. Raises: InputError."""
    parts, files = [], []
    for part in built.data.split(SEPARATOR) if built.data.strip() else ():
        text, path = without_origin(part + b"\n" if not part.endswith(b"\n") else part)
        parts.append(text)
        files.append(built.file(path) if path else "")
    return reading.of_build(b"---\n".join(parts), target.folder, files)


def spool(found: Sources | Problem, file: str) -> None:
    """Keep what came of a target's build for the second time that it is judged. A process that dies leaves no half of it."""
    head = vars(found) if isinstance(found, Problem) else found.sources[0].origins
    data = b"" if isinstance(found, Problem) else found.sources[0].data
    with open(file + ".new", "wb") as out:  # noqa: PTH123
        out.write(json.dumps(head).encode() + b"\n" + data)
    os.replace(file + ".new", file)  # noqa: PTH105


def unspooled(target: Target, file: str) -> Sources | Problem:
    with open(file, "rb") as kept:  # noqa: PTH123
        head, _, data = kept.read().partition(b"\n")
    of_build = json.loads(head)
    return Problem(**of_build) if isinstance(of_build, dict) else reading.of_build(data, target.folder, of_build)


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
