"""Live objects, as `kubectl get -o yaml` prints them: how they are recognised, and what a dump lacks."""

from __future__ import annotations

from krm_fn.base.annotations import Iterator, Sequence
from krm_fn.base.bundle import effective_namespace, is_cluster_kind
from krm_fn.base.external import External, Externals
from krm_fn.base.objects import Object, Ref, group_of, kind_of, metadata, name_of, text
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.admission.formats import is_label, is_subdomain
from krm_fn.kubevirt.holders import SERVED
from krm_fn.kubevirt.resolve import MATCHERS
from krm_fn.kubevirt.resolve.matcher import API_VERSION, GROUP

# What kubectl is asked for: the kinds that every cluster with KubeVirt serves, then those that only some clusters have.
KINDS = (
    "virtualmachines.kubevirt.io",
    "virtualmachineinstances.kubevirt.io",
    "virtualmachineinstancemigrations.kubevirt.io",
    "virtualmachineinstancereplicasets.kubevirt.io",
    "virtualmachinepools.pool.kubevirt.io",
    "kubevirts.kubevirt.io",
    "virtualmachineinstancetypes.instancetype.kubevirt.io",
    "virtualmachineclusterinstancetypes.instancetype.kubevirt.io",
    "virtualmachinepreferences.instancetype.kubevirt.io",
    "virtualmachineclusterpreferences.instancetype.kubevirt.io",
    "controllerrevisions.apps",
    "persistentvolumeclaims",
    "persistentvolumes",
    "storageclasses.storage.k8s.io",
    "poddisruptionbudgets.policy",
    "nodes",
    "pods",
)
OF_SOME = (
    "datavolumes.cdi.kubevirt.io",
    "datasources.cdi.kubevirt.io",
    "storageprofiles.cdi.kubevirt.io",
    "hyperconvergeds.hco.kubevirt.io",
    "migrationpolicies.migrations.kubevirt.io",
)
FLAGS = ("-A", "-o", "yaml", "--show-managed-fields")
# What the metadata of an object has that was read from a cluster; consoles leave out some of it.
MARKS = ("uid", "resourceVersion", "managedFields", "generation")
OWNERS = ("VirtualMachine", "VirtualMachinePool", "VirtualMachineInstanceReplicaSet")
SIZES = tuple(kind for matcher in MATCHERS for kind in matcher.kinds)
VM = "VirtualMachine"

Key = tuple[str, str, str, str]


def command(kinds: Sequence[str] = KINDS) -> str:
    """The command that prints all live objects of some kinds."""
    return " ".join(("kubectl", "get", ",".join(kinds), *FLAGS))


def is_live(obj: Object) -> bool:
    """True for an object that was read from a cluster."""
    return any(metadata(obj).get(key) for key in MARKS) or bool(obj.get("status"))


def is_named(obj: Object) -> bool:
    """False for an object of KubeVirt with a name or a namespace that no API server takes: no cluster has it."""
    name, namespace = (metadata(obj).get(key) for key in ("name", "namespace"))
    of_others = not group_of(obj).endswith("kubevirt.io")
    return of_others or (is_subdomain(name) and (namespace in (None, "") or is_label(namespace)))


def is_owned(obj: Object) -> bool:
    """True for a machine that another one has made: the instance of a VM, or a VM of a pool."""
    owners = map(as_map, as_list(metadata(obj).get("ownerReferences")))
    return is_live(obj) and any(each.get("kind") in OWNERS for each in owners)


def is_machine(obj: Object) -> bool:
    """True for a live machine that users manage."""
    return (group_of(obj), kind_of(obj)) in SERVED and is_live(obj) and not is_owned(obj)


def key_of(obj: Object) -> Key:
    """What tells an object from others."""
    kind = kind_of(obj)
    namespace = "" if is_cluster_kind(kind) else effective_namespace(obj)
    return group_of(obj), kind, namespace, name_of(obj)


class Lacking(Value):
    """What a dump lacks: the kinds of instancetypes and preferences that it has none of, and revisions that its VMs name.

    `revisions` are the references by the keys of the VMs, `stand_ins` objects in their place: what a VM names today, where the
    dump has that.
    """

    external: Externals | None = None
    revisions: dict[Key, tuple[Ref, ...]] = {}  # noqa: RUF012  nobody writes into a Value
    stand_ins: tuple[Object, ...] = ()


def lacking(objects: Sequence[Object]) -> Lacking:
    """What a dump lacks; nothing where no VM is live. A dump that has a ControllerRevision of a namespace has all of it."""
    vms = [obj for obj in objects if kind_of(obj) == VM and is_live(obj)]
    if not vms:
        return Lacking()
    present = {kind_of(obj) for obj in objects}
    complete = {effective_namespace(obj) for obj in objects if kind_of(obj) == "ControllerRevision"}
    sizes = {key_of(obj)[1:]: obj for obj in objects if kind_of(obj) in SIZES}
    found = [(key_of(vm), *each) for vm in vms if effective_namespace(vm) not in complete for each in _revisions(vm, sizes)]
    refs: dict[Key, tuple[Ref, ...]] = {}
    for key, ref, _ in found:
        refs[key] = (*refs.get(key, ()), ref)
    return Lacking(
        external=Externals(External(kind=kind) for kind in sorted({*SIZES} - present)),
        revisions=refs,
        stand_ins=tuple({ref: obj for _, ref, obj in found}.values()),
    )


def _revisions(vm: Object, sizes: dict[tuple[str, str, str], Object]) -> Iterator[tuple[Ref, Object]]:
    space = effective_namespace(vm)
    for matcher in MATCHERS:
        written, status = as_map(get(vm, ("spec", matcher.field))), as_map(get(vm, ("status", matcher.status)))
        name = text(written.get("revisionName")) or text(get(status, ("controllerRevisionRef", "name")))
        if written and name:
            kind = matcher.kind_named(text(written.get("kind"))) or matcher.cluster_kind
            named = text(written.get("name"))
            given = sizes.get((kind, "" if is_cluster_kind(kind) else space, named))
            ref = Ref(api_version="apps/v1", kind="ControllerRevision", namespace=space, name=name)
            yield ref, _revision(ref, kind, named, given)


def _revision(ref: Ref, kind: str, named: str, given: Object | None) -> Object:
    spec = {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}} if kind.endswith("Instancetype") else {}
    data = {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": named}, "spec": given["spec"] if given else spec}
    about = {
        "name": ref.name,
        "namespace": ref.namespace,
        "labels": {f"{GROUP}/object-name": named, f"{GROUP}/object-kind": kind},
    }
    return {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": about, "data": data, "revision": 0}
