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
from krm_fn.base.bundle import Bundle, Entry, effective_namespace
from krm_fn.base.objects import Ref, group_of, kind_of, name_of, text
from krm_fn.base.paths import EACH, Path, get
from krm_fn.base.suggestions import Suggestions
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.holders import SERVED
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import Hit, rule
from krm_fn.rules.shared.available_objects import API_VERSIONS, MAKERS, NAME, available_objects
from krm_fn.rules.shared.machines import data_volumes
from krm_fn.rules.shared.object_references import (
    INSTANCE,
    Fields,
    Reference,
    ReferenceField,
    missing,
    places_of,
    tree_of,
    wanted,
)
from krm_fn.rules.shared.views import shared

Named = tuple[str, str, str]  # kind, namespace, name

POD = (
    ReferenceField(place=("volumes", EACH, "persistentVolumeClaim", "claimName"), kind="PersistentVolumeClaim"),
    ReferenceField(place=("volumes", EACH, "secret", "secretName"), kind="Secret"),
    ReferenceField(place=("volumes", EACH, "configMap", "name"), kind="ConfigMap"),
    ReferenceField(place=("serviceAccountName",), kind="ServiceAccount"),
)
POD_TEMPLATE: Path = ("spec", "template", "spec")
# Where the kinds that use objects have the spec that refers to them.
USERS: dict[tuple[str, str], Fields] = {
    **{key: ((holder.instance, INSTANCE),) for key, holder in SERVED.items()},
    ("", "Pod"): ((("spec",), POD),),
    ("batch", "CronJob"): ((("spec", "jobTemplate", *POD_TEMPLATE), POD),),
    ("batch", "Job"): ((POD_TEMPLATE, POD),),
    ("apps", "Deployment"): ((POD_TEMPLATE, POD),),
    ("apps", "StatefulSet"): ((POD_TEMPLATE, POD),),
    ("apps", "DaemonSet"): ((POD_TEMPLATE, POD),),
}
# A DataVolume and its claim are one disk.
SAME = {"DataVolume": "PersistentVolumeClaim"}
SNAPSHOT, RESTORE = "VirtualMachineSnapshot", "VirtualMachineRestore"
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


class Proposals:
    """Which objects of a bundle may be proposed in place of missing ones.

    The name must be a misspelling (`krm_fn.base.suggestions`), and it must be safe to follow the proposal: no machine or
    workload uses the object, it is neither the object with the reference nor one that this object creates, and a snapshot to
    restore is one of the VM that is restored.
    """

    def __init__(self, bundle: Bundle) -> None:
        self._bundle, self._there, self._suggestions = bundle, available_objects(bundle), Suggestions()

    def name(self, missing: Named, owner: Entry) -> str:
        """The name to write in the owner in place of a missing object's; "" where no name is safe to write.

        For an object that kustomize renamed it may be the earlier name, if that is nearer: the owner was written with it.
        """
        kind, namespace, name = missing
        known = self._there.all_names(kind, namespace)
        near = self._suggestions.of(name, known)
        if not near:
            return ""
        names = {(SAME.get(kind, kind), namespace, each) for each in known[near]}
        taken = not names.isdisjoint(shared(self._bundle, used)) or not names.isdisjoint(_own(owner))
        return "" if taken or self._of_another(kind, namespace, known[near], owner) else near

    def _of_another(self, kind: str, namespace: str, names: tuple[str, ...], owner: Entry) -> bool:
        """True for a snapshot of a VM other than the one that the owner restores."""
        if kind != SNAPSHOT or kind_of(owner.obj) != RESTORE:
            return False
        target = get(owner.obj, ("spec", "target", "name"))
        found = (self._bundle.find(kind, namespace, name) for name in names)
        return any(each is not None and get(each.obj, ("spec", "source", "name")) != target for each in found)


def used(bundle: Bundle) -> frozenset[Named]:
    """The objects that machines and workloads of the bundle use; a DataVolume counts as its claim."""
    return frozenset((SAME.get(kind, kind), namespace, name) for kind, namespace, name in _used(bundle))


def _used(bundle: Bundle) -> Iterator[Named]:
    for (group, kind), rows in USERS.items():
        tree = tree_of(rows)
        for entry in bundle.of_kind(kind, group):
            namespace = effective_namespace(entry.obj)
            for path, row, around in places_of(entry.obj, tree):
                found = wanted(row, around, path[-1], namespace)
                if found:
                    yield found[:3]
    for entry, path in data_volumes(bundle):
        if path:
            yield "DataVolume", effective_namespace(entry.obj), text(get(entry.obj, (*path, *NAME)))


def _own(owner: Entry) -> set[Named]:
    """The owner itself, and the objects that it creates."""
    kind, namespace = kind_of(owner.obj), effective_namespace(owner.obj)
    found = {(SAME.get(kind, kind), namespace, name_of(owner.obj))}
    for maker in MAKERS:
        if (maker.kind, maker.group) == (kind, group_of(owner.obj)):
            found |= {(SAME.get(maker.makes, maker.makes), namespace, text(get(owner.obj, path))) for path in maker.names}
    return found
