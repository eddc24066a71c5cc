"""The release does not serve an object's apiVersion or kind.

What it finds: an object of a KubeVirt kind with an apiVersion that the release no longer serves (instancetypes of v1alpha1
and v1alpha2 since 1.6, all kinds of kubevirt.io/v1alpha1 and v1alpha2) or does not serve yet (pools of v1beta1 before 1.7),
or of a kind that no longer exists: flavors, OfflineVirtualMachine, VirtualMachineReplicaSet, VirtualMachinePreset.

Why it matters: the cluster refuses such an object, because it does not know the kind. It is an error in `check`. The other
commands render it as intended, with a warning.

Fix: `kubevirt-render migrate --in-place PATH` rewrites the object and the references to it.

Example:

    apiVersion: instancetype.kubevirt.io/v1alpha2  # kubevirtVersion: "1.9"
    kind: VirtualMachineClusterInstancetype
    metadata: {name: small}
    spec: {cpu: {guest: 1}, memory: {guest: 1Gi}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.bundle import Entry
from krm_fn.base.objects import kind_of
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.api_versions import is_served, present_form
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule


@rule(severity="error", upstream="pkg/virt-operator/resource/generate/components/crds.go")
def unserved_api_version(facts: BundleFacts) -> Iterator[Hit]:
    for entry in facts.bundle.entries:
        if not is_served(entry.obj, facts.release):
            yield _hit(entry, facts, present_form(entry.obj, facts.release))


def _hit(entry: Entry, facts: BundleFacts, form: tuple[str, str] | None) -> Hit:
    given, kind = entry.obj["apiVersion"], kind_of(entry.obj)
    fact = f"KubeVirt {facts.release} does not serve {kind} in {given}"
    severity = "" if facts.config.mode == "validate" else "warning"  # old objects can still be rendered
    if form is None:
        message = f"{fact}, and nothing replaces it; remove it"
        return Hit(message=message, path=("kind",), current=kind, about=entry, severity=severity)
    now = form[0] if form[1] == kind else f"{form[1]} in {form[0]}"
    return Hit(
        message=f"{fact}; `kubevirt-render migrate` converts it to {now}",
        path=("apiVersion",),
        current=given,
        proposed=form[0] if form[1] == kind else UNSET,
        about=entry,
        severity=severity,
    )
