"""Checks one object against the schema of its kind.

The checks of the API server for kinds with subresources.

upstream: k8s.io/apiextensions-apiserver/pkg/registry/customresource: strategy.go:PrepareForCreate,
validator.go:ValidateScaleSpec
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterable, Iterator, Sequence
from krm_fn.base.objects import Object, group_of, kind_of, text
from krm_fn.base.paths import Path, as_map, get
from krm_fn.findings.limits import Limited
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.schema import table
from krm_fn.kubevirt.schema.constraints import within
from krm_fn.kubevirt.schema.flaws import ELSEWHERE, SERVER, TYPE, UNKNOWN, WEBHOOKS, Flaw
from krm_fn.kubevirt.schema.kinds import Kind, counts, kind_known, refused, taken, version_of
from krm_fn.kubevirt.schema.node import SchemaNode, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.schema.crds import Crds

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


# The key at the root of an object in which SOPS stores its metadata, and the start of an encrypted value.
SOPS, ENCRYPTED = "sops", "ENC["


def check(obj: Object, release: Release, crds: Crds | None = None) -> Iterator[Flaw]:
    """The places of an object that do not match the schema of its kind; nothing for a kind without a schema.

    The schema is the release's own API, unless `crds` has a definition of the kind. Then the definition decides what the API
    server refuses, and the release's API what the webhooks refuse. Values that SOPS encrypted or wrote are not checked.
    """
    found = _checked(obj, release, crds)
    return (flaw for flaw in found if not _is_of_sops(obj, flaw)) if SOPS in obj else found


def _is_of_sops(obj: Object, flaw: Flaw) -> bool:
    """True if a flaw is about a part that SOPS removes or replaces before the object reaches the cluster."""
    own = "mac" in as_map(obj[SOPS])
    return own and (flaw.path[:1] == (SOPS,) or text(get(obj, flaw.path)).startswith(ENCRYPTED))


def _checked(obj: Object, release: Release, crds: Crds | None) -> Iterator[Flaw]:
    row = kind_known(obj, release)
    own = _of_api(obj, row, release) if row else []
    found = _of_definition(obj, release, crds) if crds else None
    if row:
        yield from _tagged(own if found is None else _joined(found, own, row), row)
    else:
        yield from found or ()


def _of_definition(obj: Object, release: Release, crds: Crds) -> list[Flaw] | None:
    """The flaws by a definition; None if there is none for the kind."""
    key = group_of(obj), version_of(obj), kind_of(obj)
    definition, node = crds.definition(*key), crds.node(*key, release)
    if definition is None or node is None:
        return None
    found = _walked(obj, node)
    if definition.status:
        found = list(without_status(obj, found))
    if definition.replicas:
        found = list(with_scale(obj, found, definition.replicas))
    return [flaw.but(by=SERVER) for flaw in found]


def _joined(found: list[Flaw], own: list[Flaw], row: Kind) -> Iterator[Flaw]:
    """The flaws by a definition, and those by webhooks alone; one per place.

    Other flaws by the release's own API are left out, because a definition may belong to a later release. Those of a status
    that is a subresource are kept: the mutating webhooks see it before the API server deletes it.
    """
    others = {flaw.path: flaw for flaw in own}
    for flaw in found:
        other = others.pop(flaw.path, None)
        yield flaw.but(upstream="admission") if other and refused(other, row) else flaw
    yield from (flaw for flaw in others.values() if flaw.by == WEBHOOKS or (row.status and flaw.path[:1] == ("status",)))


def of_other_releases(obj: Object, release: Release) -> Iterator[Flaw]:
    """The fields of an object that other releases of the API have and this one has not, if rendering reads the kind."""
    row = kind_known(obj, release)
    if row is None or not row.always:
        return iter(())
    return _tagged([flaw for flaw in _of_api(obj, row, release) if flaw.kind == ELSEWHERE], row)


def _of_api(obj: Object, row: Kind, release: Release) -> list[Flaw]:
    found = _walked(obj, table.of(release).node(row.type))
    if row.status and not row.mutated and "status" in obj:
        found = list(without_status(obj, found))
    return list(with_scale(obj, found)) if row.scale else found


def _walked(obj: Object, node: SchemaNode) -> list[Flaw]:
    found = Limited()
    walk(obj, node, (), found)
    return found.all()


def _tagged(found: Iterable[Flaw], row: Kind) -> Iterator[Flaw]:
    for flaw in found:
        if flaw.upstream:
            yield flaw
        elif counts(flaw, row):
            if refused(flaw, row):
                yield flaw.but(upstream="admission")
            else:
                yield flaw.but(taken=True) if taken(flaw, row) else flaw
