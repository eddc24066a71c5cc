"""What `render -o` prints: one complete document, or one YAML stream, of what was read and what came of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from krm_fn import yamlio
from krm_fn.base import workers
from krm_fn.cli import joining, patch
from krm_fn.findings import results
from krm_fn.sources.reading import unwatched
from krm_fn.sources.source import Source
from krm_fn.yamlio import ListText
from krm_fn.yamlio.order import parted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import Any

    from krm_fn.findings.finding import Finding
    from krm_fn.pipeline.stages import Outcome
    from krm_fn.sources.reading import Watch
    from krm_fn.sources.source import Sources


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
    return joining.joined(chunks)


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
    return [joining.text_of(source.text, *all_items(source, items, more, others))]


def to_json(_: Sources, outcome: Outcome, __: Watch = unwatched) -> bytes:
    """A `v1 List`, as `kubectl get -o json` prints several objects."""
    return json_list(outcome.in_order)


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


def to_patches(found: Sources, outcome: Outcome, _: Watch = unwatched) -> bytes:
    """A list of kustomize patches, one for each changed object; `[]` where nothing changed."""
    return yamlio.dump(patch.entries(found.items, outcome.items)).encode()


OUTPUTS: dict[str, Callable[[Sources, Outcome, Watch], bytes]] = {
    "yaml": to_yaml,
    "json": to_json,
    "resourcelist": to_resource_list,
    "patch": to_patches,
}
WITH_RESULTS = ("resourcelist",)
