"""A cluster-wide instancetype or preference has the name of a builtin one, but another spec.

What it finds: a VirtualMachineClusterInstancetype or VirtualMachineClusterPreference in the bundle that has the name of a
builtin one of the target release of KubeVirt and a different spec. The notation of a quantity makes no difference.

Why it matters: VMs in the bundle are rendered with the bundle's object, but in the cluster virt-operator owns the name and
restores the builtin spec. Often the object is a copy from the catalogue of another release.

Fix: rename the object and let the VMs refer to the new name; or delete it and use the builtin one. If the cluster's
commonInstancetypesDeployment is off, state that in the KubeVirt object or in `configuration`.

Example:

    apiVersion: instancetype.kubevirt.io/v1beta1
    kind: VirtualMachineClusterInstancetype
    metadata: {name: u1.medium}
    spec: {cpu: {guest: 2}, memory: {guest: 4Gi}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import kind_of, name_of
from krm_fn.base.paths import Path, as_map, dotted, is_set
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.catalogue import WORDS

GROUP = "instancetype.kubevirt.io"
QUANTITIES = (("spec", "memory", "guest"), ("spec", "requirements", "memory", "guest"))
NAMED_IN_MESSAGE = 5


@rule(severity="warning", upstream="pkg/virt-operator/resource/apply/instancetypes.go:createOrUpdateInstancetype")
def differing_catalogue_name(facts: BundleFacts) -> Iterator[Hit]:
    own = [entry for kind in WORDS for entry in facts.bundle.of_kind(kind, GROUP)]
    if not own or facts.config.catalogue == "none":
        return
    differing = list(_differing(facts, own))
    if differing and _deployed(facts):
        for entry, paths in differing:
            yield Hit(message=_message(facts, entry, paths), path=("metadata", "name"), current=name_of(entry.obj), about=entry)


def _differing(facts: BundleFacts, own: list[Entry]) -> Iterator[tuple[Entry, list[Path]]]:
    from krm_fn.kubevirt import catalogue  # only where a bundle has such kinds

    builtin = catalogue.of(facts.release)
    for entry in own:
        spec = builtin.find(kind_of(entry.obj), name_of(entry.obj))
        paths = [] if spec is None else list(_differences(as_map(entry.obj.get("spec")), spec, ("spec",)))
        if paths:
            yield entry, paths


def _deployed(facts: BundleFacts) -> bool:
    return facts.cluster.deploys_catalogue(facts.release)


def _differences(given: Any, builtin: Any, path: Path) -> Iterator[Path]:
    """The paths at which two specs differ, each as short as possible."""
    if isinstance(given, dict) and isinstance(builtin, dict):
        for key in dict.fromkeys((*builtin, *given)):
            yield from _differences(given.get(key), builtin.get(key), (*path, key))
    elif is_set(given) != is_set(builtin) or (is_set(given) and not _same(given, builtin, path)):
        yield path


def _same(given: Any, builtin: Any, path: Path) -> bool:
    if given == builtin and type(given) is type(builtin):
        return True
    if path not in QUANTITIES:
        return False
    from krm_fn.base import quantity

    ours, theirs = quantity.parse(given), quantity.parse(builtin)
    return ours is not None and theirs is not None and ours.nanos == theirs.nanos


def _message(facts: BundleFacts, entry: Entry, paths: list[Path]) -> str:
    named = ", ".join(map(dotted, paths[:NAMED_IN_MESSAGE]))
    more = f" and {len(paths) - NAMED_IN_MESSAGE} more" if len(paths) > NAMED_IN_MESSAGE else ""
    return (
        f"the builtin {WORDS[kind_of(entry.obj)]} of this name in KubeVirt {facts.release} differs in {named}{more}; rename "
        "this one, because in the cluster virt-operator replaces it with the builtin one"
    )
