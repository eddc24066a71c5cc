"""The quotas whose use changes: what machines use of them before and after, against what they allow after the change."""

from __future__ import annotations

from krm_fn.base.annotations import Iterator, Sequence
from krm_fn.base.bundle import Bundle, effective_namespace
from krm_fn.base.objects import Object, name_of
from krm_fn.kubevirt.pods.amounts import ZERO, Amounts
from krm_fn.sizing import quotas, storage
from krm_fn.sizing.demands import Demand
from krm_fn.sizing.quotas import Quota, QuotaUse

Counted = tuple[Bundle, Sequence[Demand]]


def limited_namespaces(base: Bundle, head: Bundle) -> frozenset[str]:
    """The namespaces in which a quota of the head counts."""
    if not quotas.quotas_of(head, ()):
        return frozenset()
    return frozenset(name for quota in _quotas(base, head) for name in quota.namespaces)


def _quotas(base: Bundle, head: Bundle) -> list[Quota]:
    names = {name_of(entry.obj) for entry in head.of_kind("Namespace", "")}
    names.update(effective_namespace(entry.obj) for side in (base, head) for entry in side.entries)
    return quotas.quotas_of(head, sorted(names))


def changed_uses(base: Counted, head: Counted) -> list[Object]:
    """The quotas whose use or bounds change, as plain data with both uses; see `schema`."""
    bundle = head[0]
    hard_before = {_identity(quota): quota.hard for quota in quotas.quotas_of(base[0], ())}
    counted = [quotas.Counted(demands, storage.of_bundle(side)) for side, demands in (base, head)]
    found = []
    for quota in _quotas(base[0], bundle):
        before, after = (side.use_of(quota) for side in counted)
        rows = list(_rows(before, after, hard_before.get(_identity(quota), {})))
        if rows:
            found.append({**quotas.place_of(quota), "resources": rows})
    return found


def _identity(quota: Quota) -> tuple[str, ...]:
    obj = quota.entry.obj
    return str(obj.get("kind")), effective_namespace(obj), name_of(obj)


def _rows(before: QuotaUse, after: QuotaUse, hard_before: Amounts) -> Iterator[Object]:
    """The resources of which use or bound change."""
    hard, over = after.quota.hard, after.exceeded
    for name, used in after.used.items():
        was = before.used.get(name, ZERO)
        former = hard_before.get(name)
        moved = former is not None and former.nanos != hard[name].nanos
        if was.nanos == used.nanos and not moved:
            continue
        row: Object = {"name": name, "before": str(was), "after": str(used), "hard": str(hard[name])}
        row.update({"hardBefore": str(former)} if moved else {})
        yield {**row, "exceeded": str(over[name])} if name in over else row
