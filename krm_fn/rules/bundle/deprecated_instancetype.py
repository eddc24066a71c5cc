"""A VM uses a deprecated builtin instancetype or preference.

What it finds: a VirtualMachine whose instancetype or preference comes from the builtin catalogue and is marked as deprecated
in the target release of KubeVirt.

Why it matters: KubeVirt marks what a later release no longer deploys. A VM that still refers to it can then no longer be
created, and a stored VM loses its reference.

Fix: choose another one; or write the output of `kubevirt-render catalogue show NAME` into the bundle under a name of your
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
from krm_fn.rules.shared.catalogue import WORDS, hits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.catalogue import Catalogue


@rule(severity="warning")
def deprecated_instancetype(facts: BundleFacts) -> Iterator[Hit]:
    def word(builtin: Catalogue, kind: str, name: str) -> str:
        if not builtin.deprecated(kind, name):
            return ""
        return (
            f"the builtin {WORDS[kind]} {name} is deprecated in KubeVirt {facts.release}; "
            "choose another, or add a copy of it to the bundle under another name"
        )

    yield from hits(facts, word)
