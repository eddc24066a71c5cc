"""Migration: objects of kinds and forms that a release no longer serves become objects that it serves.

Each change is a row of `rewrites.REWRITES`. The rows apply to one object at a time, in this order. Presets concern several
objects and come last. A part that cannot be migrated becomes a finding. A second migration changes nothing more.
A text that is written with `RENAMED_KEYS` as its `successors` keeps the lines and comments of renamed keys.
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator, Mapping, Sequence
from krm_fn.base.bundle import Bundle
from krm_fn.findings import results
from krm_fn.findings.finding import Finding
from krm_fn.kubevirt.releases import Release
from krm_fn.migrate import forms
from krm_fn.migrate.forms import MATCHER, Migration
from krm_fn.migrate.presets import migrate_presets
from krm_fn.migrate.rewrites import CHOICE, rewritten
from krm_fn.pipeline.modes import replaced
from krm_fn.rules import registry
from krm_fn.rules.facts.migrations import Leftover, MigrationFacts

Way = tuple[Release, Mapping[str, str]]


__all__ = ["RENAMED_KEYS", "migrate"]

RENAMED_KEYS = {**forms.CAPITALS, **forms.RUNNING, **forms.DISKS, **forms.VOLUMES, **forms.EXCLUSION, **MATCHER, **CHOICE}


def migrate(
    items: Sequence[Any],
    release: Release,
    *,
    severity: Mapping[str, str] | None = None,
    places: Sequence[tuple[str, int]] = (),
    ways: Sequence[Way] = (),
) -> tuple[list[Any], tuple[Finding, ...]]:
    """All items, and the findings. Items that do not change are the same objects as before; new items come last.

    `severity` maps rule ids to severities, or "off"; `places` has file and index of each item, if the caller knows them. `ways`
    has release and severity of each item, where these differ; presets, which concern several items, are then migrated for
    `release`.
    """
    bundle, same = Bundle(items, places), (release, severity or {})
    migrations = {each: Migration(bundle, each) for each in dict.fromkeys((release, *(way[0] for way in ways)))}
    released = ((entry, migrations[ways[entry.item][0] if ways else release]) for entry in bundle.entries)
    changes = ((entry, (), rewritten(entry, migration)) for entry, migration in released)
    changed = replaced(items, [change for change in changes if change[2] is not change[0].obj])
    again = Migration(Bundle(changed, places), release)
    changed = migrate_presets(changed, again)
    left: dict[tuple[Release, int], tuple[Way, list[Leftover]]] = {}
    for leftover in (each for migration in (*migrations.values(), again) for each in migration.leftovers):
        way = ways[leftover.entry.item] if ways else same
        left.setdefault((way[0], id(way[1])), (way, []))[1].append(leftover)
    return changed, results.ordered(finding for way, found in left.values() for finding in _placed(way, found, bundle))


def _placed(way: Way, leftovers: Sequence[Leftover], bundle: Bundle) -> Iterator[Finding]:
    release, severity = way
    facts = MigrationFacts(release=release, leftovers=tuple(leftovers))
    for finding in registry.judge_bundle(facts, severity, "migration"):
        file, index = bundle.place(finding.item)
        yield finding.but(file=file, index=index) if file else finding
