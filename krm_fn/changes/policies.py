"""The policies that a change triggers: what they say of the new manifests, as updates of the old ones.

An unchanged apply asks the policies, too. So what they said already of the old manifests is left out, unless it refuses an
update that the change sends. Policies that can't be evaluated are told, too: without their verdicts the answer is not whole.
"""

from __future__ import annotations

from krm_fn.base.annotations import Mapping, Sequence
from krm_fn.base.bundle import effective_namespace
from krm_fn.base.objects import Object
from krm_fn.base.value import Value
from krm_fn.changes.owners import KINDS, Key
from krm_fn.findings.finding import Finding
from krm_fn.findings.results import described
from krm_fn.pipeline.analysis import Analysis
from krm_fn.pipeline.facts import gather
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import declared, judge_rule

POLICY = "ValidatingAdmissionPolicy"
GROUP = "admissionregistration.k8s.io"
STAGE = "policy"
SIDES = 2  # of a change, which are judged with the work of one run
REFUSED = "refusedByPolicy"
UNEVALUATED = ("refused-policy", "policy-not-evaluated")


class Triggered(Value):
    """What policies say of a VM: all of it, and what they did not say before."""

    all: tuple[Finding, ...] = ()
    new: tuple[Finding, ...] = ()

    def added_to(self, record: Object) -> Object:
        """The record of a VM with what the policies say of its change."""
        is_sent = record["change"] == "added" or record.get("update", {}).get("sent", False)
        refusing = [each for each in self.all if each.upstream] if is_sent else []
        told = [*refusing, *(each for each in self.new if each not in refusing)]
        if not told:
            return record
        policies = {"policies": [_told(each) for each in told]}
        if not refusing or not record.get("update", {"allowed": True})["allowed"]:
            return {**record, **policies}
        causes = [{"field": "", "path": "", "message": f"{each.message} ({each.rule})"} for each in refusing]
        update = {"sent": True, "allowed": False, "stage": STAGE, "causes": causes}
        kept = {key: record[key] for key in ("kind", "namespace", "name", "change")}
        return {**kept, "effect": [REFUSED], "update": update, **policies}


NONE = Triggered()


class PolicyAnswers(Value):
    """What policies say of each VM, pool, replica set and instance, and the findings about policies that say nothing.

    The findings are those that the old side does not have, and those about policies of the config, which count for both sides.
    """

    of_vms: Mapping[Key, Triggered]
    unevaluated: Sequence[Finding] = ()

    def told(self) -> list[Object]:
        """The findings about policies that say nothing, as the answer has them."""
        return [{"rule": each.rule, "severity": each.severity, "message": described(each)} for each in self.unevaluated]


def triggered(base: Analysis, head: Analysis, *, new: bool) -> PolicyAnswers:
    """What the policies of the new side say. `new`: no VM exists yet."""
    if not (head.settings.policies or head.bundle.of_kind(POLICY, GROUP)):
        return PolicyAnswers(of_vms={})
    old, after = _facts(base), _facts(head)
    now, failed = _verdicts(after, None if new else old)
    before, failed_before = _verdicts(old, None if new else old)
    return PolicyAnswers(
        of_vms={key: _compared(found, before.get(key, {})) for key, found in now.items()},
        unevaluated=[each for words, each in failed.items() if each.item < -1 or words not in failed_before],
    )


def _facts(analysis: Analysis) -> BundleFacts:
    return gather(analysis.bundle, analysis.settings, analysis.surroundings)


def _verdicts(facts: BundleFacts, before: BundleFacts | None) -> tuple[dict[Key, dict[object, Finding]], dict[object, Finding]]:
    """The findings about each VM, and those about policies that are not evaluated."""
    from krm_fn.pipeline import admission_policies  # few bundles have some
    from krm_fn.pipeline.policy_subjects import begin
    from krm_fn.rules.facts.policies import together

    begin(facts, runs=SIDES)
    found, unevaluated = admission_policies.verdicts(facts, facts.config.severity, before=before)
    of_vms: dict[Key, dict[object, Finding]] = {}
    for each in found:
        if each.ref and each.ref.kind in KINDS and facts.config.severity.get(each.rule) != "off":
            obj = {"metadata": {"namespace": each.ref.namespace}}
            key = effective_namespace(obj), each.ref.name, each.ref.kind
            of_vms.setdefault(key, {})[each.rule, each.severity, each.tags, each.message] = each
    judged = facts.but(unevaluated=tuple(together(unevaluated)))
    failed = [each for rule in UNEVALUATED for each in judge_rule(declared(rule), judged, facts.config.severity)]
    return of_vms, {(each.rule, described(each)): each for each in failed if each.severity != "info"}


def _compared(now: Mapping[object, Finding], before: Mapping[object, Finding]) -> Triggered:
    return Triggered(all=tuple(now.values()), new=tuple(each for said, each in now.items() if said not in before))


def _told(finding: Finding) -> Object:
    tags = {key: value for key, value in finding.tags if key != "validation"}
    return {"rule": finding.rule, "severity": finding.severity, "message": finding.message, **tags}
