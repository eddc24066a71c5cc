"""The structured merge of the API server: two values merged, compared, and freed of fields.

A field set is a set of paths in the words of `fieldsV1`: `("f:spec", "f:running")`, `k:{"name":"a"}` for an entry of a list.

The schema says how the values of each place of an object are merged.

upstream: sigs.k8s.io/structured-merge-diff/v6/typed;
k8s.io/kube-openapi/pkg/schemaconv, sigs.k8s.io/structured-merge-diff/v6/schema
"""

from __future__ import annotations

import json

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.objects import Object
from krm_fn.base.value import Value
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.schema import table
from krm_fn.kubevirt.schema.kinds import kind_known
from krm_fn.kubevirt.schema.node import SchemaNode

Step = tuple[str, ...]
FieldSet = set[Step]
ABSENT = object()


class FieldComparison(Value):
    """The fields that one object has and another one lacks, and those that both have with other values."""

    removed: FieldSet
    modified: FieldSet
    added: FieldSet

    @property
    def written(self) -> FieldSet:
        """The fields with a new value."""
        return self.modified | self.added


def element(item: Any, place: TypedPlace) -> str:
    """The path element of an entry of a list that is merged by keys, or of a set."""
    if place.keys:
        chosen = {key: item[key] for key in sorted(place.keys) if key in item} if isinstance(item, dict) else {}
        return "k:" + json.dumps(chosen, separators=(",", ":"), ensure_ascii=False)
    return "v:" + json.dumps(item, ensure_ascii=False)


def _entries(value: Any, place: TypedPlace) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for item in value or ():
        found.setdefault(element(item, place), []).append(item)
    return found


def _kept(value: Any, kind: str) -> Any:
    """The map or list to visit, None if the value is none of the kind."""
    return value if isinstance(value, dict if kind == MAP else list) else None


def _is_one_value(place: TypedPlace, kind: str, *values: Any) -> bool:
    """True if a place counts as a whole. Two empty values do, which tells an empty one from null."""
    whole = place.atomic or (kind == LIST and place.keys is None)
    return kind == SCALAR or whole or not any(_kept(value, kind) for value in values)


def merged(live: Any, new: Any, place: TypedPlace) -> Any:
    """`live` with what `new` has; what only `live` has stays. ABSENT stands for a value that is not there."""
    kind = place.kind_of(live if new is ABSENT else new)
    if _is_one_value(place, kind, live, new):
        return live if new is ABSENT else new
    if kind == LIST:
        return _merged_lists(_kept(live, kind) or [], _kept(new, kind) or [], place)
    old, added = _kept(live, kind) or {}, _kept(new, kind) or {}
    keys = [*old, *(key for key in added if key not in old)]
    return {key: merged(old.get(key, ABSENT), added.get(key, ABSENT), place.below(key)) for key in keys}


def _merged_lists(live: list[Any], new: list[Any], place: TypedPlace) -> list[Any]:
    """Entries of `new` in their order; those that only `live` has keep their place before what follows them."""
    items = place.items or place
    old, added = _entries(live, place), _entries(new, place)
    names, order = [element(item, place) for item in live], list(added)
    shared = [name for name in order if name in old]
    done: set[str] = set()
    out = []

    def take(name: str) -> None:
        done.add(name)
        twins = old.get(name, ())
        out.append(merged(twins[0] if len(twins) == 1 else None if twins else ABSENT, added[name][0], items))
        if shared and (shared[0] == name):
            shared.pop(0)

    left, right = 0, 0
    while left < len(names) or right < len(order):
        name = names[left] if left < len(names) else None
        if name and right < len(order):
            if name == order[right]:
                take(name)
                left, right = left + 1, right + 1
                continue
            if name in added and shared and shared[0] != name:
                left += 1  # its turn comes with the manifest's order
                continue
        if name and name not in added:
            out.append(live[left])
            left += 1
            continue
        left += name in done
        if right < len(order):
            take(order[right])
            right += 1
    return out


def field_set(value: Any, place: TypedPlace) -> FieldSet:
    """All fields that a value names."""
    out: FieldSet = set()
    _add_fields(value, place, (), out)
    return out


def _add_fields(value: Any, place: TypedPlace, path: Step, out: FieldSet) -> None:
    kind = place.kind_of(value)
    if kind == SCALAR or place.atomic or (kind == LIST and place.keys is None):
        out.add(path)
    elif kind == MAP:
        known = place.fields
        for key, each in (_kept(value, kind) or {}).items():
            at = (*path, "f:" + key)
            _add_fields(each, place.below(key), at, out)
            if each is None or each == {} or key not in known:
                out.add(at)
    else:
        for name, twins in _entries(_kept(value, kind), place).items():
            out.add((*path, name))
            if len(twins) == 1:
                _add_fields(twins[0], place.items or place, (*path, name), out)


def compared(old: Any, new: Any, place: TypedPlace) -> FieldComparison:
    """What differs between two values."""
    found = FieldComparison(removed=set(), modified=set(), added=set())
    _compare(old, new, place, (), found)
    return found


def _compare(old: Any, new: Any, place: TypedPlace, path: Step, found: FieldComparison) -> None:
    kinds = {place.kind_of(value) for value in (old, new) if value is not ABSENT}
    for kind in kinds:
        if _is_one_value(place, kind, old, new):
            if ABSENT not in (old, new) and not is_same(old, new):
                found.modified.add(path)
        elif kind == MAP:
            below, beside = _kept(old, kind) or {}, _kept(new, kind) or {}
            for key in {**below, **beside}:
                _compare(below.get(key, ABSENT), beside.get(key, ABSENT), place.below(key), (*path, "f:" + key), found)
        else:
            _compare_lists(_entries(_kept(old, kind), place), _entries(_kept(new, kind), place), place, path, found)
    if old is ABSENT:
        found.added.add(path)
    elif new is ABSENT:
        found.removed.add(path)


def _compare_lists(
    old: dict[str, list[Any]], new: dict[str, list[Any]], place: TypedPlace, path: Step, found: FieldComparison
) -> None:
    for name in {**old, **new}:
        twins, others, at = old.get(name, []), new.get(name, []), (*path, name)
        if max(len(twins), len(others)) < 2:
            _compare(twins[0] if twins else ABSENT, others[0] if others else ABSENT, place.items or place, at, found)
        elif min(len(twins), len(others)) > 1:
            if not is_same(twins, others):
                found.modified.add(at)
        elif len(twins) > 1:
            found.removed.add(at)
            if others:
                _compare(ABSENT, others[0], place.items or place, at, found)
        else:
            found.added.add(at)
            if twins:
                _compare(twins[0], ABSENT, place.items or place, at, found)


def is_same(one: Any, other: Any) -> bool:
    """True for equal JSON values; Python takes `true` for 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(is_same(each, other[key]) for key, each in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(is_same, one, other))
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def with_named(fields: FieldSet, place: TypedPlace) -> FieldSet:
    """The field set with the named fields on the way to each of its paths."""
    out = set(fields)
    seen: set[Step] = set()
    for path in fields:
        at = place
        for length, step in enumerate(path, 1):
            prefix = path[:length]
            named = step.startswith("f:")
            if prefix not in seen:
                seen.add(prefix)
                if named and length < len(path) and step[2:] in at.fields:
                    out.add(prefix)
            at = at.below(step[2:]) if named else at.items or at
    return out


def without(value: Any, place: TypedPlace, gone: FieldSet) -> Any:
    """The value without some fields. A map or list that loses its last entry becomes null."""
    above = {path[:length] for path in gone for length in range(len(path))}
    return _without(value, place, (), gone, above) if above else value


def _without(value: Any, place: TypedPlace, path: Step, gone: FieldSet, above: FieldSet) -> Any:
    kind = place.kind_of(value)
    if kind == SCALAR:
        return value
    if _is_one_value(place, kind, value):
        return None
    if kind == MAP:
        left = {
            key: _without(each, place.below(key), at, gone, above) if at in above else each
            for key, at, each in ((key, (*path, "f:" + key), each) for key, each in value.items())
            if at not in gone
        }
        return left or None
    return list(_left(value, place, path, gone, above)) or None


def _left(value: list[Any], place: TypedPlace, path: Step, gone: FieldSet, above: FieldSet) -> Iterator[Any]:
    for item in value:
        at = (*path, element(item, place))
        if at not in gone:
            yield _without(item, place.items or place, at, gone, above) if at in above else item


MAP, LIST, SCALAR, UNTYPED = "map", "list", "scalar", "untyped"

# The maps outside of lists that are merged as one value.
# upstream: `x-kubernetes-map-type: atomic` in pkg/virt-operator/resource/generate/components/validations_generated.go
ATOMIC = frozenset(("selector", "labelSelector", "dataSource", "requiredDuringSchedulingIgnoredDuringExecution"))


class TypedPlace:
    """The type of one place. A map has `fields` by name, and `below` gives the place of any key.

    A list has `items` and `keys`: the names by which its entries are told apart, () in a set, None if the list is one value.
    """

    __slots__ = ("_fields", "_node", "_values", "atomic", "items", "keys", "kind")

    def __init__(self, kind: str, node: SchemaNode | None = None, *, atomic: bool = False) -> None:
        self.kind, self._node, self.atomic = kind, node, atomic
        self.keys: tuple[str, ...] | None = None
        self.items: TypedPlace | None = None
        self._fields: dict[str, TypedPlace] | None = None
        self._values: TypedPlace | None = None

    @property
    def fields(self) -> dict[str, TypedPlace]:
        """The places below, by the names that the schema has."""
        if self._fields is None:
            fields = self._node.fields if self._node else {}
            self._fields = {name: _place(node, name) for name, node in fields.items()}
            if self._node and self._node.values:
                self._values = _place(self._node.values)
        return self._fields

    def below(self, key: str) -> TypedPlace:
        """The place of a key; an untyped one if the schema does not have it."""
        return self.fields.get(key) or self._values or FREE

    def kind_of(self, value: Any) -> str:
        """The kind of a value here. An untyped null counts as a map, as upstream tries the kinds."""
        if self.kind != UNTYPED:
            return self.kind
        return LIST if isinstance(value, list) else MAP if value is None or isinstance(value, dict) else SCALAR


FREE = TypedPlace(UNTYPED)
_kinds: dict[tuple[str, tuple[int, ...]], TypedPlace] = {}


def _place(node: SchemaNode, key: str = "") -> TypedPlace:
    if node.lax == "free" or (node.plain and not node.accepts and dict in node.plain):
        return FREE
    if node.of_map:
        return TypedPlace(MAP, node, atomic=key in ATOMIC)
    if node.items is None:
        return TypedPlace(SCALAR)
    found = TypedPlace(LIST, atomic=node.keys is None)
    found.keys, found.items = node.keys, _place(node.items)
    return found


def _metadata() -> TypedPlace:
    """The metadata that users write. upstream: k8s.io/apimachinery/pkg/apis/meta/v1:ObjectMeta"""
    found, texts, finalizers, owners = TypedPlace(MAP), TypedPlace(MAP), TypedPlace(LIST), TypedPlace(LIST)
    texts._values = TypedPlace(SCALAR)  # noqa: SLF001  still being made
    finalizers.keys, finalizers.items = (), TypedPlace(SCALAR)
    owners.keys, owners.items = ("uid",), TypedPlace(MAP, atomic=True)
    found._fields = {"labels": texts, "annotations": texts, "finalizers": finalizers, "ownerReferences": owners}
    return found


METADATA = _metadata()


def place_of(obj: Object, release: Release) -> TypedPlace:
    """The place of a whole object of a kind; all but the metadata is untyped if the release does not have the kind."""
    row = kind_known(obj, release)
    key = (row.type if row else "", release.version)
    if key not in _kinds:
        root = TypedPlace(MAP, table.of(release).node(row.type) if row else None)
        root.fields["metadata"] = METADATA
        _kinds[key] = root
    return _kinds[key]
