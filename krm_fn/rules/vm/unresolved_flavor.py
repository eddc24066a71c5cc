"""A VM's flavor or its profile does not exist.

What it finds: a `spec.flavor` whose name matches no flavor in the bundle or whose kind is not a flavor's; a profile that the
flavor does not have; or no profile, where the flavor has no default profile.

Why it matters: KubeVirt 0.47 to 0.55 had flavors in place of instancetypes. Without its flavor the VM has no size and can't
be rendered. Later releases ignore `spec.flavor`.

Fix: correct the name, the kind or the profile, or add the flavor to the bundle. `kubevirt-render migrate` then converts
flavors to instancetypes. A matcher without a kind means VirtualMachineClusterFlavor.

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

from krm_fn.base.annotations import Iterator
from krm_fn.base.wording import listed
from krm_fn.kubevirt.facts import ResolutionError
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.resolution_errors import detail, errors, hit, the_one
from krm_fn.rules.shared.unresolved import hits


@rule(severity="error")
def unresolved_flavor(facts: VmFacts) -> Iterator[Hit]:
    yield from hits(facts, "flavor")
    for error in errors(facts, ("unknown-profile", "no-default-profile"), "flavor"):
        yield hit(error, _message(error), _likeliest(error))


def _likeliest(error: ResolutionError) -> object:
    return the_one(detail(error, "near") or ())


def _message(error: ResolutionError) -> str:
    those = listed(error.candidates)
    if error.reason == "unknown-profile":
        return f"{error.wanted} has no profile {error.current}; {f'use {those}' if those else 'add it to the flavor'}"
    fix = f"set spec.flavor.profile to {those}" if those else "mark one as default"
    return f"{error.wanted} has no default profile; {fix}"
