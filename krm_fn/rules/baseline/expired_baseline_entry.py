"""A baseline entry has expired, and its finding remains.

What it finds: an entry of the baseline that `kubevirt-render check --baseline FILE` reads, whose `expires` is before today
and whose finding still exists.

Why it matters: the date was a promise. From the day after it, the finding counts again like any other.

Fix: correct what the finding reports, or give the entry a later date and a reason.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      instancetype: {name: u1.medium}
      template: {spec: {domain: {cpu: {cores: 4}, devices: {}}}}
    ---
    # the baseline
    version: 1
    findings:
    - fingerprint: "8e9eb3b66e9dbc5aaef6a50e23a3ad02"
      rule: instancetype-conflict
      object: VirtualMachine web
      expires: "2020-12-31"
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.rules.facts.ignores import BaselineFacts
from krm_fn.rules.registry import Hit, rule


@rule(severity="warning")
def expired_baseline_entry(facts: BaselineFacts) -> Iterator[Hit]:
    for number, known in facts.expired:
        yield Hit(
            message=f"{known.rule} was accepted until {known.expires}; correct {known.object or 'it'}, or set a later date",
            path=("findings", number, "expires"),
            current=known.expires,
        )
