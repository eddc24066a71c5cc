"""A preset has an invalid selector.

What it finds: a preset in the namespace of an instance whose selector is invalid: an operator other than In, NotIn, Exists
and DoesNotExist, values where the operator allows none, no values where it requires some, or an invalid label key or value.

Why it matters: KubeVirt reads the selectors of all presets in the namespace before it applies the first one. It refuses the
instance if one selector is invalid, whether or not it was meant to match. Releases up to 0.8 skip only the invalid preset;
the severity is then warning.

Fix: correct the selector, or delete the preset.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachineInstancePreset
    metadata: {name: broken}
    spec:
      selector: {matchExpressions: [{key: os, operator: Gt, values: ["1"]}]}
      domain: {cpu: {cores: 2}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachineInstance
    metadata: {name: web}
    spec: {domain: {devices: {}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import ref_of
from krm_fn.base.paths import dotted
from krm_fn.base.wording import show
from krm_fn.findings.limits import counted
from krm_fn.kubevirt.presets.facts import OPERATORS, PresetFacts
from krm_fn.rules.registry import Hit, also, rule

# What is wrong, by the reason that `presets.selector` gives.
WRONG = {
    "form": "does not have the form of a selector",
    "key": "is not a valid label key",
    "value": "is not a valid label value",
    "operator": "is not one of " + ", ".join(OPERATORS),
    "values-missing": "has no value, which In and NotIn require",
    "values-given": "must be absent with Exists and DoesNotExist",
}


@rule(severity="error", upstream="pkg/virt-api/webhooks/mutating-webhook/mutators/preset.go:filterPresets")
def invalid_preset_selector(facts: PresetFacts) -> Iterator[Hit]:
    refused = facts.applied.refused == "selector"
    outcome = "KubeVirt refuses every instance in the namespace" if refused else "KubeVirt ignores the preset"
    for fact in facts.applied.invalid:
        for problem in fact.problems:
            more = fact.more if problem is fact.problems[-1] else 0
            what = f"{dotted(('spec', 'selector', *problem.path))} {show(problem.current, ())} {WRONG[problem.reason]}"
            yield Hit(
                message=counted(f"{ref_of(fact.preset.obj)}: {what}, so {outcome}; correct it", more),
                upstream="admission" if refused and not facts.prefix else "",
                severity="" if refused else "warning",
                related=also(fact.preset, ("spec", "selector", *problem.path)),
            )
