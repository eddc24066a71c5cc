"""Ignores: the annotation with which an object silences rules about itself.

    kubevirt-render.dev/ignore: "rule-a,rule-b: why they don't matter here"

Each line of the value is one ignore.
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterable, Iterator
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import IGNORE, annotations_of, text
from krm_fn.base.paths import Path
from krm_fn.findings import results
from krm_fn.findings.finding import Finding, Suppressed
from krm_fn.kubevirt.settings import Config
from krm_fn.rules import registry
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.facts.ignores import Ignore, IgnoreFacts
from krm_fn.rules.registry import OWN, POLICY, UNSILENCED

Key = tuple[int, Path, str]


def gather(facts: BundleFacts) -> IgnoreFacts:
    """The ignores of all objects of a bundle, in order."""
    bearers = [entry for entry in facts.bundle.entries if annotations_of(entry.obj).get(IGNORE) is not None]
    values = [(entry, annotations_of(entry.obj)[IGNORE]) for entry in bearers]
    declared = tuple(ignore for entry, value in values for ignore in _of_text(entry, text(value)))
    return IgnoreFacts(
        release=facts.release,
        families={**registry.ids(), **_policies(declared)} if bearers else {},
        ignores=declared,
        misshapen=tuple((entry, value) for entry, value in values if not isinstance(value, str)),
    )


def _policies(ignores: Iterable[Ignore]) -> dict[str, str]:
    """The ids of users' rules and policies that ignores name, with a family; which of them there are is not known here."""
    return {rule: POLICY for ignore in ignores for rule in ignore.rules if OWN in rule}


def _of_text(entry: Entry, value: str) -> Iterator[Ignore]:
    for line in value.splitlines():
        names, _, reason = line.partition(":")
        if line.strip():
            yield Ignore(entry=entry, rules=tuple(filter(None, map(str.strip, names.split(",")))), reason=reason.strip())


def key(finding: Finding) -> Key:
    """Object and rule of a finding: the item's number, the path inside it, and the rule's id."""
    return finding.item, finding.inside, finding.rule


def reasons(facts: IgnoreFacts) -> dict[Key, str]:
    """The reasons of ignores, by object and rule; ignores without a reason silence nothing."""
    found: dict[Key, str] = {}
    for ignore, rule in _named(facts):
        found.setdefault((ignore.entry.item, ignore.entry.path, rule), ignore.reason)
    return found


def unused(facts: IgnoreFacts, ignored: Iterable[Finding], config: Config) -> Iterator[tuple[Ignore, str]]:
    """The rules that an ignore names and that find nothing in its object, although the config and the release enable them."""
    heard = {key(finding) for finding in ignored}
    for ignore, rule in _named(facts):
        silent = (ignore.entry.item, ignore.entry.path, rule) not in heard
        if silent and facts.families[rule] != POLICY and _declared(rule, facts).applies(facts.release, config.severity):
            yield ignore, rule


def _named(facts: IgnoreFacts) -> Iterator[tuple[Ignore, str]]:
    """Each rule that is silenced, with its ignore."""
    for ignore in facts.ignores:
        for rule in ignore.rules if ignore.reason else ():
            if facts.families.get(rule, UNSILENCED[0]) not in UNSILENCED:
                yield ignore, rule


def _declared(rule: str, facts: IgnoreFacts) -> registry.Rule:
    return next(each for each in registry.load(facts.families[rule]) if each.id == rule)


def silenced(found: list[Finding], facts: BundleFacts, *, effective: bool) -> tuple[list[Finding], tuple[Suppressed, ...]]:
    """The findings that count, including those about ignores, and the findings that are ignored.

    `effective`: ignores have an effect.
    """
    declared = gather(facts)
    if not declared.ignores and not declared.misshapen:
        return found, ()
    why = reasons(declared)
    ignored = [finding for finding in found if key(finding) in why]
    if facts.config.mode == "validate":  # all rules run only in this mode
        cut = {finding.rule for finding in found if finding.more}
        declared = declared.but(unused=tuple(each for each in unused(declared, ignored, facts.config) if each[1] not in cut))
    of_ignores = registry.judge_bundle(declared, facts.config.severity, "ignore")
    kept = [finding for finding in found if not effective or key(finding) not in why]
    return (
        [*kept, *(results.placed(finding, facts.bundle) for finding in of_ignores)],
        tuple(Suppressed(finding=each, by="ignore", reason=why[key(each)]) for each in results.ordered(ignored))
        if effective
        else (),
    )
