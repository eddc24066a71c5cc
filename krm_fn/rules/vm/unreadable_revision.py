"""A VM refers to a ControllerRevision that can't be read.

What it finds: a ControllerRevision, named by a VM's matcher or status, that contains neither an instancetype nor a
preference, that contains one of the two where the other is expected, or that has a form which the release no longer reads:
KubeVirt 1.7 reads only v1beta1 objects.

Why it matters: KubeVirt can neither expand nor start the VM. A revision takes precedence over the live object, so KubeVirt
does not fall back to the name.

Fix: remove `revisionName` (or the `status`), so that the name is used and a new revision is stored; or let KubeVirt 1.3 to
1.6 convert the old revisions before the upgrade.

Example:

    apiVersion: apps/v1
    kind: ControllerRevision
    metadata: {name: web-small}
    data:
      apiVersion: instancetype.kubevirt.io/v1alpha2
      kind: VirtualMachineInstancetype
      metadata: {name: small}
      spec: {cpu: {guest: 1}, memory: {guest: 1Gi}}
    revision: 0
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      instancetype: {kind: VirtualMachineInstancetype, name: small, revisionName: web-small}
      template: {spec: {domain: {devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.kubevirt.facts import ResolutionError
from krm_fn.kubevirt.releases import Release
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.resolution_errors import detail, errors, hit

REASONS = ("revision-undecodable", "revision-form-unreadable", "revision-of-another-object")


@rule(severity="error", upstream="pkg/instancetype/compatibility/compatibility.go:Decode")
def unreadable_revision(facts: VmFacts) -> Iterator[Hit]:
    for error in errors(facts, REASONS):
        away = f"remove spec.{error.matcher}.revisionName" if error.path[0] == "spec" else "remove the status"
        yield hit(error, f"{error.wanted} {_fact(error, facts.release)}; {away} to use the name")


def _fact(error: ResolutionError, release: Release) -> str:
    if error.reason == "revision-form-unreadable":
        return f"contains the {error.matcher} in a form that KubeVirt {release} no longer reads"
    if error.reason == "revision-of-another-object":
        return f"contains a {detail(error, 'holds')}, expected the {error.matcher}"
    return "contains no instancetype or preference that can be read"
