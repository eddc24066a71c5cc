"""No kustomization lists a file with a VM that is beside one.

What it finds: a file with a VM, an instance, a pool or a replica set in a folder whose kustomization does not list it. There
is one finding for each file. `check` judges the file, but its VMs are no VMs of `capacity`, `diff`, `explain`, `render` and the
page of `report`. A file that is named on the command line counts, and so does one in a kpt package.

Why it matters: nothing applies the file. Either somebody forgot to list it, or the VM is gone and its file stayed.

Fix: list the file under `resources` of the kustomization, or delete it. If something else applies it, move it to another
folder.

Example:

    # a folder, by its files
    files:
      kustomization.yaml: |
        resources: [web.yaml]
      web.yaml: |
        apiVersion: kubevirt.io/v1
        kind: VirtualMachine
        metadata: {name: web}
        spec: {runStrategy: Always, template: {spec: {domain: {memory: {guest: 1Gi}, devices: {}}}}}
      shop.yaml: |
        apiVersion: kubevirt.io/v1
        kind: VirtualMachine
        metadata: {name: shop}
        spec: {runStrategy: Always, template: {spec: {domain: {memory: {guest: 1Gi}, devices: {}}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.rules.facts.inputs import InputFacts
from krm_fn.rules.registry import Hit, rule


@rule(severity="info")
def not_deployed(facts: InputFacts) -> Iterator[Hit]:
    for others in facts.unlisted:
        more = f", nor are {others} more of the file" if others > 1 else ", nor is 1 more of the file" if others else ""
        yield Hit(
            message=f"not deployed{more}: the kustomization of this folder does not list the file; list it, or delete the file"
        )
