"""The ValidatingAdmissionPolicies of a bundle, evaluated on its objects; loaded only if there are some."""

from __future__ import annotations

from krm_fn.base.paths import get
from krm_fn.config.schema_policies import WRITTEN
from krm_fn.pipeline.policy_subjects import Subjects
from krm_fn.policies.admission import GROUP, POLICY, Policies, Skipped
from krm_fn.rules.facts.policies import Unevaluated
from krm_fn.rules.registry import Hit, finding_of, policy_rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from krm_fn.base.bundle import Bundle
    from krm_fn.findings.finding import Finding
    from krm_fn.pipeline.policy_subjects import Subject
    from krm_fn.policies.admission import Failure
    from krm_fn.rules.facts.bundles import BundleFacts

STATES = ("written", "rendered", "instance", "pod")


def has_policies(bundle: Bundle) -> bool:
    """True if a bundle has a ValidatingAdmissionPolicy."""
    return bool(bundle.of_kind(POLICY, GROUP))


def verdicts(facts: BundleFacts, levels: Mapping[str, str], raw: Sequence[Any] = ()) -> tuple[list[Finding], list[Unevaluated]]:
    """What the policies find in the objects of the bundle, and those that can't be evaluated."""
    entries = facts.bundle.entries
    policies, subjects = Policies([entry.obj for entry in entries]), Subjects(facts)
    at = {id(entry.obj): entry for entry in entries}
    found: list[Finding] = []
    skipped: dict[tuple[int, str, str], Skipped] = {
        (id(each.policy), each.place, each.why): each for each in policies.skipped()
    }
    for state in policies.states():
        for subject in subjects.on(state):
            for each in policies.failures(subject.entry.obj, _value(subject, raw), state):
                if isinstance(each, Skipped):
                    skipped.setdefault((id(each.policy), each.place, each.why), each)
                else:
                    found.append(_finding(each, subject, levels))
    unevaluated = [_unevaluated(each, at[id(each.policy)]) for each in skipped.values()]
    return found, unevaluated


def _value(subject: Subject, raw: Sequence[Any]) -> Any:
    """What a policy sees as `object`, with the numbers as they came, if these are known."""
    item = subject.entry.item
    if subject.state != WRITTEN or not 0 <= item < len(raw):
        return subject.value
    return get(raw[item], subject.entry.path)


def _finding(failure: Failure, subject: Subject, levels: Mapping[str, str]) -> Finding:
    rule = policy_rule(failure.policy["metadata"]["name"], failure.severity)
    hit = Hit(message=failure.message, upstream="admission" if subject.state == WRITTEN else "")
    tags = {"binding": failure.binding, "param": failure.param, "validation": str(failure.index) if failure.index >= 0 else ""}
    kept = tuple((key, value) for key, value in tags.items() if value)
    found = finding_of(rule, hit, subject.entry, levels).but(tags=kept)
    return found.but(message=failure.message) if failure.message.isprintable() else found


def _unevaluated(skipped: Skipped, entry: Any) -> Unevaluated:
    name = f"policy {skipped.policy['metadata']['name']}"
    return Unevaluated(
        policy=name, place=skipped.place, why=skipped.why, entry=entry, refused=skipped.refused, is_note=skipped.is_note
    )
