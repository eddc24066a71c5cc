"""A step that renders VMs lacks settings of its cluster.

What it finds: a function of a kustomization or of a kpt package that renders VMs in another way than the cluster would,
because it does not see the KubeVirt or HyperConverged object, or the release and the configuration that the config of the
repository states for the cluster; and a plugin of Argo CD that does not see the latter. The message has the lines that its own
config lacks.

Why it matters: such a function gets only the objects of its own kustomization or package. So it takes the newest release and
KubeVirt's defaults, and writes values into the VMs that the cluster would not: a network binding, a machine type.

Fix: add the lines to the step's config: `check --fix` does that where it has a `spec`. An Application gets them as parameters.

Example:

    # a folder, by its files
    files:
      platform/kubevirt.yaml: |
        apiVersion: kubevirt.io/v1
        kind: KubeVirt
        metadata: {name: kubevirt, namespace: kubevirt}
        spec: {configuration: {machineType: pc-q35-9.0}}
      vms/Kptfile: |
        apiVersion: kpt.dev/v1
        kind: Kptfile
        metadata: {name: vms}
        pipeline: {mutators: [{exec: kubevirt-render, configMap: {defaults: cluster}}]}
      vms/vm.yaml: |
        apiVersion: kubevirt.io/v1
        kind: VirtualMachine
        metadata: {name: web, namespace: vms}
        spec:
          runStrategy: Always
          instancetype: {name: u1.small}
          template: {spec: {domain: {devices: {}}}}
"""

from __future__ import annotations

import json

from krm_fn.base.annotations import Iterator
from krm_fn.base.redaction import redact
from krm_fn.rules.facts.inputs import RepositoryFacts
from krm_fn.rules.registry import Hit, rule


@rule(severity="warning")
def unseen_configuration(facts: RepositoryFacts) -> Iterator[Hit]:
    for each in facts.unseen:
        vms = f"{each.vms} VM{'s' * (each.vms > 1)}"
        fact = f"this step does not see the settings of its cluster, and renders {vms} otherwise than they say"
        lines = ", ".join(f"{key}: {json.dumps(redact(value, (key,)))}" for key, value in each.lines.items())
        yield Hit(message=f"{fact}; add to its config: {lines}")
