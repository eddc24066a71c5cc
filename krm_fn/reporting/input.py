"""What a report is made of: the described units, the findings of all, and what a change does."""

from __future__ import annotations

from krm_fn.base.value import Value
from krm_fn.findings.finding import Finding
from krm_fn.reporting.describing import PagePart


class DescribedUnit(Value):
    """A described unit: its target and cluster, "" for none, and its own findings."""

    part: PagePart
    target: str = ""
    cluster: str = ""
    findings: tuple[Finding, ...] = ()


class Change(Value):
    """What a change does to a VM or a pool: a word for it, and sentences. The first one is the headline; those that explain the
    one before them are indented."""

    kind: str
    namespace: str
    name: str
    effect: str
    sentences: tuple[str, ...]
    target: str = ""


class Report(Value):
    """All that the page shows.

    `findings` are those that count, `known` others that the commit `since` has, too, and `gone` those that only it has.
    `paths` are the user's, as they stand in the title. `figures` and `change_figures` are one line each, `quota_changes` lines
    about quotas and names. `releases` are those that the findings are for.
    """

    paths: tuple[str, ...]
    units: tuple[DescribedUnit, ...]
    findings: tuple[Finding, ...] = ()
    known: tuple[Finding, ...] = ()
    gone: tuple[Finding, ...] = ()
    since: str = ""
    changes: tuple[Change, ...] = ()
    figures: str = ""
    change_figures: str = ""
    quota_changes: tuple[str, ...] = ()
    releases: tuple[str, ...] = ()

    @property
    def targets(self) -> list[str]:
        """The names of the targets."""
        return [unit.target for unit in self.units if unit.target]
