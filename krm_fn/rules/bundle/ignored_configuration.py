"""A cluster configuration that KubeVirt ignores as a whole.

What it finds: a setting of the KubeVirt object, or of the function config's `configuration`, that has a value KubeVirt doesn't
accept.

Why it matters: KubeVirt then goes on with the last configuration that was valid, or with its own defaults, without a word to
whoever applied it. The renderer takes the defaults, so that VMs are rendered as a fresh cluster would.

Fix: give the setting a value that KubeVirt accepts, or delete it.

Example:

    apiVersion: kubevirt.io/v1
    kind: KubeVirt
    metadata: {name: kubevirt, namespace: kubevirt}
    spec: {configuration: {network: {defaultNetworkInterface: macvtap}}}
"""

from __future__ import annotations

from krm_fn.base.paths import dotted, get
from krm_fn.base.wording import show
from krm_fn.kubevirt.configuration import kubevirt_of
from krm_fn.rules.registry import Hit, rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.rules.facts import BundleFacts


@rule(severity="warning", upstream="pkg/virt-config/configuration.go:validateConfig")
def ignored_configuration(facts: BundleFacts) -> Iterator[Hit]:
    path = facts.cluster.invalid
    if not path:
        return
    value = get(facts.cluster.configuration, path)
    entry = kubevirt_of(facts.bundle)
    place, shown = ("spec", "configuration", *path), show(value, path)
    yield Hit(
        message=f"{dotted(path)} can't be {shown}, so KubeVirt ignores the whole configuration; correct or delete it",
        path=place,
        current=value,
        about=entry if entry and get(entry.obj, place) == value else None,
    )
