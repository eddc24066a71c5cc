"""Who holds which fields of a live object: the entries of `metadata.managedFields`.

And how the fields of earlier managers go over to the manager of a tool that applies on the server's side.

upstream: k8s.io/apimachinery/pkg/util/managedfields/internal;
k8s.io/client-go/util/csaupgrade, github.com/fluxcd/pkg/ssa/patch.go
"""

from __future__ import annotations

import json

from krm_fn.base.annotations import Any, Callable, Iterable, Sequence
from krm_fn.base.objects import Object, metadata
from krm_fn.base.paths import as_list, as_map
from krm_fn.base.value import Value
from krm_fn.live.merging import FieldComparison, FieldSet, Step

APPLY, UPDATE = "Apply", "Update"
BEFORE = "before-first-apply"


class FieldOwner(Value):
    """A manager and the fields that it holds; `fields` start at the object's root."""

    manager: str
    operation: str
    version: str
    subresource: str = ""
    fields: frozenset[Step] = frozenset()

    def is_entry_of_same(self, other: FieldOwner) -> bool:
        """True for the entry that another request of the same sort has left."""
        return self.is_entry_of(other.manager, other.operation, other.version)

    def is_entry_of(self, manager: str, operation: str, version: str) -> bool:
        """True for the entry that a request of a manager for the object itself writes."""
        same = (self.manager, self.operation, self.subresource) == (manager, operation, "")
        return same and (operation == APPLY or self.version == version)


Owners = tuple[FieldOwner, ...]
Conflict = dict[str, str]


class ApplyConflictError(Exception):
    """Other managers hold fields that an apply without force changes. `conflicts`: `{"manager", "field"}` each."""

    def __init__(self, conflicts: Sequence[Conflict]) -> None:
        super().__init__(f"{len(conflicts)} conflicts, first with {conflicts[0]['manager']} at {conflicts[0]['field']}")
        self.conflicts = conflicts


class ApplyRefusedError(Exception):
    """The API server refuses what is sent. `causes`: `{"field"}` each."""

    def __init__(self, causes: Iterable[str]) -> None:
        self.causes = [{"field": each} for each in causes]
        super().__init__("refused at " + ", ".join(each["field"] for each in self.causes))


def owners_of(live: Object) -> Owners:
    """The owners of a live object's fields; () where it was exported without them."""
    return tuple(
        FieldOwner(
            manager=str(entry.get("manager", "")),
            operation=str(entry.get("operation", "")),
            version=str(entry.get("apiVersion", "")),
            subresource=str(entry.get("subresource", "")),
            fields=frozenset(_paths(as_map(entry.get("fieldsV1")), ())),
        )
        for entry in map(as_map, as_list(metadata(live).get("managedFields")))
    )


def _paths(fields: dict[str, Any], path: Step) -> Iterable[Step]:
    for key, below in fields.items():
        if key == ".":
            yield path
        elif isinstance(below, dict) and below:
            yield from _paths(below, (*path, key))
        else:
            yield (*path, key)


def entries(owners: Owners) -> list[Object]:
    """The owners in the form of `managedFields`, without times."""
    return [
        {
            "apiVersion": owner.version,
            "fieldsType": "FieldsV1",
            "fieldsV1": _tree(owner.fields),
            "manager": owner.manager,
            "operation": owner.operation,
            **({"subresource": owner.subresource} if owner.subresource else {}),
        }
        for owner in owners
    ]


def _tree(fields: Iterable[Step]) -> dict[str, Any]:
    root: dict[str, Any] = {}
    paths = sorted(fields)
    holders = {path[:length] for path in paths for length in range(len(path))}
    for path in paths:
        at = root
        for step in path:
            at = at.setdefault(step, {})
        if path in holders:
            at["."] = {}
    return root


def held(owners: Owners, manager: str, operation: str, version: str) -> FieldSet:
    """The fields that a manager holds by requests of one operation."""
    return {path for owner in owners if owner.is_entry_of(manager, operation, version) for path in owner.fields}


def after(owners: Owners, own: FieldOwner, found: FieldComparison, *, force: bool = True) -> Owners:
    """The owners after a request whose entry is `own`, and which changes what was `found`.

    Raises: ApplyConflictError if another manager holds a written field, and nothing forces the request.
    """
    conflicts, rest, written = [], [], found.written
    for owner in owners:
        if owner.is_entry_of_same(own):
            rest.append(own)
            continue
        conflicts += [{"manager": owner.manager, "field": text_of(path)} for path in sorted(owner.fields & written)]
        rest.append(owner.but(fields=owner.fields - written - found.removed))
    if conflicts and not force:
        raise ApplyConflictError(conflicts)
    if own not in rest:
        rest.append(own)
    return tuple(owner for owner in rest if owner.fields)


def text_of(path: Step) -> str:
    """A path as the API server words it in a conflict: `.spec.template.spec.resourceClaims[name="a"]`."""
    return "".join(map(_step, path))


def _step(step: str) -> str:
    sort, rest = step[:2], step[2:]
    if sort == "f:":
        return "." + rest
    if sort == "k:":
        return "[" + ",".join(f"{key}={json.dumps(value)}" for key, value in json.loads(rest).items()) + "]"
    return f"[={rest}]"


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
