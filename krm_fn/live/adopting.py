"""What runs in a cluster as manifests: without status and without what the cluster writes again, in files by namespace.

Applying them changes nothing: what decides how a machine starts stays, and so do names, UUIDs, serials and MAC addresses.
"""

from __future__ import annotations

from krm_fn.base.annotations import Callable, Iterator, Sequence
from krm_fn.base.bundle import effective_namespace, is_cluster_kind
from krm_fn.base.errors import InputError
from krm_fn.base.objects import Object, annotations_of, group_of, kind_of, labels_of, metadata, name_of, ref_of, text
from krm_fn.base.paths import Path, as_list, as_map, copy, drop, get
from krm_fn.base.uuids import short
from krm_fn.base.value import Value
from krm_fn.base.wording import listed
from krm_fn.kubevirt.holders import DATA_VOLUMES, INSTANCE_SPEC, SERVED, TEMPLATE
from krm_fn.kubevirt.resolve import MATCHERS
from krm_fn.kubevirt.stored_revisions import KIND as REVISION
from krm_fn.kubevirt.stored_revisions import status_path
from krm_fn.live.applying import last_applied
from krm_fn.live.dumps import SIZES, VM, is_live, is_owned
from krm_fn.live.overlaying import TRACKED
from krm_fn.live.owners import LAST_APPLIED

CLUSTER = "_cluster"  # the folder of objects without a namespace; no namespace has such a name
KUSTOMIZATION = {"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization"}
# What controllers write into the metadata of objects.
OF_CONTROLLERS = ("kubevirt.io/latest-observed-api-version", "kubevirt.io/storage-observed-api-version", *TRACKED)
STORAGE = ("volume.kubernetes.io/", "volume.beta.kubernetes.io/")
PREFIXES = ("kustomize.toolkit.fluxcd.io/", "argocd.argoproj.io/", "cdi.kubevirt.io/", "pv.kubernetes.io/", *STORAGE)
# What the mutating webhook writes into a VM that lacks it.
DEFAULTS: tuple[Path, ...] = (
    (*INSTANCE_SPEC, "architecture"),
    (*INSTANCE_SPEC, "domain", "machine"),
    *(("spec", matcher.field, "kind") for matcher in MATCHERS),
)
# Empty parts that Go writes in any case.
EMPTY: tuple[Path, ...] = (
    (*TEMPLATE, "metadata", "creationTimestamp"),
    (*TEMPLATE, "metadata"),
    (*INSTANCE_SPEC, "domain", "resources"),
)
USER_DATA = ("userData", "userDataBase64", "networkData", "networkDataBase64")
SOURCES = (("dataVolume", "name"), ("persistentVolumeClaim", "claimName"))
MOST_NAMED = 5
CLOUD_INIT = ("cloudInitNoCloud", "cloudInitConfigDrive")
# The labels of instancetypes and preferences that KubeVirt deploys itself.
OPERATOR = ("app.kubernetes.io/managed-by", "virt-operator")

# Whoever deletes the manifest of a disk does not mean its data.
NO_PRUNE = {"argocd.argoproj.io/sync-options": "Prune=false,Delete=false", "kustomize.toolkit.fluxcd.io/prune": "disabled"}
# The kinds of disks, and when they are ready. CDI refuses a DataVolume with another spec, and a new one whose claim is there.
READY = {"DataVolume": "Succeeded", "PersistentVolumeClaim": "Bound"}
# What becomes of the stored revisions of instancetypes and preferences.
KEEP, NAME, EXPAND = REVISIONS = ("keep", "name", "expand")

Named = tuple[str, str, str]
# What the webhook makes of a VM that is created.
Admit = Callable[[Object], Object]
# A VM with its instancetype and its preference written into it; None where they are not known.
Expand = Callable[[Object], Object | None]


class Adoption(Value):
    """The manifests by their paths, and what a user has to know of them, a note each."""

    files: dict[str, Object]
    notes: tuple[str, ...] = ()


def adopted(objects: Sequence[Object], admit: Admit, *, revisions: str = KEEP, expand: Expand = copy) -> Adoption:
    """The manifests of the machines of a dump, and of what they refer to.

    `revisions`: whether VMs keep what the cluster has stored for them (KEEP), also name it (NAME), or have it written into them
    by `expand` (EXPAND). Raises: InputError for two objects with one name.
    """
    machines = [obj for obj in objects if (group_of(obj), kind_of(obj)) in SERVED and not is_owned(obj) and is_live(obj)]
    written = [_written(obj, revisions, expand) for obj in machines]
    named = {ref for obj in written for ref in (*_refs(obj), *_disks(obj))}
    taken = [obj for obj in objects if _key(obj) in named and _is_wanted(obj)]
    files: dict[str, Object] = {}
    for obj in (*written, *taken):
        manifest = clean(obj, admit)
        if files.setdefault(_path(obj), manifest) != manifest:
            raise InputError(f"{ref_of(obj)} is there twice, with other contents; name one dump of one cluster")
    notes = [*_notes(machines, objects, revisions), *_left(written, objects, taken, revisions)]
    return Adoption(files={**files, **_kustomizations(files)}, notes=tuple(notes))


def _written(obj: Object, revisions: str, expand: Expand) -> Object:
    """A machine with its stored revisions as they are to be written; one whose revisions are not known stays as it is."""
    if revisions == EXPAND:
        return expand(obj) or obj
    found: Object = copy(obj)
    for matcher in MATCHERS if revisions == NAME else ():
        name, written = text(get(obj, status_path(matcher))), get(found, ("spec", matcher.field))
        if name and isinstance(written, dict) and not written.get("revisionName"):  # KubeVirt reads this name first
            written["revisionName"] = name
    return found


def clean(live: Object, admit: Admit) -> Object:
    """The manifest of a live object."""
    manifest: Object = {key: copy(each) for key, each in live.items() if key != "status"}
    manifest["metadata"] = _metadata(live)
    sent = last_applied(live)
    for path in EMPTY:
        if get(manifest, path) in (None, {}) and get(sent, path, sent) is sent:
            drop(manifest, path)
    if get(manifest, ("spec", "storageClassName")):  # without a class, only its name leads to the volume
        drop(manifest, ("spec", "volumeName"))
    return _without_defaults(manifest, sent, admit) if kind_of(live) == VM else manifest


def _metadata(live: Object) -> Object:
    """Name and namespace, the labels and annotations that no controller has written, and what was applied."""
    sent = last_applied(live)
    found: Object = {key: metadata(live)[key] for key in ("name", "namespace") if key in metadata(live)}
    for key, given, applied in (
        ("labels", labels_of(live), labels_of(sent)),
        ("annotations", annotations_of(live), annotations_of(sent)),
    ):
        kept = {name: each for name, each in given.items() if name in applied or not _is_of_controller(name)}
        if kept:
            found[key] = kept
    if kind_of(live) in READY:
        found["annotations"] = {**found.get("annotations", {}), **NO_PRUNE}
    if metadata(sent).get("finalizers"):  # controllers add the others, and a list without them removes them
        found["finalizers"] = copy(metadata(live).get("finalizers"))
    return found


def _is_of_controller(name: str) -> bool:
    return name == LAST_APPLIED or name in OF_CONTROLLERS or name.startswith(PREFIXES)


def _without_defaults(vm: Object, sent: Object, admit: Admit) -> Object:
    """The VM without what the webhook writes again. What was applied stays: without it, an apply would remove the field."""
    bare: Object = copy(vm)
    for path in DEFAULTS:
        if get(sent, path) is None:
            drop(bare, path)
    made = admit(bare)
    for path in DEFAULTS:
        before = get(vm, path)
        if before is not None and get(bare, path) is None and get(made, path) != before:
            _restore(bare, path, before)
    return bare


def _restore(vm: Object, path: Path, value: object) -> None:
    around = get(vm, path[:-1])
    if isinstance(around, dict):
        around[str(path[-1])] = value


def _key(obj: Object) -> Named:
    return kind_of(obj), "" if is_cluster_kind(kind_of(obj)) else effective_namespace(obj), name_of(obj)


def _refs(obj: Object) -> list[Named]:
    """The instancetype, the preference and the revisions of them that a machine names."""
    row = SERVED[group_of(obj), kind_of(obj)]
    vm = as_map(get(obj, row.vm)) if row.vm is not None else {}
    found = []
    for matcher in MATCHERS:
        written = as_map(get(vm, ("spec", matcher.field)))
        kind = matcher.kind_named(text(written.get("kind")))
        found.append((kind, "" if is_cluster_kind(kind) else effective_namespace(obj), text(written.get("name"))))
        found.append((REVISION, effective_namespace(obj), text(written.get("revisionName"))))
    return found


def _disks(obj: Object) -> list[Named]:
    """The DataVolumes and the claims that a machine uses and does not make itself."""
    row = SERVED[group_of(obj), kind_of(obj)]
    made = [name_of(as_map(each)) for each in as_list(get(obj, (*row.vm, *DATA_VOLUMES)))] if row.vm is not None else []
    volumes = [as_map(each) for each in as_list(get(obj, (*row.instance, "volumes")))]
    names = [text(get(each, path)) for each in volumes for path in SOURCES]
    return [(kind, effective_namespace(obj), name) for name in names if name and name not in made for kind in READY]


def _is_wanted(obj: Object) -> bool:
    """True for what KubeVirt does not deploy itself, and for a disk that is ready and that nothing else has made."""
    kind = kind_of(obj)
    if kind in READY:
        waits = metadata(obj).get("ownerReferences") or metadata(obj).get("deletionTimestamp")
        return not waits and get(obj, ("status", "phase")) == READY[kind]
    return kind == REVISION or (kind in SIZES and labels_of(obj).get(OPERATOR[0]) != OPERATOR[1])


def _path(obj: Object) -> str:
    folder = CLUSTER if is_cluster_kind(kind_of(obj)) else effective_namespace(obj)
    return f"{folder}/{short(f'{kind_of(obj).lower()}-{name_of(obj)}')}.yaml"


def _kustomizations(files: dict[str, Object]) -> dict[str, Object]:
    """A kustomization for each folder, and one for all of them."""
    folders: dict[str, list[str]] = {}
    for path in sorted(files):
        folder, _, name = path.partition("/")
        folders.setdefault(folder, []).append(name)
    found = {f"{folder}/kustomization.yaml": {**KUSTOMIZATION, "resources": names} for folder, names in folders.items()}
    return {**found, "kustomization.yaml": {**KUSTOMIZATION, "resources": [*folders]}} if found else {}


def _left(written: Sequence[Object], objects: Sequence[Object], taken: Sequence[Object], revisions: str) -> Iterator[str]:
    """What stays in the cluster: disks that are not ready, or not in the dump, and revisions that it lacks."""
    owned = {_key(obj)[1:] for obj in objects if kind_of(obj) in READY and metadata(obj).get("ownerReferences")}
    disks = {_key(obj)[1:] for obj in taken if kind_of(obj) in READY}
    if used := sorted({each[1:] for obj in written for each in _disks(obj)} - disks - owned):
        yield f"disks that are not ready, or not in the dump, are not adopted: {_named(used)}"
    if disks:
        yield "disks that no VM makes are adopted without what is on them; another cluster makes empty ones or imports anew"
    refs, there = [(obj, ref) for obj in written for ref in _refs(obj) if ref[2]], {_key(obj) for obj in objects}
    if revisions == EXPAND and (left := list(dict.fromkeys(_key(obj)[1:] for obj, ref in refs if ref[0] in SIZES))):
        yield f"the dump lacks the revisions of {_named(left)}; `kubevirt-render dump` gets them"
    if revisions == NAME and (left := [ref[1:] for _, ref in refs if ref[0] == REVISION and ref not in there]):
        yield f"the dump lacks the revisions named {_named(left)}; `kubevirt-render dump` gets them"


def _named(found: Sequence[tuple[str, ...]]) -> str:
    return listed(["/".join(each) for each in found], "and", most=MOST_NAMED)


def _notes(machines: Sequence[Object], objects: Sequence[Object], revisions: str) -> Iterator[str]:
    pins = (get(obj, status_path(matcher)) for obj in machines for matcher in MATCHERS)
    if (pinned := sum(map(bool, pins))) and revisions == KEEP:
        yield (
            f"{pinned} stored revisions of instancetypes and preferences stay in the cluster; VMs that are created anew "
            "from the manifests start with the objects of today"
        )
    if inline := sum(map(_has_user_data, machines)):
        yield f"{inline} manifests have cloud-init data, which may hold passwords; look at them before you commit"
    if left := sum(kind_of(obj) == "Secret" for obj in objects):
        yield f"{left} Secrets are not adopted; keep them where they are"


def _has_user_data(obj: Object) -> bool:
    volumes = as_list(get(obj, (*SERVED[group_of(obj), kind_of(obj)].instance, "volumes")))
    return any(as_map(as_map(each).get(source)).get(key) for each in volumes for source in CLOUD_INIT for key in USER_DATA)
