"""The rules of each family, and the bundle rules that a run needs.

Loading the module of a rule costs more than running it. `NEEDS` decides, without loading a rule of the family `bundle`,
whether the rule can find anything. For most bundles no rule can, and then `krm_fn.rules.registry` is not loaded either. A rule
without a row in `NEEDS` always runs.
"""

from __future__ import annotations

import sys

from krm_fn.base.annotations import Callable, Iterator
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import Object, name_of, previous_names
from krm_fn.kubevirt.api_versions import is_served, is_stray
from krm_fn.kubevirt.catalogue_names import NAMES
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.removed_fields import NAMES as REMOVED_NAMES
from krm_fn.kubevirt.removed_fields import TEMPLATES, VMS, removed_fields
from krm_fn.rules.facts.bundles import BundleFacts

Needs = dict[str, Callable[[BundleFacts], object]]


PACKAGE = __name__.rpartition(".")[0]


# The modules of the families that were listed: a repository has thousands of bundles.
_listed: dict[str, tuple[str, ...]] = {}


def modules(family: str) -> tuple[str, ...]:
    """The names of the modules of a family, each of which is a rule, sorted; loads none of them."""
    if family not in _listed:
        from os import listdir

        folder = f"{sys.modules[PACKAGE].__path__[0]}/{family}"
        names = {name.partition(".")[0] for name in listdir(folder)}  # noqa: PTH208
        _listed[family] = tuple(sorted(names - {"__init__", "__pycache__"}))
    return _listed[family]


def relevant_modules(family: str, needs: Needs, facts: BundleFacts) -> Iterator[str]:
    """The modules of the rules that can find something."""
    for name in modules(family):
        if name not in needs or needs[name](facts):
            yield name


def any_speaks(facts: BundleFacts) -> bool:
    """False if no rule of the family `bundle` can find anything."""
    return any(True for _ in relevant_modules("bundle", NEEDS, facts))


def uses_catalogue(facts: BundleFacts) -> bool:
    found = (each for vm in facts.vms for each in (vm.resolution.instancetype, vm.resolution.preference))
    return any(each is not None and each.origin == "catalogue" for each in found)


def _typed(entry: Entry) -> Object:
    """An object with the type of an entry, which need not be read for it."""
    api_version, kind = entry.type
    return {"apiVersion": api_version, "kind": kind}


def _may_differ(facts: BundleFacts) -> bool:
    if facts.config.catalogue == "none":
        return False
    kinds = ("VirtualMachineClusterInstancetype", "VirtualMachineClusterPreference")
    return any(name_of(each.obj) in NAMES for kind in kinds for each in facts.bundle.of_kind(kind))


def _has_namesakes(facts: BundleFacts) -> bool:
    names: dict[str, set[str]] = {}
    for each in facts.bundle.entries:
        of_kind, name = names.setdefault(each.type[1], set()), each.name
        if name in of_kind:
            return True
        of_kind.add(name)
    return False


# The kinds that VMs name in fields that kustomize doesn't know.
NAMED = (
    *("PersistentVolumeClaim", "DataVolume", "DataSource", "VolumeSnapshot", "Secret", "ConfigMap", "ServiceAccount"),
    *("NetworkAttachmentDefinition", "ResourceClaim", "ResourceClaimTemplate", "VirtualMachineSnapshot"),
)


def _has_renamed(facts: BundleFacts) -> bool:
    if facts.config.mode == "validate" or facts.surroundings.affixes:
        return True  # there a generator's hash and the names of VMs and sizes count, too
    return any(previous_names(each.obj) for kind in NAMED for each in facts.bundle.of_kind(kind))


def _has_removed(facts: BundleFacts) -> bool:
    if facts.config.mode == "validate":
        return False  # there `unknown-field` reports them
    release, kinds = facts.release, {kind for _, kind in (*TEMPLATES, *VMS)}
    return any(has_removed_field(entry, release) for entry in facts.remaining if entry.type[1] in kinds)


def has_removed_field(entry: Entry, release: Release) -> bool:
    """True if an object of an apiVersion that the release serves has a field that the release no longer has."""
    found = entry.may_have(REMOVED_NAMES) and is_served(entry.obj, release) and removed_fields(entry.obj, release)
    return any(True for _ in found or ())


NEEDS: Needs = {
    "ambiguous_reference": lambda facts: facts.surroundings.ambiguous,
    "deprecated_instancetype": uses_catalogue,
    "differing_catalogue_name": _may_differ,
    "differing_release": lambda facts: facts.bundle.of_kind("KubeVirt"),
    "duplicate_object": _has_namesakes,
    "expanding_reference_policy": lambda facts: (
        facts.config.mode in ("validate", "snapshot") and facts.cluster.expanding_policy(facts.release)
    ),
    "failed_snapshot": lambda facts: facts.unstored,
    "failed_patch": lambda facts: facts.unpatched,
    "former_name": _has_renamed,
    "ignored_configuration": lambda facts: facts.cluster.invalid,
    "null_item": lambda facts: facts.bundle.nulls,
    "policy_not_evaluated": lambda facts: facts.unevaluated,
    "refused_policy": lambda facts: facts.unevaluated,
    "removed_field": _has_removed,
    "removed_in_later_release": uses_catalogue,
    "undeployed_catalogue": lambda facts: facts.cluster.catalogue_gate(facts.release),
    "unknown_kind": lambda facts: any(is_stray(_typed(each)) for each in facts.bundle.types),
    "unrepeatable_patch": lambda facts: not all(each.repeats for each in facts.patched),
    "unserved_api_version": lambda facts: not all(is_served(_typed(each), facts.release) for each in facts.bundle.types),
    "unexpanded_vm": lambda facts: "unexpanded-vm" in facts.config.severity,
}
