"""An ignore annotation silences a rule that finds nothing.

What it finds: an annotation `kubevirt-render.dev/ignore` that silences a rule which finds nothing in that object. Only
`kubevirt-render check` and the mode `validate` report this, because only they run all rules. A rule that the config turns
off, or that does not apply to the release, is skipped.

Why it matters: the defect is gone, and the annotation would hide it if it came back.

Fix: remove the rule from the annotation, or the whole annotation.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata:
      name: web
      annotations:
        kubevirt-render.dev/ignore: "instancetype-conflict: moves to u1.large next month"
    spec:
      instancetype: {name: u1.large}
      template: {spec: {domain: {devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import IGNORE
from krm_fn.findings.limits import counted, first
from krm_fn.rules.facts.ignores import IgnoreFacts
from krm_fn.rules.registry import Hit, rule


@rule(severity="warning")
def unused_ignore(facts: IgnoreFacts) -> Iterator[Hit]:
    for (ignore, silenced), more in first(facts.unused, lambda each: id(each[0].entry)):
        yield Hit(
            message=counted(f"{silenced} finds nothing here; remove it from the annotation", more),
            path=("metadata", "annotations", IGNORE),
            current=ignore.annotation,
            about=ignore.entry,
        )
