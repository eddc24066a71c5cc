"""Where the values that findings of a built target are about are written: in a base, a patch or a component.

`Material` is what a unit is judged by, described by and explained by.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from krm_fn import yamlio
from krm_fn.base.objects import namespace_of
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.base.value import Value
from krm_fn.findings.finding import UNSET, Finding, Related
from krm_fn.kubevirt.holders import counterparts
from krm_fn.repositories import delivering
from krm_fn.repositories.origins import Origins, WritingPlace, located
from krm_fn.repositories.types import Target
from krm_fn.rules.facts.bundles import Surroundings
from krm_fn.sources.places import MATCHERS, Places
from krm_fn.sources.source import Sources
from krm_fn.sources.steps import Leaving
from krm_fn.yamlio import ListText

if TYPE_CHECKING:
    from krm_fn.pipeline.stopped import Instances
    from krm_fn.repositories.clusters import TargetSettings
    from krm_fn.yamlio import StreamText


# Where an object and an Application have the namespace.
NAMESPACE, DESTINATION = ("metadata", "namespace"), ("spec", "destination")


class Homes:
    """The files in which the values of one target's objects are written."""

    def __init__(self, target: Target, found: Sources, places: Places) -> None:
        self._inputs, self._places = frozenset(target.inputs), places
        self._items, self._delivery = found.items, target.delivery
        self._written = [source.text.items[number] for source in found.sources for number in source.objects]
        self._origins = Origins(target, self._text)

    def of(self, findings: Iterable[Finding], *, follow: bool = False) -> list[Finding]:
        """The findings, and their related places, at the file, line and column where each value is written.

        `follow`: the place of an alias is that of the value it brings.
        """
        return [
            finding.but(
                **self._home(finding, follow=follow),
                related=tuple(each.but(**self._home(each, follow=follow)) for each in finding.related),
            )
            for finding in findings
        ]

    def _home(self, of: Finding | Related, *, follow: bool) -> dict[str, Any]:
        """File, index, line and column of what a finding is about; nothing where its home is not known."""
        origin = self._of_lost(of) or self.origin(of)
        if origin is None:
            return {}
        line, column = located(origin, self._shown(origin.file), follow=follow)
        return {"file": origin.file, "index": max(origin.item, 0), "line": line, "column": column} if line else {}

    def origin(self, of: Finding | Related) -> WritingPlace | None:
        """Where the value that a finding is about is written; None where that is not known."""
        if of.item < 0 or not of.file:
            return None
        if self._delivery and of.path == NAMESPACE and self._delivery.namespace and not namespace_of(self._written[of.item]):
            return WritingPlace(self._delivery.file, self._delivery.item, (*self._delivery.above, *DESTINATION, "namespace"))
        path = (*of.path, "name") if of.path[-2:] in MATCHERS else (*of.path, *of.deeper)
        found = self._origins.of(self._items[of.item], (*of.inside, *path), of.file)
        return delivering.written_at(self._delivery, found) if self._delivery else found

    def parts(self, item: int, file: str, inside: Path = ()) -> tuple[WritingPlace | None, list[tuple[WritingPlace, Any]]]:
        """Where an object is written, and the patches of it; see `Origins.parts`. `inside` leads to it in its item."""
        base, patches = self._origins.parts(get(self._items[item], inside), file)
        if base and self._delivery:
            base = delivering.written_at(self._delivery, base)
        return base, patches

    def _of_lost(self, of: Finding | Related) -> WritingPlace | None:
        """The patch that took away what an entry of another list needs, where that is what a finding is about."""
        name, others = getattr(of, "current", UNSET), counterparts(of.path)
        if not others or of.item < 0 or not of.file or not isinstance(name, str):
            return None
        obj, paths = self._items[of.item], [(*of.inside, *other) for other in others]
        if any(as_map(each).get("name") == name for path in paths for each in as_list(get(obj, path))):
            return None
        return next(filter(None, (self._origins.of_lost(obj, path, name, of.file) for path in paths)), None)

    def _text(self, file: str) -> StreamText | None:
        """The text of a file that the target is made of."""
        if self._delivery and file == self._delivery.generated:
            return self._generated
        text = self._places.text(file) if file in self._inputs else None
        return None if isinstance(text, ListText) else text

    @cached_property
    def _generated(self) -> StreamText | None:
        return yamlio.read_stream(self._delivery.text) if self._delivery else None

    def _shown(self, file: str) -> StreamText | None:
        """The text of a file as users see it."""
        delivery = self._delivery
        if delivery and file == delivery.generated:
            return yamlio.read_stream(delivery.original, file=file)
        text = self._places.text(file) if delivery and file == delivery.file else self._text(file)
        return None if isinstance(text, ListText) else text


class Material(Value):
    """A unit: what was read, its settings, what is known beside it, and where values are written.

    `unlisted` are files whose machines nothing applies. `left` is what leaves, None where no step is on the way. `instances`
    are those that the objects start, None where nothing is known of them yet. `hosts` are what runs its own steps.
    """

    found: Sources
    settings: TargetSettings
    surroundings: Surroundings
    places: Places
    target: Target | None = None
    homes: Homes | None = None
    unlisted: frozenset[str] = frozenset()
    left: Leaving | None = None
    instances: Instances | None = None
    hosts: tuple[str, ...] = ()
