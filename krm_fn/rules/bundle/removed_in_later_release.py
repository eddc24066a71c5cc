"""A VM uses a builtin instancetype or preference that a later release removes.

What it finds: a VirtualMachine whose instancetype or preference comes from the builtin catalogue of the target release of
KubeVirt, while a later release no longer deploys one of that name.

Why it matters: after the upgrade the name does not exist for new VMs. Patch releases remove names too: 1.4.1 removed five
that 1.4.0 had.

Fix: choose one that stays; or write the output of `kubevirt-render catalogue show NAME` into the bundle under a name of your
own, and refer to that.

Example:

    # kubevirtVersion: "1.4"
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: trainer}
    spec:
      instancetype: {name: gn1.xlarge}
      template: {spec: {domain: {devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.catalogue import WORDS, dotted, hits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.catalogue import Catalogue


@rule(severity="info")
def removed_in_later_release(facts: BundleFacts) -> Iterator[Hit]:
    yield from hits(facts, _word)


def _word(builtin: Catalogue, kind: str, name: str) -> str:
    gone = builtin.removed_in(kind, name)
    if not gone:
        return ""
    return (
        f"KubeVirt {dotted(gone)} no longer deploys the builtin {WORDS[kind]} {name}; "
        "before the upgrade, choose another, or add a copy of it to the bundle under another name"
    )
