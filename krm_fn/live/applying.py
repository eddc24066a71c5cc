"""What the API server stores when a manifest is applied to a live object, in the manners of the tools that apply.

upstream: k8s.io/apimachinery/pkg/util/managedfields/internal, k8s.io/kubectl/pkg/cmd/apply,
sigs.k8s.io/structured-merge-diff/v6/merge
"""

from __future__ import annotations

import json

from krm_fn.base.annotations import Sequence
from krm_fn.base.objects import Object, metadata, text
from krm_fn.base.paths import as_map, copy
from krm_fn.kubevirt.releases import NEWEST, Release
from krm_fn.kubevirt.updates.stored_form import merge_patch, patched, without_nulls
from krm_fn.live.merging import FieldSet, TypedPlace, compared, field_set, merged, place_of, with_named, without
from krm_fn.live.owners import (
    APPLY,
    BEFORE,
    CLIENT_SIDE_APPLY,
    HOLDS,
    LAST_APPLIED,
    UPDATE,
    ApplyConflictError,
    ApplyRefusedError,
    Conflict,
    FieldOwner,
    Owners,
    after,
    entries,
    held,
    holders,
    owners_of,
    taken_by_flux,
    text_of,
    upgraded,
    with_annotation,
)
from krm_fn.live.refusing import refuse_stored, refuse_strange, with_defaults, without_dropped

SERVER_SIDE, CLIENT_SIDE, REPLACE = "server-side", "client-side", "replace"
WRITTEN = ("labels", "annotations", "finalizers", "ownerReferences")
KUBECTL = "kubectl"


def applied(
    live: Object | None,
    manifest: Object,
    *,
    manner: str = SERVER_SIDE,
    manager: str = KUBECTL,
    force: bool = True,
    migrate: str = "",
    release: Release = NEWEST,
) -> Object:
    """The object as it would be stored, with its `managedFields`, once a manifest is applied to a live one, or to none.

    `manner` is server-side, client-side or replace. `migrate` is the tool whose apply first takes the fields of other managers
    over: `flux`, `argocd` or `kubectl`. Admission webhooks are not asked.
    Raises: ApplyConflictError where an apply without `force` meets fields of others; ApplyRefusedError where the API server
    refuses.
    """
    request = _Request(live, manifest, manager, release)
    if manner == SERVER_SIDE:
        return request.by_tool(migrate) if migrate else request.server_side(force=force)
    return request.client_side() if manner == CLIENT_SIDE and live else request.put(pruned=manner == CLIENT_SIDE)


class _Request:
    """A manifest on its way to a live object. `body` is what an object has beside its name and what the server writes."""

    def __init__(self, live: Object | None, manifest: Object, manager: str, release: Release) -> None:
        self.live, self.manifest, self.manager, self.release = live, manifest, manager, release
        self.place: TypedPlace = place_of(manifest, release)
        self.version = text(manifest.get("apiVersion"))
        self.owners: Owners = owners_of(live) if live else ()

    def server_side(self, *, force: bool) -> Object:
        """The object after a server-side apply."""
        refuse_strange(self.manifest, self.release, typed=True)
        old, new = body(self.live or {}), body(self.manifest)
        owners = self.owners
        if self.live and not owners:
            owners = _first_owners(old, self.version, self.place)
        try:
            return self._merged(old, new, owners, force=force)
        except ApplyConflictError as error:
            if self.manager != KUBECTL:
                raise
            if others := _unexpected(error.conflicts, self.live or {}, old, self.place):
                raise ApplyConflictError(others) from None
            return self._merged(old, new, owners, force=True)

    def by_tool(self, tool: str) -> Object:
        """The object after the server-side apply of a tool that takes over what earlier managers hold. All of them force."""
        if tool == "flux" and self.live:
            owners = taken_by_flux(self.owners, self.manager, self.version)
            live = without(body(self.live), self.place, {HOLDS})
            return self._on(_as_decoded(live), owners).server_side(force=True)
        if tool == "argocd" and self.live:
            self.owners = upgraded(self.owners, (CLIENT_SIDE_APPLY,), self.manager)
        first = self.server_side(force=True)
        owners = owners_of(first)
        managers = holders(owners)
        if not managers:
            return first
        try:
            second = self._on(body(first), upgraded(owners, managers, self.manager)).server_side(force=True)
        except ApplyRefusedError:  # kubectl warns and goes on
            return first
        sent = as_map(metadata(self.live or {}).get("annotations")).get(LAST_APPLIED)
        if self.manager != KUBECTL or sent is None:
            return second
        named = {**metadata(second), "annotations": {**as_map(metadata(second).get("annotations")), LAST_APPLIED: sent}}
        named["managedFields"] = entries(with_annotation(owners_of(second), self.version))
        return {**second, "metadata": named}

    def _on(self, live: Object, owners: Owners) -> _Request:
        """The same request for the live object with other contents and owners."""
        given = self.live or self.manifest
        found = _Request(None, self.manifest, self.manager, self.release)
        named = {**{key: each for key, each in metadata(given).items() if key not in WRITTEN}, **as_map(live.get("metadata"))}
        status = {"status": given["status"]} if "status" in given else {}
        head: Object = {key: given[key] for key in ("apiVersion", "kind") if key in given}
        found.live, found.owners = {**head, **live, "metadata": named, **status}, owners
        return found

    def _merged(self, old: Object, new: Object, owners: Owners, *, force: bool) -> Object:
        mine = field_set(new, self.place)
        last = held(owners, self.manager, APPLY, self.version)
        result: Object = merged(old, new, self.place)
        own = FieldOwner(manager=self.manager, operation=APPLY, version=self.version, fields=frozenset(mine))
        if last:
            others = {path for owner in owners if not owner.is_entry_of_same(own) for path in owner.fields}
            result = _pruned(result, self.place, last, others | mine)
        owners = after(owners, own, compared(old, result, self.place), force=force)
        result = with_defaults(_as_decoded(result))
        return self._stored(result, owners, nulls=True)

    def client_side(self) -> Object:
        """The object after a client-side apply to a live one."""
        live = self.live or {}
        last = last_applied(live)
        new = _annotated(self.manifest)
        patch = merge_patch(body(last), body(new), body(live))
        if not patch:
            return {**live}
        refuse_strange(self.manifest, self.release)
        return self._updated(as_map(patched(body(live), patch)))

    def put(self, *, pruned: bool) -> Object:
        """The object after it is replaced, or created. `pruned`: kubectl sends no nulls when it creates an object."""
        sent = _annotated(without_nulls(self.manifest)) if pruned else self.manifest
        refuse_strange(sent, self.release)
        if not self.live and self.manager == "kubectl-replace":
            self.manager = "kubectl-create"  # replacing creates nothing
        return self._updated(body(sent))

    def _updated(self, new: Object) -> Object:
        old = body(self.live or {})
        result = with_defaults(without_dropped(_as_decoded(new), self.manifest, self.release))
        owners = self.owners
        if owners or not self.live:
            found = compared(old, result, self.place)
            owned = held(owners, self.manager, UPDATE, self.version) - found.removed | found.written - {("f:metadata",)}
            own = FieldOwner(manager=self.manager, operation=UPDATE, version=self.version, fields=frozenset(owned))
            owners = after(owners, own, found)
        return self._stored(result, owners, nulls=False)

    def _stored(self, result: Object, owners: Owners, *, nulls: bool) -> Object:
        live = self.live or {}
        kept = {key: each for key, each in metadata(self.live or self.manifest).items() if key not in WRITTEN}
        named = {**copy(kept), **as_map(result.pop("metadata", None)), "managedFields": entries(owners)}
        status = {"status": copy(live["status"])} if "status" in live else {}
        stored = {"apiVersion": self.version, "kind": self.manifest.get("kind"), "metadata": named, **result, **status}
        refuse_stored(stored, live, self.release, nulls=nulls)
        return stored


def body(obj: Object) -> Object:
    """A copy of what users write of an object beside its name."""
    written = {key: copy(each) for key, each in metadata(obj).items() if key in WRITTEN}
    rest = {key: copy(each) for key, each in obj.items() if key not in ("apiVersion", "kind", "metadata", "status")}
    return {**({"metadata": written} if written else {}), **rest}


def last_applied(live: Object) -> Object:
    """The manifest that the last client-side apply sent; {} if there is none, or if it can't be read."""
    try:
        return as_map(json.loads(text(as_map(metadata(live).get("annotations")).get(LAST_APPLIED)) or "{}"))
    except ValueError:
        return {}


def _annotated(manifest: Object) -> Object:
    """A manifest with itself as the annotation that a client-side apply sends. One null makes kubectl read no annotation."""
    given = as_map(metadata(manifest).get("annotations"))
    given = {} if any(each is None for each in given.values()) else given
    named = {key: value for key, value in given.items() if key != LAST_APPLIED}
    plain = {**manifest, "metadata": {**metadata(manifest), "annotations": named}}
    sent = json.dumps(plain, separators=(",", ":"), sort_keys=True, ensure_ascii=False) + "\n"
    return {**plain, "metadata": {**plain["metadata"], "annotations": {**named, LAST_APPLIED: sent}}}


def _as_decoded(result: Object) -> Object:
    """The body as Go decodes its metadata: null and empty parts are left out, a null among texts is \"\"."""
    named = {key: each for key, each in as_map(result.get("metadata")).items() if each not in (None, {}, [])}
    for key in ("labels", "annotations"):
        if key in named:
            named[key] = {name: "" if value is None else value for name, value in as_map(named[key]).items()}
    return {**result, "metadata": named}


def _first_owners(live: Object, version: str, place: TypedPlace) -> Owners:
    """All that lives, held by nobody known: the first apply to an object without owners."""
    fields = compared({}, live, place).added - {("f:metadata",)}
    return (FieldOwner(manager=BEFORE, operation=UPDATE, version=version, fields=frozenset(fields)),)


def _unexpected(conflicts: Sequence[Conflict], live: Object, old: Object, place: TypedPlace) -> list[Conflict]:
    """The conflicts of kubectl but for those at fields that live as its last client-side apply sent them.

    upstream: k8s.io/apimachinery/pkg/util/managedfields/internal/lastappliedmanager.go
    """
    last = body(last_applied(live))
    found = compared(last, old, place)
    same = {text_of(path) for path in field_set(last, place) - found.modified - found.removed}
    return [each for each in conflicts if each["field"] not in same]


def _pruned(result: Object, place: TypedPlace, last: FieldSet, kept: FieldSet) -> Object:
    """What is left once the fields that the manager held are gone, but for those that are `kept`.

    upstream: sigs.k8s.io/structured-merge-diff/v6/merge/update.go:prune
    """
    named = with_named(last, place)
    pruned = without(result, place, named) or {}
    everything = with_named(field_set(result, place), place)
    left = with_named(field_set(pruned, place), place) | with_named(kept, place)
    pruned = without(result, place, everything - left) or {}
    left = with_named(field_set(pruned, place), place)
    return as_map(without(result, place, (everything - left) & named))
