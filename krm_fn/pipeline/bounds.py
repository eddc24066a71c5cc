"""What quotas and LimitRanges of a bundle make of its VMs, for the rules about them. Loaded where a bundle has some."""

from __future__ import annotations

from krm_fn.base.paths import as_list, as_map
from krm_fn.kubevirt.releases import is_measured
from krm_fn.pipeline.capacity import demands_of
from krm_fn.pipeline.stopped import Instances
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.facts.completed import QuotaFacts
from krm_fn.sizing import quotas
from krm_fn.sizing.quotas import QuotaUse
from krm_fn.sizing.rows import compared


def with_bounds(facts: BundleFacts, instances: Instances) -> BundleFacts:
    """The facts with those of quotas and of pods that are refused; only VMs that the cluster starts by itself count.

    The facts must be those of mode `validate`. Nothing is said of releases whose pods are not known.
    """
    if not is_measured("pods", facts.release):
        return facts
    own = [demand for demand in demands_of(facts, instances=instances) if not facts.bundle.is_context(demand.entry.item)]
    started = [demand for demand in own if demand.record["starts"]]
    refused = [(demand.entry, as_list(as_map(demand.record.get("limitRange")).get("refused"))) for demand in own]
    return facts.but(
        quotas=tuple(_facts_of(use) for use in quotas.of_bundle(facts.bundle, started)),
        refused_pods=tuple((entry, tuple(why)) for entry, why in refused if why),
    )


def _facts_of(use: QuotaUse) -> QuotaFacts:
    hard = use.quota.hard
    return QuotaFacts(
        entry=use.quota.entry,
        exceeded=tuple((name, *compared(name, str(use.used[name]), str(hard[name]))) for name in sorted(use.exceeded)),
        stopped=tuple((each.demand.entry, each.why) for each in use.stopped),
        migrations=tuple(demand.entry for demand in use.migrations),
        aware=use.quota.is_aware,
    )
