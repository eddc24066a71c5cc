"""One object held against the schema of its kind."""

from __future__ import annotations

from krm_fn.limits import Limited
from krm_fn.resource import group_of, kind_of
from krm_fn.schema import table
from krm_fn.schema.flaws import ELSEWHERE, Flaw
from krm_fn.schema.kinds import counts, kind_known, refused, version_of
from krm_fn.schema.node import walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from krm_fn.releases import Release
    from krm_fn.resource import Object
    from krm_fn.schema.crds import Crds
    from krm_fn.schema.kinds import Kind
    from krm_fn.schema.node import Node


def check(obj: Object, release: Release, crds: Crds | None = None) -> Iterator[Flaw]:
    """Every place of an object that is not as the schema of its kind says; nothing for a kind that has none.

    A release's API tells, unless `crds` has a definition of the kind.
    """
    row = kind_known(obj, release)
    defined = crds.node(group_of(obj), version_of(obj), kind_of(obj), release) if crds else None
    if defined is None:
        return _tagged(_of_api(obj, row, release), row) if row else iter(())
    found = _walked(obj, defined)
    # The webhooks don't look at definitions: they know the release's own types.
    webhooks = {flaw.path for flaw in _of_api(obj, row, release) if refused(flaw, row)} if row and found else set()
    return (flaw.but(upstream="admission") if flaw.path in webhooks else flaw for flaw in found if counts(flaw, row))


def of_other_releases(obj: Object, release: Release) -> Iterator[Flaw]:
    """The fields of an object that other releases of the API have and this one has not, where rendering reads the kind."""
    row = kind_known(obj, release)
    if row is None or not row.always:
        return iter(())
    return _tagged([flaw for flaw in _of_api(obj, row, release) if flaw.kind == ELSEWHERE], row)


def _of_api(obj: Object, row: Kind, release: Release) -> list[Flaw]:
    return _walked(obj, table.of(release).node(row.type))


def _walked(obj: Object, node: Node) -> list[Flaw]:
    found = Limited()
    walk(obj, node, (), found)
    return found.all()


def _tagged(found: Iterable[Flaw], row: Kind) -> Iterator[Flaw]:
    for flaw in found:
        if counts(flaw, row):
            yield flaw.but(upstream="admission") if refused(flaw, row) else flaw
