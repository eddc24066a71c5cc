"""The checks of the API server for kinds with subresources.

upstream: k8s.io/apiextensions-apiserver/pkg/registry/customresource: strategy.go:PrepareForCreate,
validator.go:ValidateScaleSpec
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator, Sequence
from krm_fn.base.objects import Object
from krm_fn.base.paths import Path, get
from krm_fn.kubevirt.schema.constraints import within
from krm_fn.kubevirt.schema.flaws import ELSEWHERE, SERVER, TYPE, UNKNOWN, Flaw

REPLICAS: Path = ("spec", "replicas")

_at_least_none = within(0, None)


def with_scale(obj: Object, found: Sequence[Flaw], path: Path = REPLICAS) -> Iterator[Flaw]:
    """The flaws, and one more if the replicas of a scale subresource are negative and no flaw is about them yet."""
    yield from found
    value = get(obj, path)
    flaw = _at_least_none(value, path) if isinstance(value, int | float) else None
    if flaw and all(each.path != path for each in found):
        yield flaw.but(by=SERVER)


def without_status(obj: Object, found: Sequence[Flaw]) -> Iterator[Flaw]:
    """The flaws without those of a status that is a subresource: the API server deletes it from what users write.

    Before that, it checks for unknown fields. The keys of a map count as unknown if the schema has no map there.
    upstream: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning/algorithm.go
    """
    for flaw in found:
        if flaw.path[:1] != ("status",) or flaw.kind in (UNKNOWN, ELSEWHERE):
            yield flaw
        elif flaw.kind == TYPE:
            for path in _keys(get(obj, flaw.path), flaw.path):
                yield Flaw(kind=UNKNOWN, path=path, by=SERVER)


def _keys(value: Any, path: Path) -> Iterator[Path]:
    """The paths of the keys of a map, and of the maps in a list."""
    if isinstance(value, dict):
        yield from ((*path, str(key)) for key in value)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _keys(each, (*path, index))
