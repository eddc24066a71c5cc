"""Volumes: their sources, names, cloud-init data, host disks, service accounts, filesystems."""

from __future__ import annotations

from krm_fn.base.annotations import Iterator
from krm_fn.base.objects import Object
from krm_fn.base.paths import EACH, Path, as_map, get, is_set
from krm_fn.base.wording import show
from krm_fn.kubevirt.admission.checks import (
    Check,
    Group,
    count,
    dns_subdomain,
    exactly_one,
    examine,
    gated,
    one_of,
    required,
)
from krm_fn.kubevirt.admission.formats import base64_length, is_path_below_root, is_some
from krm_fn.kubevirt.admission.scope import NOT_FOUND, REQUIRED, Cause, Scope, maps, name_of
from krm_fn.kubevirt.releases import Version

VMI = "pkg/virt-api/webhooks/validating-webhook/admitters/vmi-create-admitter.go:"
VOLUMES = VMI + "validateVolumes"

SOURCES = (
    "persistentVolumeClaim",
    "sysprep",
    "cloudInitNoCloud",
    "cloudInitConfigDrive",
    "containerDisk",
    "ephemeral",
    "emptyDisk",
    "hostDisk",
    "dataVolume",
    "configMap",
    "secret",
    "downwardAPI",
    "serviceAccount",
    "downwardMetrics",
    "memoryDump",
)
# A source that was added later. Older releases do not know it in objects that no webhook compares with the schema.
LATER_SOURCE, LATER_SINCE = "containerPath", (1, 8)

# Kinds of volumes of which a VM may have at most one.
SINGLE = ("serviceAccount", "downwardMetrics", "memoryDump")

CLOUD_INIT = ("cloudInitNoCloud", "cloudInitConfigDrive")
# cloud-init's name for each kind of data, with the keys that can hold it: a Secret, base64, plain text.
CLOUD_INIT_DATA = (
    ("user data", "secretRef", "userDataBase64", "userData"),
    ("network data", "networkDataSecretRef", "networkDataBase64", "networkData"),
)
LONGEST_CLOUD_INIT = 2048

EXPERIMENTAL_GATE_UNTIL: Version = (1, 8)

GROUPS = (
    Group(
        at=("volumes", EACH),
        checks=(
            *(
                exactly_one(
                    sources,
                    message="a volume must have exactly one source; set one",
                    upstream=VOLUMES,
                    **releases,
                )
                for sources, releases in (
                    (SOURCES, {"until": LATER_SINCE}),
                    ((*SOURCES, LATER_SOURCE), {"since": LATER_SINCE}),
                )
            ),
            gated(("downwardMetrics",), "DownwardMetrics", upstream=VOLUMES, named="volumes[{0}]"),
            gated(("hostDisk",), "HostDisk", upstream=VOLUMES, named="volumes[{0}]"),
        ),
    ),
    Group(
        at=("volumes", EACH, "hostDisk"),
        checks=(
            required(("path",), reason=NOT_FOUND, upstream=VOLUMES),
            one_of(("type",), ("Disk", "DiskOrCreate"), pointer=True, lazy=False, upstream=VOLUMES),
            Check(
                at=("capacity",),
                refuses=lambda value, disk, _scope: disk.get("type") == "Disk" and is_some(value),
                message="capacity applies only to disks that KubeVirt creates; set type to DiskOrCreate or remove it",
                upstream=VOLUMES,
            ),
        ),
    ),
    *(
        Group(at=("volumes", EACH, source), checks=(required((key,), reason="FieldValueInvalid", upstream=VOLUMES),))
        for source, key in (("configMap", "name"), ("secret", "secretName"), ("serviceAccount", "serviceAccountName"))
    ),
    Group(
        at=("volumes", EACH, "dataVolume"),
        checks=(required(("name",), reason=REQUIRED, upstream=VOLUMES, named="volumes[{0}].name"),),
    ),
    Group(
        at=("volumes", EACH, "containerDisk"),
        checks=(
            Check(
                at=("path",),
                refuses=lambda value, _item, _scope: isinstance(value, str) and value != "" and not is_path_below_root(value),
                message="path {value} must be the absolute path of a file; use one without '.' and '..'",
                upstream="pkg/storage/admitters/disks.go:ValidateContainerDisks",
                named="volumes[{0}].containerDisk",
            ),
        ),
    ),
    Group(
        at=(),
        checks=(
            Check(
                at=("utilityVolumes",),
                refuses=lambda value, _spec, scope: value != [] or scope.as_written,
                message="utility volumes can only be added to running VMs; remove them",
                since=(1, 8),
                upstream="pkg/storage/admitters/storagehotplug.go:ValidateUtilityVolumesNotPresentOnCreation",
            ),
            dns_subdomain(("serviceAccountName",), since=(1, 9), upstream=VMI + "validateServiceAccountName"),
        ),
    ),
)


@examine("volumes", upstream=VOLUMES)
def volume_named_twice(scope: Scope) -> Iterator[Cause]:
    seen: dict[str, int] = {}
    for index, volume in enumerate(scope.volumes):
        first = seen.setdefault(name_of(volume), index)
        if first != index:
            at = ("volumes", index, "name")
            yield scope.cause(at, f"volume name {show(name_of(volume))} is used by volumes[{first}] too; rename one")


@examine("volumes", upstream=VOLUMES)
def too_many_of_a_kind(scope: Scope) -> Iterator[Cause]:
    for kind in SINGLE:
        found = [index for index, volume in enumerate(scope.volumes) if volume.get(kind) is not None]
        if len(found) > 1:
            message = f"a VM can have only one {kind} volume; remove the others"
            yield scope.cause(("volumes", found[1]), message, named="volumes")


@examine("volumes", upstream=VOLUMES)
def cloud_init(scope: Scope) -> Iterator[Cause]:
    """User data and network data have one source each, and are short if the VM itself holds them."""
    for index, volume in enumerate(scope.volumes):
        kind = next((key for key in CLOUD_INIT if volume.get(key) is not None), "")
        if kind:
            yield from _cloud_init_data(scope, as_map(volume[kind]), ("volumes", index, kind))


def _cloud_init_data(scope: Scope, source: Object, at: Path) -> Iterator[Cause]:
    found = 0
    for words, secret, encoded, plain in CLOUD_INIT_DATA:
        sources = is_set(get(source, (secret, "name"))) + is_set(source.get(encoded)) + is_set(source.get(plain))
        found += sources
        length, sound = _length(source.get(encoded), source.get(plain))
        if not sound:
            yield scope.cause((*at, encoded), f"{encoded} is not base64; encode it again", secret=True)
        if sources > 1:
            yield scope.cause(
                at, f"{words} has {sources} sources; only one is allowed; keep one of {secret}, {encoded} and {plain}"
            )
        if length > LONGEST_CLOUD_INIT:
            message = f"{words} has {length} bytes, but a VM can contain at most {LONGEST_CLOUD_INIT}; move it to {secret}"
            yield scope.cause(at, message)
    if not found:
        yield scope.cause(at, "cloud-init has neither user data nor network data; set one of them")


def _length(encoded: object, plain: object) -> tuple[int, bool]:
    """The data's length in bytes, and whether its base64 is valid; plain text has precedence over base64."""
    length, sound = base64_length(encoded) if isinstance(encoded, str) and encoded else (0, True)
    return (len(plain.encode(errors="replace")) if isinstance(plain, str) and plain else length), sound


@examine("serviceAccountName", upstream=VMI + "validateServiceAccountName", since=(1, 9))
def two_service_accounts(scope: Scope) -> Iterator[Cause]:
    account = scope.spec.get("serviceAccountName")
    others = (get(volume, ("serviceAccount", "serviceAccountName"), "") for volume in scope.volumes if _is_account(volume))
    if is_set(account) and any(other != account for other in others):
        message = f"serviceAccountName {show(account)} differs from the account of the serviceAccount volume; use one account"
        yield scope.cause(("serviceAccountName",), message)


def _is_account(volume: Object) -> bool:
    return volume.get("serviceAccount") is not None


@examine("domain", "devices", "filesystems", upstream=VMI + "validateFilesystemsWithVirtIOFSEnabled", since=(1, 5))
def shared_storage(scope: Scope) -> Iterator[Cause]:
    """virtiofs with a PersistentVolumeClaim needs its feature gate."""
    experimental = ("ExperimentalVirtiofsSupport",) if scope.release.within(until=EXPERIMENTAL_GATE_UNTIL) else ()
    gates = ("EnableVirtioFsStorageVolumes", *experimental)
    volumes = {name_of(volume): volume for volume in scope.volumes}
    for index, filesystem in enumerate(maps(scope.devices.get("filesystems"))):
        volume = volumes.get(name_of(filesystem), {})
        if count(volume, ("persistentVolumeClaim", "dataVolume")) and not any(scope.gate(gate) for gate in gates):
            message = (
                f"virtiofs with a PersistentVolumeClaim needs the feature gate {gates[0]}, which is not enabled; enable it"
            )
            at: Path = ("domain", "devices", "filesystems", index)
            yield scope.cause(at, message, named="domain.devices.filesystems", gate=gates[0])


EXAMINATIONS = (volume_named_twice, too_many_of_a_kind, cloud_init, two_service_accounts, shared_storage)
