"""An item of the list is null.

What it finds: a null where the list of items should have an object, such as a stray `-` in a hand-written list.

Why it matters: kpt refuses the whole list, and kustomize drops the item silently. The renderer omits it.

Fix: delete the empty list entry, or write the missing object.

Example:

    apiVersion: config.kubernetes.io/v1
    kind: ResourceList
    items:
    -
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.findings.limits import counted, first
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule


@rule(severity="warning")
def null_item(facts: BundleFacts) -> Iterator[Hit]:
    for number, more in first(facts.bundle.nulls):
        message = f"item {number} of the list is null and is omitted; delete it, or write the missing object"
        yield Hit(message=counted(message, more))
