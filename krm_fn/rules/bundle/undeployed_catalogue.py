"""A VM uses a builtin instancetype or preference that the cluster may not have.

What it finds: a VirtualMachine that refers to an instancetype or preference of the builtin catalogue, in a target release of
KubeVirt that deploys the catalogue only with the feature gate CommonInstancetypesDeploymentGate. These are 1.1 to 1.3. Either
the gate is not enabled, or nothing tells the configuration of the cluster.

Why it matters: without the gate, the cluster has no such object, unless somebody else has installed it. Then KubeVirt refuses
the VM.

Fix: enable the gate in the KubeVirt object, or in `configuration`; or write the output of `kubevirt-render catalogue show NAME`
into the bundle, or install common-instancetypes and set `catalogue: none`.

Example:

    # kubevirtVersion: "1.3"
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      instancetype: {name: u1.medium}
      template: {spec: {domain: {devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.catalogue import WORDS, place, uses


@rule(severity="warning", upstream="pkg/virt-operator/resource/apply/reconcile.go:Sync")
def undeployed_catalogue(facts: BundleFacts) -> Iterator[Hit]:
    gate = facts.cluster.catalogue_gate(facts.release)
    if not gate or facts.config.catalogue == "none" or facts.cluster.has_gate(gate):
        return
    why = "which is not enabled" if facts.cluster.known else "and nothing tells whether the cluster enables it"
    for hit in (*_used(facts), *_missed(facts)):
        fact = f"KubeVirt {facts.release} deploys the builtin {hit.message} only with the feature gate {gate}"
        yield hit.but(message=f"{fact}, {why}; enable it in the configuration, or add a copy of the object to the bundle")


def _used(facts: BundleFacts) -> Iterator[Hit]:
    """The matchers that refer to an entry of the catalogue; `message` is the word for the entry."""
    for (kind, name), users in uses(facts).items():
        for vm, matcher in users:
            path, current = place(vm, matcher)
            yield Hit(message=f"{WORDS[kind]} {name}", path=path, current=current, about=vm.entry)


def _missed(facts: BundleFacts) -> Iterator[Hit]:
    """The matchers that would refer to an entry of the catalogue if the cluster had it."""
    from krm_fn.kubevirt import catalogue  # only in the releases with the gate

    builtin = catalogue.of(facts.release)
    for vm in facts.vms:
        for error in vm.resolution.errors:
            wanted = error.wanted
            if error.reason == "unknown-name" and wanted is not None and builtin.run(wanted.kind, wanted.name):
                path, current = place(vm, error.matcher)
                yield Hit(message=f"{WORDS[wanted.kind]} {wanted.name}", path=path, current=current, about=vm.entry)
