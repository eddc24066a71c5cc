"""A VM uses a builtin instancetype or preference that a later release lacks.

What it finds: a VirtualMachine whose instancetype or preference comes from the builtin catalogue of the KubeVirt release that
is rendered for, where a later release no longer deploys one of that name.

Why it matters: after the upgrade the name leads nowhere for new VMs. Patch releases remove names too: 1.4.1 dropped five that
1.4.0 had.

Fix: choose one that stays; or write what `kubevirt-render catalogue show NAME` prints into the bundle, under a name of your
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

from krm_fn.rules.registry import rule
from krm_fn.rules.shared.catalogue import WORDS, dotted, hits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.kubevirt.catalogue import Catalogue
    from krm_fn.rules.facts import BundleFacts
    from krm_fn.rules.registry import Hit


@rule(severity="info")
def removed_in_later_release(facts: BundleFacts) -> Iterator[Hit]:
    yield from hits(facts, _word)


def _word(builtin: Catalogue, kind: str, name: str) -> str:
    gone = builtin.removed_in(kind, name)
    if not gone:
        return ""
    return (
        f"KubeVirt {dotted(gone)} no longer deploys the builtin {WORDS[kind]} {name}; "
        "before the upgrade choose another, or keep a copy of it in the bundle under a name of your own"
    )
