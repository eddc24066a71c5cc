"""The policies that a change triggers: what they say of the new manifests, as updates of the old ones.

An unchanged apply asks the policies, too. So what they said already of the old manifests is left out, unless it refuses an
update that the change sends.
"""

from __future__ import annotations

from krm_fn.base.bundle import effective_namespace
from krm_fn.base.value import Value
from krm_fn.changes.owners import KINDS
from krm_fn.pipeline.facts import gather

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from krm_fn.base.objects import Object
    from krm_fn.changes.owners import Key
    from krm_fn.findings.finding import Finding
    from krm_fn.pipeline.analysis import Analysis
    from krm_fn.rules.facts.bundles import BundleFacts

POLICY = "ValidatingAdmissionPolicy"
GROUP = "admissionregistration.k8s.io"
STAGE = "policy"
REFUSED = "refusedByPolicy"


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


def triggered(base: Analysis, head: Analysis, *, new: bool) -> dict[Key, Triggered]:
    """What the policies of the new side say of each VM, pool, replica set and instance. `new`: none exists yet."""
    if not (head.settings.policies or head.bundle.of_kind(POLICY, GROUP)):
        return {}
    old, after = _facts(base), _facts(head)
    now = _by_vm(after, None if new else old)
    before = _by_vm(old, None if new else old)
    return {key: _compared(found, before.get(key, {})) for key, found in now.items()}


def _facts(analysis: Analysis) -> BundleFacts:
    return gather(analysis.bundle, analysis.settings, analysis.surroundings)


def _by_vm(facts: BundleFacts, before: BundleFacts | None) -> dict[Key, dict[object, Finding]]:
    from krm_fn.pipeline import admission_policies  # few bundles have some

    found, _ = admission_policies.verdicts(facts, facts.config.severity, before=before)
    of_vms: dict[Key, dict[object, Finding]] = {}
    for each in found:
        if each.ref and each.ref.kind in KINDS and facts.config.severity.get(each.rule) != "off":
            obj = {"metadata": {"namespace": each.ref.namespace}}
            key = effective_namespace(obj), each.ref.name, each.ref.kind
            of_vms.setdefault(key, {})[each.rule, each.severity, each.tags, each.message] = each
    return of_vms


def _compared(now: Mapping[object, Finding], before: Mapping[object, Finding]) -> Triggered:
    return Triggered(all=tuple(now.values()), new=tuple(each for said, each in now.items() if said not in before))


def _told(finding: Finding) -> Object:
    tags = {key: value for key, value in finding.tags if key != "validation"}
    return {"rule": finding.rule, "severity": finding.severity, "message": finding.message, **tags}
