"""The KubeVirt object names another release than the target release.

What it finds: a KubeVirt object whose `spec.imageTag` or status names another release than the config's `kubevirtVersion`. A
minor release in the config matches all its patch releases. If the config names no release, the rule finds a release that
this program does not know.

Why it matters: releases differ in what they render, refuse and deploy. A result for one release may be wrong for the
cluster.

Fix: remove `kubevirtVersion` from the config, so that the object's release is used; or set it to the cluster's release.

Example:

    apiVersion: kubevirt.io/v1
    kind: KubeVirt
    metadata: {name: kubevirt, namespace: kubevirt}
    spec: {imageTag: v0.58.0}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.wording import show
from krm_fn.kubevirt.configuration import NamedRelease, named_release
from krm_fn.kubevirt.releases import NEWEST_PATCH
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule


@rule(severity="warning")
def differing_release(facts: BundleFacts) -> Iterator[Hit]:
    named = named_release(facts.bundle)
    if named is None or _agree(facts, named):
        return
    if facts.config.release is None:
        fact = f"the release {show(named.written)} is unknown, so KubeVirt {facts.release} is used"
        fix = "set kubevirtVersion to the nearest known release"
    else:
        fact = (
            f"the object names the release {show(named.written)}, but the config names KubeVirt {facts.release}, which is used"
        )
        fix = "correct kubevirtVersion or remove it"
    yield Hit(message=f"{fact}; {fix}", path=named.path, current=named.written, about=named.entry)


def _agree(facts: BundleFacts, named: NamedRelease) -> bool:
    """True where both name one release. The newest patch in the config may mean all of a minor release, as in `1.6`."""
    if named.release is None:
        return named.written.removeprefix("v").startswith(str(facts.release))
    minor = facts.release.version[:2]
    is_newest_patch = facts.release.version[2] == NEWEST_PATCH.get(minor)
    return named.release == facts.release or (is_newest_patch and named.release.version[:2] == minor)
