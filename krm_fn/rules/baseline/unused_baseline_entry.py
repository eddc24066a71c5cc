"""A baseline entry matches no finding.

What it finds: an entry of the baseline that `kubevirt-render check --baseline FILE` reads, and that matches no finding of
the run.

Why it matters: usually the defect is corrected, and the entry would hide it if it came back. If only some of the files are
checked, the entries for the others are also unused: turn the rule off there.

Fix: run `check` once with `--update-baseline`, or delete the entry.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      instancetype: {name: u1.medium}
      template: {spec: {domain: {devices: {}}}}
    ---
    # the baseline
    version: 1
    findings:
    - fingerprint: "8e9eb3b66e9dbc5aaef6a50e23a3ad02"
      rule: instancetype-conflict
      object: VirtualMachine web
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.rules.facts.ignores import BaselineFacts
from krm_fn.rules.registry import Hit, rule


@rule(severity="warning")
def unused_baseline_entry(facts: BaselineFacts) -> Iterator[Hit]:
    for number, known in facts.unused:
        yield Hit(
            message=f"{known.rule}{f' in {known.object}' if known.object else ''} is no longer found; delete the entry",
            path=("findings", number),
            current=known.fingerprint,
        )
