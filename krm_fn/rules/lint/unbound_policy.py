"""A policy has no binding, or a binding names no policy.

What it finds: a ValidatingAdmissionPolicy that no ValidatingAdmissionPolicyBinding of the input names, and a binding whose
policy is not in the input.

Why it matters: only the two together have an effect, here and in a cluster. Objects that the policy would refuse pass.

Fix: add the binding or the policy. If it is in the cluster and not in git, `--policy` reads it from a file, and evaluates a
policy without a binding, too.

Example:

    apiVersion: admissionregistration.k8s.io/v1
    kind: ValidatingAdmissionPolicyBinding
    metadata: {name: small}
    spec: {policyName: smal, validationActions: [Deny]}
"""

from __future__ import annotations

from krm_fn.base.paths import steps
from krm_fn.rules.registry import Hit, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.rules.facts.bundles import BundleFacts


@rule(severity="info", worst="warning")
def unbound_policy(facts: BundleFacts) -> Iterator[Hit]:
    for each in facts.unevaluated:
        if each.is_unbound:
            severity = "warning" if each.place else "info"  # a binding alone is a mistake more often than a policy alone
            yield Hit(message=each.why, path=steps(each.place), severity=severity, about=each.entry)
