"""A VM uses a builtin instancetype or preference that its release deprecates.

What it finds: a VirtualMachine whose instancetype or preference comes from the builtin catalogue and is marked as deprecated
in the KubeVirt release that is rendered for.

Why it matters: KubeVirt marks what a coming release no longer deploys. A VM that still refers to it then can't be
created any more, and a stored one loses its reference.

Fix: choose another one; or write what `kubevirt-render catalogue show NAME` prints into the bundle, under a name of your own,
and refer to that.

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
from krm_fn.rules.shared.catalogue import WORDS, hits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.kubevirt.catalogue import Catalogue
    from krm_fn.rules.facts import BundleFacts
    from krm_fn.rules.registry import Hit


@rule(severity="warning")
def deprecated_instancetype(facts: BundleFacts) -> Iterator[Hit]:
    def word(builtin: Catalogue, kind: str, name: str) -> str:
        if not builtin.deprecated(kind, name):
            return ""
        return (
            f"the builtin {WORDS[kind]} {name} is deprecated in KubeVirt {facts.release}; "
            "choose another, or keep a copy of it in the bundle under a name of your own"
        )

    yield from hits(facts, word)
