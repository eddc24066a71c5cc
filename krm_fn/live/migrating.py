"""How the fields of earlier managers go over to the manager of a tool that applies on the server's side.

upstream: k8s.io/client-go/util/csaupgrade, github.com/fluxcd/pkg/ssa/patch.go
"""

from __future__ import annotations

from krm_fn.base.annotations import Callable, Iterable
from krm_fn.live.owners import APPLY, BEFORE, UPDATE, FieldOwner, Owners

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
HOLDS = ("f:metadata", "f:annotations", "f:" + LAST_APPLIED)
CLIENT_SIDE_APPLY = "kubectl-client-side-apply"


def holders(owners: Owners) -> list[str]:
    """The managers of updates that hold the annotation of a client-side apply."""
    return sorted({owner.manager for owner in owners if owner.operation == UPDATE and HOLDS in owner.fields})


def upgraded(owners: Owners, managers: Iterable[str], own: str) -> Owners:
    """The owners once the updates of some managers went over to the Apply entry of `own`.

    Of each manager, only fields held at the entry's API version go over. The others are nobody's.
    """
    for manager in managers:
        given = [owner for owner in owners if (owner.manager, owner.operation, owner.subresource) == (manager, UPDATE, "")]
        target = next((owner for owner in owners if owner.is_entry_of(own, APPLY, "")), None)
        if not given:
            continue
        version = target.version if target else given[0].version
        fields = {path for owner in given if owner.version == version for path in owner.fields}
        owners = _with_fields([owner for owner in owners if owner not in given], own, version, fields)
    return owners


def taken_by_flux(owners: Owners, own: str, version: str) -> Owners:
    """The owners after Flux's cleanup: what somebody set with kubectl is Flux's own, and that annotation is gone."""

    def taken(owner: FieldOwner) -> bool:
        by_kubectl = owner.manager.startswith("kubectl") or owner.manager == BEFORE
        return owner.subresource == "" and (by_kubectl or (owner.manager, owner.operation) == (own, UPDATE))

    owners = tuple(owner.but(fields=owner.fields - {HOLDS}) for owner in owners)
    fields = {path for owner in owners if taken(owner) for path in owner.fields}
    return _with_fields([owner for owner in owners if not taken(owner)], own, version, fields) if fields else owners


def with_annotation(owners: Owners, version: str) -> Owners:
    """The owners once kubectl has written the annotation of its client-side days by a manager of its own."""
    return _with_fields(owners, "kubectl-last-applied", version, (HOLDS,))


def _with_fields(owners: Iterable[FieldOwner], manager: str, version: str, fields: Iterable[tuple[str, ...]]) -> Owners:
    rest = tuple(owners)
    is_own: Callable[[FieldOwner], bool] = lambda owner: owner.is_entry_of(manager, APPLY, version)  # noqa: E731
    own = next(filter(is_own, rest), FieldOwner(manager=manager, operation=APPLY, version=version))
    return (*(owner for owner in rest if not is_own(owner)), own.but(fields=own.fields | frozenset(fields)))
