"""Objects need feature gates, and the cluster's configuration is unknown.

What it finds: fields that KubeVirt refuses unless a feature gate is enabled, where nothing states which gates are: the
bundle has no KubeVirt and no HyperConverged object, and the function config has no `configuration`. In a repository, the
object of another folder counts too. If several differ, the nearest one counts; if none is nearer, the warning names them. One
warning names all gates, at the first object that needs one.

Why it matters: a cluster without these gates refuses the objects.

Fix: state the cluster's configuration: add the KubeVirt or the HyperConverged object, set `configuration` in the function
config, or pass `--configuration FILE` with the content of the KubeVirt object's `spec.configuration`. Then every field that
needs a disabled gate is an error, and enabled gates are not reported. `configuration: {}` states that the cluster has
KubeVirt's default settings.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachineInstance
    metadata: {name: metered}
    spec:
      domain:
        memory: {guest: 1Gi}
        devices: {downwardMetrics: {}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.wording import listed
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, also, rule

ELSEWHERE = 5  # other places that are named
FIX = "add the KubeVirt object to the bundle, set configuration in the config, or pass --configuration FILE"


@rule(severity="warning", upstream="pkg/virt-config/featuregate/feature-gates.go:IsEnabled")
def unknown_configuration(facts: BundleFacts) -> Iterator[Hit]:
    gated = {id(refused.entry): refused.gated for refused in facts.gated}
    entries = facts.bundle.ordered(refused.entry for refused in facts.gated)
    needs = [(entry, cause) for entry in entries for cause in gated[id(entry)]]
    if not needs:
        return
    gates = sorted({cause.gate for _, cause in needs})
    (entry, first), *others = needs
    named = f"feature gate{'s' * (len(gates) > 1)} {listed(gates, 'and', most=len(gates))}"
    count = len({(entry.item, entry.path) for entry, _ in needs})
    users = "1 object needs" if count == 1 else f"{count} objects need"
    yield Hit(
        message=f"{users} the {named}, and the cluster's configuration is unknown{_because(facts)}; {FIX}",
        path=first.path,
        current=first.current,
        about=entry,
        related=tuple(place for entry, cause in others[:ELSEWHERE] for place in also(entry, cause.path)),
    )


def _because(facts: BundleFacts) -> str:
    """Why the configuration is unknown although the repository has objects that describe clusters."""
    found = next((each for each in facts.surroundings.ambiguous if not each.name), None)
    return f", because the {found.kind} objects in {listed(found.where, 'and')} differ" if found else ""
