"""A VM in a cluster with the instance that runs, and the cluster around it, as values."""

from __future__ import annotations

from krm_fn.base.bundle import Bundle, effective_namespace
from krm_fn.base.objects import Object, name_of
from krm_fn.base.paths import as_list, as_map, get
from krm_fn.base.value import Value
from krm_fn.kubevirt.admission.gates import enabled
from krm_fn.kubevirt.configuration import Cluster
from krm_fn.kubevirt.facts import Found
from krm_fn.kubevirt.holders import INSTANCE_SPEC
from krm_fn.kubevirt.releases import Release
from krm_fn.kubevirt.resolve import Resolver

TYPE_CHECKING = False
if TYPE_CHECKING:
    from krm_fn.kubevirt.migratability.claims import Claims
    from krm_fn.kubevirt.presets import PresetGroup


LIVE = "LiveUpdate"


class World(Value):
    """One side of a change: the objects of a cluster, its settings and its release.

    `update_methods` are those of the workload updater. `presets` are those that instances in the VM's namespace see. `claims`
    tells which claims several nodes can use. `known`: the settings are given; else they are KubeVirt's defaults, and the real
    ones may differ.
    """

    bundle: Bundle
    cluster: Cluster
    release: Release
    resolver: Resolver
    presets: PresetGroup
    claims: Claims
    update_methods: tuple[str, ...] = ()
    known: bool = True

    def gate(self, name: str) -> bool:
        return enabled(self.cluster, name, self.release)

    @property
    def rolls_out_live(self) -> bool:
        return self.cluster.rollout_strategy(self.release) == LIVE


class Pin(Value):
    """What the VM's status says of one matcher: what it named when its revision was chosen, and that revision."""

    name: str = ""
    kind: str = ""
    volume: str = ""
    policy: str | None = None
    revision: str = ""


class Stored(Value):
    """A ControllerRevision that the controller has made: `label` is the name of the object in it."""

    name: str
    label: str
    found: Found


class Running(Value):
    """An instance: `spec`, `labels` and `annotations` as the API server has them, and what its status says.

    `boot` and `guest` are the guest's memory at start and now. `plugged` are the names of volumes that were added while it ran,
    `volumes` of all that have a status. `interfaces` are those that the guest has, each with its network's name. `moving` are
    the volumes that are being migrated, `unshared` those whose claim only one node can use.
    """

    spec: Object
    labels: Object
    annotations: Object
    boot: str | None = None
    guest: str | None = None
    volumes: frozenset[str] = frozenset()
    plugged: frozenset[str] = frozenset()
    interfaces: Object = {}  # noqa: RUF012  nobody writes into a Value
    moving: frozenset[str] = frozenset()
    unshared: frozenset[str] = frozenset()

    @property
    def seen(self) -> Object:
        """The instance as its answers show it."""
        return {"spec": self.spec, "labels": self.labels, "annotations": self.annotations}


class Machine(Value):
    """A VM as the API server has it, what its status says, and its instance, None where none runs.

    `pins` are by matcher. `stored` are the revisions that the controller made for it, by name. `started` is the spec with which
    the instance was started; its matchers name the revisions of that time. `restart` is the message of the condition
    RestartRequired. `error` is why the controller does not get through; `unresolved`: already the references stop it.
    `volumes_change` is why a volume migration cannot start. `immovable` is why the instance can't be migrated even with its
    volumes, "" where it can. `strategy` is the run strategy that was last seen.
    """

    vm: Object
    pins: dict[str, Pin] = {}  # noqa: RUF012
    stored: dict[str, Stored] = {}  # noqa: RUF012
    running: Running | None = None
    started: Object | None = None
    restart: str = ""
    error: str = ""
    unresolved: bool = False
    volumes_change: str = ""
    migratable: bool = True
    immovable: str = ""
    strategy: str = ""

    @property
    def namespace(self) -> str:
        return effective_namespace(self.vm)

    @property
    def name(self) -> str:
        return name_of(self.vm)

    @property
    def spec(self) -> Object:
        """The spec of the template."""
        return as_map(get(self.vm, INSTANCE_SPEC))


def entries(spec: Object, *path: str) -> list[Object]:
    """The maps in a list of a spec."""
    return [each for each in as_list(get(spec, path)) if isinstance(each, dict)]


def by_name(found: list[Object]) -> dict[str, Object]:
    """The entries by name, of two of one name the later."""
    return {str(each.get("name", "")): each for each in found}


def disks_of(spec: Object) -> list[Object]:
    return entries(spec, "domain", "devices", "disks")


def volumes_of(spec: Object) -> list[Object]:
    return entries(spec, "volumes")


def is_hotpluggable(volume: Object | None) -> bool:
    """True for a claim or DataVolume that the manifest itself may add to a running instance.

    upstream: pkg/storage/types/volume.go:IsDeclarativeHotplugVolume
    """
    return any(as_map((volume or {}).get(key)).get("hotpluggable") is True for key in ("persistentVolumeClaim", "dataVolume"))
