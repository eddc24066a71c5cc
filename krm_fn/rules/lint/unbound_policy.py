"""A policy has no binding, or a binding names no policy.

What it finds: a ValidatingAdmissionPolicy that no ValidatingAdmissionPolicyBinding of the input names, and a binding whose
policy is not in the input. A binding without a policy is a warning.

Why it matters: a policy has an effect only together with a binding, here and in a cluster. Without it, nothing is refused.

Fix: add the binding or the policy. If it is in the cluster and not in git, save it to a file and name the file with `--policy`
or in the config. A policy that is named there is evaluated also without a binding.

Example:

    apiVersion: admissionregistration.k8s.io/v1
    kind: ValidatingAdmissionPolicyBinding
    metadata: {name: small}
    spec: {policyName: smal, validationActions: [Deny]}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import steps
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule


@rule(severity="info", worst="warning")
def unbound_policy(facts: BundleFacts) -> Iterator[Hit]:
    for each in facts.unevaluated:
        if each.is_unbound:
            severity = "warning" if each.place else "info"  # a binding alone is a mistake more often than a policy alone
            yield Hit(message=each.why, path=steps(each.place), severity=severity, about=each.entry)
