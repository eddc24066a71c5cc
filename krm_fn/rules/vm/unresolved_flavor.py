"""A VM's flavor, or its profile, does not exist.

What it finds: a `spec.flavor` whose name leads to no flavor of the bundle, or whose kind is none; a profile that the flavor
doesn't have; or no profile, where none of the flavor's is the default one.

Why it matters: flavors are what KubeVirt 0.47 to 0.55 had for instancetypes. Without its flavor the VM has no size, and can't
be rendered. No later release looks at `spec.flavor` at all.

Fix: correct the name, the kind or the profile, or add the flavor to the bundle; then `kubevirt-render migrate` makes
instancetypes of it all. A matcher without a kind means VirtualMachineClusterFlavor.

Example:

    apiVersion: flavor.kubevirt.io/v1alpha1
    kind: VirtualMachineClusterFlavor
    metadata: {name: small}
    profiles: [{name: plain, cpu: {cores: 1}}]
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      flavor: {name: small}  # no profile is the default one
      template: {spec: {domain: {devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.wording import listed
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.resolution_errors import detail, errors, hit, the_one
from krm_fn.rules.shared.unresolved import hits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from krm_fn.kubevirt.facts import ResolutionError
    from krm_fn.rules.facts import VmFacts


@rule(severity="error")
def unresolved_flavor(facts: VmFacts) -> Iterator[Hit]:
    yield from hits(facts, "flavor")
    for error in errors(facts, ("unknown-profile", "no-default-profile"), "flavor"):
        yield hit(error, _message(error), _likeliest(error))


def _likeliest(error: ResolutionError) -> object:
    return the_one(detail(error, "near") or ())


def _message(error: ResolutionError) -> str:
    those = f"its profiles are {listed(error.candidates, 'and')}" if error.candidates else "it has none with a name"
    if error.reason == "unknown-profile":
        return f"{error.wanted} has no profile {error.current}; {those}"
    return f"{error.wanted} has no default profile; name one in spec.flavor.profile: {those}"
