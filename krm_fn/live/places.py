"""How the API server merges the values of each place of an object.

upstream: k8s.io/kube-openapi/pkg/schemaconv, sigs.k8s.io/structured-merge-diff/v6/schema
"""

from __future__ import annotations

from krm_fn.base.annotations import Any
from krm_fn.base.objects import Object
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.schema import table
from krm_fn.kubevirt.schema.kinds import kind_known
from krm_fn.kubevirt.schema.node import SchemaNode

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
