"""What the API server refuses of a manifest and of the object that it makes, and what it drops and fills in.

Admission webhooks are not asked.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.objects import Object, metadata
from krm_fn.base.paths import Path, as_list, dotted, get
from krm_fn.findings.limits import Limited
from krm_fn.kubevirt.holders import RENDERED
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.schema import table
from krm_fn.kubevirt.schema.flaws import DUPLICATE, ELSEWHERE, NULL, TYPE, UNKNOWN, WEBHOOKS, Flaw
from krm_fn.kubevirt.schema.kinds import kind_known
from krm_fn.kubevirt.schema.node import ANY, SchemaNode, walk
from krm_fn.live.merging import is_same
from krm_fn.live.owners import ApplyRefusedError

# What the schema fills in: the place below an entry of `volumes`, and the value.
DEFAULTS: tuple[tuple[Path, Any], ...] = (
    *(
        ((source, ref, "name"), "")
        for source in ("cloudInitNoCloud", "cloudInitConfigDrive")
        for ref in ("secretRef", "networkDataSecretRef")
    ),
    (("configMap", "name"), ""),
    (("sysprep", "configMap", "name"), ""),
    (("sysprep", "secret", "name"), ""),
    (("containerPath", "readOnly"), True),
)
VOLUMES = {holder.kind: holder.in_vm(("spec", "template", "spec", "volumes")) for holder in RENDERED}


def _flaws(obj: Object, release: Release) -> list[Flaw]:
    row = kind_known(obj, release)
    found = Limited()
    if row:
        walk(obj, table.of(release).node(row.type), (), found)
    return [flaw for flaw in found.all() if flaw.by != WEBHOOKS]


def refuse_strange(manifest: Object, release: Release, *, typed: bool = False) -> None:
    """Refuse what can't be decoded: unknown fields, and with `typed` also wrong types and entries that occur twice.

    Raises: ApplyRefusedError.
    """
    if typed and metadata(manifest).get("managedFields"):
        raise ApplyRefusedError(["metadata.managedFields"])
    sorts = (UNKNOWN, ELSEWHERE, *((TYPE, DUPLICATE) if typed else ()))
    row = kind_known(manifest, release)
    served = row is None or row.neighbour or "status" in _fields(manifest, release)
    found = (flaw for flaw in _flaws(manifest, release) if not (served and flaw.path[:1] == ("status",)))
    wrong = [flaw for flaw in found if flaw.kind in sorts or (flaw.kind == TYPE and flaw.path[:1] == ("metadata",))]
    if refused := [dotted(flaw.path) for flaw in wrong if flaw.kind != TYPE or flaw.current is not None]:
        raise ApplyRefusedError(refused)


def _fields(obj: Object, release: Release) -> dict[str, SchemaNode]:
    row = kind_known(obj, release)
    return table.of(release).node(row.type).fields if row else {}


def refuse_stored(obj: Object, live: Object, release: Release, *, nulls: bool) -> None:
    """Refuse an object that the schema does not allow. `nulls`: a null counts as a value, as a server-side apply stores it.

    What the live object has already is let in.
    upstream: k8s.io/apiextensions-apiserver/pkg/apiserver/validation/ratcheting.go
    Raises: ApplyRefusedError.
    """
    causes = _wrong(obj, release, nulls=nulls)
    if causes and live:
        known = _wrong(live, release, nulls=nulls)
        causes = [path for path in causes if path not in known or not is_same(get(obj, path), get(live, path))]
    if causes:
        raise ApplyRefusedError(map(dotted, causes))


def _wrong(obj: Object, release: Release, *, nulls: bool) -> list[Path]:
    causes = [
        flaw.path
        for flaw in _flaws(obj, release)
        if flaw.kind not in (NULL, UNKNOWN, ELSEWHERE) and flaw.path[:1] not in (("status",), ("metadata",))
    ]
    return [*causes, *_nulls(obj.get("spec"), _fields(obj, release).get("spec", ANY), ("spec",))] if nulls else causes


def _nulls(value: Any, node: SchemaNode, path: Path) -> Iterator[Path]:
    """The places of nulls that the schema does not allow."""
    if node is ANY or node.lax == "free":
        return
    if value is None:
        if not node.nullable:
            yield path
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _nulls(each, _below(node, key), (*path, key))
    elif isinstance(value, list):
        for index, each in enumerate(value):
            yield from _nulls(each, node.items or ANY, (*path, index))


def _below(node: SchemaNode, key: str) -> SchemaNode:
    return node.fields.get(key) or node.values or ANY


def without_dropped(body: Object, manifest: Object, release: Release) -> Object:
    """The body without the nulls that the API server drops when it decodes an object.

    upstream: k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting/prune.go
    """
    fields = _fields(manifest, release)
    return {key: each if key == "metadata" else _dropped(each, fields.get(key, ANY)) for key, each in body.items()}


def _dropped(value: Any, node: SchemaNode) -> Any:
    if node is ANY or node.lax == "free":
        return value
    if isinstance(value, dict):
        known = ((key, each, _below(node, key)) for key, each in value.items())
        return {key: _dropped(each, below) for key, each, below in known if each is not None or below is ANY or below.nullable}
    return [_dropped(each, node.items or ANY) for each in value] if isinstance(value, list) else value


def with_defaults(body: Object) -> Object:
    """The body, which this function changes, with what the schema fills in."""
    for path in {*VOLUMES.values()}:
        for volume in as_list(get(body, path)):
            for place, value in DEFAULTS:
                around = get(volume, place[:-1])
                if isinstance(around, dict) and around.get(str(place[-1])) is None:
                    around[str(place[-1])] = value
    return body
