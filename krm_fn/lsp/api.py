"""Fields of the API in a release: what may stand below a place, with which type and which values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from krm_fn.base.paths import EACH
from krm_fn.base.value import Value
from krm_fn.kubevirt.admission.fields.live_update import RUN_STRATEGIES
from krm_fn.kubevirt.admission.specs import GROUPS
from krm_fn.kubevirt.holders import HOLDERS
from krm_fn.kubevirt.releases import Release, Version
from krm_fn.kubevirt.schema import kinds, table
from krm_fn.kubevirt.schema.node import SchemaNode

Span = tuple[Version, Version]


# Places that the table leaves to Kubernetes.
METADATA = ("name", "namespace", "labels", "annotations")
BOOLEANS = ("true", "false")


class ApiField(Value):
    """A field: `type` in words, the `values` that it may have if they are listed, and the releases that lack or have it.

    `elsewhere` are the spans of releases that know a field which the target release does not know. `is_list` and `is_map` say
    what the value is; `required` that the object must have it.
    """

    name: str
    type: str
    values: tuple[str, ...] = ()
    elsewhere: tuple[Span, ...] = ()
    required: bool = False
    is_list: bool = False
    is_map: bool = False


def node_at(api_version: str, kind: str, path: Sequence[Any], release: Release) -> SchemaNode | None:
    """The schema of a place in an object; None if the release does not know the kind or the place."""
    row = kinds.kind_known({"apiVersion": api_version, "kind": kind}, release)
    node: SchemaNode | None = table.of(release).node(row.type) if row else None
    for step in path:
        if node is None:
            return None
        node = node.items if isinstance(step, int) else node.fields.get(step, node.values) if node.of_map else None
    return node


def fields_at(api_version: str, kind: str, path: Sequence[Any], release: Release) -> list[ApiField]:
    """The fields below a place, in the order of the API."""
    node = node_at(api_version, kind, path, release)
    if node is None or not node.of_map:
        return []
    names = [name for name in node.fields if name != "status" or path]
    return [_field(name, node, node.fields[name]) for name in names]


def field_at(api_version: str, kind: str, path: Sequence[Any], release: Release) -> ApiField | None:
    """The field at a place; None if it is not known in any release."""
    if not path:
        return None
    parent = node_at(api_version, kind, path[:-1], release)
    name = path[-1]
    if parent is None or not isinstance(name, str):
        return None
    node = parent.fields.get(name)
    if node:
        found = _field(name, parent, node)
        return found if found.values else found.but(values=_admitted(api_version, kind, path, release))
    spans = parent.spans(name) if parent.spans else ()
    return ApiField(name=name, type="", elsewhere=tuple(spans)) if spans else None


def _admitted(api_version: str, kind: str, path: Sequence[Any], release: Release) -> tuple[str, ...]:
    """The values that KubeVirt's webhooks admit at a place of a machine, where the API itself lists none."""
    holder = HOLDERS.get((api_version.rpartition("/")[0], kind))
    if holder is None:
        return ()
    if holder.vm is not None and tuple(path) == holder.in_vm(("spec", "runStrategy")):
        return RUN_STRATEGIES
    spec = holder.instance
    if tuple(path[: len(spec)]) != spec:
        return ()
    below = tuple(EACH if isinstance(step, int) else step for step in path[len(spec) :])
    for group in GROUPS:
        for check in group.checks:
            if check.known and (*group.at, *check.at) == below and release.within(since=check.since, until=check.until):
                return check.known
    return ()


def _field(name: str, parent: SchemaNode, node: SchemaNode) -> ApiField:
    return ApiField(
        name=name,
        type=_words(node),
        values=tuple(_values(node)),
        required=name in parent.required,
        is_list=node.items is not None,
        is_map=node.of_map,
    )


def _words(node: SchemaNode) -> str:
    if node.items is not None:
        return f"a list of {_plural(node.items)}"
    return node.expected


def _plural(node: SchemaNode) -> str:
    return {"a map": "maps", "a string": "strings", "an integer": "integers"}.get(node.expected, node.expected)


def _values(node: SchemaNode) -> Iterator[str]:
    of = node.items if node.items is not None else node
    if of.expected == "true or false":
        yield from BOOLEANS
    yield from (str(value) for value in of.listed if value is not None)
