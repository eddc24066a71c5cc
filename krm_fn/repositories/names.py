"""The names in texts and objects: by these, units take objects of one another.

A unit uses some objects that it does not have: other units of its cluster may offer them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from krm_fn.base.expressions import expression
from krm_fn.base.objects import Object, kind_of, name_of, text
from krm_fn.base.paths import as_list, get
from krm_fn.findings.finding import Finding
from krm_fn.kubevirt.holders import holder_of
from krm_fn.kubevirt.resolve.matcher import API_VERSIONS
from krm_fn.sources.places import MATCHERS

# How claims are made of DataVolumes: cluster-wide kinds with their API groups.
STORAGE = {"StorageClass": "storage.k8s.io", "StorageProfile": "cdi.kubevirt.io"}
# The kinds that are offered, with their API groups.
KINDS = {
    **{kind: version.rpartition("/")[0] for kind, version in API_VERSIONS.items()},
    "NetworkAttachmentDefinition": "k8s.cni.cncf.io",
    **STORAGE,
}
# The kinds of objects that describe the cluster.
PLATFORM = {"KubeVirt": "kubevirt.io", "HyperConverged": "hco.kubevirt.io"}
OFFERED = {**KINDS, **PLATFORM}
WORD = expression(rb"[A-Za-z0-9][A-Za-z0-9._-]*")


def words(text: bytes) -> frozenset[str]:
    """The words of a text that may be names."""
    return frozenset(word.decode() for word in set(WORD.findall(text)))


def referred(obj: Object) -> Iterator[str]:
    """The names of the instancetype, the preference, the claims and the networks that an object with a machine refers to."""
    holder = holder_of(obj)
    if holder is None:
        return
    for matcher in MATCHERS:
        yield text(get(obj, holder.in_vm((*matcher, "name"))))
    for volume in as_list(get(obj, (*holder.instance, "volumes"))):
        yield text(get(volume, ("persistentVolumeClaim", "claimName")))
        yield text(get(volume, ("dataVolume", "name")))
    for network in as_list(get(obj, (*holder.instance, "networks"))):
        yield text(get(network, ("multus", "networkName"))).rpartition("/")[2]


def texts_of(value: Any) -> Iterator[str]:
    """The words in the texts of an object, keys left out."""
    if isinstance(value, dict):
        for below in value.values():
            yield from texts_of(below)
    elif isinstance(value, list):
        for below in value:
            yield from texts_of(below)
    elif isinstance(value, str):
        yield from words(value.encode(errors="replace"))


# Rules that report what is not in the bundle: another target may have it.
ABOUT_ABSENT = frozenset(
    ("missing-object", "missing-revision", "unresolved-instancetype", "unresolved-preference", "failed-inference")
)


def wanted(findings: Iterable[Finding], objects: Sequence[Object]) -> Iterator[str]:
    """The names of what the findings miss, and of the instancetypes and preferences of VMs that stand elsewhere."""
    for finding in findings:
        if finding.rule in ABOUT_ABSENT and isinstance(finding.current, str):
            yield finding.current.rpartition("/")[2]
    own = {name_of(obj) for obj in objects if kind_of(obj) in KINDS}
    for obj in objects:
        for matcher in MATCHERS:
            name = text(get(obj, (*matcher, "name")))
            if name and name not in own:
                yield name
