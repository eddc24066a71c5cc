"""A disk asks for storage of no class.

What it finds: a DataVolume, a DataVolume template, or a PersistentVolumeClaim that a machine uses, with `storageClassName: ""`
and neither `volumeName` nor `selector`, in a bundle without a PersistentVolume that has no class either.

Why it matters: an empty class is not the default one. Nothing provisions such a claim: it waits for a PersistentVolume without
a class that somebody makes, and the VM waits for the claim.

Fix: delete the field, which takes the cluster's default class, or name a class. For a PersistentVolume that is there, set
`volumeName`.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      dataVolumeTemplates:
      - metadata: {name: web-root}
        spec:
          source: {registry: {url: "docker://quay.io/containerdisks/fedora:40"}}
          storage: {storageClassName: "", resources: {requests: {storage: 30Gi}}}
      template:
        spec:
          domain: {memory: {guest: 1Gi}, devices: {}}
          volumes: [{name: root, dataVolume: {name: web-root}}]
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.bundle import Entry, effective_namespace
from krm_fn.base.objects import name_of, text
from krm_fn.base.paths import Path, as_list, as_map, get
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.machines import data_volumes, machines

CLASS = "storageClassName"
# What binds a claim to a volume that is there.
BINDING = ("volumeName", "selector")


@rule(severity="warning")
def claim_without_class(facts: BundleFacts) -> Iterator[Hit]:
    # upstream: containerized-data-importer, pkg/controller/datavolume/util.go:renderPvcSpecFromAvailablePv
    claims = [
        (entry, path)
        for entry, path in _claims(facts)
        if get(entry.obj, (*path, CLASS)) == "" and not any(get(entry.obj, (*path, key)) for key in BINDING)
    ]
    volumes = facts.bundle.of_kind("PersistentVolume") if claims else ()
    if claims and not any(get(each.obj, ("spec", CLASS)) in (None, "") for each in volumes):
        fact = "an empty class is not the default one: the disk waits for a PersistentVolume without a class, and none is here"
        for entry, path in claims:
            yield Hit(message=f"{fact}; delete {CLASS}, or name a class", path=(*path, CLASS), current="", about=entry)


def _claims(facts: BundleFacts) -> Iterator[tuple[Entry, Path]]:
    """The specs of claims that VMs use or CDI makes: each object, and the path from its root."""
    for entry, path in data_volumes(facts.bundle):
        yield from ((entry, (*path, "spec", key)) for key in ("storage", "pvc"))
    if facts.bundle.of_kind("PersistentVolumeClaim"):
        used = {
            (machine.namespace, text(get(each, ("persistentVolumeClaim", "claimName"))))
            for machine in machines(facts.bundle)
            for each in map(as_map, as_list(machine.spec.get("volumes")))
        }
        for entry in facts.bundle.of_kind("PersistentVolumeClaim"):
            if (effective_namespace(entry.obj), name_of(entry.obj)) in used:
                yield entry, ("spec",)
