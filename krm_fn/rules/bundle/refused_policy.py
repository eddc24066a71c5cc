"""The API server refuses a ValidatingAdmissionPolicy.

What it finds: an expression of a ValidatingAdmissionPolicy that Kubernetes does not compile: a mistake of syntax, a name that
is not declared, a function that does not exist, or types that do not fit.

Why it matters: the policy can't be stored in a cluster, so it enforces nothing. Here it takes no part either.

Fix: correct the field that the message names. Each wrong expression of a policy has a finding of its own.

Example:

    apiVersion: admissionregistration.k8s.io/v1
    kind: ValidatingAdmissionPolicy
    metadata: {name: small}
    spec:
      matchConstraints:
        resourceRules:
          - {apiGroups: [kubevirt.io], apiVersions: [v1], operations: [CREATE], resources: [virtualmachines]}
      validations:
        - expression: object.spec.running == yes
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import steps
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule


@rule(severity="error", upstream="admission")
def refused_policy(facts: BundleFacts) -> Iterator[Hit]:
    for each in facts.unevaluated:
        if each.refused:
            what = "expression" if each.place.lower().endswith("expression") else "policy"
            message = f"the API server refuses this {what}: {each.why}; correct it"
            yield Hit(message=message, path=steps(each.place), about=each.entry)
