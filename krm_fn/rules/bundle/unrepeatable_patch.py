"""A patch of the config gives another result if the VM is rendered again.

What it finds: a VM that the `patches` of the function config change, if the same patches change their own result again or
can't be applied to it. An example is `add` with a path that ends in `/-`, which appends one more entry each time. Another one
is `remove`: the second time, the key is gone. The rule also finds patches that add an `instancetype` or `preference`, because
a second run would render it.

Why it matters: rendering what was rendered gives the same result otherwise. kpt and `render --in-place` write the result into
the source, so the next run starts from it.

Fix: none is needed if the result is not rendered again, as with kustomize; turn the rule off then. Otherwise make the patch
repeatable: set values with `add` at a key or an index, and remove fields in the source.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {cpu: {cores: 2}, memory: {guest: 2Gi}, devices: {}}
          tolerations: []
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.facts.patches import Patched
from krm_fn.rules.registry import Hit, rule


@rule(severity="info")
def unrepeatable_patch(facts: BundleFacts) -> Iterator[Hit]:
    for each in facts.patched:
        if not each.repeats:
            yield Hit(message=_message(each), about=each.entry)


def _message(each: Patched) -> str:
    if each.unstable < 0:
        return "after the patches, the VM has a reference that a second run renders; set the fields of the size themselves"
    again = f"patches[{each.unstable}] gives another result if it is applied again"
    return f"{again}; write values with add at a key, unless the result is never rendered again"
