"""The VM template of a Cluster API machine has a null.

What it finds: a key without a value in `virtualMachineTemplate` of a KubevirtMachineTemplate or a KubevirtMachine.

Why it matters: the definition of these kinds has KubeVirt's own types, in which nothing may be null. Where the object is
created, or applied by the client, the API server drops the null. Under server-side apply, which Helm 4, Flux and Argo CD
use, it keeps the null and refuses the object: `must be of type string: "null"`. Charts write such keys for unset values.

Fix: remove the key, or give it a value.

Example:

    apiVersion: infrastructure.cluster.x-k8s.io/v1alpha1
    kind: KubevirtMachineTemplate
    metadata: {name: workers}
    spec:
      template:
        spec:
          virtualMachineTemplate:
            spec:
              runStrategy: Always
              template: {spec: {domain: {ioThreadsPolicy: null, memory: {guest: 4Gi}, devices: {}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.paths import Path, get
from krm_fn.findings.limits import counted, first
from krm_fn.kubevirt.templates import KINDS, MACHINES
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule

# Maps in which the definition keeps everything.
KEPT = ("metadata", "status")


@rule(severity="warning")
def null_in_machine_template(facts: BundleFacts) -> Iterator[Hit]:
    for (group, kind), row in KINDS.items():
        for entry in facts.bundle.of_kind(kind, group) if group == MACHINES else ():
            for path, more in first(_nulls(get(entry.obj, row.objects), row.objects)):
                fact = f"{path[-1]} is null: server-side apply refuses the object, create and client-side apply drop the key"
                yield Hit(message=counted(f"{fact}; remove it", more), path=path, current=None, about=entry)


def _nulls(value: Any, path: Path) -> Iterator[Path]:
    """The places of the keys without a value."""
    if isinstance(value, list):
        for index, each in enumerate(value):
            yield from _nulls(each, (*path, index))
    elif isinstance(value, dict):
        for key, below in value.items():
            if below is None:
                yield *path, str(key)
            elif key not in KEPT:
                yield from _nulls(below, (*path, str(key)))
