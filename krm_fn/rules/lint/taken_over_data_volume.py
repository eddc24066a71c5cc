"""A VM takes over a DataVolume that is in the bundle, too.

What it finds: a DataVolume with the namespace and the name of one of the `dataVolumeTemplates` of a VM. One that already has an
owner is skipped, as the dump of a cluster has it.

Why it matters: KubeVirt creates no DataVolume from the template if there is one of that name, and becomes the owner
of that one. Size and source of the template mean nothing, and whoever deletes the VM deletes the disk, with its data.

Fix: use another name in the template, or delete the template and keep the DataVolume.

Example:

    apiVersion: cdi.kubevirt.io/v1beta1
    kind: DataVolume
    metadata: {name: root}
    spec: {source: {blank: {}}, storage: {resources: {requests: {storage: 5Gi}}}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      dataVolumeTemplates:
      - metadata: {name: root}
        spec: {source: {blank: {}}, storage: {resources: {requests: {storage: 5Gi}}}}
      template: {spec: {domain: {memory: {guest: 1Gi}, devices: {}}, volumes: [{name: root, dataVolume: {name: root}}]}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import metadata, name_of, namespace_of, ref_of
from krm_fn.base.paths import as_list, get
from krm_fn.kubevirt.holders import DATA_VOLUMES
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, also, rule

NAME = ("metadata", "name")


@rule(severity="warning", upstream="pkg/controller/controller_ref_manager.go:ClaimMatchedDataVolumes")
def taken_over_data_volume(facts: BundleFacts) -> Iterator[Hit]:
    alone = {
        (namespace_of(entry.obj), name_of(entry.obj)): entry
        for entry in facts.bundle.of_kind("DataVolume", "cdi.kubevirt.io")
        if name_of(entry.obj) and not metadata(entry.obj).get("ownerReferences")
    }
    for entry in facts.bundle.of_kind("VirtualMachine", "kubevirt.io") if alone else ():
        for index, template in enumerate(as_list(get(entry.obj, DATA_VOLUMES))):
            name = get(template, NAME)
            found = alone.get((namespace_of(entry.obj), name)) if isinstance(name, str) else None
            if found:
                fact = f"{ref_of(found.obj)} is in the bundle, too: the VM takes it over, and its deletion deletes the disk"
                yield Hit(
                    message=f"{fact}; use another name, or delete this template and keep the DataVolume",
                    path=(*DATA_VOLUMES, index, *NAME),
                    current=name,
                    about=entry,
                    related=also(found, NAME),
                )
