"""An object refers to another object that is not in the bundle.

What it finds: a PersistentVolumeClaim, DataVolume, DataSource, VolumeSnapshot, Secret, ConfigMap, ServiceAccount,
NetworkAttachmentDefinition or ResourceClaim that a VM, an instance, a pool, a replica set or a DataVolume refers to, or a VM or
its snapshot that a snapshot, restore, export, clone or migration refers to, and that the bundle neither contains nor creates.
dataVolumeTemplates, DataVolumes, SealedSecrets, ExternalSecrets and the like count as what they create. `optional` sources are
skipped, and a namespace that is not written may be any: who applies the bundle sets it. Each object is reported once, at the
first reference to it. It is a warning if the name is a misspelling of one in the bundle. That name is proposed only if it is
safe to write there: no machine or workload uses the object, and it is not the object that is being created.

Why it matters: KubeVirt admits the VM and waits: the VM stays in `Provisioning` or `Scheduling`, or its pod in
`ContainerCreating`, until the object exists. Often it is only a mistake in the name or in the namespace. Boot sources that
the HyperConverged operator imports (in `openshift-virtualization-os-images`, `kubevirt-os-images`) are skipped, because a
bundle contains none of them.

Fix: correct the name, or add the object to the bundle. If the object comes from elsewhere, silence the finding with an
ignore.

Example:

    apiVersion: v1
    kind: PersistentVolumeClaim
    metadata: {name: web-root}
    spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 10Gi}}}
    ---
    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      runStrategy: Always
      template:
        spec:
          domain: {devices: {disks: [{name: root, disk: {}}]}}
          volumes: [{name: root, persistentVolumeClaim: {claimName: web-rot}}]
"""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Ref, kind_of
from krm_fn.findings.finding import UNSET
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.available_objects import API_VERSIONS, available_objects
from krm_fn.rules.shared.object_references import Reference, missing
from krm_fn.rules.shared.proposals import Proposals

# Objects often applied long before the references to them: reported only where the bundle has others, or one of that name.
SEPARATE = ("VirtualMachine", "VirtualMachineInstance", "VirtualMachineSnapshot")
# Where the HyperConverged operator puts the boot sources that it imports into the cluster.
BOOT_SOURCES = ("kubevirt-os-images", "openshift-virtualization-os-images")


@rule(severity="info", worst="warning")
def missing_object(facts: BundleFacts) -> Iterator[Hit]:
    there, proposals = available_objects(facts.bundle), Proposals(facts.bundle)
    for (kind, namespace, name, optional), references in missing(facts.bundle).items():
        if optional or there.now(kind, namespace, name) or (namespace in BOOT_SOURCES and not there.any(kind, namespace)):
            continue  # the rule former-name reports a name from before kustomize's changes
        if _is_known(facts, kind, namespace, name):
            continue
        if kind not in SEPARATE or there.any(kind, namespace) or there.namespaces(kind, name):
            ref = Ref(api_version=API_VERSIONS[kind], kind=kind, name=name, namespace=namespace)
            reference = _first(references, facts)
            elsewhere = there.namespaces(kind, name)
            near = "" if elsewhere else proposals.name((kind, namespace, name), reference.owner)
            yield _hit(ref, reference, len(references) - 1, near=near, elsewhere=elsewhere[0] if elsewhere else "")


def _is_known(facts: BundleFacts, kind: str, namespace: str, name: str) -> bool:
    """True for an object that is in the cluster and not in git, or of which the rule `ambiguous-reference` speaks."""
    beside = facts.surroundings
    return beside.is_external(kind, namespace, name) or beside.ambiguous_of(kind, namespace, name) is not None


def _first(references: list[Reference], facts: BundleFacts) -> Reference:
    """The reference that is reported for all: the first one in the first of the owners of one kind."""
    kind = kind_of(references[0].owner.obj)
    owners = {id(reference.owner): reference.owner for reference in references if kind_of(reference.owner.obj) == kind}
    owner = facts.bundle.ordered(owners.values())[0]
    return next(reference for reference in references if reference.owner is owner)


def _hit(ref: Ref, reference: Reference, others: int, *, near: str, elsewhere: str) -> Hit:
    """`near` is the intended name, `elsewhere` a namespace that has such an object; each is "" where there is none."""
    if elsewhere:
        fact = f", but it is in namespace {elsewhere}"
        fix = f"add one to namespace {ref.namespace}, or correct the namespace if it is wrong"
    elif near:
        fact, fix = f", but {near} is", "correct the name, or add the object"
    else:
        fact, fix = "", "correct the name, or add the object, unless it is created elsewhere"
    too = f" ({others} more references)" if others > 1 else " (1 more reference)" if others else ""
    return Hit(
        message=f"{ref} is not in the bundle{fact}{too}; {fix}",
        path=reference.path,
        current=reference.written,
        proposed=reference.written.removesuffix(ref.name) + near if near else UNSET,
        about=reference.owner,
        severity="warning" if near else "",
    )
