"""A field, a value or a kind is deprecated.

What it finds: what KubeVirt's API marks as deprecated in the target release: `running`, the `prefer…` topologies and the
flat EFI switches of preferences, `launchSecurity` of instancetypes, presets, kubevirt.io/v1alpha3, the alpha versions of
instancetypes and preferences while they are served, the bindings `macvtap` and `passt` in 1.2, and older keys of the KubeVirt
object. Other rules report what a release already refuses.

Why it matters: KubeVirt warns about some of these when an object is applied, but nobody reads the warnings that a GitOps
controller receives. Once the field is removed, the cluster drops its value without an error.

Fix: write the replacement that the message names.

Example:

    apiVersion: kubevirt.io/v1
    kind: VirtualMachine
    metadata: {name: web}
    spec:
      running: true
      template: {spec: {domain: {devices: {}, memory: {guest: 1Gi}}}}
"""

from __future__ import annotations

from krm_fn.base.annotations import Any, Iterator
from krm_fn.base.bundle import Entry
from krm_fn.base.paths import EACH, Path, as_list, get, is_set
from krm_fn.base.value import Value
from krm_fn.base.wording import show
from krm_fn.findings.finding import UNSET
from krm_fn.kubevirt.holders import RENDERED, SERVED
from krm_fn.kubevirt.releases import Version
from krm_fn.rules.facts.bundles import BundleFacts
from krm_fn.rules.registry import ALWAYS, Hit, rule


class Deprecated(Value):
    """A path in objects of some kinds. `goes` is when it is removed, "" where that is not known; `instead` what replaces it.

    `values` are the deprecated values, each with its replacement; {} means any. `warned`: KubeVirt's webhooks warn too.
    """

    kinds: tuple[str, ...]
    group: str
    place: Path
    instead: str
    goes: str = ""
    values: dict[str, str] = {}  # noqa: RUF012  nobody writes into a Value
    since: Version = ()
    until: Version = ()
    warned: bool = False


TOPOLOGIES = {
    "preferCores": "cores",
    "preferSockets": "sockets",
    "preferThreads": "threads",
    "preferSpread": "spread",
    "preferAny": "any",
}
RUN_STRATEGY = "runStrategy: Always for true, Halted for false"
ARCHITECTURE = "architectureConfiguration"
NEXT_API = "the next version of the instancetype API"
TYPES = "instancetype.kubevirt.io"
INSTANCETYPES = ("VirtualMachineInstancetype", "VirtualMachineClusterInstancetype")
PREFERENCES = ("VirtualMachinePreference", "VirtualMachineClusterPreference")
ALPHAS = {f"{TYPES}/{version}": f"{TYPES}/v1beta1" for version in ("v1alpha1", "v1alpha2")}
FIRST_ALPHA = {"kubevirt.io/v1alpha3": "kubevirt.io/v1"}
CORE_KINDS = (
    "VirtualMachine",
    "VirtualMachineInstance",
    "VirtualMachineInstanceReplicaSet",
    "VirtualMachineInstanceMigration",
    "KubeVirt",
)


def _setting(*place: str | int, instead: str, since: Version = ()) -> Deprecated:
    return Deprecated(kinds=("KubeVirt",), group="kubevirt.io", place=("spec", *place), instead=instead, since=since)


def _type(kinds: tuple[str, ...], *place: str, instead: str, since: Version, warned: bool = False) -> Deprecated:
    return Deprecated(
        kinds=kinds, group=TYPES, place=("spec", *place), instead=instead, goes=NEXT_API, since=since, warned=warned
    )


ROWS = (
    *(
        Deprecated(
            kinds=(holder.kind,),
            group=holder.group,
            place=holder.in_vm(("spec", "running")),
            instead=RUN_STRATEGY,
            since=(1, 4),
            warned=not holder.vm,  # the webhooks don't look at this in a VM inside another object
        )
        for holder in RENDERED
    ),
    # upstream: pkg/virt-config/deprecation/feature-gates.go:FeatureGateInfo until 1.5, which 1.3 discontinues
    *(
        Deprecated(
            kinds=(holder.kind,),
            group=holder.group,
            place=(*holder.instance, "domain", "devices", "interfaces", EACH, binding),
            instead="binding with a network binding plugin",
            goes="KubeVirt 1.3",
            since=(1, 2),
            until=(1, 3),
            warned=True,
        )
        for holder in SERVED.values()
        for binding in ("macvtap", "passt")
    ),
    Deprecated(
        kinds=("VirtualMachineInstancePreset",),
        group="kubevirt.io",
        place=("kind",),
        instead="an instancetype or a preference",
        goes="v2",
        warned=True,
    ),
    Deprecated(kinds=CORE_KINDS, group="kubevirt.io", place=("apiVersion",), instead="kubevirt.io/v1", values=FIRST_ALPHA),
    Deprecated(
        kinds=(*INSTANCETYPES, *PREFERENCES),
        group=TYPES,
        place=("apiVersion",),
        instead="",
        goes="KubeVirt 1.6",
        values=ALPHAS,
        until=(1, 6),
    ),
    Deprecated(
        kinds=PREFERENCES,
        group=TYPES,
        place=("spec", "cpu", "preferredCPUTopology"),
        instead="",
        values=TOPOLOGIES,
        since=(1, 4),  # earlier releases know no other names
        warned=True,
    ),
    _type(PREFERENCES, "firmware", "preferredUseEfi", instead="preferredEfi: {}", since=(1, 5)),
    _type(PREFERENCES, "firmware", "preferredUseSecureBoot", instead="preferredEfi: {secureBoot: true}", since=(1, 5)),
    # upstream: pkg/instancetype/webhooks/admitter.go:DeprecatedLaunchSecurityWarning
    _type(INSTANCETYPES, "launchSecurity", instead="preferredLaunchSecurity of a preference", since=(1, 9), warned=True),
    _setting("configuration", "emulatedMachines", instead=ARCHITECTURE, since=(1, 2)),
    _setting("configuration", "machineType", instead=ARCHITECTURE),
    _setting("configuration", "ovmfPath", instead=ARCHITECTURE, since=(1, 2)),
    _setting("configuration", "architectureConfiguration", "ppc64le", instead="", since=(1, 7)),
    _setting("configuration", "supportedGuestAgentVersions", instead=""),
    # upstream: staging/src/kubevirt.io/api/core/v1/types.go:KubeVirtConfiguration
    _setting("configuration", "minCPUModel", instead="", since=(1, 8)),
    _setting("configuration", "network", "permitSlirpInterface", instead="", since=(1, 3)),
    _setting("configuration", "mediatedDevicesConfiguration", "mediatedDevicesTypes", instead="mediatedDeviceTypes"),
    _setting(
        "configuration",
        "mediatedDevicesConfiguration",
        "nodeMediatedDeviceTypes",
        EACH,
        "mediatedDevicesTypes",
        instead="mediatedDeviceTypes",
    ),
    _setting("certificateRotateStrategy", "selfSigned", "caRotateInterval", instead="ca.duration"),
    _setting("certificateRotateStrategy", "selfSigned", "certRotateInterval", instead="server.duration"),
    _setting("certificateRotateStrategy", "selfSigned", "caOverlapInterval", instead="ca.duration and ca.renewBefore"),
)


@rule(severity="info", worst="warning", certain=ALWAYS)
def deprecated_field(facts: BundleFacts) -> Iterator[Hit]:
    for row in ROWS:
        if facts.release.within(since=row.since, until=row.until):
            for kind in row.kinds:
                for entry in facts.bundle.of_kind(kind, row.group):
                    if EACH in row.place or _is_meant(row, get(entry.obj, row.place)):
                        yield from _hits(row, entry)


def _is_meant(row: Deprecated, value: object) -> bool:
    return is_set(value) and (not row.values or (isinstance(value, str) and value in row.values))


def _hits(row: Deprecated, entry: Entry) -> Iterator[Hit]:
    for path, value in _values(entry.obj, row.place, ()):
        if not _is_meant(row, value):
            continue
        if path[-1] == "running" and is_set(get(entry.obj, (*path[:-1], "runStrategy"))):
            continue  # KubeVirt refuses both together, and another rule reports it
        proposed = row.values[value] if row.values else UNSET
        instead = proposed if row.values else row.instead
        fix = f"write {instead} instead" if instead else "delete it"
        yield Hit(
            message=f"{_named(path, value)} is deprecated{f' and removed in {row.goes}' if row.goes else ''}; {fix}",
            path=path,
            current=value,
            proposed=proposed,
            about=entry,
            severity="warning" if row.warned else "",
        )


def _named(path: Path, value: Any) -> str:
    """The value for `kind` and `apiVersion`, the field with its value for a string, else the field."""
    return (
        str(value)
        if path in (("kind",), ("apiVersion",))
        else f"{path[-1]} {show(value)}"
        if isinstance(value, str)
        else str(path[-1])
    )


def _values(value: Any, place: Path, path: Path) -> Iterator[tuple[Path, Any]]:
    """Every path in the object that the row covers and that is set, with its value."""
    if EACH in place:
        at = place.index(EACH)
        for index, item in enumerate(as_list(get(value, place[:at]))):
            yield from _values(item, place[at + 1 :], (*path, *place[:at], index))
    elif is_set(get(value, place)):
        yield (*path, *place), get(value, place)
