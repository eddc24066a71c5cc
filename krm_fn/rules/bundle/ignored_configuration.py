"""KubeVirt ignores the whole cluster configuration.

What it finds: a setting of the KubeVirt object, or of the function config's `configuration`, with a value that KubeVirt does
not accept.

Why it matters: KubeVirt then continues with the last valid configuration, or with its own defaults, and does not tell
whoever applied it. The renderer uses the defaults, so VMs are rendered as in a new cluster.

Fix: set a value that KubeVirt accepts, or delete the setting.

Example:

    apiVersion: kubevirt.io/v1
    kind: KubeVirt
    metadata: {name: kubevirt, namespace: kubevirt}
    spec: {configuration: {network: {defaultNetworkInterface: macvtap}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.paths import dotted, get
from krm_fn.base.wording import show
from krm_fn.kubevirt.configuration import kubevirt_of
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule


@rule(severity="warning", upstream="pkg/virt-config/configuration.go:validateConfig")
def ignored_configuration(facts: BundleFacts) -> Iterator[Hit]:
    path = facts.cluster.invalid
    if not path:
        return
    value = get(facts.cluster.configuration, path)
    entry = kubevirt_of(facts.bundle)
    place, shown = ("spec", "configuration", *path), show(value, path)
    yield Hit(
        message=f"{dotted(path)} {shown} is not valid, so KubeVirt ignores the whole configuration; correct or delete it",
        path=place,
        current=value,
        about=entry if entry and get(entry.obj, place) == value else None,
    )
