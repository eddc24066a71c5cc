"""`drift`: what applying git would change on each live machine.

It is `diff` of a cluster and of the same cluster after git is applied to it, with what the API server and other managers say.
"""

from __future__ import annotations

from krm_fn.base.objects import Object
from krm_fn.changes.diffing import compare
from krm_fn.changes.owners import Key
from krm_fn.changes.pairs import Assumptions
from krm_fn.changes.sides import Side
from krm_fn.changes.summary import summary
from krm_fn.live import dumps
from krm_fn.live.overlaying import Overlay


def drift(base: Side, head: Side, overlay: Overlay, assumptions: Assumptions) -> Object:
    """The answer of `diff`, with `contested` fields in the records, and `unmanaged` machines that git does not have.

    `base` is the cluster as it is, `head` the same after git is applied to it.
    """
    answer = compare(base, head, assumptions)
    found = {(record["namespace"], record["name"], record["kind"]): record for record in answer["vms"]}
    for of_cluster, update in overlay.refused.items():
        key = _key(of_cluster)
        if key in base.holders:
            named = {"kind": key[2], "namespace": key[0], "name": key[1], "change": "changed"}
            found[key] = {**named, "effect": ["refused"], "update": update}
    for of_cluster, fields in overlay.contested.items():
        key = _key(of_cluster)
        if key in found:
            found[key] = {**found[key], "contested": fields}
    records = [found[key] for key in sorted(found)]
    figures = answer["summary"]
    live = {"live": len(base.holders), "unmanaged": len(overlay.unmanaged)}
    counted = {**summary(records, figures["total"], figures.get("others", 0)), **live}
    return {**answer, "vms": records, "unmanaged": overlay.unmanaged, "summary": counted}


def _key(key: dumps.Key) -> Key:
    _, kind, namespace, name = key
    return namespace, name, kind
