"""The objects that a bundle contains or creates, of the kinds that VMs refer to: its objects, and what these create."""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.bundle import DEFAULT_NAMESPACE, Bundle, Entry, effective_namespace
from krm_fn.base.objects import Object, group_of, kind_of, name_of, namespace_of
from krm_fn.base.paths import Path, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.holders import SERVED
from krm_fn.rules.shared.machines import data_volumes
from krm_fn.rules.shared.views import shared

API_VERSIONS = {
    "PersistentVolumeClaim": "v1",
    "DataVolume": "cdi.kubevirt.io/v1beta1",
    "DataSource": "cdi.kubevirt.io/v1beta1",
    "VolumeSnapshot": "snapshot.storage.k8s.io/v1",
    "Secret": "v1",
    "ConfigMap": "v1",
    "ServiceAccount": "v1",
    "NetworkAttachmentDefinition": "k8s.cni.cncf.io/v1",
    "ResourceClaim": "resource.k8s.io/v1",
    "ResourceClaimTemplate": "resource.k8s.io/v1",
    "VirtualMachine": "kubevirt.io/v1",
    "VirtualMachineInstance": "kubevirt.io/v1",
    "VirtualMachineSnapshot": "snapshot.kubevirt.io/v1beta1",
}
GROUPS = {kind: version.rpartition("/")[0] for kind, version in API_VERSIONS.items()}

# Objects that every namespace has.
GIVEN = frozenset((("ServiceAccount", "default"), ("ConfigMap", "kube-root-ca.crt")))
EVERYWHERE = "*"
NAME: Path = ("metadata", "name")


class Maker(Value):
    """A kind whose objects each create one of kind `makes`: its name is the first of `names` that is set.

    It is in the maker's namespace, in the one at the path `namespace`, or, for `cluster` makers, in any.
    """

    kind: str
    group: str
    makes: str
    names: tuple[Path, ...] = (NAME,)
    namespace: Path = ()
    cluster: bool = False


_VAULT = ("spec", "destination", "name")
MAKERS = (
    Maker(kind="DataVolume", group="cdi.kubevirt.io", makes="PersistentVolumeClaim"),
    # CDI removes a DataVolume that is done; references to it then use the claim.
    Maker(kind="PersistentVolumeClaim", group="", makes="DataVolume"),
    Maker(kind="DataImportCron", group="cdi.kubevirt.io", makes="DataSource", names=(("spec", "managedDataSource"),)),
    Maker(kind="VirtualMachine", group="kubevirt.io", makes="VirtualMachineInstance"),
    *(
        Maker(kind=kind, group=group, makes=made, names=(("spec", "target", "name"),))
        for kind, group in (("VirtualMachineRestore", "snapshot.kubevirt.io"), ("VirtualMachineClone", "clone.kubevirt.io"))
        for made in ("VirtualMachine", "VirtualMachineInstance")
    ),
    Maker(kind="SealedSecret", group="bitnami.com", makes="Secret", names=(("spec", "template", "metadata", "name"), NAME)),
    Maker(kind="ExternalSecret", group="external-secrets.io", makes="Secret", names=(("spec", "target", "name"), NAME)),
    Maker(kind="Certificate", group="cert-manager.io", makes="Secret", names=(("spec", "secretName"),)),
    Maker(kind="VaultStaticSecret", group="secrets.hashicorp.com", makes="Secret", names=(_VAULT,)),
    Maker(kind="VaultDynamicSecret", group="secrets.hashicorp.com", makes="Secret", names=(_VAULT,)),
    Maker(kind="VaultPKISecret", group="secrets.hashicorp.com", makes="Secret", names=(_VAULT,)),
    Maker(kind="Bundle", group="trust.cert-manager.io", makes="ConfigMap", cluster=True),
    Maker(kind="UserDefinedNetwork", group="k8s.ovn.org", makes="NetworkAttachmentDefinition"),
    Maker(kind="ClusterUserDefinedNetwork", group="k8s.ovn.org", makes="NetworkAttachmentDefinition", cluster=True),
    Maker(
        kind="SriovNetwork",
        group="sriovnetwork.openshift.io",
        makes="NetworkAttachmentDefinition",
        namespace=("spec", "networkNamespace"),
    ),
)
# The kinds that the templates of a VM create.
FROM_TEMPLATES = ("DataVolume", "PersistentVolumeClaim")

# Kinds that create machines with generated names: the owner's name, a dash, and a number or letters.
MACHINES = ("VirtualMachine", "VirtualMachineInstance")
COPIERS = tuple(holder for holder in SERVED.values() if holder.copies)

# kustomize appends `-` and ten of these to the names of generated Secrets and ConfigMaps.
HASHED = ("Secret", "ConfigMap")
HASH_LETTERS = frozenset("2456789bcdfghkmt")
HASH_LENGTH = 10


class AvailableObjects:
    """An index over one bundle; a kind is indexed when it is first needed."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle
        self._names: dict[str, dict[str, set[str]]] = {}
        self._previous: dict[str, dict[str, dict[str, str]]] = {}
        self._all_names: dict[tuple[str, str], dict[str, tuple[str, ...]]] = {}
        self._held: dict[str, set[str]] = {}
        self._places: dict[str, dict[str, list[str]]] = {}
        self._unwritten: dict[str, set[str]] = {}
        self._copiers: set[tuple[str, str]] | None = None

    def has(self, kind: str, namespace: str, name: str) -> bool:
        """True where the bundle contains or creates the object."""
        names = self._of(kind)
        there = (kind, name) in GIVEN or name in names.get(namespace, ()) or name in names.get(EVERYWHERE, ())
        return there or self._copied(kind, namespace, name)

    def _copied(self, kind: str, namespace: str, name: str) -> bool:
        """True for a machine that a pool or a replica set of the bundle creates: its name is the owner's, a dash and more."""
        if kind not in MACHINES:
            return False
        if self._copiers is None:
            copiers = (entry.obj for each in COPIERS for entry in self._bundle.of_kind(each.kind, each.group))
            self._copiers = {(effective_namespace(obj), name_of(obj)) for obj in copiers}
        return (namespace, name.rpartition("-")[0]) in self._copiers

    def may_have(self, kind: str, name: str, *, anywhere: bool) -> bool:
        """True where who applies the bundle may put an object of that name into the namespace that is meant.

        The namespace of an object need not be written. `anywhere`: nor is the one that is meant.
        """
        self._of(kind)
        return name in self._unwritten[kind] or (anywhere and bool(self.namespaces(kind, name)))

    def any(self, kind: str, namespace: str) -> bool:
        """True where the bundle contains such an object in the namespace, and not only one that a clone or restore creates."""
        if kind not in self._held:
            makers = [(each.kind, each.group) for each in MAKERS if each.makes == kind and each.names == (NAME,)]
            held = (entry for owner, group in ((kind, GROUPS[kind]), *makers) for entry in self._bundle.of_kind(owner, group))
            self._held[kind] = {effective_namespace(entry.obj) for entry in held}
        return namespace in self._held[kind]

    def namespaces(self, kind: str, name: str) -> list[str]:
        """The namespaces with an object of that kind and name."""
        found = self._of(kind)
        if kind not in self._places:
            self._places[kind] = {}
            for namespace in sorted(found):
                for each in found[namespace]:
                    self._places[kind].setdefault(each, []).append(namespace)
        return self._places[kind].get(name, [])

    def now(self, kind: str, namespace: str, previous: str) -> str:
        """The name that kustomize gave to the object `previous`, "" where it renamed none."""
        self._of(kind)
        return self._previous[kind].get(namespace, {}).get(previous, "")

    def all_names(self, kind: str, namespace: str) -> dict[str, tuple[str, ...]]:
        """The names of that kind in the namespace, earlier ones from before kustomize included, each with all of its object."""
        if (kind, namespace) not in self._all_names:
            self._all_names[kind, namespace] = self._with_previous(kind, namespace)
        return self._all_names[kind, namespace]

    def _with_previous(self, kind: str, namespace: str) -> dict[str, tuple[str, ...]]:
        present = self._of(kind).get(namespace, set())
        formerly: dict[str, tuple[str, ...]] = {}
        for previous, now in self._previous[kind].get(namespace, {}).items():
            formerly[now] = (*formerly.get(now, ()), previous)
        return {each: (name, *formerly.get(name, ())) for name in present for each in (*formerly.get(name, ()), name)}

    def _of(self, kind: str) -> dict[str, set[str]]:
        if kind not in self._names:
            found: dict[str, set[str]] = {}
            self._names[kind], self._previous[kind], self._unwritten[kind] = found, {}, set()
            for entry in self._bundle.of_kind(kind, GROUPS[kind]):
                self._add(kind, entry, found)
                if not namespace_of(entry.obj):
                    self._unwritten[kind].add(name_of(entry.obj))
            for owner, namespace, name in self._made(kind):
                if name:
                    found.setdefault(namespace, set()).add(name)
                    if namespace == DEFAULT_NAMESPACE and not namespace_of(owner):
                        self._unwritten[kind].add(name)
        return self._names[kind]

    def _add(self, kind: str, entry: Entry, found: dict[str, set[str]]) -> None:
        name, namespace = name_of(entry.obj), effective_namespace(entry.obj)
        found.setdefault(namespace, set()).add(name)
        bare = _unhashed(kind, name)
        for previous in (*bare, *(each for made in (name, *bare) for each in self._bundle.former_names(entry, made))):
            if previous != name:
                there = self._previous[kind].setdefault(namespace, {})
                there[previous] = min(there.get(previous, name), name)

    def _made(self, kind: str) -> Iterator[tuple[Object, str, str]]:
        """What others create: the maker, and namespace and name of what it makes."""
        for maker in MAKERS:
            if maker.makes == kind:
                for entry in self._bundle.of_kind(maker.kind, maker.group):
                    yield entry.obj, _place(maker, entry.obj), _first_text(entry.obj, maker.names)
        if kind in FROM_TEMPLATES:
            for entry, path in data_volumes(self._bundle):
                if path:
                    yield entry.obj, effective_namespace(entry.obj), _first_text(entry.obj, ((*path, *NAME),))


def available_objects(bundle: Bundle) -> AvailableObjects:
    """The objects that the bundle makes available; all callers share one value."""
    return shared(bundle, AvailableObjects)


def made_by(obj: Object) -> list[tuple[str, str, str]]:
    """Kind, namespace and name of each object that an object of another program creates."""
    makers = [each for each in MAKERS if (each.kind, each.group) == (kind_of(obj), group_of(obj))]
    return [(each.makes, _place(each, obj), _first_text(obj, each.names)) for each in makers]


def _place(maker: Maker, obj: Object) -> str:
    if maker.cluster:
        return EVERYWHERE
    return (_first_text(obj, (maker.namespace,)) if maker.namespace else "") or effective_namespace(obj)


def _first_text(obj: object, paths: tuple[Path, ...]) -> str:
    found = (get(obj, path) for path in paths)
    return next((text for text in found if isinstance(text, str) and text), "")


def _unhashed(kind: str, name: str) -> tuple[str, ...]:
    """The name without the suffix of a kustomize generator; () where it has no such suffix."""
    base, dash, suffix = name.rpartition("-")
    hashed = kind in HASHED and dash and base and len(suffix) == HASH_LENGTH and HASH_LETTERS.issuperset(suffix)
    return (base,) if hashed else ()
