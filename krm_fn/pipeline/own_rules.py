"""The rules of users' own packages, which judge VMs as they are rendered; loaded only if the config names a package."""

from __future__ import annotations

from krm_fn.base.annotations import Iterator, Mapping
from krm_fn.findings.finding import Finding
from krm_fn.pipeline.policy_subjects import rendered_facts
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.facts.policies import Unevaluated
from krm_fn.rules.packages import rules_of
from krm_fn.rules.registry import Hit, Rule, finding_of


def verdicts(facts: BundleFacts, levels: Mapping[str, str]) -> tuple[list[Finding], list[Unevaluated]]:
    """The findings of the rules that the config names, and the rules that failed. Raises: ConfigError."""
    found: list[Finding] = []
    failed = [_barred(name) for name in facts.config.barred_packages]
    if not facts.config.rule_packages:
        return found, failed
    rendered = rendered_facts(facts)
    for family in facts.config.rule_packages:
        for rule in rules_of(family):
            if rule.applies(facts.release, levels):
                try:
                    found += list(_findings(rule, rendered, levels))
                except Exception as error:  # noqa: BLE001  a user's rule may raise anything, and must not stop the others
                    failed.append(_failed(rule, error))
    return found, failed


def _failed(rule: Rule, error: Exception) -> Unevaluated:
    """Its text is left out, because it may hold a value of an object."""
    trace = error.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    line = f" in line {trace.tb_lineno} of {trace.tb_frame.f_code.co_name}" if trace else ""
    return Unevaluated(policy=f"rule {rule.id}", place="its code", why=f"{type(error).__name__}{line}")


def _barred(name: str) -> Unevaluated:
    why = f"a file of the repository names the package; to load its code, add --rule-packages {name}"
    return Unevaluated(policy=f"family {name} of rules", place="rulePackages", why=why)


def _findings(rule: Rule, facts: BundleFacts, levels: Mapping[str, str]) -> Iterator[Finding]:
    """Raises: TypeError for what is no Hit about an object; whatever the rule raises."""
    for hit in list(rule.check(facts)):
        if not isinstance(hit, Hit) or hit.about is None:
            raise TypeError("it yields something else than a Hit with `about`")
        yield finding_of(rule, hit, hit.about, levels)
