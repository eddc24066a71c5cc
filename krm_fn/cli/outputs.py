"""What `render -o` prints: one complete document, or one YAML stream, of what was read and what came of it.

kubectl and kustomize cut a stream at the lines that are `---`, and read each part as one document. So they refuse it for a
directive, and for a document that begins on the line of its mark. And kubectl takes all for JSON that begins as JSON does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from krm_fn import yamlio
from krm_fn.base import workers
from krm_fn.base.bundle import entries as objects_of
from krm_fn.base.expressions import expression
from krm_fn.base.json_patch import operations
from krm_fn.base.objects import group_of, kind_of, name_of, namespace_of, text
from krm_fn.findings import results
from krm_fn.findings.finding import Finding
from krm_fn.sources.reading import Watch, unwatched
from krm_fn.sources.source import Source, Sources
from krm_fn.yamlio import ListText
from krm_fn.yamlio.order import in_order, parted
from krm_fn.yamlio.writing import write_document

if TYPE_CHECKING:
    from krm_fn.pipeline.stages import Outcome
    from krm_fn.yamlio import StreamText


BOM, MARK = b"\xef\xbb\xbf", b"---\n"
# How lines begin that have to be looked at, and such lines.
ODD = (b"%", b"...", b"--- ", b"---\t")
DIRECTIVE = expression(rb"^%.*\n?", re.MULTILINE)
HANDLE = expression(rb"^%TAG\s", re.MULTILINE)
END = expression(rb"^\.\.\.(?=\s|\Z)[ \t\r]*\n?", re.MULTILINE)
# What stands before a document: empty lines, comments and directives; then the line of its mark, with nothing but a comment.
HEAD = expression(rb"(?:[ \t]*(?:#.*|\r)?\n|%.*\n)*")
MARKED = expression(rb"---[ \t]*(?:[ \t]#.*|\r)?(?:\n|\Z)")
BEGUN = expression(rb"---[ \t]+")


def joined(chunks: Iterable[bytes]) -> bytes:
    """The texts as one stream."""
    closed = [_closed(chunk) for chunk in chunks]
    out = b"".join(chunk if number == 0 or MARKED.match(chunk) else MARK + chunk for number, chunk in enumerate(closed))
    several = len(closed) > 1 or b"\n---" in out
    return MARK + out if several and out.lstrip().startswith(b"{") else out


def _closed(chunk: bytes) -> bytes:
    """The text of a stream so that another may follow: without byte order mark and first `---`, ended by a line end."""
    chunk = chunk.removeprefix(BOM).removeprefix(MARK).removeprefix(b"---\r\n")
    return chunk if chunk.endswith(b"\n") else chunk + b"\n"


def text_of(text: StreamText, items: Sequence[Any], before: Sequence[int] = ()) -> bytes:
    """The documents of a stream with these items; an item of None is left out with its document.

    More items come where `before` says; see `yamlio.order`.
    """
    if not any(text.data.startswith(odd) or b"\n" + odd in text.data for odd in ODD):
        return yamlio.write_stream(text, items, before)
    kept = len(items) - len(before)
    documents = [b"" if item is None else _plain(text, number, item) for number, item in enumerate(items[:kept])]
    documents += [MARK + yamlio.dump(item).encode() for item in items[kept:]]
    return b"".join(in_order(documents, before, kept))


def _plain(text: StreamText, number: int, item: Any) -> bytes:
    """The document behind a mark of its own, and without directives."""
    written = write_document(text, number, item)
    end = _end(HEAD, written)
    head, rest = written[:end], END.sub(b"", written[end:])
    if HANDLE.search(head) and b"!" in rest:  # tags mean something else without it
        return MARK + yamlio.dump(item).encode()
    marked = _end(MARKED, rest)
    body = rest[marked or _end(BEGUN, rest) :]
    return (rest[:marked] or MARK) + DIRECTIVE.sub(b"", head) + (body if body.endswith(b"\n") else body + b"\n")


def _end(pattern: re.Pattern[bytes], text: bytes) -> int:
    """Where what the pattern finds at the start of a text ends; 0 where it finds nothing."""
    found = pattern.match(text)
    return found.end() if found else 0


def entries(before: Sequence[Any], after: Sequence[Any]) -> list[dict[str, Any]]:
    """One entry for each object of `before` that differs in `after`, objects inside Lists too, in order."""
    pairs = zip(objects_of(before), objects_of(after[: len(before)]), strict=True)
    return [entry(old.obj, operations(old.obj, new.obj)) for old, new in pairs if old.obj is not new.obj and old.obj != new.obj]


def entry(old: dict[str, Any], made: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The entry for the operations that change an object."""
    version = text(old.get("apiVersion")).rpartition("/")[2]
    target = {
        "group": group_of(old),
        "version": version,
        "kind": kind_of(old),
        "name": name_of(old).replace(".", r"\."),  # kustomize reads these as regular expressions
        "namespace": namespace_of(old),
    }
    lines = ",\n".join("  " + json.dumps(each, ensure_ascii=False) for each in made)
    return {"target": {key: value for key, value in target.items() if value}, "patch": f"[\n{lines}\n]\n"}


LEAST_SHARED = 1_000_000  # bytes of documents that changed


def rendered(found: Sources, outcome: Outcome) -> Iterator[tuple[Source, Sequence[Any]]]:
    """Each source with its objects as they leave."""
    start = 0
    for source in found.sources:
        end = start + len(source.objects)
        yield source, outcome.items[start:end]
        start = end


def appended(found: Sources, outcome: Outcome) -> Sequence[Any]:
    """The objects that rendering added."""
    return outcome.items[len(found.items) :]


def inserted(found: Sources, outcome: Outcome) -> tuple[list[dict[int, list[Any]]], list[Any]]:
    """The objects that rendering added: those of each source by the number of its object that they precede, and the others."""
    by_number, last = parted(appended(found, outcome), outcome.before, len(found.items))
    of_sources, start = [], 0
    for source in found.sources:
        numbers = range(len(source.objects))
        of_sources.append({number: by_number[start + number] for number in numbers if start + number in by_number})
        start += len(source.objects)
    return of_sources, last


def to_yaml(found: Sources, outcome: Outcome, watch: Watch = unwatched) -> bytes:
    """All objects as one stream; a document that nothing touched as it was written."""
    pairs = list(rendered(found, outcome))
    more, last = inserted(found, outcome)
    chunks = [chunk for some in written(pairs, lambda number: chunks_of(*pairs[number], more[number]), watch) for chunk in some]
    chunks += [yamlio.dump(item).encode() for item in last]
    return joined(chunks)


def written(
    pairs: Sequence[tuple[Source, Sequence[Any]]], write: Callable[[int], Any], watch: Watch = unwatched
) -> Iterable[Any]:
    """What `write` gives for the number of each source; where much is to be written, several processes do it."""
    parts = workers.parted([_weight(*pair) for pair in pairs], LEAST_SHARED)
    return watch("Writing", workers.shared(write, parts), len(parts[0]))


def _weight(source: Source, items: Sequence[Any]) -> int:
    """How much there is to write: the bytes of the documents that changed."""
    pieces = source.text.pieces
    changed = (number for number, old, new in zip(source.objects, source.items, items, strict=True) if old is not new)
    return sum(pieces[number].end - pieces[number].start for number in changed)


def all_items(
    source: Source, items: Sequence[Any], more: dict[int, list[Any]], others: Sequence[Any]
) -> tuple[list[Any], list[int]]:
    """All items of a source's text, those of `others` where no object stands, `more` at the end; and what these precede."""
    everything = list(others)
    for number, item in zip(source.objects, items, strict=True):
        everything[number] = item
    before = [source.objects[number] for number, added in more.items() for _ in added]
    return [*everything, *(item for added in more.values() for item in added)], before


def chunks_of(source: Source, items: Sequence[Any], more: dict[int, list[Any]]) -> list[bytes]:
    """The texts of these objects of a source, `more` before the numbers of those that they precede."""
    if not items:
        return []
    if isinstance(source.text, ListText):
        for number in source.objects:
            source.text.refuse_bloated(number)
        every = (each for number, item in enumerate(items) for each in (*more.get(number, ()), item))
        return [yamlio.dump(each).encode() for each in every if each is not None]  # a null of a list is a finding
    others = [None] * len(source.text.items)  # what is left alone is left out
    return [text_of(source.text, *all_items(source, items, more, others))]


def json_list(items: Sequence[Any]) -> bytes:
    """Objects as a `v1 List` of JSON, without nulls."""
    listing = {"apiVersion": "v1", "kind": "List", "items": [item for item in items if item is not None]}
    return (json.dumps(listing, indent=4, ensure_ascii=False) + "\n").encode()


def to_resource_list(found: Sources, outcome: Outcome, _: Watch = unwatched) -> bytes:
    """A ResourceList with the items and the findings as results; a list that was read keeps its text."""
    match found.sources:
        case [Source(text=ListText() as text, objects=objects)] if len(objects) == len(text.items):
            return yamlio.write_resource_list(text, outcome.items, _krm_results(outcome.findings), outcome.before)
    return resource_list(outcome.in_order, outcome.findings)


def resource_list(items: Sequence[Any], findings: Iterable[Finding]) -> bytes:
    """Objects as a ResourceList, without nulls, with findings as results."""
    listing = {
        "apiVersion": "config.kubernetes.io/v1",
        "kind": "ResourceList",
        "items": [item for item in items if item is not None],
        "results": _krm_results(findings),
    }
    return yamlio.dump(listing).encode()


def _krm_results(findings: Iterable[Finding]) -> list[Any]:
    return [results.to_krm(finding) for finding in findings]


OUTPUTS: dict[str, Callable[[Sources, Outcome, Watch], bytes]] = {
    "yaml": to_yaml,
    "json": lambda _, outcome, __: json_list(outcome.in_order),
    "resourcelist": to_resource_list,
    "patch": lambda found, outcome, _: yamlio.dump(entries(found.items, outcome.items)).encode(),
}
WITH_RESULTS = ("resourcelist",)
