"""An ignore of a rule that has nothing to say.

What it finds: an annotation `kubevirt-render.dev/ignore` that silences a rule which finds nothing in that object. Looked for
where all rules are asked: by `kubevirt-render check`, and in mode `validate`. A rule that the config turns off, or that doesn't
concern the release, is passed over.

Why it matters: the defect is gone, and the annotation would hide it should it come back.

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

from krm_fn.base.objects import IGNORE
from krm_fn.findings.limits import counted, first
from krm_fn.rules.registry import Hit, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.rules.facts import IgnoreFacts


@rule(severity="warning")
def unused_ignore(facts: IgnoreFacts) -> Iterator[Hit]:
    for (ignore, silenced), more in first(facts.unused, lambda each: id(each[0].entry)):
        yield Hit(
            message=counted(f"{silenced} finds nothing here; remove it from the annotation", more),
            path=("metadata", "annotations", IGNORE),
            current=ignore.annotation,
            about=ignore.entry,
        )
