"""A VM refers to a ControllerRevision that does not exist.

What it finds: a `revisionName` in `spec.instancetype` or `spec.preference`, or a `controllerRevisionRef` in the VM's status,
that names no ControllerRevision in the VM's namespace. For files of a folder that no kustomization uses, it is a warning if
no name is near: the cluster may have the revision.

Why it matters: a revision takes precedence over the live object, so KubeVirt does not fall back to the name. It refuses the
VM or fails to start it. Manifests exported with `kubectl get -o yaml` contain such references, but not the revisions.

Fix: remove `revisionName` (or the `status`), so that the name is used; or add the ControllerRevision to the bundle.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      instancetype: {name: u1.medium, revisionName: web-u1.medium-v1beta1-4f3c-1}
      template: {spec: {domain: {devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.wording import listed
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.facts import ResolutionError
from krm_fn.rules.facts.vms import VmFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.resolution_errors import detail, errors, hit, the_one, to_add


@rule(severity="error", upstream="pkg/instancetype/find/revision.go:Find")
def missing_revision(facts: VmFacts) -> Iterator[Hit]:
    for error in errors(facts, ("revision-missing",)):
        proposed = the_one(error.candidates) if error.path[0] == "spec" else UNSET
        yield hit(error, _message(error), proposed)


def _message(error: ResolutionError) -> str:
    near = f"use {listed(error.candidates)}, " if error.candidates else ""
    elsewhere = detail(error, "namespaces")
    but = f" (namespace {listed(elsewhere, 'and')} has one)" if elsewhere else ""
    away = f"remove spec.{error.matcher}.revisionName" if error.path[0] == "spec" else "remove the status"
    return f"{error.wanted} is not found{but}; {near}{to_add(error)}, or {away} to use the name"
