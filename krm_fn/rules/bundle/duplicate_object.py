"""Two different objects have the same kind and name.

What it finds: two objects in the bundle with the same group, kind, namespace and name, but different content: those of
KubeVirt's kinds, quotas and limits, and the claims, Secrets, networks and the like that a VM or DataVolume uses. Objects that
differ only in the host's own annotations count as one: kpt sends an item twice where selectors overlap. In folders, objects
are compared where something applies both: one kustomization, or one folder. Different kustomizations or folders may be for
different clusters. Different files of a folder that no kustomization builds are a warning: they may be variants, of which
somebody applies one. They are reported once for each two files and kind. An object in two API versions is a warning, too,
unless it is one that VMs are rendered with: kustomize builds both, and the cluster keeps the last one.

Why it matters: the cluster keeps only the object that is applied last, and the order of the files decides which of the two a
reference means. kustomize refuses such a bundle.

Fix: delete one of the two, or rename it.

Example:

    apiVersion: instancetype.kubevirt.io/v1beta1
    kind: VirtualMachineClusterInstancetype
    metadata: {name: small}
    spec: {cpu: {guest: 1}, memory: {guest: 1Gi}}
    ---
    apiVersion: instancetype.kubevirt.io/v1beta1
    kind: VirtualMachineClusterInstancetype
    metadata: {name: small}
    spec: {cpu: {guest: 2}, memory: {guest: 2Gi}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.bundle import Bundle, Entry, effective_namespace, is_cluster_kind
from krm_fn.base.console import file_name
from krm_fn.base.objects import Object, annotations_of, group_of, kind_of, name_of
from krm_fn.kubevirt.resolve.matcher import BUNDLE_KINDS
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, also, rule
from krm_fn.rules.shared.available_objects import GROUPS, made_by
from krm_fn.rules.shared.object_references import referred

GROUP = "kubevirt.io"
# What bounds the VMs of a namespace.
BOUNDS = ("ResourceQuota", "LimitRange")
HOST_ANNOTATIONS = ("config.kubernetes.io/", "internal.config.kubernetes.io/", "config.k8s.io/", "kustomize.config.k8s.io/")


@rule(severity="error")
def duplicate_object(facts: BundleFacts) -> Iterator[Hit]:
    namesakes: dict[tuple[str, ...], list[Entry]] = {}
    for entry in facts.bundle.entries:
        if name_of(entry.obj):
            namesakes.setdefault(_key(entry.obj), []).append(entry)
    several = (found for found in namesakes.values() if len(found) > 1)
    ordered = (facts.bundle.ordered(found) for found in several if _concerns_vms(found[0].obj, facts.bundle))
    clashes = [clash for found in ordered for clash in _clashes(found, facts.bundle)]
    groups: dict[tuple[str, ...], list[tuple[Entry, Entry]]] = {}
    for number, (entry, first) in enumerate(clashes):
        groups.setdefault(_group(entry, first, number, facts.bundle), []).append((entry, first))
    for group in groups.values():
        yield _hit(*group[0], facts, others=len(group) - 1)


def _concerns_vms(obj: Object, bundle: Bundle) -> bool:
    """True for a kind of KubeVirt, and for an object, or what makes one, that something of KubeVirt uses."""
    kind, group = kind_of(obj), group_of(obj)
    if group == GROUP or group.endswith("." + GROUP) or (kind in BOUNDS and not group):
        return True
    named = [(kind, effective_namespace(obj), name_of(obj))] if GROUPS.get(kind) == group else []
    return not referred(bundle).isdisjoint((*named, *made_by(obj)))


def _clashes(found: list[Entry], bundle: Bundle) -> Iterator[tuple[Entry, Entry]]:
    """Each object that differs from the first one that is applied with it, and that first one."""
    firsts: dict[str, tuple[Entry, Object]] = {}  # by what applies it; "" is anything
    for entry in found:
        own = _own(entry.obj)
        units = sorted(bundle.units(entry.item))
        before = (firsts[unit] for unit in ([*units, ""] if units else firsts) if unit in firsts)
        first = next((first for first, other in before if other != own), None)
        if first:
            yield entry, first
        for unit in units or ("",):
            firsts.setdefault(unit, (entry, own))


def _group(entry: Entry, first: Entry, number: int, bundle: Bundle) -> tuple[str, ...]:
    """What is reported together: the variants of a kind in two files; all other clashes are reported one by one."""
    if not _may_be_variants(entry, first, bundle):
        return (str(number),)
    return bundle.place(entry.item)[0], bundle.place(first.item)[0], kind_of(entry.obj)


def _hit(entry: Entry, first: Entry, facts: BundleFacts, *, others: int) -> Hit:
    other = f"another {kind_of(entry.obj)} of this name with different content"
    too = f" ({others} more of this kind in these two files)" if others else ""
    is_doubtful = _may_be_variants(entry, first, facts.bundle) or _are_versions(entry.obj, first.obj)
    return Hit(
        message=f"{other} is {_where(first, facts)}{too}; delete or rename one",
        path=("metadata", "name"),
        current=name_of(entry.obj),
        about=entry,
        severity="warning" if is_doubtful else "",
        related=also(first, ("metadata", "name")),
    )


def _may_be_variants(entry: Entry, first: Entry, bundle: Bundle) -> bool:
    """True where nobody knows that both are applied: they stand in different files, which were only found in a folder."""
    found = bundle.units(entry.item) and bundle.units(first.item)
    return bool(found) and bundle.place(entry.item)[0] != bundle.place(first.item)[0]


def _are_versions(one: Object, other: Object) -> bool:
    """True for an object in two API versions, except for those with which VMs are rendered: there the order matters."""
    return one.get("apiVersion") != other.get("apiVersion") and kind_of(one) not in BUNDLE_KINDS


def _key(obj: Object) -> tuple[str, ...]:
    kind = kind_of(obj)
    return group_of(obj), kind, "" if is_cluster_kind(kind) else effective_namespace(obj), name_of(obj)


def _own(obj: Object) -> Object:
    """The object without the annotations that hosts write into it."""
    notes = {key: value for key, value in annotations_of(obj).items() if not str(key).startswith(HOST_ANNOTATIONS)}
    return {**obj, "metadata": {**obj["metadata"], "annotations": notes}}


def _where(entry: Entry, facts: BundleFacts) -> str:
    file, index = facts.bundle.place(entry.item)
    return f"in {file_name(file)} (document {index})" if file else f"at item {entry.item}"
