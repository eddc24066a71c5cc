"""A patch of the config can't be applied to a VM.

What it finds: a VM that an entry of `patches` in the function config is for, and to which the entry can't be applied:

- a `test` operation finds another value;
- an operation names a place that the rendered VM does not have;
- the result is no longer this object, or it is too large;
- all patches together take too much work, because each of very many is compared with each of very many VMs. A target that
  names its VM in plain letters, digits and dashes costs the least.

Why it matters: a patch whose `test` fails meets a VM that it was not written for. The VM is not rendered, and no patch is
applied to it. Other VMs are rendered.

Fix: change the patch, its target, or the VM. A place is a JSON pointer into the rendered object: `kubevirt-render render`
without the patch prints it. `add` writes a key whether it exists or not, and `replace` and `remove` need one that exists.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {cpu: {cores: 2}, memory: {guest: 2Gi}, devices: {}}
          terminationGracePeriodSeconds: 30
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.facts.patches import Unpatched
from krm_fn.rules.registry import Hit, rule

WHY = {
    "test": "the value there is another one; change the patch or its target",
    "absent": "the rendered object has no such place; change the path, or use add",
    "invalid": "the operation does not fit the value there; change the path",
    "object": "what is left is not this object; keep its apiVersion, kind, namespace and name",
    "large": "the result is too large; remove the operation",
}

TOO_MUCH = "the patches of the config take more than their share of the work of a run"
FEWER = "name the VMs in the targets, without expressions, or use fewer patches"


@rule(severity="error")
def failed_patch(facts: BundleFacts) -> Iterator[Hit]:
    without = [each for each in facts.unpatched if each.reason == "work"]
    for each in facts.unpatched:
        if each.reason != "work":
            yield Hit(message=_message(each), path=each.path, about=each.entry)
    if without:
        more = f", like {len(without) - 1:,} other VMs" if len(without) > 1 else ""
        yield Hit(message=f"{TOO_MUCH}, so this VM is not rendered{more}; {FEWER}", about=without[0].entry)


def _message(each: Unpatched) -> str:
    place = f"patches[{each.patch}]"
    if each.reason == "slow":
        return f"an expression in the target of {place} takes too long; write a simpler one"
    return f"{place}.patch[{each.operation}] ({each.op} {each.pointer or '/'}) can't be applied: {WHY[each.reason]}"
