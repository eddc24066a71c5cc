"""KubeVirt has removed a field from its API.

What it finds: in a VM, an instance, a replica set or a pool of an apiVersion that the release serves, a field that an
earlier release removed: `spec.flavor` and `spec.liveUpdateFeatures`, a disk's `volumeName` or `floppy`, a volume's
`registryDisk`, a network's `genie`, the capitalised `Running` and `Template`, and the remaining fields of libvirt's own
layout.

Why it matters: the cluster drops an unknown field, or refuses the object for it. If the field is dropped, the VM has no
size, no disk of that volume, or no run strategy. In mode `validate` the rule `unknown-field` reports all unknown fields.

Fix: `kubevirt-render migrate --in-place PATH` writes the replacement, where there is one.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      template:
        spec:
          domain: {devices: {disks: [{name: root, disk: {}}]}}
          volumes: [{name: root, registryDisk: {image: example.com/fedora}}]
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.findings.limits import counted, first
from krm_fn.kubevirt.api_versions import is_served
from krm_fn.kubevirt.removed_fields import removed_fields
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule


@rule(severity="warning")
def removed_field(facts: BundleFacts) -> Iterator[Hit]:
    for entry in facts.remaining:
        found = removed_fields(entry.obj, facts.release) if is_served(entry.obj, facts.release) else ()
        for (path, value, row), more in first(found):
            message = counted(f"KubeVirt {row.gone} removed {path[-1]}; {row.fix}", more)
            yield Hit(message=message, path=path, current=value, about=entry)
