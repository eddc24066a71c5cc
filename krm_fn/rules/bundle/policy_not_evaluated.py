"""A policy can't be evaluated.

What it finds: a policy whose verdict can't be known here. For an entry of `schemaPolicies` these are the reasons:

- the schema is wrong, or a regular expression in it;
- a `$ref` leads to another file or to an address, which are not read;
- the schema takes more than its share of the work of a run, or refers to itself without end;
- the package `jsonschema` is not installed.

Of a ValidatingAdmissionPolicy of the bundle, the expression and the reason are named. What only the cluster knows, such as
who asks (`request.userInfo`, `authorizer`), and what can't be evaluated here exactly as Kubernetes does, is never guessed.

It is an error if a policy takes more than its share of the work of a run: the API server, too, refuses an object if an
expression costs too much. It is a warning where that would let the object in, which is if the policy has the `failurePolicy`
`Ignore`, or no binding that denies, and for an entry of `schemaPolicies` that is no error itself. All else is a warning.

It also finds rules of your own that fail, and packages of rules that only a file of the repository names.

Why it matters: the policy is not enforced. Objects that it would refuse pass.

Fix: do what the message says.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {cpu: {cores: 2}, memory: {guest: 2Gi}, devices: {}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import steps
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule

# How the places of objects start, unlike those of the config.
WRITTEN = ("spec", "metadata")


@rule(severity="error")
def policy_not_evaluated(facts: BundleFacts) -> Iterator[Hit]:
    for each in facts.unevaluated:
        if each.refused or each.is_unbound:
            continue
        if each.is_note:
            yield Hit(
                message=f"{each.why}; the verdicts of the {each.policy} hold if the cluster has it",
                severity="info",
                about=each.entry,
            )
            continue
        path = steps(each.place) if each.entry and each.place.startswith(WRITTEN) else ()
        place = f"{each.place}: " if each.place and not path else ""
        yield Hit(
            message=f"the {each.policy} is not evaluated: {place}{each.why}",
            severity="error" if each.is_spent and each.fails_closed else "warning",
            path=path,
            about=each.entry,
        )
